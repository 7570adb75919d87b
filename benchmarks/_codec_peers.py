"""What general codecs take of masked gradients: as they come, or distances and values apart."""

import importlib
import lzma
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

__all__ = ["PEERS", "module", "raw", "sizes"]

#: Peers that have to be installed: pip install 'adagrain[dev]'.
PEERS = ("zstandard", "pcodec")

#: The most that xz does, and what it is to know of words of 16 bits.
_EXTREME = 9 | lzma.PRESET_EXTREME
_WORDS = {"id": lzma.FILTER_LZMA2, "preset": _EXTREME, "lc": 0, "lp": 1, "pb": 1}


def module(name: str) -> Any:
    """A peer; None where it is not installed, which is said."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is left out: it is not installed (pip install {name})")
        return None


def raw(tensors: Sequence[torch.Tensor]) -> np.ndarray:
    """All elements as one array of words."""
    return torch.cat([x.reshape(-1) for x in tensors]).view(torch.uint16).numpy()


def sizes(tensors: Sequence[torch.Tensor], peers: dict[str, Any]) -> dict[str, int]:
    """Bytes that peers take, by name."""
    words = raw(tensors)
    data = words.tobytes()
    gaps, values = _apart(words)
    found = {
        "xz": len(lzma.compress(data, preset=_EXTREME)),
        "xz_16_bit": len(lzma.compress(data, filters=[_WORDS])),
        "index_32_value": 4 * len(values) + values.nbytes,
    }
    if zstandard := peers["zstandard"]:
        for level in (1, 19):
            found[f"zstd_{level}"] = len(zstandard.ZstdCompressor(level).compress(data))
        parts = gaps.tobytes(), *(plane.tobytes() for plane in values.view((np.uint8, 2)).T)
        found["zstd_19_apart"] = sum(
            len(zstandard.ZstdCompressor(19).compress(part)) for part in parts
        )
    if pcodec := peers["pcodec"]:
        found["pcodec"] = _pcodec(pcodec, [words])
        found["pcodec_by_parameter"] = _pcodec(pcodec, [raw([x]) for x in tensors])
        found["pcodec_apart"] = _pcodec(pcodec, [gaps, values])
    return found


def _apart(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances between words that are not 0, in as few bytes as hold them all, and these words."""
    places = words.nonzero()[0]
    gaps = np.diff(places, prepend=-1)
    return gaps.astype(np.min_scalar_type(gaps.max())), words[places]


def _pcodec(pcodec: Any, arrays: Sequence[np.ndarray]) -> int:
    slowest = pcodec.ChunkConfig(compression_level=12, enable_8_bit=True)
    return sum(len(pcodec.standalone.simple_compress(array, slowest)) for array in arrays)
