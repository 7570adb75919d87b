"""Speculation in anyone's script: wrap model and optimizer, call ``step(closure)``."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.distributed.chosen_exchange import Compression
from adagrain.host.distributed.exchange import Exchange
from adagrain.host.distributed.state import check_parts
from adagrain.host.distributed.step_log import StepLog
from adagrain.host.regions.regions import By, Regions
from adagrain.models.interface.configuration import Configuration

from .beginning import Beginning
from .closure import Closure
from .counts import Counts
from .runtime import Runtime
from .watch import Watch

__all__ = ["Speculation", "speculate"]

_Optimizers = torch.optim.Optimizer | Sequence[torch.optim.Optimizer]


class Speculation:
    """Data-parallel training whose steps begin while the last updates are in flight.

    Parameters
    ----------
    model, optimizer, device, preset, by, group, compression, options
        As those of :func:`speculate`.

    Members
    -------
    device : Coprocessor
        This worker's device.
    exchange : Exchange
        What averages gradients over the workers.
    """

    exchange: Exchange

    def __init__(
        self,
        model: nn.Module,
        optimizer: _Optimizers,
        device: str | Coprocessor = "golden:",
        *,
        preset: str | Configuration = "full",
        by: By | Regions = "module",
        group: dist.ProcessGroup | None = None,
        compression: Compression = None,
        **options: Any,
    ) -> None:
        self._runtime: Runtime | None = None
        if group is not None and not isinstance(group, dist.ProcessGroup):
            raise TypeError(f"group must be a ProcessGroup that has this worker, not {group!r}")
        group = group or dist.group.WORLD
        if group is None:
            raise RuntimeError(
                "speculate needs a process group: call torch.distributed.init_process_group before"
            )
        beginning = Beginning(model, optimizer, group)
        self._closes = beginning.closes
        try:
            beginning.agree(device, preset, by, compression, options)
            self._optimizers, self.device = beginning.optimizers, beginning.device
            self.exchange, self._runtime = beginning.runtime()
        except BaseException:
            self.close()
            raise
        self._closes.append(self._runtime)
        self._closes.append(Watch(self._optimizers, self._runtime))

    def step(self, *closures: Closure) -> torch.Tensor:
        """Take a step: forward and backward pass, and an update that will be applied later.

        Parameters
        ----------
        closures : callable
            Each computes a loss and returns it, without calling ``backward``. They may be run
            again: each time they must do the same, with the same batch. The gradients of several
            are added up.

        Returns
        -------
        Tensor
            Mean of their losses, or of those that they have reported.

        Raises
        ------
        TypeError
            If there is none, or one does not return a loss.
        RuntimeError
            If a closure does something else when it is run again, or takes a step, a parameter
            gets no gradient, or the workers cannot go on; the message says why, on all of them.
        """
        if not closures:
            raise TypeError("step must be given a closure, or several")
        for closure in closures:
            if not callable(closure):
                raise TypeError(
                    f"step must be given closures, which compute a loss, not {closure!r}"
                )
        return torch.stack([loss.reshape(()) for loss in self._open().step(closures)]).mean()

    def loss(self, loss: torch.Tensor) -> torch.Tensor:
        """Report a loss, within a closure that returns another one; returned as it is. Optional.

        Its range is that of :meth:`adagrain.AdagrainState.loss`.

        Raises
        ------
        RuntimeError
            If no closure is running.
        TypeError, ValueError
            If it is no tensor of real numbers, or not of one element.
        """
        self._open().report(loss)
        return loss

    def settle(self) -> None:
        """Wait for all updates in flight: parameters are up to date then.

        Calling the model, and asking model or optimizers for their ``state_dict`` or giving them
        one, does it, too; looking at parameters, or changing them, does not.
        """
        self._open().settle()

    def finish(self) -> None:
        """Wait for all updates in flight, and decide on all steps, so that sinks are told of them.

        All workers call it behind the last step; :meth:`close` does it, too.
        """
        self._open().finish()

    @property
    def counts(self) -> Counts:
        """Counts of steps and guesses so far, on this worker."""
        return self._open().counts

    @property
    def gains(self) -> dict[str, int]:
        """Sixteenths of local gradients that enter the next guess, by region; 0: none is made."""
        return self._open().gains

    @property
    def buckets(self) -> list[tuple[str, ...]]:
        """Names of the regions whose gradients go together, in the order in which they depart."""
        return self._open().buckets

    @property
    def cadences(self) -> dict[str, int]:
        """Steps per update, by region, in the next step, as far as has been decided."""
        return self._open().cadences

    @property
    def passes_redone(self) -> int:
        """Forward and backward passes that were done again."""
        return self._open().passes_redone

    @property
    def steps(self) -> int:
        """Steps that were taken, those included whose update is in flight."""
        return self._open().steps

    @property
    def bytes_sent(self) -> int:
        """Bytes of gradients that this worker has put into collectives."""
        return self._open().bytes_sent

    @property
    def bytes_dense(self) -> int:
        """Bytes of all gradients that were added: what a dense exchange would have sent."""
        return self._open().bytes_dense

    @property
    def dropped(self) -> int:
        """Updates that were dropped on all workers, because a gradient was not finite."""
        return self._open().dropped

    @property
    def last_step(self) -> StepLog | None:
        """Agreement and decisions of the last step that was decided on.

        From depth 2 on that is not always the last one whose update has arrived here.
        """
        return self._open().last_step

    def state_dict(self) -> dict[str, Any]:
        """State of this worker, its device, and the optimizers; what is in flight is in it."""
        state = {"runtime": self._open().state_dict()}
        return state | {"optimizers": [own.state_dict() for own in self._optimizers]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave, after the model's own was."""
        check_parts(state, "runtime", "optimizers")
        self._open().load_state_dict(state["runtime"], state["optimizers"])

    def close(self) -> None:
        """Wait for all updates in flight, and let go of model, optimizers and device.

        After a failure it lets go of them without waiting; the weights may be half updated then.
        The device is closed if it was given by its url; one that was opened before stays open.

        Raises
        ------
        ReplayError
            If a recorded run goes on here, or ends with other weights.
        RuntimeError
            Within a closure; then nothing is let go of.
        """
        if self._runtime is not None:
            self._runtime.check_outside("close()")
        self._runtime = None
        with ExitStack() as stack:
            for part in self._closes:
                stack.callback(part.close)
            self._closes = []

    def _open(self) -> Runtime:
        if self._runtime is None:
            raise RuntimeError("speculation must not be used after close()")
        return self._runtime


