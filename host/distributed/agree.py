"""The end of a backward pass: the workers agree on what they have gathered."""

import time

from adagrain.host.telemetry.events import TensorKind

from .accumulate import Accumulators
from .agreement import Agreement
from .clock import Clock
from .energies import Energies
from .gather import Gather
from .lockstep import Lockstep
from .measure import Measure
from .step import Step

__all__ = ["Agree"]


class Agree:
    """Finds what this worker's gradients are worth, and has all workers know their sums.

    The agreement is under way while the exchange is waited for; so it tells how long earlier
    passes have waited, those of the step before if there were none.

    Parameters
    ----------
    clock : Clock
        Who knows which regions are due.
    energies : Energies
        What gradients are worth.
    measure : Measure
        Looks at them.
    accumulators : Accumulators
        Who has them.
    gather : Gather
        Waits for their exchange.
    agreement : Agreement
        Sums over the workers.
    lockstep : Lockstep
        Tells why one of them failed.
    """

    def __init__(
        self,
        clock: Clock,
        energies: Energies,
        measure: Measure,
        accumulators: Accumulators,
        gather: Gather,
        agreement: Agreement,
        lockstep: Lockstep,
    ) -> None:
        self._clock = clock
        self._energies = energies
        self._measure = measure
        self._accumulators = accumulators
        self._gather = gather
        self._agreement = agreement
        self._lockstep = lockstep

    def agree(self, step: Step) -> None:
        """End the pass of a step that is under way; the step knows then what is due.

        Raises
        ------
        RuntimeError
            If a parameter's gradient was not added.
        WorkerFailedError, WorkerLostError
            If the workers cannot go on together.
        """
        self.begin(step)
        step.stall += self._gather.wait(step.current)
        self.end(step)

    def begin(self, step: Step) -> None:
        """Begin to agree on a pass of which all has been gathered, without waiting.

        An error of this worker is one of the pass, which :meth:`end` tells.

        Raises
        ------
        WorkerLostError
            If another worker is not there any more.
        """
        current = step.current
        self._gather.depart(current)
        step.moment, step.exponents = self._clock.now, [*self._energies.exponents]
        redo = time.perf_counter() - step.began if step.redo is None else step.redo
        step.local = {}
        try:
            self._gather.check(current)
            self._look(step, step.moment.due)
        except Exception as error:
            current.fail(error)
        step.told = step.stall
        step.agreeing = self._agreement.begin(
            *(step.number, step.local, step.losses),
            guesses=step.guesses,
            stall=step.told,
            redo=redo,
            failed=current.failure is not None,
        )

    def end(self, step: Step) -> None:
        """Wait until the workers have agreed; the step knows then what is due.

        Raises
        ------
        WorkerFailedError, WorkerLostError
            If the workers cannot go on together. A worker that has failed raises its own error.
        """
        assert step.agreeing is not None and step.moment is not None
        due = step.moment.due
        step.agreed = agreed = self._agreement.end(step.agreeing)
        if agreed.failed:
            self._lockstep.tell(step.current.failure)
        step.passes += 1
        for r in due:
            if count := agreed.non_finite[r]:
                step.dropping.setdefault(r, count)
        step.due = {r: step.moment.cadences[r] for r in due if r not in step.dropping}

    def _look(self, step: Step, due: list[int]) -> None:
        """Find what this worker contributes for regions that are due."""
        means = self._accumulators.means(due)
        found = self._measure.energies(step, TensorKind.LOCAL, due, means)
        step.local = {r: self._energies.local(r, energy) for r, energy in found.items()}
