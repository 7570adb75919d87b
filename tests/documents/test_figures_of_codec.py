"""Figures in docs/codec.md are those of the records."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from documented_figures import Quote, check, each

PAGE = partial(Quote, "docs/codec.md")

NETWORKS = ("transformer_0.8M", "conv_0.3M", "mlp_0.1M")

#: What is recorded, by its row, of gradients in the middle of training.
ROWS = {
    "this": "adagrain_bits",
    "default tables": "adagrain_default_tables_bits",
    "pcodec, best level": "pcodec_bits",
    "pcodec for each parameter": "pcodec_by_parameter_bits",
    "xz, extreme": "xz_bits",
    "xz of 16 bits": "xz_16_bit_bits",
    "zstd-19": "zstd_19_bits",
    "zstd-1": "zstd_1_bits",
    "distances and values: pcodec": "pcodec_apart_bits",
    "distances and values: zstd-19": "zstd_19_apart_bits",
    "speed against zstd-1, one thread: encode": "encode_speed_to_zstd_1",
    "encode by given tables": "encode_with_given_tables_speed_to_zstd_1",
    "decode": "decode_speed_to_zstd_1",
}

#: Rows of gradients early and late in training.
OTHERS = (
    *("this", "pcodec, best level", "pcodec for each parameter", "xz, extreme", "xz of 16 bits"),
    *("zstd-19", "distances and values: pcodec", "distances and values: zstd-19"),
)


def _row(title: str, figure: str, when: str = "") -> Quote:
    def values(record: Any) -> Iterator[float]:
        for network in NETWORKS:
            yield from (record[f"{network}_{density}{when}"][figure] for density in (0.1, 0.01))

    return PAGE("codec", f"| {title} |{' {:.2f} / {:.2f} |' * len(NETWORKS)}", values)


def _behind_apart(record: Any) -> tuple[int, int, float]:
    """On how many gradients pcodec is ahead, given distances and values apart; by how much."""
    parts = [
        own["pcodec_apart_bits"] / own["adagrain_bits"]
        for name, own in record.items()
        if name.startswith(NETWORKS)
    ]
    return sum(part < 1 for part in parts), len(parts), 100 * (1 - min(parts))


QUOTES = (
    *(_row(title, figure) for title, figure in ROWS.items()),
    *(
        _row(f"{when}: {title}", ROWS[title], f"_{when}")
        for when in ("early", "late")
        for title in OTHERS
    ),
    PAGE(
        "codec",
        "pcodec takes fewer on {} of {}, by {:.1f} % at the most,",
        _behind_apart,
    ),
    PAGE(
        "encoder",
        "(`adagrain synth encoder --board ulx3s --place`): "
        "{:,} LUTs, {} block RAM, {:.0f}, {:.0f} and {:.0f} MHz.",
        lambda r: (r["alone"]["LUT"], r["alone"]["block RAM"], *r["alone"]["MHz"]),
    ),
    PAGE(
        "encoder",
        "L = 4 takes {:.4f} beats a cycle where 1 % are not +0, {:.4f} up to 20 % (0.8 / L), "
        "{:.3f} at 25 % (1 / L), and {:.4f} elements a cycle where all are.",
        lambda r: (
            *(r[f"lanes_4_beats_per_cycle_at_{density}"] for density in (0.01, 0.2, 0.25)),
            r["lanes_4_elements_per_cycle_at_1"],
        ),
    ),
    PAGE(
        "encoder",
        "At the median clock that is, at 1 %, {:.0f} MB/s of elements for each 1000 LUTs;",
        lambda r: (r["input_mb_s_per_1000_lut_at_0.01"],),
    ),
    PAGE(
        "decoder",
        "(`adagrain synth decoder --board ulx3s --place`): "
        "{:,} LUTs, {} block RAMs, {:.0f}, {:.0f} and {:.0f} MHz.",
        lambda r: (r["alone"]["LUT"], r["alone"]["block RAM"], *sorted(r["alone"]["MHz"])),
    ),
    PAGE(
        "decoder",
        "it gives {:.4f} elements a cycle where all are not +0, and {:.4f} beats a cycle where "
        "none is.",
        lambda r: (r["lanes_4_elements_per_cycle_at_1"], r["lanes_4_beats_per_cycle_at_0"]),
    ),
    PAGE(
        "decoder",
        "reaches {:.2f} of this bound at a density of 1/8, {:.3f} at 1/16, and {:.3f} at 1 %.",
        lambda r: (r[f"lanes_4_of_what_is_allowed_at_{d}"] for d in (0.125, 0.0625, 0.01)),
    ),
    PAGE(
        "codec_device",
        "`encode` takes {:.2f}, {:.2f} and {:.2f} cycles an element where 1, 10 and 30 % are not "
        "+0, requests included, tables aside (`python benchmarks/codec_device.py`; L elements a "
        "cycle are 0.25), and `decode` {:.2f}, {:.2f} and {:.2f}: what",
        lambda r: (
            r[f"{what}_cycles_per_element_at_{density}"]
            for what in ("encode", "decode")
            for density in (0.01, 0.1, 0.3)
        ),
    ),
    PAGE(
        "boards/ulx3s boards/ulx3s-25f",
        "`encoder` takes {:,} LUTs and {} block RAMs with 4 lanes ({:,} and {} with 2), `decoder` "
        "{:,} and {} ({:,} and {}).",
        lambda *boards: (
            board[f"{unit}_commands"][cell]
            for unit in ("encoder", "decoder")
            for board in boards
            for cell in ("LUT", "block RAM")
        ),
    ),
)


@each(QUOTES)
def test_figures(quote: Quote) -> None:
    check(quote)
