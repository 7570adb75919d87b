"""A plain DDP script, and the line that puts a coprocessor beside each worker; a second one helps.

Run it with: torchrun --nproc-per-node 2 examples/ddp_two_lines.py
"""

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain


def main() -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images / 16, dtype=torch.float32)[dist.get_rank() :: dist.get_world_size()]
    y = torch.tensor(labels)[dist.get_rank() :: dist.get_world_size()]

    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    state = adagrain.register(model, optimizer, device="golden:")  # 1

    for step in range(200):
        batch = torch.randperm(len(x), generator=torch.Generator().manual_seed(step))[:32]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
        state.loss(loss).backward()  # 2, or as ever: loss.backward()
        optimizer.step()

    if dist.get_rank() == 0:
        right = (model.module(x).argmax(dim=1) == y).float().mean()
        sent = state.reducer.bytes_sent / state.reducer.bytes_dense
        print(f"accuracy {right:.1%}, cadences {state.reducer.cadences}, {sent:.0%} of the bytes")
    state.close()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
