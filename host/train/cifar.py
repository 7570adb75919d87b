"""The python batches of CIFAR-10."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch

__all__ = ["find_cifar", "read_cifar"]

_TRAINING = tuple(f"data_batch_{number}" for number in range(1, 6))
_TEST = "test_batch"
_PIXELS = 3 * 32 * 32
_CLASSES = 10

#: What a batch may name: numpy's arrays, and nothing that could run code.
_SAFE = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
}


def find_cifar(folder: Path) -> list[Path]:
    """CIFAR-10's six batches, the test batch last; or none.

    Raises
    ------
    FileNotFoundError
        If some of the six are there, but not all.
    """
    inner = folder / "cifar-10-batches-py"
    home = inner if inner.is_dir() else folder
    paths = [home / name for name in (*_TRAINING, _TEST)]
    missing = [path.name for path in paths if not path.is_file()]
    if missing and len(missing) < len(paths):
        raise FileNotFoundError(f"{home} lacks {', '.join(missing)}")
    return [] if missing else paths


def read_cifar(paths: list[Path]) -> tuple[torch.Tensor, ...]:
    """Training images and labels, test images and labels, from :func:`find_cifar`'s paths.

    Images are uint8 ``(samples, 3, 32, 32)``.

    Raises
    ------
    ValueError
        If a file is not a CIFAR-10 batch.
    """
    batches = [_read_batch(path) for path in paths]
    images, labels = zip(*batches[:-1], strict=True)
    return torch.cat(images), torch.cat(labels), *batches[-1]


def _read_batch(path: Path) -> tuple[torch.Tensor, torch.Tensor]:
    try:
        with path.open("rb") as file:
            batch = _ArraysOnly(file, encoding="bytes").load()
        pixels, labels = np.asarray(batch[b"data"]), torch.tensor(batch[b"labels"])
        if pixels.dtype != np.uint8:
            raise ValueError(f"'data' must be of bytes, not {pixels.dtype}")
        images = torch.from_numpy(pixels).view(-1, 3, 32, 32)
    except Exception as error:
        raise ValueError(
            f"{path} must be a python batch of CIFAR-10 (a pickled dict of 'data', rows of "
            f"{_PIXELS} bytes, and 'labels'): {error}"
        ) from error
    if len(images) != len(labels):
        raise ValueError(f"{path} has {len(labels)} labels for {len(images)} images")
    wrong = labels[(labels < 0) | (labels >= _CLASSES)]
    if len(wrong):
        raise ValueError(f"{path} must have labels from 0 to {_CLASSES - 1}, not {int(wrong[0])}")
    return images, labels


class _ArraysOnly(pickle.Unpickler):
    """An unpickler that builds arrays and containers, and refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _SAFE:
            raise pickle.UnpicklingError(f"a batch must not name {module}.{name}")
        return super().find_class(module, name)
