"""A worker that trains what ``reference_trainer.py`` trains, with DDP and adagrain."""

import json
import sys
from contextlib import nullcontext

import torch
import torch.distributed as dist
from reference_trainer import HIDDEN, INPUTS, OUTPUTS, Case, batch, first_weights
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain

OPTIMIZERS = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(INPUTS, HIDDEN)
        self.last = nn.Linear(HIDDEN, OUTPUTS, bias=False)
        self.load_state_dict({n: torch.from_numpy(v) for n, v in first_weights().items()})

    def forward(self, x: torch.Tensor, rests: bool) -> torch.Tensor:
        bias = None if rests else self.first.bias
        return self.last(nn.functional.linear(x, self.first.weight, bias))


def main() -> None:
    case = Case(**json.loads(sys.argv[1]))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    network = Network()
    network.last.in_regions = not case.aside
    model = DistributedDataParallel(network, find_unused_parameters=case.resting)
    optimizer = OPTIMIZERS[case.optimizer](model.parameters(), **case.settings)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, case.decay)
    adagrain.register(
        model, optimizer, by=case.by, cadence=None, cadences=case.cadences, cap=case.cap
    )
    for step in range(case.steps):
        optimizer.zero_grad(set_to_none=not case.zeros)
        for number in range(case.passes):
            x, wanted = map(torch.from_numpy, batch(dist.get_rank(), step, number))
            last = number == case.passes - 1
            with model.no_sync() if case.no_sync and not last else nullcontext():
                rests = case.resting and step % 2 == 1
                nn.functional.mse_loss(model(x, rests), wanted).backward()
        if case.strays and step and dist.get_rank() == 0:
            model(x, rests)
        if case.clip:
            nn.utils.clip_grad_norm_(model.parameters(), case.clip)
        optimizer.step()
        scheduler.step()
    print(json.dumps({n: v.tolist() for n, v in model.module.state_dict().items()}))


if __name__ == "__main__":
    main()
