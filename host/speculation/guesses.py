"""Guesses of regions whose updates are in flight."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from adagrain.host.regions.regions import Regions

from .chain import Chain, flat
from .flight import Flight
from .leaves import Leaves

__all__ = ["Guesses"]


class Guesses:
    """Computes guesses: the optimizers replayed on this worker's own gradients, link by link.

    Parameters
    ----------
    regions : Regions
        The regions.
    parameters : sequence of Parameter
        Those of all regions, in the order of the model.
    leaves : Leaves
        Leaves for guesses.
    clip : float or None
        As in :class:`~.options.SpeculationOptions`.
    """

    def __init__(
        self,
        regions: Regions,
        parameters: Sequence[nn.Parameter],
        leaves: Leaves,
        clip: float | None,
    ) -> None:
        self._members = [[part.parameter for part in region.slices] for region in regions]
        self._region_of = {p: r for r, members in enumerate(self._members) for p in members}
        self._parameters = parameters
        self._leaves = leaves
        self._clip = clip
        self._chains: dict[int, Chain] = {}
        self._entered: dict[int, list[Chain]] = {}

    @property
    def any(self) -> bool:
        """True if a guess has entered."""
        return bool(self._entered)

    def begin(self) -> None:
        """Begin a step: no guess has entered, and their memory is free."""
        self._chains, self._entered = {}, {}
        self._leaves.take_back()

    def enter(self, region: int, flights: Sequence[Flight]) -> Chain:
        """A region's guess, which enters the step in the making.

        Parameters
        ----------
        region : int
            Number of the region.
        flights : sequence of Flight
            Those that have not updated its anchor yet, the oldest first.
        """
        if region not in self._chains:
            self._chains[region] = chain = self._made(region, flights)
            self._entered.setdefault(region, []).append(chain)
        return self._chains[region]

    def entered(self, region: int) -> Sequence[Chain]:
        """Guesses of a region that have entered; they differ by what had arrived before."""
        return self._entered.get(region, [])

    def outdate(self, region: int) -> None:
        """Say that a region's anchor was updated: another guess goes out from there."""
        self._chains.pop(region, None)

    def _made(self, region: int, flights: Sequence[Flight]) -> Chain:
        leaves = {p: self._leaves.guess(p) for p in self._members[region]}
        state: dict[torch.Tensor, Any] = {}
        between: list[torch.Tensor] = []
        for number, flight in enumerate(flights):
            if number:
                between.append(flat([*leaves.values()]))
            self._step(flight, leaves, state)
        return Chain(leaves, between)

    def _step(
        self,
        flight: Flight,
        leaves: Mapping[nn.Parameter, nn.Parameter],
        state: dict[torch.Tensor, Any],
    ) -> None:
        """Make a link: have the optimizers of a flight step on guesses of a region."""
        for parameter, leaf in leaves.items():
            leaf.grad = self._scaled(flight, parameter)
        if self._clip is not None:
            if flight.norm is None:
                flight.norm = get_total_norm([self._scaled(flight, p) for p in self._parameters])
            clip_grads_with_norm_(leaves.values(), self._clip, flight.norm)
        flight.replay.guess(leaves, state)
        for leaf in leaves.values():
            leaf.grad = None

    def _scaled(self, flight: Flight, parameter: nn.Parameter) -> torch.Tensor:
        """A local gradient as guesses take it; whole, where the region is not guessed.

        Zeros where it is not due: its norm counts among those of all.
        """
        if parameter not in flight.gradients:
            return torch.zeros_like(parameter)
        return flight.gradients[parameter] * ((flight.gains[self._region_of[parameter]] or 16) / 16)
