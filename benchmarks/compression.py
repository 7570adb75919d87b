"""Loss against bytes, and time to a loss on a slow link: our exchange and PyTorch's own ways.

Two workers on gloo train alike networks on the same batches, each way in turn, with each seed:
all-reduce of FP32, PyTorch's FP16 hook, PowerSGD of three ranks, and ours with several masks.
Bytes are all that a worker puts into collectives in the whole run: slots, agreements, probes,
factors. Losses are of what is held out, and as ratios to those of the first way with the same
seed. They are drawn over bytes, too. PowerSGD runs from the third step on, ours without
warm-up. Controls take part where ``--ways`` names them: PowerSGD in FP16 (``powersgd16_4``,
``powersgd16_8``), with Nesterov's momentum at half the rate, too
(``powersgd16_8_nesterov_half_rate``), elements by chance of which the others are lost
(``random_1%_without_error_feedback``), and workers that never meet behind the second step
(``local_sgd_never``).

With ``--link 10`` each worker has a network namespace of its own, and 10 Mbit/s between them
(root, ``ip``, ``g++``, TUN devices), and PyTorch's local SGD takes part; then seconds count: those
until the loss that FP16 has at the end of its steps, for which others have twice as many. FP16
chose that loss, and others may not meet it on their way; so seconds count, too, until the lowest
loss that FP16 and a way both come to in FP16's steps, which favours neither; and until one that is
the same for all seeds, the highest that FP16 ends at with any, which no run has chosen but that
one. With ``--same-steps`` all take FP16's steps, and their time is held against that of FP16 just
before. Networks of local SGD differ between the workers; their losses are those of the mean, which
costs nothing here.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from _compression_aims import beyond_aims_of_link, beyond_aims_of_losses, beyond_aims_of_time
from _compression_picture import draw
from _compression_ways import WAYS as KNOWN
from _figures import mean, standard_error
from _lab import lab
from _lab_options import add_record_option
from _link import Link, reason_against
from _options import above_zero, check_once, check_ways, positive
from _report import RESULTS, check_replaces, report
from _workers import Place, free_port, told_by_first
from rich.console import Console
from rich.progress import Progress
from rich.table import Column, Table

WORKER = Path(__file__).parent / "_compression_worker.py"

#: Steps by task; on a link, where the slowest way takes seconds for each, fewer.
STEPS = {"transformer_0.8M": 120, "conv_0.3M": 160, "mlp_0.1M": 320}
LINK_STEPS = {"transformer_0.8M": 90}

#: Ways, all and on a link; the first one is what others are held against.
WAYS = (
    *("fp16", "dense", "powersgd_1", "powersgd_2", "powersgd_4"),
    *("threshold_5%", "threshold_1%", "threshold_0.1%", "threshold_1%_2_bits"),
    "threshold_before_1%",
    *("corrected_1%_2_bits", "nesterov_1%_2_bits"),
    *("top_by_share_1%", "top_1%", "random_1%"),
)
LINK_WAYS = (
    *("fp16", "powersgd_4", "powersgd_2", "powersgd_1"),
    *("local_sgd_4", "local_sgd_16", "local_sgd_64"),
    *("threshold_5%", "threshold_1%", "threshold_1%_2_bits", "nesterov_1%_2_bits"),
    *("auto_1%", "auto_nesterov_1%_2_bits"),
)


#: Tasks of which losses are asked, in runs of so many steps and seeds.
AIMED, LONG, SEEDS = ("transformer_0.8M", "conv_0.3M"), 240, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=positive, help="of the transformer; others in proportion")
    parser.add_argument(
        "--link", type=above_zero, metavar="MBIT", help="Mbit/s between the workers"
    )
    parser.add_argument(
        "--same-steps", action="store_true", help="on a link: time of steps, not until a loss"
    )
    known = ", ".join(KNOWN).replace("%", "%%")
    parser.add_argument("--ways", nargs="+", metavar="WAY", help=f"which of {known}")
    parser.add_argument("--tasks", nargs="+", choices=[*STEPS], help="which of them")
    parser.add_argument("--seeds", type=positive, default=1)
    add_record_option(parser)
    options = parser.parse_args()
    check_ways(parser, options.ways or (), KNOWN)
    check_once(parser, "tasks", options.tasks or ())
    if options.same_steps and not options.link:
        parser.error("--same-steps must be with --link")
    steps = LINK_STEPS if options.link else STEPS
    tasks = [task for task in steps if task in (options.tasks or steps)]
    if options.tasks and len(tasks) < len({*options.tasks}):
        parser.error(f"tasks on a link must be of {', '.join(steps)}, not {options.tasks}")
    if options.link and (reason := reason_against()):
        print(f"left out: {reason}")
        return
    scale = (options.steps or steps["transformer_0.8M"]) / steps["transformer_0.8M"]
    job = {
        "tasks": {task: max(15, round(scale * steps[task])) for task in tasks},
        "ways": options.ways or (LINK_WAYS if options.link else WAYS),
        "seeds": [*range(options.seeds)],
        "to_loss": bool(options.link) and not options.same_steps,
    }
    name = options.record or "_".join(("compression", *_parts(options)))
    whole = options.record is not None or len(sys.argv) == 1
    if whole:
        wanted = [f"{task}_{way}" for task in tasks for way in job["ways"]]
        check_replaces(name, wanted, options.seeds)
    if options.link:
        with lab(Link(options.link)) as made:
            outcomes = outcomes_of(job, made.places)
    else:
        outcomes = outcomes_of(job, [Place((), {"MASTER_ADDR": "127.0.0.1"})] * 2)
    figures = {
        task: {
            way: _figure([own for own in outcomes if own["task"] == task], way, job)
            for way in job["ways"]
        }
        for task in job["tasks"]
    }
    for task, ways in figures.items():
        _show(task, ways, job["ways"][0])
    rows = {f"{task}_{way}": own for task, ways in figures.items() for way, own in ways.items()}
    report(name, rows, whole=whole, keep="--record")
    if not options.link and whole:
        draw(tasks, job["ways"], rows, RESULTS / f"{name}.png")
    sys.exit("; ".join(_beyond_aims(options, figures)) or None)


def _beyond_aims(
    options: argparse.Namespace, figures: dict[str, dict[str, dict[str, Any]]]
) -> Iterator[str]:
    """Where a run falls short of what it is long enough to tell."""
    for task, ways in figures.items():
        if options.link and options.same_steps:
            yield from beyond_aims_of_time(options.link, ways)
        elif options.link:
            yield from beyond_aims_of_link(options.link, ways)
        elif task in AIMED and options.seeds >= SEEDS and (options.steps or 0) >= LONG:
            yield from beyond_aims_of_losses(task, ways)


def _parts(options: argparse.Namespace) -> list[str]:
    """What is in the name of a record beside the benchmark's."""
    if options.link:
        return ["link", f"{options.link:g}", *(["same_steps"] if options.same_steps else ())]
    return [*([f"{options.steps}_steps"] if options.steps else []), *(options.tasks or ())]


