"""Checkpoints: one folder each, with one file per worker and a manifest that makes it valid."""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from adagrain import __version__
from adagrain.host.distributed.checkpoints import CheckpointError
from adagrain.host.files import file_sha256, replace_file, replace_text, writing

from .fingerprint import network_sha256
from .options import TrainingOptions

__all__ = [
    "CHECKPOINTS",
    "CheckpointError",
    "Manifest",
    "checkpoints",
    "choose",
    "load",
    "remove_unfinished",
    "save",
    "set_aside",
    "step_of",
]

#: Folder of the checkpoints in a run's folder.
CHECKPOINTS = "checkpoints"

#: Version of the files' layout; a checkpoint of another one is refused.
LAYOUT = 7

#: Checkpoints that are kept; older ones are removed when a new one is complete.
_KEPT = 2

_MANIFEST = "manifest.json"

_COMPLETE = re.compile(r"step-\d{8,}")

#: Ends of the names of checkpoints that are not complete, and of those that are not to be used.
_PARTIAL, _ASIDE = ".partial", ".aside"


@dataclass(frozen=True)
class Manifest:
    """Origin and content of a checkpoint; it is written last, and makes the checkpoint valid.

    Parameters
    ----------
    layout : int
        Version of the files' layout.
    version : str
        Version of adagrain that wrote it.
    workers : int
        How many workers' files there are.
    network : str
        Hash of the network's names, types and shapes.
    options : dict
        Options that a resumed run must share.
    files : dict of str to str
        SHA-256 of each worker's file, by its name.
    """

    layout: int
    version: str
    workers: int
    network: str
    options: dict[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, options: TrainingOptions, network: nn.Module) -> "Manifest":
        """The manifest of a run's checkpoints, without their files."""
        return cls(
            layout=LAYOUT,
            version=__version__,
            workers=options.workers,
            network=network_sha256(network),
            options=options.binding(),
        )

    @classmethod
    def read(cls, checkpoint: Path) -> "Manifest":
        """The manifest of a checkpoint.

        Raises
        ------
        CheckpointError
            If it cannot be read, or is of another layout.
        """
        path = checkpoint / _MANIFEST
        try:
            found = json.loads(path.read_text())
            _compare(checkpoint, "layout", found["layout"], LAYOUT)
            if not isinstance(found["options"], dict) or not isinstance(found["files"], dict):
                raise TypeError("options and files must be objects")
            return cls(**found)
        except (OSError, TypeError, KeyError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise CheckpointError(f"{path} cannot be read: {error}") from error

    def check(self, found: "Manifest", checkpoint: Path) -> None:
        """Refuse a checkpoint of something else; the message names both values."""
        for name in ("layout", "version", "workers", "network"):
            _compare(checkpoint, name, getattr(found, name), getattr(self, name))
        for name in sorted(self.options.keys() | found.options.keys()):
            _compare(checkpoint, name, found.options.get(name), self.options.get(name))

    def verify(self, checkpoint: Path, rank: int) -> Path:
        """A worker's file, once its content was found to be what was written.

        Raises
        ------
        CheckpointError
            If it is not.
        """
        path = checkpoint / _file_of(rank)
        try:
            found = file_sha256(path)
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read: {error.strerror}") from error
        wanted = self.files.get(path.name)
        if found != wanted:
            raise CheckpointError(f"{path} is damaged: its SHA-256 must be {wanted}, not {found}")
        return path


def save(folder: Path, step: int, state: Mapping[str, Any], manifest: Manifest) -> Path:
    """Write a checkpoint; every worker calls it at the same step.

    Files appear whole or not at all: they are written under another name and renamed, and the
    folder gets its own name when all workers' files are in it.

    Parameters
    ----------
    folder : Path
        Folder of the run's checkpoints, on a file system that all workers share.
    step : int
        Steps taken so far.
    state : mapping
        This worker's state.
    manifest : Manifest
        What it belongs to.

    Raises
    ------
    WriteError
        If it cannot be written; the checkpoints before are still there.
    """
    complete = folder / f"step-{step:08d}"
    partial = complete.with_suffix(_PARTIAL)
    with writing(partial):
        partial.mkdir(parents=True, exist_ok=True)
    name = _file_of(dist.get_rank())
    written = replace_file(partial / name, lambda file: torch.save(dict(state), file))
    files: list[tuple[str, str]] = [("", "")] * dist.get_world_size()
    dist.all_gather_object(files, (name, written))
    if dist.get_rank() == 0:
        found = replace(manifest, files=dict(files))
        with writing(complete):
            replace_text(partial / _MANIFEST, json.dumps(vars(found), indent=2) + "\n")
            if complete.exists():
                shutil.rmtree(complete)
            partial.rename(complete)
            _remove_old(folder, step)
    return complete


def checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints in a folder, oldest first."""
    return sorted(
        path
        for path in folder.glob("step-*")
        if _COMPLETE.fullmatch(path.name) and (path / _MANIFEST).is_file()
    )


def step_of(checkpoint: Path) -> int:
    """Steps that had been taken."""
    return int(checkpoint.name.removeprefix("step-").partition(".")[0])


def choose(folder: Path, manifest: Manifest, step: int | None = None) -> Path:
    """The checkpoint to go on from, looked through: the newest one, or the one of a step.

    Raises
    ------
    CheckpointError
        If there is none, or it is damaged or of something else; the message says which one before
        it would do.
    """
    found = checkpoints(folder)
    if not found:
        raise CheckpointError(
            f"there must be a complete checkpoint in {folder}, but there is none; "
            "--overwrite begins the run anew"
        )
    known = {step_of(path): path for path in found}
    if step is not None and step not in known:
        raise CheckpointError(f"from_step must be one of {', '.join(map(str, known))}, not {step}")
    chosen = found[-1] if step is None else known[step]
    try:
        _look_through(chosen, manifest)
    except CheckpointError as error:
        before = found[: found.index(chosen)]
        raise CheckpointError(f"{error}; {_way_out(before, manifest)}") from None
    return chosen


def load(checkpoint: Path, manifest: Manifest) -> dict[str, Any]:
    """This worker's state from a checkpoint.

    Raises
    ------
    CheckpointError
        If it belongs to another network, version, worker count or other options, or is damaged.
    """
    found = Manifest.read(checkpoint)
    manifest.check(found, checkpoint)
    return torch.load(found.verify(checkpoint, dist.get_rank()), weights_only=True)


def set_aside(folder: Path, step: int) -> None:
    """Let the checkpoints after a step not count any more, since a run goes on from that one.

    They are kept until the run has come as far again.
    """
    for path in checkpoints(folder):
        if step_of(path) > step:
            aside = path.with_suffix(_ASIDE)
            if aside.exists():
                shutil.rmtree(aside)
            path.rename(aside)


def remove_unfinished(folder: Path) -> None:
    """Remove what is left of checkpoints that were never complete."""
    for path in folder.glob(f"step-*{_PARTIAL}"):
        shutil.rmtree(path)


def _remove_old(folder: Path, step: int) -> None:
    overtaken = [path for path in folder.glob(f"step-*{_ASIDE}") if step_of(path) <= step]
    for path in (*checkpoints(folder)[:-_KEPT], *overtaken):
        shutil.rmtree(path)


def _file_of(rank: int) -> str:
    return f"rank{rank}.pt"


def _look_through(checkpoint: Path, manifest: Manifest) -> None:
    found = Manifest.read(checkpoint)
    manifest.check(found, checkpoint)
    for rank in range(found.workers):
        found.verify(checkpoint, rank)


def _way_out(before: list[Path], manifest: Manifest) -> str:
    """Advice where a checkpoint cannot be used, but perhaps one of those before it."""
    for path in reversed(before):
        try:
            _look_through(path, manifest)
        except CheckpointError:
            continue
        step = step_of(path)
        return f"--resume --from-step {step} goes on from the one before it"
    return "no one before it can be used; --overwrite begins the run anew"


def _compare(checkpoint: Path, name: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        raise CheckpointError(
            f"checkpoint {checkpoint} was written with {name} {found!r}; this run has {wanted!r}"
        )
