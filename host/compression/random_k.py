"""The mask that looks at nothing: what others have to be better than."""

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from .layout import Key, Layout

__all__ = ["RandomK"]


class RandomK:
    """Sends each element with the same probability, the density.

    Random numbers follow from seed, rank, pass and share alone.

    Parameters
    ----------
    seed, rank : int
        Each worker has numbers of its own.
    """

    def __init__(self, seed: int, rank: int) -> None:
        self._seed = seed
        self._rank = rank
        self._passes = 0

    def keep(self, v: torch.Tensor, layout: Layout, density: float) -> torch.Tensor:
        """As :meth:`Mask.keep`."""
        draw = partial(torch.rand, dtype=torch.float32, device="cpu")
        drawn = [
            draw(size, generator=self._generator(key))
            for key, size in zip(layout.keys, layout.sizes, strict=True)
        ]
        return (torch.cat(drawn) < density).to(v.device)

    def end_pass(self, density: float) -> None:
        """As :meth:`Mask.end_pass`."""
        self._passes += 1

    def state_dict(self) -> dict[str, Any]:
        """As :meth:`Mask.state_dict`."""
        return {"passes": self._passes}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As :meth:`Mask.load_state_dict`."""
        self._passes = state["passes"]

    def _generator(self, key: Key) -> torch.Generator:
        text = repr((self._seed, self._rank, self._passes, *key)).encode()
        seed = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
        return torch.Generator().manual_seed(seed >> 1)
