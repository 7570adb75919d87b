"""A plain NumPy trainer, which shares no code with adagrain or PyTorch: what training must give.

Two layers without activations, squared error, in float64. Workers, backward passes, cadences,
clipping and optimizers are written down as their definitions have them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Case", "batch", "first_weights", "trained"]

INPUTS, HIDDEN, OUTPUTS, SAMPLES = 4, 6, 3, 8


@dataclass(frozen=True)
class Case:
    """A training.

    Parameters
    ----------
    optimizer : str
        ``sgd`` or ``adamw``.
    settings : dict
        Its settings, as PyTorch names them.
    by : str
        How parameters are divided.
    cadences : dict of str to int
        Steps per update by region; 1 for others.
    cap : float
        Highest rate of a cadence above 1.
    passes : int
        Backward passes per step.
    no_sync : bool
        All passes but the last are inside ``no_sync``.
    clip : float
        Largest norm, or 0.
    decay : float
        Factor of the rate after each step.
    aside : bool
        The last layer is in no region.
    resting : bool
        The first layer's bias is not used in odd steps.
    zeros : bool
        Gradients are zeroed in place, not set to ``None``.
    strays : bool
        In all steps but the first, one worker makes a forward pass more before it steps.
    workers, steps : int
        How many.
    """

    optimizer: str = "sgd"
    settings: Mapping[str, Any] = field(default_factory=lambda: {"lr": 0.05})
    by: str = "module"
    cadences: Mapping[str, int] = field(default_factory=dict)
    cap: float = 0.2
    passes: int = 1
    no_sync: bool = False
    clip: float = 0.0
    decay: float = 1.0
    aside: bool = False
    resting: bool = False
    zeros: bool = False
    strays: bool = False
    workers: int = 2
    steps: int = 16


def first_weights() -> dict[str, np.ndarray]:
    """Weights at the beginning, float32."""
    draw = np.random.default_rng(1)
    shapes = {
        "first.weight": (HIDDEN, INPUTS),
        "first.bias": (HIDDEN,),
        "last.weight": (OUTPUTS, HIDDEN),
    }
    return {n: draw.normal(0, 0.4, shape).astype(np.float32) for n, shape in shapes.items()}


def batch(worker: int, step: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets of a backward pass, float32."""
    draw = np.random.default_rng([worker, step, number])
    shapes = (SAMPLES, INPUTS), (SAMPLES, OUTPUTS)
    return tuple(draw.normal(size=shape).astype(np.float32) for shape in shapes)


def trained(case: Case) -> dict[str, np.ndarray]:
    """Weights at the end."""
    weights = {name: value.astype(np.float64) for name, value in first_weights().items()}
    places = _places(case.by)
    sums = [dict.fromkeys(places, 0.0) for _ in range(case.workers)]
    memory: dict[str, dict[str, Any]] = {region: {} for region in places}
    for step in range(case.steps):
        for worker in range(case.workers):
            for number in range(case.passes):
                bias = 0.0 if case.resting and step % 2 else 1.0
                found = _gradients(weights, bias, *batch(worker, step, number))
                for region, (name, rows) in places.items():
                    sums[worker][region] = sums[worker][region] + found[name][rows]
        due = {}
        for region in places:
            cadence = _cadence(case, region)
            if (step + 1) % cadence == 0:
                due[region] = sum(own[region] for own in sums) / case.workers / cadence
                for own in sums:
                    own[region] = 0.0
        if case.clip:
            norm = np.sqrt(sum(np.sum(g * g) for g in due.values()))
            due = {region: g * min(1.0, case.clip / norm) for region, g in due.items()}
        for region, gradient in due.items():
            rate = case.settings["lr"] * case.decay**step
            rate *= min(_cadence(case, region), max(1.0, case.cap / rate))
            name, rows = places[region]
            old = weights[name][rows]
            update = {"sgd": _sgd, "adamw": _adamw}[case.optimizer]
            weights[name][rows] = update(old, gradient, rate, case.settings, memory[region])
    return weights


def _cadence(case: Case, region: str) -> int:
    """A region is a module, a parameter or some of its rows; the longest name that fits counts."""
    fitting = [name for name in case.cadences if region == name or region.startswith(f"{name}.")]
    return case.cadences[max(fitting, key=len)] if fitting else 1


def _places(by: str) -> dict[str, tuple[str, slice]]:
    """Parameter and rows of what is updated at a time."""
    if by == "rows:2":
        return {
            "first.weight[0:3]": ("first.weight", slice(0, 3)),
            "first.weight[3:6]": ("first.weight", slice(3, 6)),
            "first.bias": ("first.bias", slice(None)),
            "last.weight[0:1]": ("last.weight", slice(0, 1)),
            "last.weight[1:3]": ("last.weight", slice(1, 3)),
        }
    return {name: (name, slice(None)) for name in ("first.weight", "first.bias", "last.weight")}


def _gradients(
    weights: Mapping[str, np.ndarray], bias: float, x: np.ndarray, wanted: np.ndarray
) -> dict[str, np.ndarray]:
    """Of the mean squared error; the bias counts so many times."""
    x, wanted = x.astype(np.float64), wanted.astype(np.float64)
    hidden = x @ weights["first.weight"].T + bias * weights["first.bias"]
    error = 2 * (hidden @ weights["last.weight"].T - wanted) / wanted.size
    back = error @ weights["last.weight"]
    return {
        "last.weight": error.T @ hidden,
        "first.weight": back.T @ x,
        "first.bias": bias * back.sum(0),
    }


def _sgd(
    old: np.ndarray, g: np.ndarray, rate: float, settings: Mapping[str, Any], memory: dict[str, Any]
) -> np.ndarray:
    g = g + settings.get("weight_decay", 0.0) * old
    if settings.get("momentum"):
        memory["v"] = settings["momentum"] * memory["v"] + g if memory else g
        g = memory["v"]
    return old - rate * g


def _adamw(
    old: np.ndarray, g: np.ndarray, rate: float, settings: Mapping[str, Any], memory: dict[str, Any]
) -> np.ndarray:
    first, second = settings.get("betas", (0.9, 0.999))
    memory["t"] = t = memory.get("t", 0) + 1
    memory["m"] = m = first * memory.get("m", 0.0) + (1 - first) * g
    memory["v"] = v = second * memory.get("v", 0.0) + (1 - second) * g * g
    step = (m / (1 - first**t)) / (np.sqrt(v / (1 - second**t)) + settings.get("eps", 1e-8))
    return old * (1 - rate * settings.get("weight_decay", 0.01)) - rate * step
