"""Recorded runs for the Region Manager: what workers agreed on, and the decisions that followed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from amaranth.utils import ceil_log2

from adagrain.models.interface.recording import Kind, RecordingError, read_entries
from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units.region_manager import (
    WORD,
    Decision,
    RegionParameters,
    RegionRecord,
    RegionStep,
    RegionUpdate,
)
from adagrain.models.region_manager.table import RegionTable
from adagrain.sim.simulators.stimulus import Stimulus

from .traffic import Run, configured, decoded, read, step

__all__ = ["RECORDING", "RecordedRun", "recorded_runs", "recorded_stimuli", "regions_for"]

#: Variable that tells the bench on cocotb the path of a worker's file.
RECORDING = "ADAGRAIN_RECORDING"

#: Records in the smallest table that is built for a recording.
_FEWEST_REGIONS = 16


@dataclass
class RecordedRun:
    """A run from where it began, or was resumed.

    Parameters
    ----------
    run : Run
        The table as it was then, and the steps.

    Members
    -------
    decisions : list of bytes
        ``Decision`` records of each step, as they were recorded.
    epochs : int
        Decision epochs that its steps close.
    """

    run: Run
    decisions: list[bytes] = field(default_factory=list)
    epochs: int = 0

    def add(self, entry: Mapping[str, Any]) -> None:
        """A step was decided on."""
        updates = [own["update"] for own in entry["regions"].values()]
        loss, ends = entry["loss"], any(update["decide"] for update in updates)
        head = {"loss": loss or 0, "loss_valid": loss is not None, "epoch_end": ends}
        body = b"".join(pack(RegionUpdate, **update) for update in updates)
        self.run.steps.append((pack(RegionStep, **head), body))
        decisions = [own["decision"] for own in entry["regions"].values()]
        self.decisions.append(b"".join(pack(Decision, **own) for own in decisions))
        self.epochs += ends


def recorded_runs(path: Path) -> list[RecordedRun]:
    """The runs in a worker's file of a recording.

    Raises
    ------
    RecordingError
        If it cannot be read, has none, or a record in it does not fit.
    """
    runs: list[RecordedRun] = []
    for number, entry in enumerate(read_entries(path), 1):
        try:
            if entry["kind"] == Kind.STATE:
                runs.append(_begun(entry))
            elif entry["kind"] == Kind.DECIDED:
                runs[-1].add(entry)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise RecordingError(f"line {number} of {path} must fit: {error!r}") from error
    if not runs:
        raise RecordingError(f"{path} must have a run behind its header, but has none")
    return runs


def recorded_stimuli(recorded: RecordedRun, regions: int) -> Iterator[Stimulus]:
    """Stimuli of what workers agreed on and decided in each step; at the end, of the whole table.

    Parameters
    ----------
    regions : int
        Records in the table of the Region Manager.
    """
    golden = RegionTable(regions)
    yield from configured(golden, recorded.run)
    for (head, updates), decisions in zip(recorded.run.steps, recorded.decisions, strict=True):
        given, decided = step(golden, head, updates)
        yield given
        yield replace(decided, outputs={"o": decoded(Decision, decisions)})
    yield read(0, golden.read(0, len(recorded.run.table) // WORD))


def regions_for(runs: Iterable[RecordedRun]) -> int:
    """Records in a table that has room for runs."""
    most = max(len(own.run.table) for own in runs) // size(RegionRecord)
    return max(_FEWEST_REGIONS, 1 << ceil_log2(most))


def _begun(state: Mapping[str, Any]) -> RecordedRun:
    parameters = pack(RegionParameters, **state["parameters"])
    return RecordedRun(Run(parameters, bytes.fromhex(state["table"]), []))
