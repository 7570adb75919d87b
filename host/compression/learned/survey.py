"""Look at what changes slowly of the shares, in some passes only: it costs next to nothing."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from adagrain.host.compression.layout import Key, Layout
from adagrain.models.mask_network import gradient_feature, sampled

from .activations import Activations
from .code_bits import CodeBits, code_bits, together
from .last import Last

__all__ = ["Survey", "Surveyed"]

#: Looks before there are fewer, and how often their distance doubles.
_SOON, _DOUBLINGS = 4, 3

#: Features of activations, and that of a gradient, of which nothing is known.
_UNKNOWN = (0, 0, 0, 0), 0


class Surveyed(NamedTuple):
    """Features and bits of shares.

    Members
    -------
    features : ndarray of int64, (shares, 5)
        Of their activations and their gradients.
    bits : CodeBits
        What codes take of their elements.
    """

    features: np.ndarray
    bits: CodeBits


class Survey:
    """Activations and gradients' norms as features, and code lengths.

    Of gradients, elements evenly apart stand for all.

    Parameters
    ----------
    passes : int
        Passes between two looks at first; the first one is looked at. From four times as many
        passes on it is twice as many, and so on, up to eight times.
    """

    def __init__(self, passes: int) -> None:
        self._passes = passes
        self._watched: Activations | None = None
        self._activations: dict[int, tuple[int, int, int, int]] = {}
        self._gradients: dict[Key, int] = {}
        self._bits: dict[Key, CodeBits] = {}
        self._last = Last(self._surveyed)
        self._looks = True

    def watch(self, owners: Sequence[nn.Module]) -> None:
        """Look at the activations of these modules, by region."""
        self._watched = Activations(owners)
        self._watched.wanted = self._looks

    def close(self) -> None:
        """Let go of the modules."""
        if self._watched:
            self._watched.close()

    def begin_pass(self, number: int) -> None:
        """Say which pass comes, counted from 0, which it is as long as nothing is said."""
        doublings = min((number // (_SOON * self._passes)).bit_length(), _DOUBLINGS)
        self._looks = number % (self._passes << doublings) == 0
        if self._watched:
            self._watched.wanted = self._looks

    def look(self, layout: Layout, gradient: torch.Tensor) -> None:
        """Say what the gradient of an exchange is."""
        if not self._looks:
            return
        norms = map(gradient_feature, sampled(gradient, layout.sizes), layout.sizes)
        self._gradients |= zip(layout.keys, norms, strict=True)
        self._last.forget()

    def heard(self, layout: Layout, frame: bytes) -> None:
        """Say what this worker's frame was."""
        if self._looks:
            self._bits |= zip(layout.keys, code_bits(frame, layout.elements), strict=True)
            self._last.forget()

    def end_pass(self) -> None:
        """Say that the pass has ended."""
        if self._looks and self._watched:
            self._activations |= self._watched.features()
            self._last.forget()

    def of(self, keys: Sequence[Key]) -> Surveyed:
        """Features and bits of shares."""
        return self._last.of(keys)

    def state_dict(self) -> dict[str, Any]:
        """State for a resumed run."""
        bits = {key: (own.base, torch.from_numpy(own.bits)) for key, own in self._bits.items()}
        return {
            "activations": {**self._activations},
            "gradients": {**self._gradients},
            "bits": bits,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self._activations, self._gradients = {**state["activations"]}, {**state["gradients"]}
        self._bits = {
            key: CodeBits(base, own.numpy()) for key, (base, own) in state["bits"].items()
        }
        self._last.forget()

    def _surveyed(self, keys: Sequence[Key]) -> Surveyed:
        rows = [self._features(key) for key in keys]
        bits = together([self._bits.get(key) for key in keys])
        return Surveyed(np.array(rows, dtype=np.int64), bits)

    def _features(self, key: Key) -> tuple[int, ...]:
        activations = self._activations.get(key[0], _UNKNOWN[0])
        return (*activations, self._gradients.get(key, _UNKNOWN[1]))
