"""Writes the tables of measured figures into README and docs, from `benchmarks/results/`."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from adagrain.hdl.boards import BOARDS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"

#: Blocks of README's table that are recorded in parts, or whose build is to be named.
PARTS = {
    "uart": {"receiver": "receiving", "transmitter": "sending"},
    "granularity_unit": {"granularity_unit": "4 slices"},
    "precision_controller": {"precision_controller": "64 channel groups"},
    "float": {"multiplier": "FP32 multiply", "adder": "add"},
}

#: Which ways of training are shown.
WAYS = r"FP32|FP16|(INT8|INT4|dynamic, .*)(, INT4 backward)?"

#: How far a way is from the frontier, and in how many digits.
MARGINS = (("accuracy_above_frontier", 2), ("loss_below_frontier", 4))


#: Links of the network lab: Mbit/s, and ms one way.
LINKS = ("100_5", "100_20", "100_50", "20_5", "1000_1")

#: Ways to train in the lab whose steps are shown, by the names of the benchmark.
STEPS = {
    "depth 0": "`depth=0`",
    "never": "depth 1, nothing guessed",
    "adaptive": "`cost_aware`",
    "always": "`always`",
    "seed_literal": "`seed_literal`",
    "adaptive, depth 2": "`cost_aware`, depth 2",
    "adaptive, cadences": "`cost_aware`, large layers every 2 or 4 steps",
    "adaptive, cadences, depth 2": "the same, depth 2",
    "adaptive, compressed": "`cost_aware`, compressed to 10 %",
    "adaptive, compressed, depth 2": "the same, depth 2",
    "adaptive, cadences, compressed": "`cost_aware`, both",
    "adaptive, cadences, compressed, depth 2": "both, depth 2",
    "PostLocalSGD 4": "PyTorch's PostLocalSGD, every 4 steps",
    "PostLocalSGD 16": "every 16 steps",
    "DiLoCo 16": "DiLoCo, every 16 steps",
}

#: Those that train to a loss.
LOSSES = {
    **{way: STEPS[way] for way in ("adaptive", "adaptive, depth 2")},
    **{way: STEPS[way] for way in ("adaptive, cadences", "adaptive, cadences, depth 2")},
    **{
        f"{kind} {period}": f"{kind}, every {period} steps"
        for kind in ("PostLocalSGD", "DiLoCo")
        for period in (4, 16)
    },
}

#: Limited links that compression was measured on, by their Mbit/s: digits of what is shown.
LIMITED = {10: 1, 100: 1, 1000: 2}

#: Ways to exchange on them that are shown.
EXCHANGES = {
    "fp16": "FP16 hook",
    "powersgd_4": "PowerSGD, rank 4",
    "powersgd_2": "PowerSGD, rank 2",
    "powersgd_1": "PowerSGD, rank 1",
    "local_sgd_4": "local SGD, weights averaged every 4 steps",
    "local_sgd_16": "local SGD, every 16 steps",
    "local_sgd_64": "local SGD, every 64 steps",
    "threshold_5%": "`threshold`, 5 %",
    "threshold_1%": "`threshold`, 1 %",
    "threshold_1%_2_bits": "the same with 2 mantissa bits",
    "nesterov_1%_2_bits": "`top`, 1 %, 2 mantissa bits, Nesterov's correction",
    "auto_1%": '`threshold`, 1 %, `"auto"`',
    "auto_nesterov_1%_2_bits": 'the one with Nesterov\'s correction, `"auto"`',
}


def pages() -> dict[Path, str]:
    """Each page with its tables as the results have them."""
    return {
        ROOT / "README.md": _with_blocks(_filled("README.md", boards=_boards())),
        ROOT / "docs" / "granular.md": _filled(
            "docs/granular.md", digits=_granular("digits"), text=_granular("text")
        ),
        ROOT / "docs" / "speculation.md": _filled(
            "docs/speculation.md",
            steps=_steps(),
            losses=_losses(_faster),
            accuracies=_losses(_points),
            seeds=_more_seeds(),
        ),
        ROOT / "docs" / "compression.md": _filled(
            "docs/compression.md", sooner=_exchanges(_sooner), common=_exchanges(_both)
        ),
        ROOT / "docs" / "precision.md": _filled(
            "docs/precision.md", slices=_slices(), tiles=_tiles()
        ),
    }


def _filled(page: str, **tables: str) -> str:
    """A page with its tables replaced; each stands between two comments that name it."""
    text = (ROOT / page).read_text()
    for name, table in tables.items():
        marks = f"<!-- {name}: made by make docs -->\n", f"<!-- end of {name} -->"
        if text.count(marks[0]) != 1 or text.count(marks[1]) != 1:
            raise ValueError(f"{page} must have a place for the table {name!r}, once")
        before, rest = text.split(marks[0])
        text = before + marks[0] + table + marks[1] + rest.split(marks[1])[1]
    return text


def _boards() -> str:
    head = ("board", "device preset", "LUT", "DSP", "block RAM", "clock", "target", "seed")
    rows = []
    for name, board in BOARDS.items():
        if not (RESULTS / "boards" / f"{name}.json").exists():
            continue
        record = _results(f"boards/{name}")["bitstream"]
        usage, clock = record["usage"], min(record["clocks"].values(), key=_margin)
        luts = f"{usage['LUT']} ({usage['LUT'] / board.capacity['LUT']:.0%})".replace("%", " %")
        cells = (board.title, f"`{board.preset}`", luts, usage["DSP"], usage["block RAM"])
        megahertz = (f"{clock['reached']:.1f} MHz", f"{clock['wanted']:g} MHz")
        rows.append((*cells, *megahertz, record["seed"]))
    return _table(head, rows)


def _tiles() -> str:
    head = ("cycles, INT8", "`granular`, port", "link", "`wide`, port", "link")
    record = _results("tiles")
    names = {
        "product": "32 × 64 by 64 × 128",
        "packed": "the same, rescaled to INT8",
        "apart": "that, and then by 128 × 64",
        "chain": "the two as a chain",
    }
    rows = []
    for name, title in names.items():
        ways = (f"{preset}_{way}" for preset in ("granular", "wide") for way in ("port", "link"))
        rows.append((title, *(f"{record[f'{way}_{name}_cycles']:,}" for way in ways)))
    shares = []
    for preset in ("granular", "wide"):
        for way in ("port", "link"):
            chain, apart = (record[f"{preset}_{way}_{name}_cycles"] for name in ("chain", "apart"))
            shares.append(f"{chain / apart:.2f}")
    rows.append(("the chain to the two, way by way", *shares))
    busy = [record[f"{preset}_port_product_busy_cycles"] for preset in ("granular", "wide")]
    rows.append(("of the first, multiplying", f"{busy[0]:,}", "", f"{busy[1]:,}", ""))
    return _table(head, rows)


def _with_blocks(text: str) -> str:
    """README with what each block takes of an FPGA, in the fourth cell of its row."""
    record = _results("boards/ulx3s")

    def taken(unit: str) -> str:
        return " / ".join(str(record[unit][cell]) for cell in ("LUT", "FF", "DSP", "block RAM"))

    def row(found: re.Match[str]) -> str:
        parts = PARTS.get(found["block"], {found["block"]: ""})
        cells = (f"{name}: {taken(unit)}".removeprefix(": ") for unit, name in parts.items())
        return f"{found['before']} {', '.join(cells)} |"

    pattern = r"^(?P<before>\| \[`(?P<block>\w+)`\](?:[^|]*\|){3})[^|]*\|"
    return re.sub(pattern, row, text, flags=re.MULTILINE)


def _margin(clock: Mapping[str, float]) -> float:
    return clock["reached"] / clock["wanted"]


def _slices() -> str:
    """Units of switchable precision alone, and their peers."""
    head = ("alone", "FPGA of", "LUT", "DSP", "MHz, three seeds", "million INT8 products a second")
    rows = ((name, row) for name, row in _results("slices").items() if "MHz" in row)
    return _table(
        head,
        (
            (
                f"`{name}`" if "," not in name else name,
                BOARDS[row["board"]].title,
                row["LUT"],
                row["DSP"],
                ", ".join(map(str, row["MHz"])),
                ", ".join(map(str, row.get("INT8 M MAC/s", ["–"]))),
            )
            for name, row in rows
        ),
    )


def _steps() -> str:
    """By link, a step's time by that of plain DDP with the best bucket cap."""
    found = [_results(f"speculation_{link}") for link in LINKS]
    best = [f"{record[record['best_ddp']]['ms']:.0f}" for record in found]
    rows = [
        (name, *(f"{record[way]['ratio_to_best_ddp']:.2f}" for record in found))
        for way, name in STEPS.items()
    ]
    return _table(_links(), [("best DDP, ms a step", *best), *rows])


