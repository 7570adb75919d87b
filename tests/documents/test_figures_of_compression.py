"""Figures in docs/compression.md are those of the records."""

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import mean, median
from typing import Any

from documented_figures import Quote, check, each, error, part, signed

PAGE = partial(Quote, "docs/compression.md")

#: Ways of the first table by their rows.
ONE_SEED = {
    "PowerSGD, rank 4": "powersgd_4",
    "PowerSGD, rank 2": "powersgd_2",
    "PowerSGD, rank 1": "powersgd_1",
    "`threshold`, 5 %": "threshold_5%",
    "`threshold`, 1 %": "threshold_1%",
    "the same with 2 mantissa bits": "threshold_1%_2_bits",
    "`threshold`, 0.1 %": "threshold_0.1%",
    "`threshold_before`, 1 %": "threshold_before_1%",
    "`top`, 1 %": "top_1%",
    "`top_by_share`, 1 %": "top_by_share_1%",
    "`top`, 1 %, 2 mantissa bits, momentum correction": "corrected_1%_2_bits",
    "the same with Nesterov's": "nesterov_1%_2_bits",
}
TASKS = ("transformer_0.8M", "conv_0.3M", "mlp_0.1M")

#: Those of longer runs, of five seeds: which of the two networks have them.
LONG = "compression_240_steps_transformer_0.8M", "compression_240_steps_conv_0.3M"
FIVE_SEEDS = {
    "PowerSGD, rank 4": ("powersgd_4", "both"),
    "PowerSGD, rank 2": ("powersgd_2", "both"),
    "PowerSGD, rank 1": ("powersgd_1", "both"),
    "`threshold`, 4 %, 2 mantissa bits": ("threshold_4%_2_bits", "both"),
    "`threshold`, 3 %, 2 mantissa bits": ("threshold_3%_2_bits", "both"),
    "`threshold`, 1 %, 2 mantissa bits": ("threshold_1%_2_bits", "both"),
    "`threshold`, 0.8 %, 2 mantissa bits": ("threshold_0.8%_2_bits", "both"),
    "`top`, 4 %, 2 mantissa bits, momentum correction": ("corrected_4%_2_bits", "one"),
    "`top`, 1 %, 2 mantissa bits, momentum correction": ("corrected_1%_2_bits", "both"),
    "`top`, 4 %, 2 mantissa bits, Nesterov's correction": ("nesterov_4%_2_bits", "bold"),
    "`top`, 1 %, 2 mantissa bits, Nesterov's correction": ("nesterov_1%_2_bits", "bold"),
    "the same at 4 % with momentum masking": ("nesterov_masking_4%_2_bits", "both"),
    "the same at 1 % with momentum masking": ("nesterov_masking_1%_2_bits", "both"),
    "dense, Nesterov's momentum, the same rate": ("dense_nesterov", "dense"),
    "the same at half the rate": ("dense_nesterov_half_rate", "dense one"),
}
#: Others with the same seeds, which both networks have.
POWER_SGD = tuple(f"{name}_powersgd" for name in LONG)
FIVE_SEEDS_OF_POWER_SGD = {
    "rank 8, factors of FP16": "powersgd16_8",
    "rank 4, factors of FP16": "powersgd16_4",
    "rank 8, factors of FP16, Nesterov's momentum, half the rate": (
        "powersgd16_8_nesterov_half_rate"
    ),
}
_CHANGED, _DENSE = "{} ± {} %, 1/{}", "{} ± {} %, 2 ×"
CELLS = {
    "both": f"{_CHANGED} | {_CHANGED}",
    "one": f"| {_CHANGED}",
    "bold": f"**{_CHANGED}** | **{_CHANGED}**",
    "dense": f"{_DENSE} | {_DENSE}",
    "dense one": f"| {_DENSE}",
}


def _one_seed_row(row: str, way: str, record: str = "compression") -> Quote:
    def values(record: Any) -> Iterator[object]:
        return _lost_and_sent(record, way)

    return PAGE(record, f"| {row} |{' {:.3f}, 1/{} |' * len(TASKS)}", values)


def _lost_and_sent(record: Any, way: str) -> Iterator[object]:
    """A way's loss and bytes of all tasks, with one seed."""
    for task in TASKS:
        own = record[f"{task}_{way}"]
        yield own["loss"]
        yield part(own["bytes_of_first"])


def _above_dense(record: Any) -> tuple[float]:
    """Percent that the transformer's loss with a threshold is above that of plain DDP."""
    ours, dense = (record[f"transformer_0.8M_{way}"]["loss"] for way in ("threshold_1%", "dense"))
    return (100 * (ours / dense - 1),)