def speculate(
    model: nn.Module,
    optimizer: _Optimizers,
    device: str | Coprocessor = "golden:",
    *,
    preset: str | Configuration = "full",
    by: By | Regions = "module",
    group: dist.ProcessGroup | None = None,
    compression: Compression = None,
    **options: Any,
) -> Speculation:
    """Train a model data-parallel, going on with guessed weights while global ones are in flight.

    ::

        speculation = adagrain.speculate(model, optimizer, tau=0.5)
        for x, y in loader:
            loss = speculation.step(lambda: criterion(model(x), y))
        speculation.close()

    It takes the place of ``DistributedDataParallel``: the model is the bare one, and its weights
    and buffers become those of the first worker. Each worker's device looks at every gradient,
    compares guesses, and decides where it is worth while to guess.

    Parameters
    ----------
    model : nn.Module
        The model, the same on all workers.
    optimizer : torch.optim.Optimizer, or several
        Its optimizer, or all of them; each trainable parameter is in one.
    device : str or Coprocessor
        This worker's device or its url. When it fails the golden model takes over.
    preset : str or Configuration
        Device preset, or configuration, that it was built with; it must have ``difference``.
    by : str, callable or Regions
        How parameters are divided, as in :func:`adagrain.regions`, or the regions; not in rows.
    group : ProcessGroup or None
        The workers; ``None``: all.
    compression : mapping, CompressionOptions or None
        Few elements of each gradient are exchanged, others wait: options of
        :class:`~adagrain.host.compression.options.CompressionOptions`, as ``{"density": 0.01}``.
        Guesses are made of whole local gradients.
    options
        Those of :class:`~.options.SpeculationOptions`, and those of
        :class:`~adagrain.host.distributed.reducer_options.ReducerOptions`; but each region is
        updated in every step unless ``cadences``, or a policy, ``cadence``, is given.

    Raises
    ------
    TypeError
        If the model or an optimizer cannot be used so, or there is no such option.
    ValueError
        If an option is out of its range, or has no effect beside the others, a parameter is not in
        one region, or the workers do not begin alike; on all of them.
    WorkerFailedError
        If another worker cannot begin.
    RuntimeError
        If there is no process group.
    """
    common: dict[str, Any] = {"preset": preset, "by": by, "group": group}
    return Speculation(model, optimizer, device, **common, compression=compression, **options)
