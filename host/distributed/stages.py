"""The stages of a step, joined: what the front-ends of a reducer drive."""

from collections.abc import Callable, Mapping
from typing import Any

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.regions.regions import Regions
from adagrain.models.region_manager.settings import default_parameters

from .accumulate import Accumulators
from .agree import Agree
from .agreement import Agreement, LossRange
from .cadence_plan import first_cadences, longest_cadences
from .checksum import checksum_of
from .clock import Clock
from .commit import Commit
from .decide import Decide
from .energies import Energies
from .exchange import Exchange
from .gather import Gather
from .lockstep import Lockstep
from .measure import Measure
from .reducer_options import ReducerOptions
from .region_records import check_regions, region_records
from .state import State
from .step import Step
from .step_log import StepLog

__all__ = ["Stages"]


class Stages:
    """Accumulators, exchange, agreement, decide, commit, each an object of its own.

    What they have in common of a step in flight is a :class:`Step`, which the front-end keeps: it
    may compute a step while another one is in flight.

    Parameters
    ----------
    regions, device, lockstep, exchange, options
        As those of :class:`~.reducer.RegionReducer`.
    guesses : bool
        The workers agree on what became of guesses, too.
    depth : int
        Steps that are in flight at a time.

    Raises
    ------
    TypeError, ValueError
        As :class:`~.reducer.RegionReducer`.
    """

    def __init__(
        self,
        regions: Regions,
        device: Coprocessor,
        lockstep: Lockstep,
        exchange: Exchange,
        options: ReducerOptions,
        *,
        guesses: bool = False,
        depth: int = 1,
    ) -> None:
        self._regions = regions
        self._exchange = exchange
        self._options = options
        names, sinks = regions.names, options.all_sinks()
        longest = longest_cadences(names, options.cadence_max)
        first = first_cadences(
            names, options.cadences, longest=longest, epoch_steps=options.epoch_steps
        )
        self.clock = clock = Clock(first, options.epoch_steps)
        energies = Energies([region.numel for region in regions], exchange.workers)
        self.losses = LossRange()
        self.measure = Measure(device, names, sinks)
        self.accumulators = Accumulators(
            *(regions, clock),
            remembers=exchange.remembers,
            places=depth,
            renewed=self.measure.forget,
        )
        self.gather = Gather(self.accumulators, exchange, clock)
        self.agreement = Agreement(
            *(len(regions), options.timing, lockstep.group, lockstep.mesh), guesses=guesses
        )
        known = energies, self.measure, self.accumulators
        self.agree = Agree(clock, *known, self.gather, self.agreement, lockstep)
        self.decide = Decide(regions, device, *known, quiet=exchange.rank != 0)
        self.commit = Commit(
            *(regions, clock, energies, exchange, sinks), decides=options.cadence is not None
        )
        saved = {"cadence_max": longest, "epoch_steps": options.epoch_steps, **options.saved()}
        if guesses:
            del saved["parameters"]  # thresholds among them follow the optimizers' momentum
        self._state = State(
            *(regions, saved, exchange, device, clock, energies, self.accumulators),
            gather=self.gather,
            decide=self.decide,
        )
        check_regions(regions, device.configuration)
        parameters = default_parameters(exchange.workers) | dict(options.parameters)
        device.configure_regions(region_records(first, longest, options), parameters)

    def compares(self, step: int) -> bool:
        """True if weights are compared in front of a step."""
        every = self._options.compare_weights
        return bool(every) and step % every == 0

    def standing(self, passes: int, weights: Callable[[], int] | None = None) -> dict[str, int]:
        """Values that must be equal on all workers in front of a step's backward pass.

        Parameters
        ----------
        passes : int
            Backward passes of the step so far.
        weights : callable or None
            Gives their checksum; ``None``: that of the model's parameters as they are.
        """
        step = self.clock.step
        looks = self.compares(step) and not passes
        found = weights or (lambda: checksum_of(self._regions.parameters()))
        return {
            "steps": step,
            "passes": passes,
            "decisions": self.decide.checksum,
            "weights": found() if looks else 0,
        }

    def end(self, step: Step) -> StepLog:
        """Have the device decide on a step whose averages are there, and go on to the next one.

        Those who look on are not told yet.
        """
        self.decide.look(step)
        decided = self.decide.decide(step)
        log = self.commit.log(step, decided)
        self.commit.advance(step, decided)
        return log

    def land(self, step: Step) -> None:
        """Take in the averages of a step which are all there; it can be decided on later."""
        self.gather.wait(step.current)
        self.decide.look(step)

    def decide_late(self, step: Step) -> StepLog:
        """As :meth:`end`, of a step that has landed while the clock has gone on."""
        self._exchange.end_pass()
        decided = self.decide.decide(step)
        log = self.commit.log(step, decided)
        self.commit.change(step, decided)
        return log

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs, of this worker and its device."""
        return self._state.save()

    def check_state(self, state: Mapping[str, Any]) -> None:
        """See to it that :meth:`load_state_dict` can take a state.

        Raises
        ------
        TypeError, ValueError
            As :meth:`load_state_dict`.
        """
        self._state.check(state)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave.

        Raises
        ------
        TypeError, ValueError
            If it is no such state, of other regions, of another number of workers, or of another
            exchange.
        """
        self._state.load(state)
