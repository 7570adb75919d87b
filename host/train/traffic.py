"""What a compressed run has sent: in the summary, and in panels of the picture."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from adagrain.host.compression.exchange import CompressedExchange
from adagrain.host.distributed.sent import Sent

from .history import History, RegionHistory

__all__ = ["draw_bits", "draw_density", "traffic", "traffic_rows"]

#: Bytes of an element in a dense exchange of BF16.
_BF16 = 2

_NOTHING = Sent(0, 0, 0)


def traffic(
    history: History,
    exchange: CompressedExchange,
    counts: Sequence[Mapping[str, int]],
    *,
    elements: int,
) -> dict[str, Any]:
    """What was sent in the whole run, and what a dense exchange of BF16 would have.

    Parameters
    ----------
    history : History
        The run's.
    exchange : CompressedExchange
        The first worker's.
    counts : sequence of mappings
        Of each worker, what did not go as it should.
    elements : int
        Elements of all gradients that were added, in all steps.
    """
    regions = {name: _total(region) for name, region in history.regions.items()}
    dense, total = _BF16 * elements, reduce(Sent.plus, regions.values(), _NOTHING)
    void = max(own["void"] for own in counts)
    return {
        "bytes_dense_bf16": dense,
        "of_dense_bf16": exchange.bytes_sent / max(1, dense),
        **_told(total),
        "regions": {name: _told(sent) for name, sent in regions.items()},
        **{name: sum(own[name] for own in counts) for name in counts[0]},
        "void": void,
        "bypass": {str(step): on for step, on in exchange.bypass.record.items()},
    }


def traffic_rows(found: Mapping[str, Any]) -> dict[str, str]:
    """Rows of the table that people see."""
    part = found["of_dense_bf16"]
    rows = {
        "bytes against dense BF16": f"{part:.2%}, 1/{1 / part:.1f}" if part else "0",
        "density": f"{found['density']:.2%}, {_bits(found)}",
        "density by region": ", ".join(
            f"{name} {sent['density']:.2%}, {_bits(sent)}"
            for name, sent in found["regions"].items()
        ),
    }
    names = ("overflows", "refused", "void")
    if wrong := [f"{found[name]} {name}" for name in names if found[name]]:
        rows["frames that did not go as they should"] = ", ".join(wrong)
    return rows


def draw_density(axes: Axes, history: History, colours: Mapping[str, Any]) -> None:
    """Draw the density of each region, and the bytes so far as a part of dense BF16's.

    Parameters
    ----------
    axes : Axes
        Where.
    history : History
        The run's.
    colours : mapping
        Colour of each region.
    """
    for name, region in history.regions.items():
        densities = [sent.density or float("nan") for sent in region.sent]
        axes.plot(region.step, densities, color=colours[name], linewidth=0.9)
    elements = sum(region.sent[-1].elements for region in history.regions.values() if region.sent)
    dense = [_BF16 * elements * (step + 1) for step in history.steps]
    parts = [own / all_of_it for own, all_of_it in zip(history.bytes_sent, dense, strict=True)]
    axes.plot(history.steps, parts, color="black", linestyle=(0, (4, 3)))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_title("density of what is sent; all bytes so far, of dense BF16's (dashed)")


def draw_bits(axes: Axes, history: History, colours: Mapping[str, Any]) -> None:
    """Draw the bits that each region's elements take; parameters are those of the density's."""
    for name, region in history.regions.items():
        bits = [sent.bits_per_nonzero or float("nan") for sent in region.sent]
        axes.plot(region.step, bits, color=colours[name], linewidth=0.9)
    axes.set_title("bits of a non-zero element, headers and tables in")


def _total(region: RegionHistory) -> Sent:
    return reduce(Sent.plus, region.sent, _NOTHING)


def _told(sent: Sent) -> dict[str, float | None]:
    return {
        "density": sent.nonzeros / max(1, sent.elements),
        "bits_per_nonzero": sent.bits_per_nonzero,
    }


def _bits(found: Mapping[str, Any]) -> str:
    bits = found["bits_per_nonzero"]
    return "nothing" if bits is None else f"{bits:.1f} bits each"
