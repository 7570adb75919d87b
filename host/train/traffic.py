"""Traffic of a compressed run, in its summary."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from adagrain.host.compression.exchange import CompressedExchange
from adagrain.host.distributed.sent import Sent

from .history import History, RegionHistory

__all__ = ["BF16_BYTES", "traffic", "traffic_rows"]

#: Bytes of an element in a dense exchange of BF16.
BF16_BYTES = 2

#: Counts that are the same on all workers.
_COMMON = ("void", "dense_after_refusal")

_NOTHING = Sent(0, 0, 0)


def traffic(
    history: History,
    exchange: CompressedExchange,
    counts: Sequence[Mapping[str, int]],
    *,
    elements: int,
    coder: str,
    masking: str,
    network: str | None,
) -> dict[str, Any]:
    """Traffic of the whole run, and that of a dense exchange of BF16.

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
    coder : str
        What has made the frames, and taken them apart.
    masking : str
        What has left the elements that are sent of all of them.
    network : str or None
        What has decided on the learned mask's tables; ``None`` with another mask.
    """
    regions = {name: _total(region) for name, region in history.regions.items()}
    dense, total = BF16_BYTES * elements, reduce(Sent.plus, regions.values(), _NOTHING)
    return {
        "coder": coder,
        "masking": masking,
        "network": network,
        "bytes_dense_bf16": dense,
        "of_dense_bf16": exchange.bytes_sent / max(1, dense),
        "frames_of_dense_bf16": total.bits / 8 / max(1, dense),
        **_told(total),
        "regions": {name: _told(sent) for name, sent in regions.items()},
        **{name: sum(own[name] for own in counts) for name in counts[0]},
        **{name: max(own[name] for own in counts) for name in _COMMON},
        "bypass": {str(step): on for step, on in exchange.bypass.record.items()},
    }


def traffic_rows(found: Mapping[str, Any]) -> dict[str, str]:
    """Rows of the table that people see."""
    part, frames = found["of_dense_bf16"], found["frames_of_dense_bf16"]
    times = f"1/{1 / part:.1f}" if part else "0"
    rows = {
        "frames coded by": found["coder"],
        "elements masked by": found["masking"],
        **({"masks decided by": found["network"]} if found["network"] else {}),
        "bytes against dense BF16": f"{times}, {part:.2%}; frames alone {frames:.2%}",
        "density": _shown(found),
        "density by region": ", ".join(
            f"{name} {_shown(sent)}" for name, sent in found["regions"].items()
        ),
    }
    names = {name: name.replace("_", " ") for name in ("refused", *_COMMON)}
    names = {"overflows": "overflowed", **names}
    if wrong := [f"{found[name]} {told}" for name, told in names.items() if found[name]]:
        rows["frames that did not go as they should"] = ", ".join(wrong)
    return rows


def _total(region: RegionHistory) -> Sent:
    return reduce(Sent.plus, region.sent, _NOTHING)


def _told(sent: Sent) -> dict[str, float | None]:
    return {
        "density": sent.nonzeros / max(1, sent.elements),
        "bits_per_nonzero": sent.bits_per_nonzero,
    }


def _shown(told: Mapping[str, Any]) -> str:
    bits = told["bits_per_nonzero"]
    return f"{told['density']:.2%}" + ("" if bits is None else f" at {bits:.1f} bits")
