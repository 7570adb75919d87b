"""Networks that choose their precision, against fixed precisions and fixed mixes of them.

Trains the digits and a small character transformer in one process each, with golden devices (bit
for bit what the RTL computes). Bit-operations are multiplications times the bits of both operands,
forward and backward, of all layers that are converted, as parts of those of FP16 throughout.
The *frontier* is what fixed formats and mixes reach: the convex hull of their mean losses, or
errors, over bit-operations. The penalty falls to zero with the run. Losses are on held-out data;
all ways see the same seeds.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import torch
import typer
from _report import RESULTS, report
from _text import BATCH, CharTransformer, batch_of, text
from rich.progress import Progress
from torch import nn
from torch.nn import functional

from adagrain.granular import Granularity, Policy, convert
from adagrain.host.train.data import load
from adagrain.host.train.networks import build
from adagrain.host.train.schedule import remaining, schedule

SEEDS = range(5)
PENALTIES = (0.0, 0.3, 0.6, 1.0)

#: Rate of the thresholds, and batches of the character model that are held out.
THRESHOLD_RATE, HELD_OUT = 1.0, 8

#: Of the picture, in parts of FP16's bit-operations.
TICKS = (0.15, 0.2, 0.25, 0.5, 1, 2, 4)


@dataclass(frozen=True)
class Way:
    """How a network is computed.

    Parameters
    ----------
    name : str
        For the report.
    fixed : tuple of str
        Precisions of the layers, in their order; empty: they choose.
    in_turn : bool
        The precisions of ``fixed`` take turns; else each has as many layers in a row.
    penalty : float
        λ at first, where they choose.
    """

    name: str
    fixed: tuple[str, ...] = ()
    in_turn: bool = False
    penalty: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """Accuracy and loss on held-out data, and what it took."""

    accuracy: float
    loss: float
    bit_operations: float
    work: Mapping[str, float]
    switches: int


WAYS = (
    *(Way(name, (name,)) for name in ("FP32", "FP16", "INT8", "INT4")),
    Way("INT8, then INT4", ("INT8", "INT4")),
    Way("INT4, then INT8", ("INT4", "INT8")),
    Way("INT4 and INT8 in turn", ("INT4", "INT8"), in_turn=True),
    Way("INT8 and INT4 in turn", ("INT8", "INT4"), in_turn=True),
    Way("FP16, then INT8", ("FP16", "INT8")),
    *(Way(f"dynamic, penalty {penalty:g}", penalty=penalty) for penalty in PENALTIES),
)


def main(
    only: Annotated[str, typer.Option(help="digits or text; by default both.")] = "",
    seeds: Annotated[int, typer.Option(help="How many.")] = len(SEEDS),
) -> None:
    """Train all ways on all seeds, and compare."""
    for task in TASKS:
        if only in task:
            found = train(task, range(seeds))
            rows = compared(found)
            report(f"granular_{task}", {"seeds": seeds, **rows})
            draw(task, rows, RESULTS / f"granular_{task}.png")


def train(task: str, seeds: Sequence[int]) -> dict[str, list[Outcome]]:
    """Outcomes by way, in the order of the seeds."""
    found: dict[str, dict[int, Outcome]] = {way.name: {} for way in WAYS}
    with Progress() as progress, ProcessPoolExecutor(2) as pool:
        bar = progress.add_task(task, total=len(WAYS) * len(seeds))
        jobs = {pool.submit(run, task, way, seed): (way, seed) for way in WAYS for seed in seeds}
        for job in as_completed(jobs):
            way, seed = jobs[job]
            found[way.name][seed] = job.result()
            progress.advance(bar)
    return {name: [rows[seed] for seed in seeds] for name, rows in found.items()}


def run(task: str, way: Way, seed: int) -> Outcome:
    """Train once."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    return TASKS[task](way, seed)


def digits(way: Way, seed: int, steps: int = 1050, batch: int = 64) -> Outcome:
    """The perceptron of ``adagrain train``, alone."""
    data = load("digits")
    model, granularity = converted(build(data, seed), way)
    weights, thresholds = parameters(model)
    optimizer = torch.optim.SGD(weights, lr=0.1, momentum=0.9)
    generator = torch.Generator().manual_seed(seed)

    def batches() -> tuple[torch.Tensor, torch.Tensor]:
        chosen = torch.randint(len(data.inputs), (batch,), generator=generator)
        return data.inputs[chosen], data.labels[chosen]

    fit(model, granularity, optimizer, thresholds, steps, batches)
    with torch.no_grad():
        logits = model.eval()(data.test_inputs)
    return outcome(logits, data.test_labels, granularity)


def characters(way: Way, seed: int, steps: int = 400) -> Outcome:
    """Two blocks of a transformer on Python's help texts."""
    learnt, held_out, alphabet = text()
    model, granularity = converted(CharTransformer(alphabet), way)
    weights, thresholds = parameters(model)
    optimizer = torch.optim.AdamW(weights, lr=3e-3)
    generator = torch.Generator().manual_seed(seed)
    batches = lambda: batch_of(learnt, BATCH, generator)  # noqa: E731
    fit(model, granularity, optimizer, thresholds, steps, batches)
    same = torch.Generator().manual_seed(0)
    with torch.no_grad():
        tests = [batch_of(held_out, 64, same) for _ in range(HELD_OUT)]
        logits = torch.cat([model.eval()(inputs).flatten(0, 1) for inputs, _ in tests])
    return outcome(logits, torch.cat([labels.flatten() for _, labels in tests]), granularity)


TASKS: dict[str, Callable[[Way, int], Outcome]] = {"digits": digits, "text": characters}


