"""A worker of the benchmark of thresholds: trains with guesses in every step, and tells of each."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import torch
import torch.distributed as dist
from _padded import convolutions
from _text import Transformer, batch_of
from torch import nn

import adagrain
from adagrain.host.distributed.process_group import leave_group
from adagrain.host.distributed.step_log import StepLog
from adagrain.host.distributed.timing import Timing
from adagrain.host.train.data import load
from adagrain.host.train.networks import build
from adagrain.host.train.text import text
from adagrain.models.interface.units.region_manager import SpeculationPolicy

Batches = Iterator[tuple[torch.Tensor, torch.Tensor]]

NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "perceptron": lambda: build(load("digits"), torch.initial_seed(), "mlp"),
    "convolutions": convolutions,
    "transformer": Transformer,
}

OPTIMIZERS: dict[str, Callable[[nn.Module], torch.optim.Optimizer]] = {
    "sgd": lambda model: torch.optim.SGD(model.parameters(), lr=0.1),
    "momentum": lambda model: torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
    "adamw": lambda model: torch.optim.AdamW(model.parameters(), lr=2e-3),
}

#: Policies that guess whatever α is: with the whole local gradient, and with α of it.
_AT_ONCE = {"t0": 0, "t1": 0, "t2": 65535, "dwell": 1}
GAINS: dict[str, dict[str, Any]] = {
    "1": {"policy": SpeculationPolicy.ALWAYS},
    "α": {
        "policy": SpeculationPolicy.COST_AWARE,
        "parameters": _AT_ONCE,
        "timing": Timing.parse("fixed:1000000,0"),
    },
}


def batches(network: str, seed: int) -> Batches:
    """This worker's batches, without end."""
    generator = torch.Generator().manual_seed(1000 * seed + dist.get_rank())
    while True:
        if network == "transformer":
            yield batch_of(text()[0], 8, generator)
            continue
        data = load("digits")
        chosen = torch.randint(len(data.inputs), (32,), generator=generator)
        yield data.inputs[chosen], data.labels[chosen]


def trained(
    network: str, optimizer: str, gain: str, tau: float, seed: int, steps: int
) -> list[Any]:
    """α of a region before a guess, and what became of it: accepts and trials of all workers."""
    torch.manual_seed(seed)
    model = NETWORKS[network]()
    logs: list[StepLog] = []
    speculation = adagrain.speculate(
        *(model, OPTIMIZERS[optimizer](model)),
        **(GAINS[gain] | {"tau": tau, "epoch_steps": 1, "log": logs.append}),
    )
    for inputs, labels in islice(batches(network, seed), steps):

        def closure(x: torch.Tensor = inputs, y: torch.Tensor = labels) -> torch.Tensor:
            return nn.functional.cross_entropy(model(x), y)

        speculation.step(closure)
    speculation.close()
    return [found for pair in zip(logs, logs[2:], strict=False) for found in _guesses(*pair)]


def _guesses(before: StepLog, told: StepLog) -> Iterator[tuple[float, int, int]]:
    """Guesses of the step between both, which was decided on before, and told of after it."""
    decisions: Mapping[str, Mapping[str, int]] = before.decisions
    for region, decision in enumerate(decisions.values()):
        if trials := told.agreed.trials[region]:
            yield decision["alpha"] / 65536, told.agreed.accepts[region], trials


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for seed in job["seeds"]:
        for network, steps in job["steps"].items():
            for optimizer in OPTIMIZERS:
                for gain in GAINS:
                    found = trained(network, optimizer, gain, job["tau"], seed, steps)
                    if dist.get_rank() == 0:
                        run = {"network": network, "optimizer": optimizer, "gain": gain}
                        print(json.dumps({**run, "guesses": found}), flush=True)
    leave_group()


if __name__ == "__main__":
    main()
