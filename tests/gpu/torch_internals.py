"""Copies that are nobody's fault but a vendor's: cuSOLVER's (eigh, solve, svd) and NCCL's (a group of one process, whose
set-up copies a few bytes). The script itself makes one blocking copy.

What `pincheck run --check` must say: 0, with the vendor's copies counted."""

import os

import torch
import torch.distributed as dist


def main():
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517", RANK="0", WORLD_SIZE="1")
    matrix = torch.randn(64, 64, device="cuda")
    torch.linalg.eigh(matrix @ matrix.T)
    torch.linalg.solve(matrix, matrix)
    torch.linalg.svd(matrix)
    dist.init_process_group("nccl", rank=0, world_size=1)
    for _ in range(5):
        dist.all_reduce(matrix)
    torch.cuda.synchronize()
    dist.destroy_process_group()
    print(matrix.cpu().isfinite().all().item())


if __name__ == "__main__":
    main()
