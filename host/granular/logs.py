"""Log of a training step of granular layers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from adagrain.models.interface.precision import Precision
from adagrain.models.precision_controller import precision_of_rank

from .layer import GranularLayer

__all__ = ["ChannelGroupLog", "GranularityLog", "channel_group_names", "logs_of"]


@dataclass(frozen=True)
class ChannelGroupLog:
    """Decision of a look for a channel group.

    Parameters
    ----------
    name : str
        Its layer, and its number there.
    precision, wanted : Precision
        What it computes in from now on, and what it would without bounds.
    normalised_variance : float
        Of its input, 0 to 1.
    thresholds : tuple of float
        As they stand.
    switched, overridden : bool
        What is wanted has changed; the bounds prevailed.
    """

    name: str
    precision: Precision
    wanted: Precision
    normalised_variance: float
    thresholds: tuple[float, ...]
    switched: bool
    overridden: bool


@dataclass(frozen=True)
class GranularityLog:
    """A step.

    Parameters
    ----------
    work : mapping of Precision to int
        Multiplications, forward and backward.
    channel_groups : tuple of ChannelGroupLog
        What was decided; empty between looks.
    """

    work: Mapping[Precision, int]
    channel_groups: tuple[ChannelGroupLog, ...]

    @property
    def bit_operations(self) -> int:
        """Multiplications, each times the bits of both operands."""
        return sum(count * precision.bits**2 for precision, count in self.work.items())

    def state_dict(self) -> dict[str, Any]:
        """The same in plain types, for a checkpoint."""
        groups = [
            {**asdict(own), "precision": own.precision.value, "wanted": own.wanted.value}
            for own in self.channel_groups
        ]
        work = {precision.value: count for precision, count in self.work.items()}
        return {"work": work, "channel_groups": groups}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        """The log that :meth:`state_dict` gave."""
        groups = (
            {**own, "precision": Precision(own["precision"]), "wanted": Precision(own["wanted"])}
            for own in state["channel_groups"]
        )
        work = {Precision(value): count for value, count in state["work"].items()}
        return cls(work, tuple(ChannelGroupLog(**own) for own in groups))


def channel_group_names(layer: GranularLayer) -> list[str]:
    """Names of a layer's channel groups."""
    if layer.policy.channel_groups == 1:
        return [layer.name]
    return [f"{layer.name}[{number}]" for number in range(layer.policy.channel_groups)]


def logs_of(layer: GranularLayer, decisions: list[dict[str, int]]) -> list[ChannelGroupLog]:
    """Decisions for each channel group of a layer, from fields of ``PrecisionDecision``."""
    names, thresholds = channel_group_names(layer), layer.controllers.bounds()
    return [
        ChannelGroupLog(
            name=name,
            precision=Precision(decision["precision"]),
            wanted=precision_of_rank(decision["wanted"]),
            normalised_variance=decision["normalised_variance"] / (1 << 16),
            thresholds=row,
            switched=bool(decision["switched"]),
            overridden=bool(decision["overridden"]),
        )
        for name, decision, row in zip(names, decisions, thresholds, strict=True)
    ]
