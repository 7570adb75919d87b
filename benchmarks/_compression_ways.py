"""Ways to exchange gradients that are compared, and the trainings that they are compared on."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from _augmented_digits import augmented, digits, held_out
from _local_steps import average_weights
from _text import Transformer, batch_of
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.compression.hook import CompressionState, compress_hook
from adagrain.host.compression.options import MASKS
from adagrain.host.train.networks import build
from adagrain.host.train.text import text

__all__ = ["MASKED", "MOMENTUM", "PERIODS", "TASKS", "WAYS", "Task", "optimizer_of", "rate_of"]

#: That of SGD.
MOMENTUM = 0.9

#: Step in which PowerSGD begins: the earliest that it can.
BEGIN = 2

#: Steps between two averages of local SGD, by the name of the way. The last has more than any run:
#: there is none behind that of the second step.
PERIODS = {f"local_sgd_{period}": period for period in (4, 16, 64)}
PERIODS["local_sgd_never"] = 1_000_000_000

Batch = tuple[torch.Tensor, torch.Tensor]
State = CompressionState | None


def _plain(hook: Callable[..., Any], model: DistributedDataParallel) -> State:
    model.register_comm_hook(None, hook)
    return None


def _power_sgd(
    rank: int, model: DistributedDataParallel, hook: Callable[..., Any] = powerSGD_hook
) -> State:
    """With error feedback and warm start."""
    state = PowerSGDState(None, matrix_approximation_rank=rank, start_powerSGD_iter=BEGIN)
    model.register_comm_hook(state, hook)
    return None


#: The same of gradients and factors in FP16.
_power_sgd_16 = partial(_power_sgd, hook=default_hooks.fp16_compress_wrapper(powerSGD_hook))


def _no_hook(model: DistributedDataParallel) -> State:
    """None but that of :func:`optimizer_of`."""
    return None


def optimizer_of(
    way: str, model: DistributedDataParallel, optimizer: torch.optim.Optimizer
) -> torch.optim.Optimizer:
    """A way's optimizer, given that of all others."""
    if way in CORRECTED:
        for group in optimizer.param_groups:
            group["momentum"] = 0.0
    if way in SGD_NESTEROV:
        for group in optimizer.param_groups:
            group["nesterov"] = True
    return average_weights(model, optimizer, PERIODS[way]) if way in PERIODS else optimizer


def rate_of(way: str, task: "Task") -> float:
    """Learning rate of the first step."""
    return task.rate * SGD_NESTEROV.get(way, 1.0)


def _ours(options: dict[str, Any], model: DistributedDataParallel) -> State:
    state = CompressionState(model, **({"bypass": "never"} | options))
    model.register_comm_hook(state, compress_hook)
    return state


#: Ways with momentum correction, which have the optimizer's momentum, by name: their options.
CORRECTED: dict[str, dict[str, Any]] = {
    f"{kind}_{percent}%_2_bits": {"density": percent / 100} | options
    for kind, options in (
        ("corrected", {}),
        ("nesterov", {"nesterov": True}),
        ("nesterov_masking", {"nesterov": True, "momentum_masking": True}),
        ("auto_nesterov", {"nesterov": True, "bypass": "auto"}),
    )
    for percent in (4, 1)
}

#: Ways with Nesterov's momentum in SGD by name: their rate by the task's.
SGD_NESTEROV = {
    "dense_nesterov": 1.0,
    "dense_nesterov_half_rate": 0.5,
    "powersgd16_8_nesterov_half_rate": 0.5,
}

#: Budgets of a pass in bytes, by the end of a way's name, and what a probe takes: those of the
#: MLP, and of the convolutions and the transformer, of which about 1 % is sent.
BUDGETS = {"3kB": (3_000, 10_880), "7kB": (7_000, 38_400), "21kB": (21_000, 104_000)}

#: Kinds of the learned mask, and their options.
LEARNED: dict[str, dict[str, Any]] = {
    "value": {"probe_passes": 64},
    "value_16": {"probe_passes": 16},
    "seed_features": {"features": "seed"},
    "no_features": {"features": "none"},
}


def _learned(options: dict[str, Any], budget: int, probe: int) -> dict[str, Any]:
    """Options of the exchange, with so many bytes for slots and probes together."""
    passes = options.get("probe_passes")
    spent = probe // passes if passes else 0
    return {"budget": budget - spent, "mask": "learned", "learned": options}


Register = Callable[[DistributedDataParallel], State]

