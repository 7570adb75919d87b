"""Time to a loss, and accuracy, of speculative training and of what a user would pick instead.

On a link of given figures the padded network is trained with each way and seed. Wanted is the
held-out loss that plain DDP has after its steps, or a little more; the other ways have twice as
many to reach it, and go on to as many as DDP, so that accuracies are held against each other at
equal steps. DDP has buckets of 0.25 MB, whose steps are within a hundredth of those of the best cap
on these links. Ratios and differences are those to DDP with the same seed. Seconds of looks at the
loss do not count. Networks of local steps differ between the workers; the loss is that of their
mean.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from _figures import mean, standard_error
from _lab import Lab
from _lab_options import add_link_options, add_pass_options, add_record_option, lab_of, link_of
from _options import check_ways, from_zero, positive
from _report import check_replaces, report
from _speculation_ways import DDP, WAYS
from _workers import told_by_first
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

WORKER = Path(__file__).with_name("_speculation_loss_worker.py")

PORT = 29_550

#: What is held against plain DDP, the first of them.
CHOSEN = (
    *("ddp 0.25", "adaptive", "adaptive, depth 2"),
    *("adaptive, cadences", "adaptive, cadences, depth 2"),
    *("PostLocalSGD 4", "PostLocalSGD 16", "DiLoCo 4", "DiLoCo 16"),
)

#: Losses that are wanted, by the one that DDP has after its steps; and what figures are called.
LEVELS = {f"times_faster_to_{level:g}_of_loss": level for level in (1.0, 1.1, 1.25)}

#: The largest error of a guess, relative to the truth, where it is not given.
TAU = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_link_options(parser)
    add_pass_options(parser)
    parser.add_argument("--seeds", type=positive, default=10, help="usually 10")
    parser.add_argument("--steps", type=positive, default=240, help="of DDP; usually 240")
    parser.add_argument("--tau", type=from_zero, default=TAU, help=f"usually {TAU}")
    parser.add_argument("--ways", nargs="+", default=[*CHOSEN], metavar="WAY")
    add_record_option(parser)
    options = parser.parse_args()
    check_ways(parser, options.ways, WAYS)
    if options.ways[0] not in DDP:
        parser.error(f"first of the ways must be one of {', '.join(DDP)}, not {options.ways[0]!r}")
    link = link_of(options)
    name = options.record or f"speculation_loss_{kind_of(options)}{link.name}"
    if options.record is not None:
        check_replaces(name, options.ways, options.seeds)
    with lab_of(options) as made:
        outcomes = outcomes_of(made, options)
    figures = {way: figure(outcomes[options.ways[0]], own) for way, own in outcomes.items()}
    show(figures)
    if options.record is not None:
        settings = {name: getattr(options, name) for name in ("tau", "steps", "seeds")}
        report(name, {"link": str(link), **settings, **figures})


def kind_of(options: argparse.Namespace) -> str:
    """What is in the name of a record beside the link; nothing for padded passes at τ 0.5."""
    tau = "" if options.tau == TAU else f"tau_{options.tau:g}_"
    return tau if options.forward or options.backward else f"unpadded_{tau}"


def outcomes_of(made: Lab, options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """By way, what came of it with each seed."""
    job = {"ways": options.ways, "seeds": options.seeds, "steps": options.steps}
    job |= {"passes": (options.forward, options.backward), "tau": options.tau}
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with Progress() as progress:
        bar = progress.add_task("training", total=options.seeds * len(options.ways))
        for told in told_by_first(made.places, WORKER, job, PORT):
            found[told["way"]].append(told)
            text = "seed {seed}, {way}: {accuracy:.1f} %, {ms:.0f} ms a step"
            progress.console.print(text.format(**told))
            progress.advance(bar)
    return dict(found)


def figure(first: list[dict[str, Any]], own: list[dict[str, Any]]) -> dict[str, Any]:
    """What came of a way, beside the first one with the same seeds."""
    pairs = [*zip(first, own, strict=True)]
    points = [run["accuracy"] - before["accuracy"] for before, run in pairs]
    return {
        "ms_a_step": median(run["ms"] for run in own),
        "times_faster": [round(before["ms"] / run["ms"], 3) for before, run in pairs],
        **{
            name: [round(sooner(before, run, level), 3) for before, run in pairs]
            for name, level in LEVELS.items()
        },
        "accuracy": mean([run["accuracy"] for run in own]),
        "points_beside_ddp": mean(points),
        "error_of_points": standard_error(points),
    }


def sooner(before: dict[str, Any], run: dict[str, Any], level: float) -> float:
    """How much faster a run has come to a loss than the one it is held against; 0: it has not."""
    wanted = level * before["loss"]
    theirs, own = (
        next((seconds for seconds, loss in each["curve"] if loss <= wanted), None)
        for each in (before, run)
    )
    return theirs / own if own and theirs else 0.0


def show(figures: dict[str, dict[str, Any]]) -> None:
    """Print a table of them."""
    losses = [f"to {level:g} of its loss" for level in LEVELS.values()]
    table = Table("way", "ms a step", "steps as fast", *losses, "accuracy", "beside DDP")
    for way, own in figures.items():
        table.add_row(
            way,
            f"{own['ms_a_step']:.0f}",
            f"{median(own['times_faster']):.2f}",
            *(f"{median(own[name]):.2f}" for name in LEVELS),
            f"{own['accuracy']:.2f} %",
            f"{own['points_beside_ddp']:+.2f} ± {own['error_of_points']:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
