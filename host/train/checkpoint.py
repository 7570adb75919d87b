"""Checkpoints: one folder each, with one file per worker and a manifest that makes it valid."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from adagrain import __version__

from .fingerprint import network_sha256
from .options import TrainingOptions

__all__ = ["CheckpointError", "Manifest", "latest", "load", "save"]

#: Version of the files' layout; a checkpoint of another one is refused.
LAYOUT = 1

#: Checkpoints that are kept; older ones are removed when a new one is complete.
_KEPT = 2

_MANIFEST = "manifest.json"


class CheckpointError(ValueError):
    """A checkpoint that this run cannot go on from."""


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint belongs to; it is written last, and makes the checkpoint valid.

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
    """

    layout: int
    version: str
    workers: int
    network: str
    options: dict[str, Any]

    @classmethod
    def of(cls, options: TrainingOptions, network: nn.Module) -> "Manifest":
        """The manifest of a run's checkpoints."""
        return cls(
            layout=LAYOUT,
            version=__version__,
            workers=options.workers,
            network=network_sha256(network),
            options=options.binding(),
        )

    def check(self, found: "Manifest", folder: Path) -> None:
        """Refuse a checkpoint of something else; the message names both values."""
        for field in ("layout", "version", "workers", "network"):
            _compare(folder, field, getattr(found, field), getattr(self, field))
        for name in sorted(self.options.keys() | found.options.keys()):
            _compare(folder, name, found.options.get(name), self.options.get(name))


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
    """
    complete = folder / f"step-{step:08d}"
    partial = complete.with_suffix(".partial")
    partial.mkdir(parents=True, exist_ok=True)
    _write(partial / f"rank{dist.get_rank()}.pt", lambda file: torch.save(dict(state), file))
    dist.barrier()
    if dist.get_rank() == 0:
        text = json.dumps(vars(manifest), indent=2)
        _write(partial / _MANIFEST, lambda file: file.write(text.encode()))
        if complete.exists():
            shutil.rmtree(complete)
        partial.rename(complete)
        for old in _complete(folder)[:-_KEPT]:
            shutil.rmtree(old)
    return complete


def latest(folder: Path) -> Path | None:
    """The newest complete checkpoint in a folder."""
    found = _complete(folder)
    return found[-1] if found else None


def load(checkpoint: Path, manifest: Manifest) -> dict[str, Any]:
    """This worker's state from a checkpoint.

    Raises
    ------
    CheckpointError
        If it belongs to another network, version, worker count or other options, or is damaged.
    """
    try:
        found = Manifest(**json.loads((checkpoint / _MANIFEST).read_text()))
    except (OSError, TypeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{checkpoint / _MANIFEST} cannot be read: {error}") from error
    manifest.check(found, checkpoint)
    path = checkpoint / f"rank{dist.get_rank()}.pt"
    try:
        return torch.load(path, weights_only=True)
    except Exception as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error


def _compare(folder: Path, name: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        raise CheckpointError(
            f"checkpoint {folder} was written with {name} {found!r}; this run has {wanted!r}"
        )


def _complete(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.glob("step-*")
        if path.suffix != ".partial" and (path / _MANIFEST).is_file()
    )


def _write(path: Path, write: Any) -> None:
    """Write a file under another name, have it on the disk, then give it its name."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
