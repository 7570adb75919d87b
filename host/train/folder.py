"""The folder of a run; nothing of an earlier run is overwritten unasked."""

import json
import shutil

from .options import TrainingOptions

__all__ = ["MARK", "prepare"]

#: The file that every run writes first: a folder without it is not ours to delete.
MARK = "options.json"


def prepare(options: TrainingOptions, *, resume: bool = False, overwrite: bool = False) -> None:
    """Make the folder of a run, or see to it that the run in it may go on.

    Raises
    ------
    FileExistsError
        If the folder exists and the run neither resumes nor overwrites it, or if it is to be
        overwritten but is not a run's folder.
    FileNotFoundError
        If a run is to be resumed that does not exist.
    """
    folder = options.folder
    if resume:
        if not (folder / MARK).is_file():
            raise FileNotFoundError(f"there is no run at {folder} to resume")
        return
    if folder.exists():
        if not overwrite:
            raise FileExistsError(
                f"run {folder.name!r} exists at {folder}: choose another --name, "
                f"or say --resume or --overwrite"
            )
        if not (folder / MARK).is_file():
            raise FileExistsError(f"{folder} is not the folder of a run; it is left alone")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / MARK).write_text(json.dumps(options.recorded(), indent=2) + "\n")
