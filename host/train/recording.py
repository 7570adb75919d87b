"""Recordings of runs: where they are, and what workers do with them."""

from pathlib import Path

from adagrain.models.interface.recording import Kind, RecordingError, file_of, read_entries

from .options import TrainingOptions

__all__ = ["RECORDING", "check_whole", "course_of", "recording_in"]

#: Folder in a run's folder.
RECORDING = "recording"


def course_of(options: TrainingOptions) -> dict[str, Path]:
    """Options of :func:`~adagrain.speculate` that record a run, or replay another one."""
    if options.replay:
        return {"replay": Path(options.replay)}
    return {"record": options.folder / RECORDING} if options.record_run else {}


def recording_in(folder: Path) -> Path:
    """The recording in the folder of a run, or the folder itself."""
    return folder / RECORDING if (folder / RECORDING).is_dir() else folder


def check_whole(recording: Path, workers: int) -> None:
    """See to it that all workers have recorded their run to its end.

    Raises
    ------
    RecordingError
        If a file is missing, cannot be read, or breaks off.
    """
    for worker in range(workers):
        path = file_of(recording, worker)
        *_, last = read_entries(path)
        if last["kind"] != Kind.END:
            raise RecordingError(
                f"{path} must have an end to be replayed, but breaks off in step "
                f"{last.get('step', 0)}"
            )
