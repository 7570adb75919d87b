"""Gradients of a backward pass: added, exchanged, and given back as averages."""

import time
from collections.abc import Callable, Iterable, Sequence

import torch

from .accumulate import Accumulators
from .bundle import Bundle
from .clock import Clock
from .exchange import Exchange, Flat, Pending, Share
from .step import Pass, Step

__all__ = ["Gather"]


class Gather:
    """Takes the gradients of a pass, and has their due parts averaged meanwhile.

    Parameters
    ----------
    accumulators : Accumulators
        What they are added to, and where the averages come back.
    exchange : Exchange
        Averages over the workers.
    clock : Clock
        Who knows which regions are due.

    Members
    -------
    bytes_dense : int
        Bytes of all gradients that were added.
    """

    def __init__(self, accumulators: Accumulators, exchange: Exchange, clock: Clock) -> None:
        self.bytes_dense = 0
        self._accumulators = accumulators
        self._exchange = exchange
        self._clock = clock

    def add(self, step: Step, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        """Add a parameter's gradient of this pass to its regions' accumulators."""
        self.bytes_dense += gradient.nbytes
        chunks = self._accumulators.chunks(parameter)
        if not chunks:
            step.current.alone.append(gradient)
        for chunk in chunks:
            self._accumulators.add(chunk, gradient, first=not step.passes)
            if chunk.region in step.dropping:
                self._accumulators.spoil(chunk)
        step.current.gathered += len(chunks)

    def add_together(
        self,
        step: Step,
        parameters: Sequence[torch.Tensor],
        gradients: Callable[[], Sequence[torch.Tensor]],
        flat: torch.Tensor,
    ) -> Bundle | None:
        """As :meth:`add` for each; as a bundle, where they may be exchanged as they lie."""
        bundle = self._accumulators.bundle(parameters, gradients, flat)
        if bundle is None:
            for parameter, gradient in zip(parameters, gradients(), strict=True):
                self.add(step, parameter, gradient)
            return None
        for share in bundle.shares:
            if share.region in step.dropping:
                share.mean.fill_(torch.nan)
        self._accumulators.take(bundle)
        self.bytes_dense += flat.nbytes
        step.current.gathered += len(bundle.shares)
        return bundle

    def begin_exchange(
        self, current: Pass, parameters: Sequence[torch.Tensor], bundle: Bundle | None
    ) -> Pending | None:
        """Start to average what is due of parameters that were added, or of their bundle.

        Returns
        -------
        Pending or None
            The exchange; ``None`` where nothing is due.
        """
        if bundle is not None:
            current.bundles.append(bundle)
            return self._begin(current, bundle.shares, bundle.flat)
        shares = [
            self._accumulators.share(chunk, current.place)
            for parameter in parameters
            for chunk in self._accumulators.chunks(parameter)
            if self._clock.is_due(chunk.region)
        ]
        shares += [Share(None, gradient, gradient) for gradient in current.alone]
        current.alone = []
        return self._begin(current, shares, None) if shares else None

    def depart(self, current: Pass) -> None:
        """Say that all exchanges of a pass have begun; an error of this worker's is one of it."""
        if (error := self._exchange.depart()) is not None:
            current.fail(error)

    def check(self, current: Pass) -> None:
        """See to it that a pass has all gradients, or is known to have failed.

        Raises
        ------
        RuntimeError
            If one was not added.
        """
        wanted = self._accumulators.slices
        if current.gathered != wanted and current.failure is None:
            raise RuntimeError(
                f"gradients of all {wanted} parameter slices must be added before the pass ends, "
                f"but {current.gathered} were"
            )

    def wait(self, current: Pass) -> float:
        """Wait for all exchanges of a pass; the seconds that it took."""
        began = time.perf_counter()
        for pending in current.pending:
            pending.wait()
        for bundle in current.bundles:
            self._accumulators.settle(bundle)
        current.pending = []
        return time.perf_counter() - began

    def _begin(self, current: Pass, shares: Sequence[Share], flat: Flat | None) -> Pending:
        pending = self._exchange.begin(shares, flat)
        current.pending.append(pending)
        return pending

    def restore(self, step: Step, parameters: Iterable[torch.Tensor]) -> None:
        """Give parameters what is to be applied, though no worker has used them in this pass.

        That is what earlier steps left; and where the exchange remembers what it does not send, the
        average of what came back of this step's earlier passes, in place of that.

        Those without a gradient to which nothing is left stay without: as with DDP, neither weight
        decay nor momentum moves what nobody has used. Frozen ones rest, whatever is left to them.
        """
        late = {r for r, cadence in step.due.items() if cadence > 1}
        again = step.passes > 1 and self._exchange.remembers
        if not late and not again:
            return
        placed = {
            (share.region, share.start): share.average
            for bundle in step.current.bundles
            for share in bundle.shares
        }
        for parameter in parameters:
            chunks, gradient = self._accumulators.chunks(parameter), parameter.grad
            wanted = any(chunk.region in late for chunk in chunks) or (
                again and gradient is not None
            )
            if not parameter.requires_grad or not wanted:
                continue
            left = torch.zeros_like(parameter) if gradient is None else gradient
            self._accumulators.write_back(parameter, left, step.due, placed=placed)
            if gradient is None and left.any():
                parameter.grad = left