def outcomes_of(job: dict[str, Any], places: list[Place]) -> list[dict[str, Any]]:
    """What the first worker tells."""
    outcomes = []
    total = len(job["tasks"]) * len(job["seeds"]) * len(job["ways"])
    with Progress() as progress:
        bar = progress.add_task("training", total=total)
        for outcome in told_by_first(places, WORKER, job, free_port()):
            outcomes.append(outcome)
            told = "{task}, seed {seed}, {way}: loss {loss:.3f}"
            progress.console.print(told.format(**outcome))
            progress.advance(bar)
    return outcomes


def _figure(outcomes: list[dict[str, Any]], way: str, job: dict[str, Any]) -> dict[str, Any]:
    """What came of a way, over all seeds."""
    first = [own for own in outcomes if own["way"] == job["ways"][0]]
    found = [own for own in outcomes if own["way"] == way]
    spent = [own["bytes"] / own["steps"] for own in found]
    ratios = [own["loss"] / before["loss"] for before, own in zip(first, found, strict=True)]
    times = [_seconds(own) / _seconds(before) for before, own in zip(first, found, strict=True)]
    figure: dict[str, Any] = {
        "losses": [round(own["loss"], 4) for own in found],
        "loss": mean([own["loss"] for own in found]),
        "standard_error": standard_error([own["loss"] for own in found]),
        "loss_to_first": mean(ratios),
        "error_of_ratio": standard_error(ratios),
        "kilobytes_a_step": mean(spent) / 1e3,
        "bytes_of_first": mean([own["bytes"] / own["steps"] for own in first]) / mean(spent),
        "ms_a_step": median([1e3 * _seconds(own) for own in found]),
        "time_to_first": mean(times),
        "error_of_time": standard_error(times),
        "overflows": sum(own.get("overflows", 0) for own in found),
        "bypass": sum(own.get("bypass", False) for own in found),
    }
    if job["to_loss"]:
        pairs = [*zip(first, found, strict=True)]
        figure |= _sooner("loss", [(*pair, pair[0]["loss"]) for pair in pairs])
        figure |= _sooner("common_loss", [(*pair, _common(*pair)) for pair in pairs])
        highest = max(own["loss"] for own in first)
        figure |= _sooner("highest_loss", [(*pair, highest) for pair in pairs])
    return figure