def converted(model: nn.Module, way: Way) -> tuple[nn.Module, Granularity]:
    """The model as a way has it."""
    if not way.fixed:
        model = convert(model, Policy(penalty=way.penalty))
        return model, Granularity(model)
    layers = [name for name, layer in model.named_modules() if isinstance(layer, nn.Linear)]
    count = len(way.fixed)
    in_turn = [number % count for number in range(len(layers))]
    in_blocks = [number * count // len(layers) for number in range(len(layers))]
    places = in_turn if way.in_turn else in_blocks
    chosen = {n: Policy(fixed=way.fixed[p]) for n, p in zip(layers, places, strict=True)}
    model = convert(model, overrides=chosen)
    return model, Granularity(model)


def parameters(model: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Weights, and thresholds that are learnt."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    return (
        [p for name, p in named if not name.endswith("thresholds")],
        [p for name, p in named if name.endswith("thresholds")],
    )


def fit(
    model: nn.Module,
    granularity: Granularity,
    optimizer: torch.optim.Optimizer,
    thresholds: list[nn.Parameter],
    steps: int,
    batches: Callable[[], tuple[torch.Tensor, torch.Tensor]],
) -> None:
    """Train as ``adagrain train`` does."""
    optimizers = [optimizer]
    if thresholds:
        optimizers.append(torch.optim.SGD(thresholds, lr=THRESHOLD_RATE, momentum=0.9))
    rates = schedule(optimizer, steps=steps, warmup=32)
    for step in range(steps):
        inputs, labels = batches()
        for each in optimizers:
            each.zero_grad()
        loss = functional.cross_entropy(model(inputs).flatten(0, -2), labels.flatten())
        (loss + remaining(step, steps) * granularity.penalty()).backward()
        for each in (*optimizers, rates):
            each.step()
        granularity.step()


def outcome(logits: torch.Tensor, labels: torch.Tensor, granularity: Granularity) -> Outcome:
    total = sum(granularity.work.values())
    found = Outcome(
        accuracy=100 * (logits.argmax(1) == labels).double().mean().item(),
        loss=functional.cross_entropy(logits, labels).item(),
        bit_operations=granularity.bit_operations / (total * 16**2),
        work={p.name: count / total for p, count in granularity.work.items()},
        switches=granularity.switches,
    )
    granularity.close()
    return found


def compared(found: Mapping[str, Sequence[Outcome]]) -> dict[str, Any]:
    """Means, and how far each way is from FP32 and from the frontier."""
    fixed = [found[way.name] for way in WAYS if way.fixed and way.name != "FP32"]
    of_loss = hull([point(outcomes) for outcomes in fixed])
    of_error = hull([(point(o)[0], 100 - accuracy(o)) for o in fixed])
    rows: dict[str, Any] = {}
    reference = point(found["FP32"])
    for name, outcomes in found.items():
        bits, loss = point(outcomes)
        rows[name] = {
            "accuracy": round(accuracy(outcomes), 5),
            "loss": loss,
            "loss_to_fp32": loss / reference[1] - 1,
            "bit_operations_to_fp16": bits,
            "loss_below_frontier": float(np.interp(bits, *of_loss)) - loss,
            "accuracy_above_frontier": float(np.interp(bits, *of_error)) - 100 + accuracy(outcomes),
            "work": {p: mean([o.work[p] for o in outcomes]) for p in outcomes[0].work},
            "switches": mean([o.switches for o in outcomes]),
            "losses": [round(o.loss, 5) for o in outcomes],
            "accuracies": [round(o.accuracy, 3) for o in outcomes],
        }
    return rows


def mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 5)


def accuracy(outcomes: Sequence[Outcome]) -> float:
    """Mean, in percent."""
    return float(np.mean([o.accuracy for o in outcomes]))


def point(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """Mean bit-operations and mean loss."""
    return (
        float(np.mean([o.bit_operations for o in outcomes])),
        float(np.mean([o.loss for o in outcomes])),
    )


def hull(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Lower left convex hull: what is reached by choosing among the points, or mixing two."""
    kept: list[tuple[float, float]] = []
    for x, y in sorted(points):
        if kept and y >= kept[-1][1]:
            continue
        while len(kept) > 1 and _above(kept[-2], kept[-1], (x, y)):
            kept.pop()
        kept.append((x, y))
    return [x for x, _ in kept], [y for _, y in kept]


def _above(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


def draw(task: str, rows: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Loss over bit-operations, of every way, with the frontier."""
    figure, axis = plt.subplots(figsize=(8, 5))
    fixed = [way.name for way in WAYS if way.fixed]
    points = {name: (row["bit_operations_to_fp16"], row["loss"]) for name, row in rows.items()}
    axis.plot(*hull([points[name] for name in fixed]), color="#9ca3af", zorder=1)
    for name, row in rows.items():
        is_fixed = name in fixed
        colour = "#6b7280" if is_fixed else "#7c3aed"
        deviation = float(np.std(row["losses"])) / len(row["losses"]) ** 0.5
        axis.errorbar(*points[name], deviation, fmt="o", color=colour, markersize=4, zorder=2)
        axis.annotate(
            name,
            points[name],
            xytext=(5, 3) if is_fixed else (-5, -3),
            textcoords="offset points",
            ha="left" if is_fixed else "right",
            va="bottom" if is_fixed else "top",
            color=colour,
            fontsize=7,
        )
    axis.set_xscale("log")
    axis.set_xlim(left=0.6 * min(bits for bits, _ in points.values()))
    axis.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS], minor=False)
    axis.set_xticks([], minor=True)
    axis.set_xlabel("bit-operations, of FP16 throughout")
    axis.set_ylabel("held-out loss, mean and standard error")
    axis.set_title(f"{task}: fixed precisions and their frontier (grey), chosen ones (violet)")
    axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    typer.run(main)