def _losses(cell: Callable[[Mapping[str, Any]], str]) -> str:
    """By link, something of each way that was trained to a loss."""
    found = [_results(f"speculation_loss_{link}") for link in LINKS]
    rows = ((name, *(cell(record[way]) for record in found)) for way, name in LOSSES.items())
    return _table(_links(), rows)


def _more_seeds() -> str:
    """Accuracies of more seeds, on the slow links."""
    slow = LINKS[:-1]
    found = [_results(f"speculation_accuracy_{link}") for link in slow]
    seeds = ("seeds", *(record["seeds"] for record in found))
    ways = [way for way in STEPS if way in found[0]]
    rows = (
        (STEPS[way], *(_points(record[way]) if way in record else "" for record in found))
        for way in ways
    )
    return _table(_links(slow), [seeds, *rows])


def _links(shown: Iterable[str] = LINKS) -> tuple[str, ...]:
    return "Mbit/s, ms one way", *(link.replace("_", ", ") for link in shown)


def _faster(row: Mapping[str, Any]) -> str:
    """How much faster it is to the losses that are wanted, in the median; none: not reached."""
    ratios = [median(own) for name, own in row.items() if name.startswith("times_faster_to_")]
    return " / ".join(f"{ratio:.2f}" if ratio else "–" for ratio in ratios)


