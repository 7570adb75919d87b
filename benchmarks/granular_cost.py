"""What a granular layer costs in training on the host, against the plain layer.

A forward and a backward pass, one thread, medians of interleaved runs. The choosing layer looks at
its input in every fourth step, and is taught then.
"""

import statistics
import time
from collections.abc import Callable

import torch
from _report import report
from rich.progress import track
from torch import nn

from adagrain.granular import Granularity, Policy, convert

ROUNDS = 40

#: Samples, inputs, outputs.
SIZES = ((64, 256, 256), (256, 512, 512))

WAYS = {name: Policy(fixed=name) for name in ("FP32", "FP16", "INT8", "INT4")} | {
    "choosing": Policy(penalty=0.02)
}


def main() -> None:
    """Measure all sizes."""
    torch.set_num_threads(1)
    figures = {}
    for size in SIZES:
        for name, ratio in ratios(*size).items():
            figures[f"{name}_to_plain_{'x'.join(map(str, size))}"] = ratio
    report("granular_cost", figures)


def ratios(samples: int, inputs: int, outputs: int) -> dict[str, float]:
    """Median time of each way, as a multiple of the plain layer's."""
    x, gradient = torch.randn(samples, inputs), torch.randn(samples, outputs)
    passes = {"plain": passing(nn.Linear(inputs, outputs), x, gradient)}
    for name, policy in WAYS.items():
        passes[name] = granular(inputs, outputs, policy, x, gradient)
    times: dict[str, list[float]] = {name: [] for name in passes}
    for _ in track(range(ROUNDS), f"{samples} × {inputs} × {outputs}"):
        for name, step in passes.items():
            times[name].append(timed(step))
    plain = statistics.median(times.pop("plain"))
    return {name: means(name, found) / plain for name, found in times.items()}


def means(name: str, times: list[float]) -> float:
    """Median; of the choosing layer the mean of the medians at looks and between them."""
    if name != "choosing":
        return statistics.median(times)
    return statistics.mean(statistics.median(times[first::4]) for first in range(4))


def granular(
    inputs: int, outputs: int, policy: Policy, x: torch.Tensor, gradient: torch.Tensor
) -> Callable[[], None]:
    layer = convert(nn.Linear(inputs, outputs), policy)
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
