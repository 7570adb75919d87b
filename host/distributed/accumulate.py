"""Gradients of regions on this worker: summed over a period, averaged over the workers."""

from collections.abc import Callable, Collection, Mapping, Sequence

import torch

from adagrain.host.regions.chunks import Chunk, chunks_of, flat
from adagrain.host.regions.regions import Regions

from .bundle import Bundle
from .clock import Clock
from .exchange import Flat, Share

__all__ = ["Accumulators"]


class Accumulators:
    """Flat tensors for each region: the sum of its period, and the average that comes back.

    A gradient that is added is what ``.grad`` holds after a backward pass. In further backward
    passes of a step that includes what :meth:`write_back` left there, which is taken off again:
    the sum is over the passes, the mean over the steps.

    Sums over several steps are FP32 where parameters have 16 bits: none overflows that has a finite
    mean, and small gradients do not vanish beside what is there.

    Regions of cadence 1 whose gradients lie together stay where they are, as a :class:`Bundle`:
    neither totals nor averages have them then.

    Parameters
    ----------
    regions : Regions
        What they are for.
    clock : Clock
        Who knows which regions are due.
    remembers : bool
        As that of the :class:`~.exchange.Exchange`.
    places : int
        Steps whose averages are kept at a time.
    renewed : callable
        Called where gradients come to lie elsewhere than before.

    Members
    -------
    sums : list of Tensor
        Of each region of a cadence above 1: the sum over its period so far, or the mean over the
        period if it is due.
    totals : list of Tensor
        Of each region that is due: the mean, in its parameters' type; of others anything.
    averages : list of list of Tensor
        By place, of each region: the mean over the workers too.
    """

    def __init__(
        self,
        regions: Regions,
        clock: Clock,
        *,
        remembers: bool = False,
        places: int = 1,
        renewed: Callable[[], None] = lambda: None,
    ) -> None:
        self._clock = clock
        self._remembers = remembers
        self._renewed = renewed
        self._chunks = chunks_of(regions)
        self.totals = [flat(region) for region in regions]
        self.sums = [_wide(total) for total in self.totals]
        self.averages = [[flat(region) for region in regions] for _ in range(places)]
        self.slices = sum(len(chunks) for chunks in self._chunks.values())
        self._bundles: dict[tuple[int, ...], Bundle | None] = {}
        self._placed: dict[int, Flat] = {}

    def chunks(self, parameter: torch.Tensor) -> Sequence[Chunk]:
        """Places of a parameter's slices; none for those that are in no region."""
        return self._chunks.get(id(parameter), ())

    def share(self, chunk: Chunk, place: int = 0) -> Share:
        """Part of a slice that is exchanged, and whose average goes to a place."""
        average = chunk.of(self.averages[place])
        return Share(chunk.region, chunk.of(self.totals), average, chunk.start)

    def means(self, regions: Sequence[int]) -> list[torch.Tensor]:
        """All elements of each region that is due: the mean over its period; in some order."""
        return [self._placed[r].means if r in self._placed else self.totals[r] for r in regions]

    def mean(self, parameter: torch.Tensor) -> torch.Tensor:
        """The mean over its period of a parameter whose gradient was added, and that is due."""
        parts = [chunk.of(self.totals) for chunk in self.chunks(parameter)]
        return torch.cat(parts).view_as(parameter)

    def averages_of(self, regions: Sequence[int], place: int = 0) -> list[torch.Tensor]:
        """All elements of each region: the mean over the workers too; in the same order."""
        return [
            self._placed[r].averages if r in self._placed else self.averages[place][r]
            for r in regions
        ]

    def bundle(
        self,
        parameters: Sequence[torch.Tensor],
        gradients: Callable[[], Sequence[torch.Tensor]],
        flat: torch.Tensor,
    ) -> Bundle | None:
        """Gradients that may be taken all at once; only where each region has cadence 1.

        Parameters
        ----------
        parameters : sequence of Tensor
            Whose gradients they are.
        gradients : callable
            Gives the gradients; called where these parameters have not come together before.
        flat : Tensor
            Memory that they are thought to lie in.
        """
        key = (flat.data_ptr(), *map(id, parameters))
        if key not in self._bundles:
            others = {k: b for k, b in self._bundles.items() if not {*k[1:]} & {*key[1:]}}
            self._bundles = {**others, key: self._bundled(parameters, gradients(), flat)}
            self._renewed()
        found = self._bundles[key]
        return found if found and found.regions.isdisjoint(self._clock.slow) else None

    def _bundled(
        self,
        parameters: Sequence[torch.Tensor],
        gradients: Sequence[torch.Tensor],
        flat: torch.Tensor,
    ) -> Bundle | None:
        at = flat.data_ptr()
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if gradient.data_ptr() != at or not gradient.is_contiguous():
                return None
            if not self.chunks(parameter):
                return None
            at += gradient.nbytes
        chunks = [chunk for parameter in parameters for chunk in self.chunks(parameter)]
        return Bundle(chunks, flat, [total.numel() for total in self.totals])

    def take(self, bundle: Bundle) -> None:
        """Add the gradients of a bundle, which stay where they are."""
        self._placed |= bundle.placed
        for chunk, share in bundle.scattered:
            self._placed.pop(chunk.region, None)
            chunk.of(self.totals).copy_(share.mean)

    def settle(self, bundle: Bundle) -> None:
        """Take over averages of a bundle that has been exchanged."""
        for chunk, share in bundle.scattered:
            chunk.of(self.averages[0]).copy_(share.average)

    def add(self, chunk: Chunk, gradient: torch.Tensor, *, first: bool) -> None:
        """Add a slice of its parameter's gradient.

        Parameters
        ----------
        chunk : Chunk
            The slice.
        gradient : Tensor
            The whole parameter's.
        first : bool
            From the first backward pass of this step.
        """
        clock, region = self._clock, chunk.region
        self._placed.pop(region, None)
        cadence = clock.cadences[region]
        total, part = chunk.of(self.sums), chunk.part.of(gradient).reshape(-1)
        if cadence == 1:
            chunk.of(self.totals).copy_(part)  # so that −0 stays −0
            return
        if first and clock.begins(region):
            total.copy_(part)
        elif first or not clock.is_due(region):
            total.add_(part)
        else:
            back = chunk.of(self.averages[0])
            if self._remembers:
                total.copy_(back)
            total.add_(part.to(total.dtype) - back, alpha=1.0 / cadence)
        if clock.is_due(region):
            if first:
                total.mul_(1.0 / cadence)
            if self.sums[region] is not self.totals[region]:
                chunk.of(self.totals).copy_(total)

    def spoil(self, chunk: Chunk) -> None:
        """Have the mean of a slice count as one that is not finite, on every worker that does so.

        What an earlier pass of the step has not left finite is dropped with all that is added to
        it: an exchange that remembers must not take it as sent.
        """
        chunk.of(self.totals).fill_(torch.nan)

    def write_back(
        self,
        parameter: torch.Tensor,
        gradient: torch.Tensor,
        due: Collection[int],
        place: int = 0,
        placed: Mapping[tuple[int | None, int], torch.Tensor] = {},
    ) -> None:
        """Write the averages of due regions into a gradient, and zeros elsewhere.

        Those of a bundle are given, by region and first element in that.
        """
        for chunk in self.chunks(parameter):
            part = chunk.part.of(gradient)
            if chunk.region in due:
                average = placed.get((chunk.region, chunk.start))
                found = chunk.of(self.averages[place]) if average is None else average
                part.copy_(found.view_as(part))
            else:
                part.zero_()


def _wide(total: torch.Tensor) -> torch.Tensor:
    """The same, where it has more than 16 bits an element; or FP32 zeros."""
    return total if total.element_size() > 2 else torch.zeros_like(total, dtype=torch.float32)
