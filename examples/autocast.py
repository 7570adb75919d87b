"""Mixed precision: bfloat16 autocast around the forward pass, float32 weights.

Run it with: torchrun --nproc-per-node 2 examples/autocast.py
The lines marked "adagrain" are all that it takes; without them it is a plain DDP script.
"""

import argparse

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain  # adagrain


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--cadence-max", type=int, default=4)
    parser.add_argument("--save")
    args = parser.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    images, labels = torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels)

    layers = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 10))
    model = DistributedDataParallel(layers, gradient_as_bucket_view=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, fused=True)
    adagrain.register(model, optimizer, cadence_max=args.cadence_max)  # adagrain

    generator = torch.Generator().manual_seed(rank)
    for step in range(args.steps):
        batch = torch.randint(len(images), (32,), generator=generator)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(images[batch])
            loss = nn.functional.cross_entropy(logits, labels[batch])
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 50 == 0:
            print(f"step {step}: loss {loss.item():.3f}")

    if args.save:
        torch.save(model.module.state_dict(), f"{args.save}.{rank}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
