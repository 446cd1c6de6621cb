"""Copies as PyTorch programs make them: blocking and non-blocking, pageable and pinned, inside the device, by hand and by a
DataLoader with pin_memory. Prints one JSON object; the copies themselves are counted by CUPTI and by the tool."""

import json
import sys

try:
    import torch
except ImportError as error:
    print(f"SKIP: no torch: {error}")
    sys.exit(77)


def main():
    device = torch.device("cuda")
    torch.manual_seed(1)
    pageable = torch.randn(256, 1024)
    pinned = torch.randn(256, 1024).pin_memory()
    total = 0.0
    for _ in range(5):
        total += pageable.to(device).sum().item()
        total += pageable.to(device, non_blocking=True).sum().item()
        total += pinned.to(device).sum().item()
        total += pinned.to(device, non_blocking=True).sum().item()
    on_device = pageable.to(device)
    back_pinned = torch.empty(256, 1024, pin_memory=True)
    back_pageable = torch.empty(256, 1024)
    for _ in range(5):
        back_pinned.copy_(on_device, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        back_pageable.copy_(on_device, non_blocking=True)
        torch.cuda.synchronize()
        on_device.cpu()
        on_device.to("cpu", non_blocking=True)
    torch.cuda.synchronize()
    ok = bool(torch.equal(back_pinned, pageable) and torch.equal(back_pageable, pageable))

    for _ in range(3):
        twin = on_device.clone()
        twin.zero_()
    ok = ok and twin.abs().sum().item() == 0

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            pinned.to(device, non_blocking=True)
    side.synchronize()

    data = torch.utils.data.TensorDataset(torch.arange(640, dtype=torch.float32).reshape(64, 10), torch.arange(64))
    loader = torch.utils.data.DataLoader(data, batch_size=8, pin_memory=True, num_workers=2)
    model = torch.nn.Linear(10, 64).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    losses = []
    for inputs, labels in loader:
        inputs = inputs.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps({"torch": torch.__version__, "ok": ok, "batches": len(losses), "finite": all(x == x for x in losses)}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
