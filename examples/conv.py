"""A convolutional network with batch norm on handwritten digits: SGD, gradient accumulation.

Run it with: torchrun --nproc-per-node 2 examples/conv.py
The lines marked "adagrain" are all that it takes; without them it is a plain DDP script.
"""

import argparse
from contextlib import nullcontext

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import adagrain  # adagrain


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 4 * 4, 10),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--samples", type=int, default=1797)
    parser.add_argument("--accumulate", type=int, default=3)
    parser.add_argument("--cadence-max", type=int, default=4)
    parser.add_argument("--save")
    args = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images / 16, dtype=torch.float32).view(-1, 1, 8, 8)[: args.samples]
    dataset = TensorDataset(images, torch.tensor(labels)[: args.samples])
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=16, sampler=sampler)

    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4
    )
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    adagrain.register(model, optimizer, cadence_max=args.cadence_max)  # adagrain

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for number, (inputs, targets) in enumerate(loader, start=1):
            whole = number % args.accumulate == 0 or number == len(loader)
            with nullcontext() if whole else model.no_sync():
                loss = nn.functional.cross_entropy(model(inputs), targets) / args.accumulate
                loss.backward()
            if whole:
                optimizer.step()
                optimizer.zero_grad()
        scheduler.step()

    model.eval()
    with torch.no_grad():
        right = (model(dataset.tensors[0]).argmax(1) == dataset.tensors[1]).float().mean()
    if dist.get_rank() == 0:
        print(f"accuracy {right:.1%}")
    if args.save:
        torch.save(dict(model.module.named_parameters()), f"{args.save}.{dist.get_rank()}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
