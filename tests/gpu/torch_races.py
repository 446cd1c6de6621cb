"""A training loop with pinned memory and non-blocking copies, as PyTorch's documentation teaches it: DataLoader with
pin_memory, whose buffers are used again only when their copies have finished. --seeded: and one pinned buffer of its own that
every step fills again without waiting for the copy of the step before; what it uploads is not trained with.

Prints the first and the last loss, and how long the loop took after its first steps."""

import argparse
import os
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch
from torch.utils.data import DataLoader, TensorDataset

WARM_UP = 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeded", action="store_true")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    device = torch.device("cuda")
    steps = arguments.steps + WARM_UP
    data = TensorDataset(torch.randn(steps * 64, 1024), torch.randint(0, 10, (steps * 64,)))
    loader = DataLoader(data, batch_size=64, shuffle=True, pin_memory=True, num_workers=arguments.workers)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    noise = torch.empty(64, 1024, pin_memory=True) if arguments.seeded else None
    first = None
    start = 0.0
    for step, (inputs, labels) in enumerate(loader):
        if step == WARM_UP:
            torch.cuda.synchronize()
            start = time.perf_counter()
        if noise is not None:
            noise.fill_(step)
            noise.to(device, non_blocking=True)
        inputs = inputs.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        first = loss.detach() if first is None else first
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    print(f"loss {first.item():.6f} {loss.item():.6f}")
    print(f"seconds {seconds:.6f}")


if __name__ == "__main__":
    main()
