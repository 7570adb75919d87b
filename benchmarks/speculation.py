"""Milliseconds of a step of speculative training and of plain DDP, on a link of given figures.

All ways take turns in one run; figures are medians over the repeats, and ratios are those to the
best of DDP's bucket caps, repeat by repeat. Passes of convolutions, of 94 thousand parameters, are
padded to a given time by sleeps; the transformer, of a million, takes the time that it takes.
Ways of the runtime have had ten decision epochs before their first turn, so that policies know what
to do, and all are equally far in training. Bytes are those on the wire, of all workers, headers and
all. "Device" is what statistics, differences and decisions of the first worker's golden device take
of a step.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from _lab import Lab
from _lab_options import add_link_options, add_pass_options, add_record_option, lab_of, link_of
from _options import check_ways, from_zero, positive
from _report import check_replaces, report
from _speculation_ways import CHOSEN, DDP, NETS, WAYS
from _workers import told_by_first
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

WORKER = Path(__file__).with_name("_speculation_worker.py")

PORT = 29_530

#: The largest error of a guess, relative to the truth, where it is not given.
TAU = 0.5

#: Steps that are timed in a turn, unless there are more in a period of exchanges.
STEPS = 16

#: Steps in front of the first turn: ten epochs, and some.
SETTLING = 10 * 16 + 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_link_options(parser)
    add_pass_options(parser)
    parser.add_argument("--net", choices=[*NETS], default="convolutions", help="what is trained")
    parser.add_argument("--repeats", type=positive, default=5, help="usually 5")
    parser.add_argument(
        "--steps", type=positive, default=STEPS, help="of a turn, or more, up to whole periods"
    )
    parser.add_argument(
        "--settling", type=int, default=SETTLING, help=f"steps before; usually {SETTLING}"
    )
    parser.add_argument("--tau", type=from_zero, default=TAU, help=f"usually {TAU}")
    parser.add_argument("--ways", nargs="+", default=[*CHOSEN], metavar="WAY")
    add_record_option(parser)
    options = parser.parse_args()
    check_ways(parser, options.ways, WAYS)
    if not DDP.keys() & options.ways:
        parser.error(f"ways must have one of {', '.join(DDP)}")
    link = link_of(options)
    name = options.record or f"speculation_{kind_of(options)}{link.name}"
    if options.record is not None:
        check_replaces(name, options.ways, options.repeats)
    with lab_of(options) as made:
        found = turns(made, options)
    show(found)
    if options.record is not None:
        settings = {name: getattr(options, name) for name in ("tau", "steps", "settling")}
        report(name, {"link": str(link), **settings, **figures(found)})


def kind_of(options: argparse.Namespace) -> str:
    """What is in the name of a record beside the link; nothing for padded convolutions at τ 0.5."""
    tau = "" if options.tau == TAU else f"tau_{options.tau:g}_"
    if options.net != "convolutions":
        return f"{options.net}_{tau}"
    return tau if options.forward or options.backward else f"unpadded_{tau}"


def turns(made: Lab, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """By way: milliseconds and bytes of a step in each repeat, and what was told last."""
    job = {"ways": options.ways, "repeats": options.repeats, "steps": options.steps}
    job |= {"passes": (options.forward, options.backward), "settling": options.settling}
    job |= {"tau": options.tau, "net": options.net}
    found: dict[str, dict[str, Any]] = defaultdict(lambda: {"ms": [], "bytes": []})
    sent, steps = 0, 1
    with Progress() as progress:
        bar = progress.add_task("training", total=options.repeats * len(options.ways))
        for told in told_by_first(made.places, WORKER, job, PORT):
            now, own = sum(count.sent for count in made.counts()), found[told.pop("way")]
            if "begins" in told:
                sent, steps = now, told["begins"]
                continue
            own["ms"].append(1e3 * told.pop("seconds"))
            own["bytes"].append((now - sent) / steps)
            own["facts"] = told
            progress.advance(bar)
    return dict(found)


def best_ddp(found: dict[str, dict[str, Any]]) -> str:
    """The cap with the least median."""
    return min((way for way in found if way in DDP), key=lambda way: median(found[way]["ms"]))


def ratio(found: dict[str, dict[str, Any]], way: str, other: str) -> float:
    """Time of a way by that of another, the median over the repeats."""
    rows = zip(found[way]["ms"], found[other]["ms"], strict=True)
    return median(own / theirs for own, theirs in rows)


def show(found: dict[str, dict[str, Any]]) -> None:
    """Print a table of them."""
    best = best_ddp(found)
    told = ("bytes", "device", "guessed", "accepted")
    table = Table("way", "ms a step", "from", "to", f"by {best}", *told)
    for way, own in found.items():
        facts, ms = own["facts"], own["ms"]
        times = [f"{figure:.1f}" for figure in (median(ms), min(ms), max(ms))]
        row = (*times, f"{ratio(found, way, best):.3f}", f"{median(own['bytes']):,.0f}")
        if facts:
            row += (f"{sum(facts['device_ms'].values()) / median(ms):.2%}",)
            row += (f"{facts['guessed']} of {facts['steps']}",)
            row += (f"{facts['accepts']} of {facts['trials']}",)
        table.add_row(way, *row)
    Console().print(table)


def figures(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What is recorded."""
    best = best_ddp(found)
    return {
        "best_ddp": best,
        **{
            way: {
                "ms": median(own["ms"]),
                "all_ms": own["ms"],
                "ratio_to_best_ddp": ratio(found, way, best),
                "wire_bytes": median(own["bytes"]),
                **own["facts"],
            }
            for way, own in found.items()
        },
    }


if __name__ == "__main__":
    main()