#: By name, what registers a hook on a model: of others, and of ours, which have a mask.
OTHERS: dict[str, Register] = {
    "dense": partial(_plain, default_hooks.allreduce_hook),
    "dense_nesterov": partial(_plain, default_hooks.allreduce_hook),
    "dense_nesterov_half_rate": partial(_plain, default_hooks.allreduce_hook),
    "fp16": partial(_plain, default_hooks.fp16_compress_hook),
    **{f"powersgd_{rank}": partial(_power_sgd, rank) for rank in (1, 2, 4)},
    **{f"powersgd16_{rank}": partial(_power_sgd_16, rank) for rank in (4, 8)},
    "powersgd16_8_nesterov_half_rate": partial(_power_sgd_16, 8),
    **dict.fromkeys(PERIODS, _no_hook),
}
MASKED: dict[str, Register] = {
    "threshold_5%": partial(_ours, {"density": 0.05}),
    "threshold_1%": partial(_ours, {"density": 0.01}),
    "threshold_0.1%": partial(_ours, {"density": 0.001}),
    **{
        f"threshold_{percent}%_2_bits": partial(
            _ours, {"density": percent / 100, "mantissa_bits": 2}
        )
        for percent in (4, 3, 1, 0.8)
    },
    **{
        f"warm_{passes}_{percent}%_2_bits": partial(
            _ours, {"density": percent / 100, "mantissa_bits": 2, "warmup_passes": passes}
        )
        for percent in (3, 2.5, 1)
        for passes in (8, 16, 32)
    },
    **{
        name: partial(_ours, options | {"mantissa_bits": 2, "mask": "top", "momentum": MOMENTUM})
        for name, options in CORRECTED.items()
    },
    "threshold_before_1%": partial(_ours, {"density": 0.01, "mask": "threshold_before"}),
    "top_by_share_1%": partial(_ours, {"density": 0.01, "mask": "top_by_share"}),
    "top_1%": partial(_ours, {"density": 0.01, "mask": "top"}),
    "random_1%": partial(_ours, {"density": 0.01, "mask": "random"}),
    "random_1%_without_error_feedback": partial(
        _ours, {"density": 0.01, "mask": "random", "error_feedback": False}
    ),
    **{
        f"{mask}_{name}": partial(_ours, {"budget": budget, "mask": mask})
        for mask in MASKS
        for name, (budget, _) in BUDGETS.items()
    },
    **{
        f"learned_{kind}_{name}": partial(_ours, _learned(options, *budget))
        for kind, options in LEARNED.items()
        for name, budget in BUDGETS.items()
    },
    "auto_1%": partial(_ours, {"density": 0.01, "bypass": "auto"}),
}
WAYS = OTHERS | MASKED


class Task(NamedTuple):
    """A training by SGD with momentum.

    Parameters
    ----------
    make, batch
        Its network, and its batches.
    rate : float
        Of the first step.
    held_out
        What losses are of.
    last_rate : float
        What the rate falls to in a line by the last step, as a part of the first.
    """

    make: Callable[[], nn.Module]
    batch: Callable[[torch.Generator], Batch]
    rate: float
    held_out: Callable[[], Batch]
    last_rate: float = 1.0


def _layers(*widths: int) -> nn.Sequential:
    made: list[nn.Module] = []
    for before, after in pairwise(widths):
        made += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*made[:-1])


def _labelled(count: int, generator: torch.Generator) -> Batch:
    """Samples, and the labels that a fixed random network gives them."""
    state = torch.get_rng_state()
    torch.manual_seed(99)
    teacher = _layers(64, 32, 10)
    torch.set_rng_state(state)
    x = torch.randn((count, 64), generator=generator)
    return x, teacher(x).argmax(dim=1)


def _characters(number: int, windows: int, generator: torch.Generator) -> Batch:
    return batch_of(text()[number], windows, generator)


TASKS = {
    "transformer_0.8M": Task(
        Transformer,
        partial(_characters, 0, 8),
        0.1,
        lambda: _characters(1, 64, torch.Generator().manual_seed(5)),
    ),
    "conv_0.3M": Task(
        lambda: build(digits(), torch.initial_seed(), "conv"),
        partial(augmented, 64),
        0.02,
        held_out,
        last_rate=0.0,
    ),
    "mlp_0.1M": Task(
        partial(_layers, 64, 256, 256, 10),
        partial(_labelled, 32),
        0.05,
        lambda: _labelled(4096, torch.Generator().manual_seed(5)),
    ),
}
