"""A small training loop as people write it. Default: the DataLoader's batches are pageable and `.to(non_blocking=True)` is
not asynchronous; --pinned: pin_memory=True, the right way. Blocking copies (`.to()`, `.cpu()`, `model.to()`) are there in
both, as in every training script.

What `pincheck run --check` must say: default 1 (the non-blocking uploads gate), --pinned 0; the blocking copies are counted
and do not gate."""

import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--pinned", action="store_true")
    arguments.add_argument("--steps", type=int, default=60)
    arguments = arguments.parse_args()
    torch.manual_seed(1)
    device = torch.device("cuda")
    data = TensorDataset(torch.randn(arguments.steps * 64, 1024), torch.randint(0, 10, (arguments.steps * 64,)))
    loader = DataLoader(data, batch_size=64, shuffle=True, pin_memory=arguments.pinned)
    model = torch.nn.Sequential(torch.nn.Linear(1024, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scale = torch.full((1,), 0.5)
    losses = []
    for inputs, labels in loader:
        inputs = inputs.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        loss = torch.nn.functional.cross_entropy(model(inputs) * scale.to(device), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().cpu())
    print(f"loss {losses[0].item():.4f} {losses[-1].item():.4f}")


if __name__ == "__main__":
    main()