def _changed(record: Any, way: str, digits: int) -> Iterator[str]:
    """A way's loss beside FP16's, in percent, its error, and its bytes."""
    (own,) = (record[name] for name in record if name.endswith(f"M_{way}"))
    yield signed(100 * (own["loss_to_first"] - 1), digits)
    yield f"{100 * own['error_of_ratio']:.{digits}f}"
    if own["bytes_of_first"] > 1:
        yield part(own["bytes_of_first"])


def _changes(record: Any, ways: Sequence[str]) -> Iterator[str]:
    """Of several ways, one behind the other."""
    for way in ways:
        yield from _changed(record, way, 2)


def _ends(record: Any) -> Iterator[str]:
    """Least and most that a seed's loss at 4 % is above FP16's, in percent."""
    ways = ("fp16", "threshold_4%_2_bits")
    rows = zip(*(record[f"transformer_0.8M_{way}"]["losses"] for way in ways), strict=True)
    changes = [100 * (own / fp16 - 1) for fp16, own in rows]
    yield from (signed(end, 1) for end in (min(changes), max(changes)))


def _beside_dense_nesterov(record: Any) -> Iterator[object]:
    """What dense runs gain from Nesterov's momentum, and what ways lose beside them."""
    dense = record["transformer_0.8M_dense_nesterov"]
    yield 100 * (1 - dense["loss_to_first"])
    for way in ("nesterov_4%_2_bits", "nesterov_1%_2_bits"):
        rows = zip(record[f"transformer_0.8M_{way}"]["losses"], dense["losses"], strict=True)
        changes = [100 * (own / before - 1) for own, before in rows]
        yield from (signed(mean(changes), 2), f"{error(changes):.2f}")


def _five_seeds_row(row: str, way: str, cells: str, records: tuple[str, str] = LONG) -> Quote:
    def values(transformer: Any, convolutions: Any) -> Iterator[str]:
        if "one" not in cells:
            yield from _changed(transformer, way, 2)
        yield from _changed(convolutions, way, 1)

    return PAGE(" ".join(records), f"| {row} | {CELLS[cells]} |", values)


def _auto(record: Any) -> tuple[Any, Any]:
    return record["transformer_0.8M_fp16"], record["transformer_0.8M_auto_1%"]


def _steps(record: Any, way: str) -> tuple[float, float]:
    """Least and most that a way needs to FP16's loss."""
    found = record[f"transformer_0.8M_{way}"]["steps_to_loss"]
    return min(found), max(found)


def _nesterov_and_local(record: Any) -> Iterator[float]:
    """With how many seeds Nesterov's correction is ahead of local SGD; least and most steps."""
    ways = "nesterov_1%_2_bits", "local_sgd_64", "threshold_1%"
    ours, local, _ = (record[f"transformer_0.8M_{way}"]["times_faster_to_loss"] for way in ways)
    yield from (sum(own > other for own, other in zip(ours, local, strict=True)), len(ours))
    for way in ways:
        yield from _steps(record, way)


def _of_fp16s(record: Any) -> Iterator[float]:
    """Time and loss of as many steps as FP16's, with their errors."""
    _, auto = _auto(record)
    yield from (auto[name] for name in ("time_to_first", "error_of_time"))
    yield from (auto[name] for name in ("loss_to_first", "error_of_ratio"))


def _to_fp16s_loss(record: Any) -> Iterator[float]:
    yield from _to_loss(record, "loss")
    yield median(_auto(record)[1]["times_faster_to_loss"])


def _to_loss(record: Any, name: str) -> Iterator[float]:
    """Steps of FP16 and auto to the losses of this name, and how many times as fast the latter."""
    fp16, auto = _auto(record)
    times = auto[f"times_faster_to_{name}"]
    yield from (mean(own[f"steps_to_{name}"]) for own in (fp16, auto))
    yield from (mean(times), error(times))


def _controls(record: Any) -> Iterator[float]:
    """How many times as fast as FP16 controls come to its loss, seed by seed."""
    for way in ("local_sgd_never", "nesterov_1%_2_bits", "powersgd16_8"):
        yield from record[f"transformer_0.8M_{way}"]["times_faster_to_loss"]


