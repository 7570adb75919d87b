"""The folder of a run: nothing of an earlier run is overwritten unasked, or used by two at once."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from adagrain.host.files import WriteError, replace_text, writing

from .data import NAMED
from .options import TrainingOptions

__all__ = [
    "MARK",
    "PICTURE",
    "SUMMARY",
    "RunInUseError",
    "begun",
    "check_new",
    "locked",
    "read_options",
    "read_summary",
    "remove_result",
    "write_options",
]

#: The file that every run writes first: a folder without it is not ours to delete.
MARK = "options.json"

#: The file that a run leaves at its end.
SUMMARY = "summary.json"

#: The picture beside it.
PICTURE = "regions.png"

#: What is read of a summary, and what it is in Python.
_IN_SUMMARY = {"steps": int, "weights_sha256": str}

#: The file that is locked while a run is under way; it holds the number of the process.
LOCK = "lock"


class RunInUseError(RuntimeError):
    """Another process trains this run."""

    exit_status = 2


def check_new(
    options: TrainingOptions, *, overwrite: bool = False, config: Path | None = None
) -> None:
    """See to it that a run may begin.

    Parameters
    ----------
    options : TrainingOptions
        The run's.
    overwrite : bool
        Replace an earlier run of that name.
    config : Path or None
        File that the options are from.

    Raises
    ------
    FileExistsError
        If its folder exists and it does not overwrite it, or if it is to be overwritten but is
        not a run's folder.
    ValueError
        If it reads something that lies in the folder that it overwrites.
    """
    folder = options.folder
    if not folder.exists():
        return
    if not (folder / MARK).is_file():
        raise FileExistsError(f"{folder} is not the folder of a run; it is left alone")
    if not overwrite:
        raise FileExistsError(
            f"run {folder.name!r} exists at {folder}: choose another --name, "
            f"or say --resume or --overwrite"
        )
    _check_inputs(options, config)


def _check_inputs(options: TrainingOptions, config: Path | None) -> None:
    """Refuse files that a run is to read, where they are removed as those of an earlier one."""
    is_kept = config is not None and config.resolve() == (options.folder / MARK).resolve()
    inputs = {
        "config": None if is_kept else config,
        "timing": options.timing.partition("replay:")[2],
        "data": "" if options.data in NAMED else options.data,
        "replay": options.replay,
    }
    for name, path in inputs.items():
        if path and Path(path).resolve().is_relative_to(options.folder.resolve()):
            raise ValueError(
                f"{name} must lie outside of {options.folder}, which is overwritten, not at {path}"
            )


@contextmanager
def begun(options: TrainingOptions, *, overwrite: bool = False) -> Iterator[None]:
    """The folder of a new run, which is its own for so long.

    Raises
    ------
    FileExistsError, ValueError, RunInUseError, WriteError
        As :func:`check_new` and :func:`locked`, and if the folder cannot be made.
    """
    check_new(options, overwrite=overwrite)
    folder = options.folder
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=overwrite)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(folder))
            _clear(folder)
            write_options(options)
        except WriteError:
            if not (folder / MARK).exists():  # so that it is nobody's, and cannot be begun again
                shutil.rmtree(folder)
            raise
        yield


def _clear(folder: Path) -> None:
    """Remove what an earlier run left, but for what makes the folder a run's."""
    for path in folder.iterdir():
        if path.name not in (LOCK, MARK):
            is_folder = path.is_dir() and not path.is_symlink()
            shutil.rmtree(path) if is_folder else path.unlink()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a run, until this one ends, however it does.

    Raises
    ------
    RunInUseError
        If another process has it.
    """
    path = folder / LOCK
    lock = FileLock(path)
    with writing(path):
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise RunInUseError(
                f"run {folder.name!r} must not be under way, but process "
                f"{path.read_text() or '?'} trains it; wait for that, or end it"
            ) from None
    try:
        with writing(path):
            path.write_text(str(os.getpid()))
        yield
    finally:
        lock.release()


def read_options(folder: Path) -> TrainingOptions:
    """The options of the run in a folder, wherever that lies now.

    Raises
    ------
    FileNotFoundError
        If there is no run.
    ValueError
        If its options cannot be read.
    """
    path = folder / MARK
    if not path.is_file():
        raise FileNotFoundError(f"there must be a run at {folder} to resume, but there is none")
    try:
        recorded: Mapping[str, Any] = json.loads(path.read_text())
        here = {"name": folder.name, "runs": str(folder.parent)}
        return TrainingOptions.restored({**recorded, **here})
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} must hold a run's options: {error}") from error


def read_summary(folder: Path, *, otherwise: str) -> dict[str, Any]:
    """The summary that a run has left in its folder at its end.

    Parameters
    ----------
    folder : Path
        The run's.
    otherwise : str
        Remedy for a summary that cannot be restored.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If it cannot be read.
    """
    path = folder / SUMMARY
    text = path.read_text(errors="replace")
    try:
        found = json.loads(text)
        fits = all(isinstance(found[name], kind) for name, kind in _IN_SUMMARY.items())
    except (ValueError, TypeError, KeyError):
        fits = False
    if not fits:
        raise ValueError(
            f"{path} must be the summary of a run, with {' and '.join(_IN_SUMMARY)}, not "
            f"{text[:40]!r}; restore it, or {otherwise}"
        )
    return found


def remove_result(folder: Path) -> None:
    """Remove what a run has left at an end that is none any more."""
    for name in (SUMMARY, PICTURE):
        (folder / name).unlink(missing_ok=True)


def write_options(options: TrainingOptions) -> None:
    """Record the options of a run in its folder."""
    replace_text(options.folder / MARK, json.dumps(options.recorded(), indent=2) + "\n")
