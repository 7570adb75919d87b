"""A step's forward and backward passes, done again from where they stand on a wrong guess."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import torch
from torch import nn

from adagrain.host.distributed.repeated import RepeatedWarnings
from adagrain.host.distributed.reported_loss import reported_loss
from adagrain.host.regions.regions import Regions

from .arrivals import Arrivals
from .attempt import Attempt
from .bindings import Bindings
from .calls import Call, DifferentInputsError, may_be_kept
from .closure import Closure, check_loss
from .course import Course
from .departure import Departure
from .graph import reached
from .hooks import Hooks
from .leaves import Leaves
from .one_pass import OnePass
from .tags import Place, Tags, Void

__all__ = ["Passes"]

_log = logging.getLogger("adagrain")


class Passes:
    """Runs closures on anchors where they are up to date, and on guesses where they are not.

    The backward pass goes on under tags, its gradients staying here. In that of the last closure
    updates are looked for whenever a gradient is ready: as soon as those are there that the step
    must have, nothing is judged any more, and buckets of gradients that are ready depart.

    After a guess was rejected, what is missing of the updates that the step must have is waited
    for, and the pass is done again with anchors, and with guesses of newer updates, which are not
    judged any more: modules in front of the first call with a wrong guess return what they had
    returned. So at most one reject costs a second run. Later passes are done again whole.

    It is done again as a whole where the graph shows that a parameter is used outside of its
    module's calls, or that gradients would be added up in another order; that is said once.

    Parameters
    ----------
    model : nn.Module
        The model.
    regions : Regions
        Its regions.
    parameters : sequence of Parameter
        All that are trained, in the order of the model.
    leaves : Leaves
        Their leaves.
    arrivals : Arrivals
        Updates in flight.
    tags : Tags
        Guesses that have entered.
    course : Course
        Is told what is bound.
    keep_outputs : bool
        As in :class:`~.options.SpeculationOptions`.
    idle : callable
        Called in front of a module's call outside of a step, and of looks at weights.
    quiet : bool
        Say nothing, as another worker does.

    Members
    -------
    redone : int
        Passes that were done again.
    stepping : bool
        Closures are being run.
    """

    def __init__(
        self,
        model: nn.Module,
        regions: Regions,
        parameters: Sequence[nn.Parameter],
        leaves: Leaves,
        arrivals: Arrivals,
        tags: Tags,
        course: Course,
        *,
        keep_outputs: bool,
        idle: Callable[[], None],
        quiet: bool,
    ) -> None:
        self.redone = 0
        self.stepping = False
        self._parameters = parameters
        self._leaves = leaves
        self._arrivals = arrivals
        self._tags = tags
        self._idle = idle
        self._warnings = RepeatedWarnings(_log, quiet=quiet)
        self._names = {module: name or "(model)" for name, module in model.named_modules()}
        self._bindings = Bindings(regions, leaves, arrivals, tags, course)
        self._keeps_outputs = keep_outputs
        self._attempt = Attempt(self._names, parameters)
        self._current: OnePass | None = None
        self._entered: list[Call] = []
        self._void: Place | None = None
        self._raised: Exception | None = None
        self._departure: Departure | None = None
        leaves.watch(self._ready)
        self._hooks = Hooks(model, self._enter, self._run_module, idle)

    def compute(self, closures: Sequence[Closure], departure: Departure) -> list[torch.Tensor]:
        """Run closures, each with its backward pass, until no result stands on a guess in flight.

        All gradients have departed then.

        Returns
        -------
        list of Tensor
            The losses of the passes, as reported; they stand on no guess which was not accepted.

        Raises
        ------
        TypeError, RuntimeError
            If a closure does not return a loss, a parameter gets no gradient, or a closure does
            something else when it is run again. If parameters are others than at the beginning.
        """
        self._leaves.check()
        self.stepping = True
        number, last = 0, len(closures) - 1
        try:
            while number <= last or self._arrivals.owes:
                try:
                    if number <= last:
                        departs = departure if number == last else None
                        self._run(number, closures[number], departs)
                        number += 1
                    else:
                        self._arrivals.finish()
                        self._tags.check()
                except Void:
                    number = self._rewind()
                if number <= last and not self._arrivals.in_flight:
                    self._attempt.add_up()
            self._tags.close()
            departure.go(self._attempt.sum)
            return self._attempt.losses
        finally:
            self._attempt.forget()
            self.stepping = False
            self._bindings.release()

    def report(self, loss: torch.Tensor) -> None:
        """Say what the loss of the pass that is computed is, if not what the closure returns.

        Raises
        ------
        RuntimeError
            If there is none.
        TypeError, ValueError
            If it is no tensor of real numbers, or not of one element.
        """
        if self._current is None:
            raise RuntimeError("a loss must be reported within a closure, while step() runs it")
        self._current.reported = reported_loss(loss)

    def close(self) -> None:
        """Let go of the model, and of whoever waits when idle."""
        self._hooks.close()
        self._leaves.close()
        del self._hooks, self._idle

    def _run(self, number: int, closure: Closure, departure: Departure | None) -> None:
        """Run a pass, whose gradients may depart."""
        current = self._current = self._attempt.open(number, keeps=self._arrivals.in_flight)
        torch.clear_autocast_cache()  # it knows weights that have changed in place
        frozen = self._leaves.frozen_versions() if current.keeps else {}
        try:
            self._bindings.begin(current)
            with torch.enable_grad():
                loss = self._loss_of(current, closure)
            if current.keeps:
                self._leaves.check_frozen(frozen)
            self._arrivals.poll()
            self._tags.check()
        finally:
            self._current, self._entered = None, []
        check_loss(loss)
        self._check_order(current, loss)
        self._run_backward(current, loss, departure)
        current.loss = loss.detach() if current.reported is None else current.reported

    def _loss_of(self, current: OnePass, closure: Closure) -> torch.Tensor:
        """A closure's loss; whatever it raises may come of results that were kept: not again."""
        try:
            return closure()
        except Exception as error:
            if current.calls.leave_out and error is not self._raised:
                kind = type(error).__name__
                self._break_off(current, f"{kind} in a closure where results of modules are kept")
            raise

    def _run_backward(
        self, current: OnePass, loss: torch.Tensor, departure: Departure | None
    ) -> None:
        if departure is not None:
            departure.expect()
        if current.keeps or departure is not None:
            leaves, are_all = reached(loss)
            self._check_ways(current, lambda leaf: id(leaf) in leaves)
            if are_all and all(id(self._leaves.bound(p)) in leaves for p in self._parameters):
                self._departure = departure
        try:
            loss.backward(retain_graph=bool(self._tags.mask))
        finally:
            self._departure = None
        if departure is None or departure.step is None:
            self._check_ways(current, lambda leaf: leaf.grad is not None)
        for parameter in self._parameters:
            current.gradients[parameter] = self._leaves.take_gradient(parameter)
            if departure is not None and parameter not in departure.gradients:
                departure.ready(parameter)

    def _ready(self, parameter: nn.Parameter) -> None:
        """In a backward pass, when a parameter has got its gradient."""
        departure = self._departure
        if departure is None:
            return
        self._attempt.note(parameter, self._leaves.gradient(parameter))
        departure.ready(parameter)
        self._arrivals.poll()
        self._tags.check()
        if not self._arrivals.owes:
            self._tags.close()
            departure.go(self._attempt.sum)

    def _enter(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """In front of a module's call."""
        try:
            if not self.stepping:
                self._idle()
            if self._current is not None and self._current.keeps:
                self._begin(self._current, module, args, kwargs)
        except Exception as error:
            self._raised = error
            raise

    def _begin(
        self, current: OnePass, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Compare a call with that of a run before, and bind what it needs."""
        if torch.is_inference_mode_enabled():  # nothing that it gives is kept
            self._bindings.enter(current, module, -1)
            return
        try:
            call = current.calls.begin(module, args, kwargs)
        except DifferentInputsError as error:
            if not error.is_certain:
                self._void = Place(current.number, -1)
                raise Void from None
            uses = {id(own) for own in error.before}.union(*(reached(o)[0] for o in error.before))
            self._check_ways(current, lambda leaf: id(leaf) in uses)
            raise
        self._entered.append(call)
        if call.next is None:
            self._bindings.enter(current, module, call.index)

    def _run_module(
        self,
        module: nn.Module,
        forward: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Any:
        """In the place of a module's forward."""
        if self._current is None or not self._entered or self._entered[-1].module is not module:
            return forward(*args, **kwargs)
        calls, call = self._current.calls, self._entered.pop()
        if call.next is not None:
            return calls.again(call)
        output = forward(*args, **kwargs)
        if self._arrivals.in_flight and may_be_kept():  # else nothing will be rejected any more
            calls.end(call, output)
        return output

    def _check_order(self, current: OnePass, loss: torch.Tensor) -> None:
        """Break off where calls that were left out would change the order of sums."""
        if current.calls.change_order(loss):
            self._keeps_outputs = False
            self._break_off(current, "gradients meet outside of modules' calls")

    def _check_ways(self, current: OnePass, reaches: Callable[[nn.Parameter], bool]) -> None:
        """Break off where a gradient comes by a way that is not that of a module's call."""
        if strays := self._bindings.find_strays(reaches):
            names = ", ".join(map(repr, strays))
            self._break_off(current, f"parameters are used outside of modules' calls ({names})")

    def _break_off(self, current: OnePass, reason: str) -> NoReturn:
        self._warnings.warn(reason, f"{reason}: a pass whose guess is rejected is done again whole")
        self._void = Place(current.number, -1)
        raise Void

    def _rewind(self) -> int:
        """Wait for what the step must have, and go back to the first pass that is void."""
        self._arrivals.finish()
        void = min(p for p in (self._tags.first_rejected, self._void) if p is not None)
        self._tags.discard()
        self._void = None
        self._attempt.rewind(void, keeps_outputs=self._keeps_outputs)
        self.redone += 1
        return void.number