QUOTES = (
    PAGE(
        "compression_240_steps_transformer_ten_seeds",
        "`threshold` at 4 % ends {} ± {} % above FP16 at 1/{}, Nesterov's correction {} ± {} % at "
        "4 % and 1/{}, {} ± {} % at 1 % and 1/{}.",
        lambda r: _changes(r, ["threshold_4%_2_bits", "nesterov_4%_2_bits", "nesterov_1%_2_bits"]),
    ),
    PAGE(
        "compression_240_steps_transformer_ten_seeds",
        "With the threshold single seeds are from {} % to {} % at 4 %;",
        _ends,
    ),
    PAGE(
        "compression_240_steps_python_3.11.7",
        "`threshold` ended {} ± {} % above FP16 at 4 % and 1/{}, {} ± {} % at 1 % and 1/{}.",
        lambda r: _changes(r, ["threshold_4%_2_bits", "threshold_1%_2_bits"]),
    ),
    *(_one_seed_row(*row) for row in ONE_SEED.items()),
    _one_seed_row(
        "the same without error feedback",
        "random_1%_without_error_feedback",
        "compression_chance",
    ),
    PAGE(
        "compression",
        "| dense, FP32 | {:.3f}, 2 × | {:.3f}, 2 × | {:.3f}, 2 × | "
        "| FP16 hook | {:.3f}, 1 | {:.3f}, 1 | {:.3f}, 1 |",
        lambda r: (r[f"{task}_{way}"]["loss"] for way in ("dense", "fp16") for task in TASKS),
    ),
    PAGE(
        "compression",
        "| `random`, 1 % | {:.0f}, 1/{}: it diverges | {:.2f}, 1/{}: it diverges | "
        "{:.2f}, 1/{}: it diverges |",
        lambda r: _lost_and_sent(r, "random_1%"),
    ),
    PAGE(
        "compression",
        "with an eighth of its bytes, and {:.1f} % above dense.",
        _above_dense,
    ),
    PAGE(
        "compression_link_100_controls",
        "come to FP16's loss {:.1f}, {:.1f}, {:.1f} times as fast, Nesterov's correction in that "
        "run {:.1f}, {:.1f}, {:.1f}, PowerSGD of rank 8 with factors of FP16 {:.1f}, {:.1f}, "
        "{:.1f}.",
        _controls,
    ),
    PAGE(
        "compression",
        "The MLP of 0.1M does lose: {:.1f} % at a hundredth, with the one seed of the table above.",
        lambda r: (100 * (r["mlp_0.1M_nesterov_1%_2_bits"]["loss_to_first"] - 1),),
    ),
    PAGE(
        " ".join(LONG),
        "convolutions of 0.3M, 320 steps | |---|---|---| | FP16 hook | {:.3f}, 1 | {:.3f}, 1 |",
        lambda a, b: (a["transformer_0.8M_fp16"]["loss"], b["conv_0.3M_fp16"]["loss"]),
    ),
    *(_five_seeds_row(row, *found) for row, found in FIVE_SEEDS.items()),
    *(_five_seeds_row(row, way, "both", POWER_SGD) for row, way in FIVE_SEEDS_OF_POWER_SGD.items()),
    PAGE(
        LONG[0],
        "with a quarter of its bytes, half of those with factors of FP16, and {:.1f} % for a "
        "hundredth of FP16's;",
        lambda r: (100 * (r["transformer_0.8M_threshold_1%_2_bits"]["loss_to_first"] - 1),),
    ),
    PAGE(
        LONG[1],
        "there they end where 1 % of the elements does, with {:.0f} times its bytes.",
        lambda r: (
            r["conv_0.3M_nesterov_1%_2_bits"]["bytes_of_first"]
            / r["conv_0.3M_dense_nesterov_half_rate"]["bytes_of_first"],
        ),
    ),
    PAGE(
        LONG[0],
        "on the transformer {:.1f} %, beside which the correction loses {} ± {} % at 4 % and "
        "{} ± {} % at 1 %.",
        _beside_dense_nesterov,
    ),
    PAGE(
        "compression_link_100",
        "the former is ahead of the latter with {} seeds of {}; it needs {:.0f} to {:.0f} steps, "
        "local SGD {:.0f} to {:.0f}, and a threshold {:.0f} to {:.0f}.",
        _nesterov_and_local,
    ),
    PAGE(
        "compression_link_1000_same_steps",
        "Sixty steps with it take **{:.3f} ± {:.3f}** of the time of FP16's, trained just before "
        "with the same seed, and end at {:.4f} ± {:.4f} of its loss",
        _of_fp16s,
    ),
    PAGE(
        "compression_link_1000_fifteen_seeds",
        'mostly its lowest, in {:.1f} steps, and `"auto"` in {:.1f}: '
        "{:.3f} ± {:.3f} times as fast, {:.3f} in the median.",
        _to_fp16s_loss,
    ),
    PAGE(
        "compression_link_1000_fifteen_seeds",
        "which favours neither, they need {:.1f} and {:.1f} steps: **{:.3f} ± {:.3f}** times as "
        "fast.",
        lambda r: _to_loss(r, "common_loss"),
    ),
    PAGE(
        "compression_link_1000_fifteen_seeds",
        "the highest that FP16 ends at with any, they need {:.1f} and {:.1f}: {:.3f} ± {:.3f} "
        "times as fast.",
        lambda r: _to_loss(r, "highest_loss"),
    ),
    PAGE(
        "compression_link_1000_thirty_seeds",
        "--record compression_link_1000_thirty_seeds`: {:.3f} ± {:.3f}.)",
        lambda r: [*_to_loss(r, "common_loss")][2:],
    ),
)


@each(QUOTES)
def test_figures(quote: Quote) -> None:
    check(quote)