def _seconds(outcome: dict[str, Any]) -> float:
    """Of a step."""
    seconds: float = outcome["seconds"][-1] / outcome["steps"]
    return seconds


def _sooner(
    name: str, wanted: Sequence[tuple[dict[str, Any], dict[str, Any], float]]
) -> dict[str, Any]:
    """How much sooner runs have come to losses than those that they are held against."""
    reached = [(_reached(before, loss), _reached(own, loss)) for before, own, loss in wanted]
    return {
        f"steps_to_{name}": [own[1] for _, own in reached],
        f"times_faster_to_{name}": [round(before[0] / own[0], 3) for before, own in reached],
    }


def _common(before: dict[str, Any], own: dict[str, Any]) -> float:
    """The lowest loss that two runs both come to in the steps of the first."""
    looks = len(before["losses"])
    return max(min(run["losses"][:looks]) for run in (before, own))


def _reached(outcome: dict[str, Any], loss: float) -> tuple[float, float | str]:
    """Seconds and steps until a loss was reached; infinite and ``never`` if it was not.

    Between two looks the loss is taken to fall in a line.
    """
    every = outcome["steps"] // len(outcome["losses"])
    losses, seconds = outcome["losses"], outcome["seconds"]
    at = next((look for look, own in enumerate(losses) if own <= loss), None)
    if at is None:
        return float("inf"), "never"
    if not at:
        return seconds[0], every
    missing = (losses[at] - loss) / (losses[at] - losses[at - 1])  # of the way to this look
    since = seconds[at] - seconds[at - 1]
    return seconds[at] - missing * since, round(every * (at + 1 - missing), 1)


def _show(task: str, figures: dict[str, dict[str, Any]], first: str) -> None:
    headings = "loss", f"to {first}'s", "kB a step", f"of {first}'s", "ms a step", f"to {first}'s"
    faster = {
        "times_faster_to_loss": "sooner at its loss",
        "times_faster_to_common_loss": "at both's",
        "times_faster_to_highest_loss": "at any seed's",
    }
    faster = {name: heading for name, heading in faster.items() if name in figures[first]}
    names = Column("way", overflow="fold")
    table = Table(names, *headings, *faster.values(), title=task)
    for way, own in figures.items():
        table.add_row(
            way,
            f"{own['loss']:.3f} ± {own['standard_error']:.3f}",
            f"{own['loss_to_first']:.4f} ± {own['error_of_ratio']:.4f}",
            f"{own['kilobytes_a_step']:.1f}",
            f"1/{own['bytes_of_first']:.1f}",
            f"{own['ms_a_step']:.0f}",
            f"{own['time_to_first']:.3f} ± {own['error_of_time']:.3f}",
            *(_times(own[name]) for name in faster),
        )
    Console().print(table)


def _times(found: Sequence[float]) -> str:
    """How much sooner runs have come to a loss."""
    return f"{mean(found):.2f} ± {standard_error(found):.2f}, median {median(found):.2f}"


if __name__ == "__main__":
    main()
