"""A plain DDP script, and the three lines that compress its gradients.

Run it with: torchrun --nproc-per-node 2 examples/compressed.py
"""

import argparse

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain import CompressionState, compress_hook  # 1


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--density", type=float, default=0.02)
    args = parser.parse_args()
    if args.steps < 1:
        parser.error(f"--steps must be at least 1, not {args.steps}")

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images / 16, dtype=torch.float32)[dist.get_rank() :: dist.get_world_size()]
    y = torch.tensor(labels)[dist.get_rank() :: dist.get_world_size()]

    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
    # "auto", the default, sends BF16 where that is faster, as it is between two local processes
    state = CompressionState(model, density=args.density, bypass="never")  # 2
    model.register_comm_hook(state, compress_hook)  # 3

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(args.steps):
        batch = torch.randperm(len(x), generator=torch.Generator().manual_seed(step))[:32]
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
        optimizer.step()

    if dist.get_rank() == 0:
        right = (model.module(x).argmax(dim=1) == y).float().mean()
        dense = args.steps * sum(p.numel() * p.element_size() for p in model.parameters())
        print(f"accuracy {right:.1%}, {state.bytes_sent / dense:.1%} of the bytes; {state.counts}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
