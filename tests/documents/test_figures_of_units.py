"""Figures in the docs of units, of granular layers and of presets are those of the records."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from documented_figures import Quote, check, each

LINK = partial(Quote, "docs/link.md", "link")
PRECISION = partial(Quote, "docs/precision.md", "tiles")
TRAINING = partial(Quote, "docs/training.md", "presets")
EARLIER = partial(Quote, "docs/training.md", "earlier")
GRANULAR = partial(Quote, "docs/granular.md")

#: The way that is written of, and those with larger penalties.
CHOSEN, *HIGHER = (f"dynamic, penalty {penalty}, INT4 backward" for penalty in ("0.3", "0.6", "1"))


def _accuracies(record: Any) -> Iterator[float]:
    """Points by which larger penalties are above the frontier, and their errors."""
    for way in HIGHER:
        own = record[way]
        yield from (own["accuracy_above_frontier"], own["accuracy_above_frontier_error"])


def _to_fp32(digits: Any, text: Any) -> Iterator[float]:
    yield from (100 * record[CHOSEN]["bit_operations_to_fp16"] for record in (digits, text))
    yield digits["FP32"]["accuracy"] - digits[CHOSEN]["accuracy"]
    yield 100 * text[CHOSEN]["loss_to_fp32"]


def _compared(record: Any) -> Iterator[object]:
    """The commit, the steps of its runs, how many values were compared, and that none differs."""
    rows = [record[name] for name in ("sync", "cadence", "granular")]
    assert {row["differing"] for row in rows} == {"none"}
    yield from (record["commit"], record["steps"], sum(row["compared"] for row in rows))


def _compressed(way: Any) -> Iterator[object]:
    """Accuracy, points below `sync`, their error, and how many times fewer bytes than BF16's."""
    yield from (way["accuracy"], -way["minus_sync"], way["minus_sync_standard_error"])
    yield f"{1 / (2 * way['bytes_ratio']):.1f}"


def _cells(text: str, board: str, unit: str, *names: str) -> Quote:
    """Cells that a unit takes alone."""
    page = f"docs/{unit if unit != 'rescale' else 'precision'}.md"
    return Quote(page, f"boards/{board}", text, lambda r: (r[unit][name] for name in names))


QUOTES = (
    LINK(
        "| payload of a tensor, to the device | {:.1f} % of the line's rate |",
        lambda r: (100 * r["upload"],),
    ),
    LINK(
        "| payload of `ECHO`, both directions at once | {:.1f} % |",
        lambda r: (100 * r["echo"],),
    ),
    LINK(
        "| round trip of a command that reads a register | {:.2f} × the time",
        lambda r: (r["round_trip"],),
    ),
    LINK(
        "in 10,000 damaged | {:.2f} of the rate without errors | "
        "| upload, one byte in 1,000 damaged | {:.2f} | "
        "| upload, one byte in 100 damaged | {:.2f} |",
        lambda r: (r["mean_of_clean_rate"][rate] for rate in ("0.0001", "0.001", "0.01")),
    ),
    EARLIER(
        "(`python benchmarks/earlier.py {} --record`; {} steps, two seeds of each of `sync`, "
        "`cadence` and `granular`), none of {:,} values differs",
        _compared,
    ),
    _cells(
        "`tiny` on the iCEBreaker {} LUT, {} FF, {} block RAM (",
        *("icebreaker", "link", "LUT", "FF", "block RAM"),
    ),
    _cells(
        "`small` on the ULX3S-25F {} LUT, {} FF, {} block RAM.",
        *("ulx3s-25f", "link", "LUT", "FF", "block RAM"),
    ),
    _cells(
        "BOARD=ulx3s-25f`): {} LUT with carry chains, {} FF, {} DSP, {} block RAM.",
        *("ulx3s-25f", "region_manager", "LUT", "FF", "DSP", "block RAM"),
    ),
    _cells(
        "four lanes take {} LUT with carry chains, {} FF and {} DSP.",
        *("ulx3s", "difference", "LUT", "FF", "DSP"),
    ),
    Quote(
        "docs/boards.md",
        "boards/ulx3s-whole",
        "takes two elements a cycle: half of the FPGA, {:.1f} MHz.",
        lambda r: (r["bitstream"]["clocks"]["clocking.clk"]["reached"],),
    ),
    _cells("rounds there: {} LUTs for sixteen", "ulx3s", "rescale", "LUT"),
    PRECISION(
        "takes a third (`wide`; on `granular` {:.2f}) of the cycles",
        lambda r: (r["granular_port_chain_to_link_apart"],),
    ),
    PRECISION(
        "come back, {:.0f} or {:.0f} % of the cycles by the data port,",
        lambda r: (
            100 * (1 - r[f"{preset}_port_chain_to_port_apart"]) for preset in ("wide", "granular")
        ),
    ),
    TRAINING(
        "`sync` {:.2f} %, `all` {:.2f} %, {:.2f} ± {:.2f} points less with the same seed (",
        lambda r: (
            r["sync"]["accuracy"],
            r["all"]["accuracy"],
            -r["all"]["minus_sync"],
            r["all"]["minus_sync_standard_error"],
        ),
    ),
    TRAINING(
        "of each), with {:.2f} % of its bytes; the first workers made {:,} guesses in ten runs of "
        "{:,} steps, of which {:.0f} % were accepted.",
        lambda r: (
            100 * r["all"]["bytes_ratio"],
            r["all"]["trials"],
            r["steps"],
            100 * r["all"]["accepts"] / r["all"]["trials"],
        ),
    ),
    TRAINING(
        "update is late came to {:.2f} %, with {:,} guesses.",
        lambda r: (r["all_guessing"]["accuracy"], r["all_guessing"]["trials"]),
    ),
    Quote(
        "docs/training.md",
        "presets_compressed",
        "--compressed`: {} seeds, {:,} steps) 1 % ends at {:.2f} %, {:.2f} ± {:.2f} points less "
        "than `sync` with the same seed, with 1/{} of",
        lambda r: (r["seeds"], r["steps"], *_compressed(r["compress"])),
    ),
    Quote(
        "docs/training.md",
        "presets_compressed",
        "--nesterov` it ends at {:.2f} %, {:.2f} ± {:.2f} points less, with 1/{}: frames",
        lambda r: _compressed(r["compress_top_nesterov"]),
    ),
    GRANULAR(
        "granular_digits",
        "(with 0.6 it is {:.2f} ± {:.2f} points above, with 1 {:.2f} ± {:.2f}).",
        _accuracies,
    ),
    GRANULAR(
        "granular_digits granular_text",
        "They take {:.0f} and {:.0f} % of FP16's bit-operations, "
        "at {:.2f} points less accuracy (digits) and {:.2f} % more loss (text) than FP32.",
        _to_fp32,
    ),
)


@each(QUOTES)
def test_figures(quote: Quote) -> None:
    check(quote)
