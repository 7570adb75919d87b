"""A recorded run, run again."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from . import run
from .folder import SUMMARY, read_options, read_summary
from .recording import check_whole, recording_in

__all__ = ["Replayed", "replay"]

#: Name of the run that is run again, in the folder of the recorded one.
_AGAIN = "replay"


@dataclass(frozen=True)
class Replayed:
    """Result of a run that was run again.

    Parameters
    ----------
    weights_sha256, recorded_sha256 : str
        SHA-256 of its weights at the end, and of those of the recorded run.
    folder : Path
        Where it has left its files.
    """

    weights_sha256: str
    recorded_sha256: str
    folder: Path

    @property
    def is_identical(self) -> bool:
        """True if all weights are the same to the bit."""
        return self.weights_sha256 == self.recorded_sha256


def replay(folder: Path, *, say: Callable[[str], None]) -> Replayed:
    """Run a recorded run again, with its options, along its recording.

    Parameters
    ----------
    folder : Path
        The run's.
    say : callable
        Called with what is about to be done.

    Raises
    ------
    FileNotFoundError, ValueError, OSError
        If there is no run, it was not recorded or not ended, or something else is wrong that can be
        known before the workers start.
    RunFailedError
        If a worker finds that it does something else than was recorded; or as
        :func:`~adagrain.host.train.launch.launch`.
    """
    options = read_options(folder)
    summary = folder / SUMMARY
    if not options.record_run:
        raise ValueError(f"run {folder.name!r} must have been recorded, with --record-run")
    recording = recording_in(folder)
    check_whole(recording, options.workers)
    if not summary.is_file():
        raise FileNotFoundError(
            f"a run that is replayed must have ended, but there is no {summary}"
        )
    again = replace(
        options,
        name=_AGAIN,
        runs=folder,
        record_run=False,
        replay=str(recording.resolve()),
    )
    recorded = _weights_of(folder)
    run.start(again, overwrite=True, say=say)
    return Replayed(_weights_of(again.folder), recorded, again.folder)


def _weights_of(folder: Path) -> str:
    """SHA-256 of the weights at the end of the run in a folder."""
    found = read_summary(folder, otherwise="record the run again, with --overwrite")
    return str(found["weights_sha256"])
