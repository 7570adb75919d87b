"""History of a run: its picture and its status are made of it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adagrain.host.distributed.flown import Flown
from adagrain.host.distributed.sent import Sent
from adagrain.host.json_lines import read_json_lines

__all__ = ["ChannelGroupHistory", "History", "RegionHistory"]


@dataclass
class RegionHistory:
    """One region's updates, oldest first; all lists have the same length, but the last three.

    Parameters
    ----------
    step : list of int
        Steps in which it was due.
    local, average : list of float
        Mean energy of the workers' gradients, A/W, and energy of their average, N.
    alpha : list of float
        How far the workers agree, 0 to 1.
    cadence : list of int
        Steps per update, as decided at this step.
    state : list of str
        Speculation state, likewise.
    sent : list of Sent
        What this worker has sent in each of them, where gradients go compressed.
    accepts, trials : list of int
        Guesses that were accepted, and all of them, where steps are speculative.
    """

    step: list[int] = field(default_factory=list)
    local: list[float] = field(default_factory=list)
    average: list[float] = field(default_factory=list)
    alpha: list[float] = field(default_factory=list)
    cadence: list[int] = field(default_factory=list)
    state: list[str] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    accepts: list[int] = field(default_factory=list)
    trials: list[int] = field(default_factory=list)

    def add(self, step: int, row: Mapping[str, Any]) -> None:
        """Append what was found and decided in a step."""
        self.step.append(step)
        for name in ("local", "average", "alpha", "cadence", "state"):
            getattr(self, name).append(row[name])
        if "sent" in row:
            found = row["sent"]
            self.sent.append(Sent(found["elements"], found["nonzeros"], found["bits"]))
        if "guesses" in row:
            self.accepts.append(row["guesses"]["accepts"])
            self.trials.append(row["guesses"]["trials"])


@dataclass
class ChannelGroupHistory:
    """Decisions for one channel group, oldest first.

    Parameters
    ----------
    step : list of int
        Steps after which it was looked at.
    precision : list of str
        What it computed in from then on.
    """

    step: list[int] = field(default_factory=list)
    precision: list[str] = field(default_factory=list)


@dataclass
class History:
    """A whole run.

    Parameters
    ----------
    steps, loss : list
        Every step and its loss, the mean over the workers; ``None`` where it was not finite.
    evaluations, accuracy : list
        Steps of the evaluations, and the part of the test samples that was right.
    regions : dict
        Each region's updates, by its name.
    channel_groups : dict
        Each channel group's decisions, by its name.
    bit_operations : list of int
        Those of every step of a granular run.
    bytes_sent : list of int
        Bytes that this worker has sent until every step of a compressed run.
    flown : list of Flown
        Times of this worker in every step of a speculative run.
    updates, dropped : int
        Regions' updates that were due, and those of them that were dropped.
    """

    steps: list[int] = field(default_factory=list)
    loss: list[float | None] = field(default_factory=list)
    evaluations: list[int] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)
    regions: dict[str, RegionHistory] = field(default_factory=lambda: defaultdict(RegionHistory))
    channel_groups: dict[str, ChannelGroupHistory] = field(
        default_factory=lambda: defaultdict(ChannelGroupHistory)
    )
    bit_operations: list[int] = field(default_factory=list)
    bytes_sent: list[int] = field(default_factory=list)
    flown: list[Flown] = field(default_factory=list)
    updates: int = 0
    dropped: int = 0

    @classmethod
    def read(cls, path: Path) -> "History":
        """The history in a run's log."""
        history = cls()
        for line in read_json_lines(path):
            if "accuracy" in line:
                history.add_evaluation(line["step"], line["accuracy"])
                continue
            history.add_step(
                *(line["step"], line["loss"], line["regions"], len(line["dropped"])),
                bytes_sent=line.get("bytes_sent"),
                flown=Flown(**line["flown"]) if "flown" in line else None,
            )
            if "precisions" in line:
                found = line["precisions"]
                rows = found["channel_groups"]
                history.add_precisions(line["step"], found["bit_operations"], rows)
        return history

    def add_step(
        self,
        step: int,
        loss: float | None,
        regions: Sequence[Mapping[str, Any]],
        dropped: int,
        *,
        bytes_sent: int | None = None,
        flown: Flown | None = None,
    ) -> None:
        """Append a step.

        Parameters
        ----------
        step : int
            Its number.
        loss : float or None
            Mean over the workers.
        regions : sequence of mappings
            Rows of those that were due.
        dropped : int
            How many of them were not updated.
        bytes_sent : int or None
            Bytes that were sent so far; ``None`` in a run that is not compressed.
        flown : Flown or None
            Times of this worker; ``None`` in a run that is not speculative.
        """
        self.steps.append(step)
        self.loss.append(loss)
        self.updates += len(regions)
        self.dropped += dropped
        if bytes_sent is not None:
            self.bytes_sent.append(bytes_sent)
        if flown is not None:
            self.flown.append(flown)
        for row in regions:
            self.regions[row["name"]].add(step, row)

    def add_precisions(
        self, step: int, bit_operations: int, channel_groups: Sequence[Mapping[str, Any]]
    ) -> None:
        """Append what a granular step took, and rows of what was decided."""
        self.bit_operations.append(bit_operations)
        for row in channel_groups:
            channel_group = self.channel_groups[row["name"]]
            channel_group.step.append(step)
            channel_group.precision.append(row["precision"])

    def add_evaluation(self, step: int, accuracy: float) -> None:
        """Append an evaluation, after a step."""
        self.evaluations.append(step)
        self.accuracy.append(accuracy)
