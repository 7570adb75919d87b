"""Cost of a granular layer in training on the host, against the plain layer.

A forward and a backward pass, one thread, medians of interleaved runs. The choosing layer looks at
its input in some of its steps, and thresholds get gradients then.
"""

import statistics
import sys
import time
from collections.abc import Callable

import torch
from _report import report
from rich.progress import track
from torch import nn

from adagrain.granular import Granularity, Policy, convert

ROUNDS = 80

#: Layers, and the shapes of their inputs.
LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "64x256x256": (lambda: nn.Linear(256, 256), (64, 256)),
    "256x512x512": (lambda: nn.Linear(512, 512), (256, 512)),
    "conv_32x32x16x16_64": (lambda: nn.Conv2d(32, 64, 3, padding=1), (32, 32, 16, 16)),
}

#: What a step may cost: the exact order of floats, integers, and integers that are sampled and
#: give thresholds gradients.
MOST = {"FP32": 8.0, "FP16": 8.0, "INT8": 3.0, "INT4": 3.0, "choosing": 4.0}

WAYS = {name: Policy(fixed=name) for name in ("FP32", "FP16", "INT8", "INT4")} | {
    "choosing": Policy(penalty=0.02)
}


def main() -> None:
    """Measure all layers."""
    torch.set_num_threads(1)
    figures, slow = {}, []
    for layer, (make, shape) in LAYERS.items():
        for name, ratio in ratios(layer, make, shape).items():
            figures[f"{name}_to_plain_{layer}"] = ratio
            if ratio > MOST[name]:
                slow.append(f"{name} of {layer} must take at most {MOST[name]:g}, not {ratio:.2f}")
    report("granular_cost", figures)
    sys.exit("; ".join(slow) or None)


def ratios(layer: str, make: Callable[[], nn.Module], shape: tuple[int, ...]) -> dict[str, float]:
    """Median time of each way, as a multiple of the plain layer's."""
    x = torch.randn(shape)
    gradient = torch.randn_like(make()(x))
    passes = {"plain": passing(make(), x, gradient)}
    for name, policy in WAYS.items():
        passes[name] = granular(make(), policy, x, gradient)
    times: dict[str, list[float]] = {name: [] for name in passes}
    for _ in track(range(ROUNDS), layer):
        for name, step in passes.items():
            times[name].append(timed(step))
    plain = statistics.median(times.pop("plain"))
    return {name: means(name, found) / plain for name, found in times.items()}


def means(name: str, times: list[float]) -> float:
    """Median; of the choosing layer the mean of the medians at looks and between them."""
    if name != "choosing":
        return statistics.median(times)
    every = WAYS[name].every
    return statistics.mean(statistics.median(times[first::every]) for first in range(every))


def granular(
    plain_layer: nn.Module, policy: Policy, x: torch.Tensor, gradient: torch.Tensor
) -> Callable[[], None]:
    layer = convert(plain_layer, policy)
    granularity, plain = Granularity(layer), passing(layer, x, gradient)

    def step() -> None:
        plain()
        granularity.step()

    return step


def passing(layer: nn.Module, x: torch.Tensor, gradient: torch.Tensor) -> Callable[[], None]:
    rows = x.clone().requires_grad_()

    def step() -> None:
        layer(rows).backward(gradient)

    return step


def timed(step: Callable[[], None]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
