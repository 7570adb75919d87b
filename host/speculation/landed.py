"""Steps that have landed, and await their decision at the same place of the run on all workers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from adagrain.host.distributed.agreement import Agreed
from adagrain.host.distributed.clock import Moment
from adagrain.host.distributed.flown import Flown
from adagrain.host.distributed.step import Step
from adagrain.models.statistics import Energy

__all__ = ["Landed"]


@dataclass
class Landed:
    """A step whose update has been applied, and on which nothing has been decided yet.

    Parameters
    ----------
    step : Step
        The step; its averages have been looked at.
    missing : float
        Seconds for which the next step has missed its update.
    weights : list of int or None
        As those of :class:`~.flight.Flight`.
    """

    step: Step
    missing: float
    weights: list[int] | None = None

    def save(self) -> dict[str, Any]:
        """All that a decision needs, in plain values."""
        step = self.step
        assert step.agreed is not None and step.moment is not None
        return {
            "number": step.number,
            "moment": tuple(step.moment),
            "exponents": step.exponents,
            "agreed": asdict(step.agreed),
            "averages": {region: own._asdict() for region, own in step.averages.items()},
            "dropping": dict(step.dropping),
            "missing": self.missing,
            "flown": step.flown and asdict(step.flown),
        }

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> "Landed":
        """Restore what :meth:`save` gave."""
        step = Step(
            saved["number"],
            moment=Moment(*saved["moment"]),
            exponents=saved["exponents"],
            agreed=Agreed(**saved["agreed"]),
            averages={region: Energy(**own) for region, own in saved["averages"].items()},
            dropping=dict(saved["dropping"]),
            flown=saved["flown"] and Flown(**saved["flown"]),
        )
        return cls(step, saved["missing"])
