"""The idx format of the MNIST files."""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
import torch

__all__ = ["find_mnist", "read_idx", "read_mnist"]

#: The four files and the number of their dimensions.
_FILES = {
    "train-images-idx3-ubyte": 3,
    "train-labels-idx1-ubyte": 1,
    "t10k-images-idx3-ubyte": 3,
    "t10k-labels-idx1-ubyte": 1,
}
_UNSIGNED_BYTE = 8


def find_mnist(folder: Path) -> list[Path]:
    """MNIST's four files in the order training images, labels, test images, labels; or none.

    Files may be gzipped, and ``-idx`` may be spelled ``.idx``.

    Raises
    ------
    FileNotFoundError
        If some of the four are there, but not all.
    """
    found = [_find(folder, name) for name in _FILES]
    missing = [name for name, path in zip(_FILES, found, strict=True) if path is None]
    if missing and len(missing) < len(_FILES):
        raise FileNotFoundError(f"{folder} lacks {', '.join(missing)} (plain or .gz)")
    return [path for path in found if path is not None]


def read_mnist(paths: list[Path]) -> tuple[torch.Tensor, ...]:
    """Training images and labels, test images and labels, from :func:`find_mnist`'s paths."""
    return tuple(read_idx(*row) for row in zip(paths, _FILES.values(), strict=True))


def read_idx(path: Path, dimensions: int) -> torch.Tensor:
    """An idx file of unsigned bytes, gzipped or not, as a uint8 tensor of its shape.

    Raises
    ------
    ValueError
        If the file is not of this format, has other dimensions, or is shorter or longer than
        its header says.
    """
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is not a whole gzip file: {error}") from error
    magic = bytes([0, 0, _UNSIGNED_BYTE, dimensions])
    head = 4 + 4 * dimensions
    if raw[:4] != magic:
        raise ValueError(
            f"{path} must be an idx file of unsigned bytes in {dimensions} dimensions (beginning "
            f"{magic.hex(' ')}), but begins {raw[:4].hex(' ') or 'with nothing'}"
        )
    if len(raw) < head:
        raise ValueError(f"{path} must have a header of {head} bytes, but has {len(raw)}")
    shape = tuple(np.frombuffer(raw[4:head], dtype=">u4").tolist())
    expected = head + math.prod(shape)
    if len(raw) != expected:
        raise ValueError(f"{path} must have {expected} bytes for shape {shape}, but has {len(raw)}")
    return torch.from_numpy(np.frombuffer(raw, dtype=np.uint8, offset=head).reshape(shape).copy())


def _find(folder: Path, name: str) -> Path | None:
    for stem in (name, name.replace("-idx", ".idx")):
        for path in (folder / stem, folder / f"{stem}.gz"):
            if path.is_file():
                return path
    return None
