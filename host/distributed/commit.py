"""The end of a step: new cadences take effect, and all who look on are told."""

from collections.abc import Sequence

from adagrain.host.regions.regions import Regions
from adagrain.host.telemetry.events import Sink

from .clock import Clock
from .decide import Decided
from .energies import Energies
from .exchange import Exchange
from .step import Step
from .step_log import StepLog

__all__ = ["Commit"]


class Commit:
    """Puts decisions into force.

    Parameters
    ----------
    regions : Regions
        The regions.
    clock : Clock
        Goes on to the next step.
    energies : Energies
        What their units are.
    exchange : Exchange
        What was sent of them.
    sinks : sequence of Sink
        Who is told.
    decides : bool
        Cadences follow the decisions; otherwise they stay as they are.
    """

    def __init__(
        self,
        regions: Regions,
        clock: Clock,
        energies: Energies,
        exchange: Exchange,
        sinks: Sequence[Sink],
        *,
        decides: bool,
    ) -> None:
        self._names = regions.names
        self._clock = clock
        self._energies = energies
        self._exchange = exchange
        self._sinks = sinks
        self._decides = decides

    def log(self, step: Step, decided: Decided) -> StepLog:
        """The log of a step."""
        assert step.agreed is not None
        names, sent = self._names, self._exchange.sent()
        return StepLog(
            step.number,
            step.agreed,
            {names[r]: update for r, (update, _) in decided.items()},
            {names[r]: decision for r, (_, decision) in decided.items()},
            {names[r]: self._energies.unit(update) for r, (update, _) in decided.items()},
            tuple(names[r] for r in sorted(step.dropping)),
            None if sent is None else {names[r]: own for r, own in sorted(sent.items())},
            self._exchange.bytes_sent,
            step.flown,
        )

    def advance(self, step: Step, decided: Decided) -> None:
        """Go on to the next step, after a decision epoch with the cadences that were decided."""
        self._clock.advance(self._changes(step, decided))

    def change(self, step: Step, decided: Decided) -> None:
        """As :meth:`advance`, where the clock has gone on to the next step already."""
        self._clock.change(self._changes(step, decided))

    def _changes(self, step: Step, decided: Decided) -> dict[int, int]:
        """Cadences that were decided, by region; none but after a decision epoch."""
        assert step.moment is not None
        if not (self._decides and step.moment.closes_epoch):
            return {}
        return {r: 1 << decision["cadence"] for r, (_, decision) in decided.items()}

    def tell(self, log: StepLog) -> None:
        """Tell all who look on."""
        for sink in self._sinks:
            sink.step(log)
