"""What changes slowly of the shares, looked at in some passes only: it costs next to nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from adagrain.host.compression.layout import Key, Layout
from adagrain.models.mask_network import gradient_feature
from adagrain.models.numerics.normalised_variance import exponent_of
from adagrain.models.statistics import statistics_of

from .activations import Activations
from .code_bits import CodeBits, code_bits

__all__ = ["Survey"]

#: Features of activations, and that of a gradient, of which nothing is known.
_UNKNOWN = (0, 0, 0, 0), 0


class Survey:
    """Activations and gradients' norms as features, and code lengths.

    Parameters
    ----------
    passes : int
        Passes between two looks; the first one is looked at.
    """

    def __init__(self, passes: int) -> None:
        self._passes = passes
        self._watched: Activations | None = None
        self._activations: dict[int, tuple[int, int, int, int]] = {}
        self._gradients: dict[Key, int] = {}
        self._bits: dict[Key, CodeBits] = {}

    def watch(self, owners: Sequence[nn.Module]) -> None:
        """Look at the activations of these modules, by region."""
        self._watched = Activations(owners)

    def look(self, number: int, layout: Layout, gradient: torch.Tensor) -> None:
        """Say what the gradient of an exchange is, in a pass counted from 0."""
        if not self._looks(number):
            return
        parts = [own.detach().float().cpu() for own in layout.parts(gradient)]
        records = statistics_of(parts, [exponent_of(own) for own in parts], powers=2)
        self._gradients |= zip(layout.keys, map(gradient_feature, records), strict=True)

    def heard(self, number: int, layout: Layout, frame: bytes) -> None:
        """Say what this worker's frame was."""
        if self._looks(number):
            self._bits |= zip(layout.keys, code_bits(frame, layout.elements), strict=True)

    def end_pass(self, number: int) -> None:
        """End a pass."""
        if self._watched:
            if self._looks(number):
                self._activations |= self._watched.features()
            self._watched.wanted = self._looks(number + 1)

    def features(self, key: Key) -> tuple[tuple[int, int, int, int], int]:
        """Of a share's activations, and of its gradient."""
        region, _ = key
        return (
            self._activations.get(region, _UNKNOWN[0]),
            self._gradients.get(key, _UNKNOWN[1]),
        )

    def bits(self, keys: Sequence[Key]) -> list[CodeBits | None]:
        """What codes take of some shares' elements."""
        return [self._bits.get(key) for key in keys]

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs."""
        bits = {key: (own.base, torch.from_numpy(own.bits)) for key, own in self._bits.items()}
        return {
            "activations": {**self._activations},
            "gradients": {**self._gradients},
            "bits": bits,
            "wanted": self._watched is None or self._watched.wanted,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self._activations, self._gradients = {**state["activations"]}, {**state["gradients"]}
        self._bits = {
            key: CodeBits(base, own.numpy()) for key, (base, own) in state["bits"].items()
        }
        if self._watched:
            self._watched.wanted = state["wanted"]

    def _looks(self, number: int) -> bool:
        return number % self._passes == 0
