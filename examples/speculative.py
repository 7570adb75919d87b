"""Speculation: a step begins with guessed weights while the global update is in flight.

With ``--checkpoints FOLDER`` it goes on where all workers have been last, if one of them fails and
torchrun starts them again (``--max-restarts 3``).

Run it with: torchrun --nproc-per-node 2 examples/speculative.py
"""

import argparse
from datetime import timedelta

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn

import adagrain
from adagrain.models.interface.units.region_manager import SpeculationPolicy


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--tau", type=float, default=0.8)
    parser.add_argument("--policy", default="always", choices=["always", "cost_aware", "never"])
    parser.add_argument("--checkpoints", metavar="FOLDER")
    parser.add_argument("--every", type=int, default=50, help="steps between two checkpoints")
    parser.add_argument("--time-out", type=float, default=60, help="seconds to wait for a worker")
    parser.add_argument("--record", help="folder for a recording of the run")
    parser.add_argument("--replay", help="folder of a recording that the run follows")
    args = parser.parse_args()

    dist.init_process_group("gloo", timeout=timedelta(seconds=args.time_out))
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images / 16, dtype=torch.float32)[dist.get_rank() :: dist.get_world_size()]
    y = torch.tensor(labels)[dist.get_rank() :: dist.get_world_size()]

    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    model.append(nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    speculation = adagrain.speculate(
        model,
        optimizer,
        tau=args.tau,
        policy=SpeculationPolicy[args.policy.upper()],
        record=args.record,
        replay=args.replay,
    )
    first, checkpoints = 0, adagrain.Checkpoints(args.checkpoints) if args.checkpoints else None
    if checkpoints and (found := checkpoints.load()):
        first, state = found
        model.load_state_dict(state["model"])
        speculation.load_state_dict(state["speculation"])
    for step in range(first, args.steps):
        batch = torch.randperm(len(x), generator=torch.Generator().manual_seed(step))[:32]
        speculation.step(lambda b=batch: nn.functional.cross_entropy(model(x[b]), y[b]))
        if checkpoints and (step + 1) % args.every == 0:
            parts = {"model": model, "speculation": speculation}
            checkpoints.save(step + 1, {name: part.state_dict() for name, part in parts.items()})

    right = (model(x).argmax(dim=1) == y).float().mean()
    if dist.get_rank() == 0:
        counts = speculation.counts
        print(f"accuracy {right:.1%}; guesses in {counts.guessed} of {counts.steps} steps")
        for region, trials in sorted(counts.trials.items()):
            print(f"region {region!r}: {counts.accepts[region]} of {trials} guesses accepted")
    speculation.close()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
