"""Networks that choose their precision, against fixed precisions and fixed mixes of them.

Trains the digits and a small character transformer in one process each, with golden devices (bit
for bit what the RTL computes). Bit-operations are multiplications times the bits of both operands,
forward and backward, of all layers that are converted, as parts of those of FP16 throughout; what
layers learn to choose by takes no products. The *frontier* is what fixed formats and mixes reach:
the convex hull of their mean losses, or errors, over bit-operations. How far a way is from it is a
mean over seeds, with its standard error: of each seed, against the two ways beside it on the hull
with the same seed. The penalty falls to zero with the run. Losses are on held-out data.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any

import numpy as np
import torch
import typer
from _figures import mean, standard_error
from _frontier import LOWER, draw, frontier
from _options import counted
from _report import RESULTS, report
from _text import BATCH, batch_of
from rich.progress import Progress
from torch import nn
from torch.nn import functional

from adagrain.granular import Granularity, Policy, convert
from adagrain.host.train.data import load
from adagrain.host.train.networks import build
from adagrain.host.train.schedule import remaining, schedule
from adagrain.host.train.text import text
from adagrain.host.train.transformer import CharTransformer

#: Seeds of each task: the digits' few test images make theirs differ more.
SEEDS = {"digits": 15, "text": 5}
PENALTIES = (0.0, 0.3, 0.6, 1.0)

#: Rate of the thresholds, and batches of the character model that are held out.
THRESHOLD_RATE, HELD_OUT = 1.0, 8


@dataclass(frozen=True)
class Way:
    """A way to compute a network.

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
    gradients : str
        Lowest precision of the backward pass.
    """

    name: str
    fixed: tuple[str, ...] = ()
    in_turn: bool = False
    penalty: float = 0.0
    gradients: str = "INT8"


@dataclass(frozen=True)
class Outcome:
    """Accuracy and loss on held-out data, and what it took."""

    accuracy: float
    loss: float
    bit_operations: float
    work: Mapping[str, float]
    switches: int


#: Mixes of which each layer has one, as the digits have three, or each half, or every other layer.
MIXES = {
    "digits": [
        Way(" ".join(mix), mix) for mix in product(("INT4", "INT8"), repeat=3) if len(set(mix)) > 1
    ],
    "text": [
        Way("INT8, then INT4", ("INT8", "INT4")),
        Way("INT4, then INT8", ("INT4", "INT8")),
        Way("INT4 and INT8 in turn", ("INT4", "INT8"), in_turn=True),
        Way("INT8 and INT4 in turn", ("INT8", "INT4"), in_turn=True),
    ],
}


def ways(task: str) -> list[Way]:
    """All that are compared; those that have INT4 also with INT4 in the backward pass."""
    formats = [Way(name, (name,)) for name in ("FP32", "FP16", "INT8", "INT4")]
    chosen = [Way(f"dynamic, penalty {penalty:g}", penalty=penalty) for penalty in PENALTIES]
    lower = [
        replace(way, name=f"{way.name}{LOWER}", gradients="INT4")
        for way in (formats[-1], *MIXES[task], *chosen[1:])
    ]
    return [*formats, *MIXES[task], Way("FP16, then INT8", ("FP16", "INT8")), *chosen, *lower]


def main(
    only: Annotated[str, typer.Option(help="digits or text; by default both.")] = "",
    seeds: Annotated[
        int | None, typer.Option(callback=counted, help="How many; by default 15 and 5.")
    ] = None,
) -> None:
    """Train all ways on all seeds, and compare."""
    for task in TASKS:
        if only in task:
            count = seeds or SEEDS[task]
            whole = count >= SEEDS[task]
            rows = compared(task, train(task, range(count)))
            report(f"granular_{task}", {"seeds": count, **rows}, whole=whole)
            if whole:
                fixed = [way.name for way in ways(task) if way.fixed]
                draw(task, rows, fixed, RESULTS / f"granular_{task}.png")


def train(task: str, seeds: Sequence[int]) -> dict[str, list[Outcome]]:
    """Outcomes by way, in the order of the seeds."""
    pairs = list(product(ways(task), seeds))
    found: dict[str, dict[int, Outcome]] = {way.name: {} for way, _ in pairs}
    with Progress() as progress, ProcessPoolExecutor(2) as pool:
        bar = progress.add_task(task, total=len(pairs))
        jobs = {pool.submit(run, task, way, seed): (way, seed) for way, seed in pairs}
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
        model = convert(model, Policy(penalty=way.penalty, gradients=way.gradients))
        return model, Granularity(model)
    layers = [name for name, layer in model.named_modules() if isinstance(layer, nn.Linear)]
    count = len(way.fixed)
    in_turn = [number % count for number in range(len(layers))]
    in_blocks = [number * count // len(layers) for number in range(len(layers))]
    places = in_turn if way.in_turn else in_blocks
    chosen = {
        name: Policy(fixed=way.fixed[place], gradients=way.gradients)
        for name, place in zip(layers, places, strict=True)
    }
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


def compared(task: str, found: Mapping[str, Sequence[Outcome]]) -> dict[str, Any]:
    """Means, and how far each way is from FP32 and from the frontier."""
    bits = {name: mean([o.bit_operations for o in outcomes]) for name, outcomes in found.items()}
    losses = {name: np.array([o.loss for o in outcomes]) for name, outcomes in found.items()}
    errors = {
        name: np.array([100 - o.accuracy for o in outcomes]) for name, outcomes in found.items()
    }
    fixed = [way.name for way in ways(task) if way.fixed]
    rows: dict[str, Any] = {}
    for name, outcomes in found.items():
        below = frontier(fixed, bits, losses, bits[name]) - losses[name]
        above = frontier(fixed, bits, errors, bits[name]) - errors[name]
        rows[name] = {
            "accuracy": mean([o.accuracy for o in outcomes]),
            "loss": mean(losses[name]),
            "loss_to_fp32": float(losses[name].mean() / losses["FP32"].mean()) - 1,
            "bit_operations_to_fp16": bits[name],
            "loss_below_frontier": mean(below),
            "loss_below_frontier_error": standard_error(below),
            "accuracy_above_frontier": mean(above),
            "accuracy_above_frontier_error": standard_error(above),
            "work": {p: mean([o.work[p] for o in outcomes]) for p in outcomes[0].work},
            "switches": mean([o.switches for o in outcomes]),
            "losses": [round(o.loss, 5) for o in outcomes],
            "accuracies": [round(o.accuracy, 3) for o in outcomes],
        }
    return rows


if __name__ == "__main__":
    typer.run(main)