def _points(row: Mapping[str, Any]) -> str:
    return f"{row['points_beside_ddp']:+.2f} ± {row['error_of_points']:.2f}"


def _exchanges(cell: Callable[[Mapping[str, Any], int], str]) -> str:
    """By limited link, something of each way to exchange."""
    found = [(_results(f"compression_link_{link}"), digits) for link, digits in LIMITED.items()]
    rows = (
        (name, *(cell(record[f"transformer_0.8M_{way}"], digits) for record, digits in found))
        for way, name in EXCHANGES.items()
    )
    return _table(("", *(f"{link} Mbit/s" for link in LIMITED)), rows)


def _sooner(row: Mapping[str, Any], digits: int) -> str:
    """How much sooner it is at FP16's loss, with each seed, and a step's time."""
    seeds = (f"{own:.{digits}f}" if own else "–" for own in row["times_faster_to_loss"])
    return f"{', '.join(seeds)}; {row['ms_a_step']:.0f} ms"


def _both(row: Mapping[str, Any], digits: int) -> str:
    """How much sooner it is at the lowest loss of both, on the mean of the seeds."""
    seeds = row["times_faster_to_common_loss"]
    error = stdev(seeds) / len(seeds) ** 0.5
    return f"{fmean(seeds):.{digits}f} ± {error:.{digits}f}"


def _granular(task: str) -> str:
    """What fixed and chosen precisions cost and reach on a task."""
    results = _results(f"granular_{task}")
    frontier = ("accuracy above the frontier", "loss below it")
    head = ("", "bit-operations", "accuracy", "loss", "loss to FP32", *frontier)
    rows = []
    for name, row in results.items():
        if re.fullmatch(WAYS, name):
            cells = (f"{row['bit_operations_to_fp16']:.3f}", f"{row['accuracy']:.2f} %")
            losses = (f"{row['loss']:.4f}", f"{100 * row['loss_to_fp32']:+z.2f} %")
            rows.append((name, *cells, *losses, *map(_with_error, (row, row), MARGINS)))
    return _table(head, rows)


def _with_error(row: Mapping[str, float], margin: tuple[str, int]) -> str:
    name, digits = margin
    return f"{row[name]:+z.{digits}f} ± {row[f'{name}_error']:.{digits}f}"


def _results(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n".replace("|  |", "| |") for line in lines)


if __name__ == "__main__":
    for path, content in pages().items():
        path.write_text(content)
