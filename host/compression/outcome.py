"""Outcome of a backward pass's exchange, kept until it counts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from adagrain.host.distributed.sent import Sent

from .bypass import Times
from .counts import Counts
from .feedback import Lost
from .layout import Layout

__all__ = ["Outcome"]


@dataclass
class Outcome:
    """Outcome of a pass, on this worker.

    Parameters
    ----------
    number : int
        Of the pass, counted from 0.
    wanted : list of tuple
        Of each frame, what it is of, and bytes of the longest that any worker has wanted to send.
    lost : list of Lost
        What was sent and has not arrived.
    sent : dict of int to Sent
        By region.
    counts : Counts
        What did not go as it should.
    bytes_sent : int
        Bytes that agreements and measurements took.
    refused : bool
        A frame of some worker does not count.
    times : Times or None
        What a decision on the bypass follows from; ``None``: there is none behind this pass.
    """

    number: int
    wanted: list[tuple[Layout, int]] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    sent: dict[int, Sent] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    bytes_sent: int = 0
    refused: bool = False
    times: Times | None = None

    def save(self) -> dict[str, Any]:
        """All of it, in plain values."""
        return {
            "number": self.number,
            "wanted": [(*layout, longest) for layout, longest in self.wanted],
            "lost": [tuple(own) for own in self.lost],
            "sent": {region: tuple(own) for region, own in self.sent.items()},
            "counts": asdict(self.counts),
            "bytes_sent": self.bytes_sent,
            "refused": self.refused,
            "times": self.times and tuple(self.times),
        }

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> "Outcome":
        """Restore what :meth:`save` gave."""
        return cls(
            saved["number"],
            [(Layout(*layout), longest) for *layout, longest in saved["wanted"]],
            [Lost(*own) for own in saved["lost"]],
            {region: Sent(*own) for region, own in saved["sent"].items()},
            Counts(**saved["counts"]),
            saved["bytes_sent"],
            saved["refused"],
            saved["times"] and Times(*saved["times"]),
        )
