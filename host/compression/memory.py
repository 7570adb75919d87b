"""Numbers that are kept for each element from step to step, by what they belong to."""

from collections.abc import Mapping
from functools import partial

import torch

from .layout import Key, Layout

__all__ = ["Memory"]


class Memory:
    """One FP32 number for each element, 0 at first.

    It is known by share, and lies as the exchange does that asked for it last: where DDP puts
    parameters into other buckets, their numbers follow.
    """

    def __init__(self) -> None:
        self._parts: dict[Key, torch.Tensor] = {}
        self._flats: dict[tuple[Key, ...], torch.Tensor] = {}

    def of(self, layout: Layout, device: torch.device) -> torch.Tensor:
        """Those of an exchange, of one dimension; what is written there is kept."""
        flat = self._flats.get(layout.keys)
        return self._gathered(layout, device) if flat is None else flat

    def add(self, key: Key, values: torch.Tensor) -> None:
        """Add to the numbers of a share that has been asked for."""
        self._parts[key] += values.to(self._parts[key].device)

    def state_dict(self) -> dict[Key, torch.Tensor]:
        """A copy of all, by share."""
        return {key: part.to("cpu", copy=True) for key, part in self._parts.items()}

    def load_state_dict(self, state: Mapping[Key, torch.Tensor]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self._parts = {key: part.clone() for key, part in state.items()}
        self._flats = {}

    def _gathered(self, layout: Layout, device: torch.device) -> torch.Tensor:
        new = partial(torch.zeros, dtype=torch.float32, device=device)
        parts = [
            self._parts[key].to(device) if key in self._parts else new(size)
            for key, size in zip(layout.keys, layout.sizes, strict=True)
        ]
        flat = torch.cat(parts)
        for keys in [own for own in self._flats if not set(own).isdisjoint(layout.keys)]:
            del self._flats[keys]
            for key in {*keys}.difference(layout.keys):  # which a view would keep all of it for
                self._parts[key] = self._parts[key].clone()
        self._flats[layout.keys] = flat
        self._parts |= zip(layout.keys, layout.parts(flat), strict=True)
        return flat
