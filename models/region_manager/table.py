"""Golden model of the Region Manager: the region table and what a step does to it."""

from collections.abc import Iterable, Mapping
from types import SimpleNamespace

from adagrain.models.interface.records import pack, size, unpack, unpack_all
from adagrain.models.interface.units.region_manager import (
    MAX_WORKERS,
    WORD,
    Decision,
    DecisionStatus,
    RegionParameters,
    RegionRecord,
    RegionStep,
    RegionUpdate,
)

from .averages import (
    ALPHA_BITS,
    ALPHA_SHIFTS,
    FAST,
    LOGARITHM_BITS,
    SLOW,
    TIME_SHIFT,
    agreed,
    averaged,
    fall,
    logarithm,
    quotient,
)
from .policies import decide_cadence, decide_speculation
from .settings import default_parameters, region_record

__all__ = ["RegionTable", "default_parameters", "region_record"]

#: Fields of a decision on an update that is refused, beside its status.
_REFUSED = unpack(Decision, bytes(size(Decision)))

#: Energies must be below 2 to this power.
ENERGY_BITS = 56

#: Sums stay below 2 to this power when they are scaled to a smaller exponent.
SUM_BITS = 62

#: A change of the exponent by more than this starts the sums anew.
LARGEST_RESCALE = 7


class RegionTable:
    """Golden model of :class:`adagrain.hdl.region_manager.RegionManager`, in integers.

    Parameters
    ----------
    regions : int
        Records in the table; all are invalid at first.
    """

    def __init__(self, regions: int) -> None:
        if regions < 1:
            raise ValueError(f"regions must be positive, not {regions!r}")
        self.regions = regions
        self._words = bytearray(regions * size(RegionRecord))
        self._records: dict[int, SimpleNamespace] = {}  # those that are newer than ``_words``
        self._parameters = SimpleNamespace(
            **unpack(RegionParameters, bytes(size(RegionParameters)))
        )

    @property
    def parameters(self) -> dict[str, int]:
        """Fields of ``RegionParameters``: what was written, and the loss averages since."""
        return dict(vars(self._parameters))

    @parameters.setter
    def parameters(self, fields: dict[str, int]) -> None:
        self._parameters = SimpleNamespace(
            **unpack(RegionParameters, pack(RegionParameters, **fields))
        )

    def copy(self) -> "RegionTable":
        """Another table, with the same records and parameters."""
        other = RegionTable(self.regions)
        other._words[:] = self._words
        other._records = {
            region: SimpleNamespace(**vars(record)) for region, record in self._records.items()
        }
        other._parameters = SimpleNamespace(**vars(self._parameters))
        return other

    @property
    def settings(self) -> bytes:
        """The parameters as a ``RegionParameters`` record."""
        return pack(RegionParameters, **vars(self._parameters))

    @settings.setter
    def settings(self, raw: bytes) -> None:
        self._parameters = SimpleNamespace(**unpack(RegionParameters, raw))

    def write(self, first: int, raw: bytes) -> None:
        """Overwrite 64-bit words of the table; a record is eight of them.

        Raises
        ------
        ValueError
            If they are not whole words, or reach outside the table.
        """
        if len(raw) % WORD:
            raise ValueError(f"bytes must be whole words of {WORD}, not {len(raw)}")
        self._check(first, len(raw) // WORD)
        self._settle()
        self._words[first * WORD : first * WORD + len(raw)] = raw

    def read(self, first: int, count: int) -> bytes:
        """64-bit words of the table.

        Raises
        ------
        ValueError
            If they reach outside the table.
        """
        self._check(first, count)
        self._settle()
        return bytes(self._words[first * WORD : (first + count) * WORD])

    def step(self, head: bytes, updates: bytes) -> bytes:
        """Take one step's losses and energies, and decide.

        Parameters
        ----------
        head : bytes
            A ``RegionStep`` record.
        updates : bytes
            ``RegionUpdate`` records, one after the other.

        Returns
        -------
        bytes
            A ``Decision`` record for each, in the same order.

        Raises
        ------
        ValueError
            If a length is wrong, or the parameters' ``workers`` is not from 1 to 1024.
        """
        width = size(RegionUpdate)
        if len(updates) % width:
            raise ValueError(f"updates must be whole records of {width} bytes, not {len(updates)}")
        decided = self.decide(unpack(RegionStep, head), unpack_all(RegionUpdate, updates))
        return b"".join(pack(Decision, **decision) for decision in decided)

    def decide(
        self, head: Mapping[str, int], updates: Iterable[Mapping[str, int]]
    ) -> list[dict[str, int]]:
        """As :meth:`step`, of the records' fields: all of them, in their order."""
        if not 1 <= self._parameters.workers <= MAX_WORKERS:
            raise ValueError(
                f"workers must be from 1 to {MAX_WORKERS}, not {self._parameters.workers}"
            )
        loss_rate, alarm = self._begin(SimpleNamespace(**head))
        return [self._decision(SimpleNamespace(**update), loss_rate, alarm) for update in updates]

    def _begin(self, step: SimpleNamespace) -> tuple[int, bool]:
        """Bring the run's averages up to date; the loss rate and the state of the loss guard."""
        run = self._parameters
        if step.loss_valid:
            level = logarithm(step.loss)
            if not run.loss_valid:
                run.loss_fast, run.loss_slow, run.loss_valid = level << FAST, level << SLOW, 1
            else:
                run.loss_fast = averaged(run.loss_fast, level, FAST)
                run.loss_slow = averaged(run.loss_slow, level, SLOW)
        if step.epoch_end:
            run.epoch = min(65535, run.epoch + 1)
        if not run.loss_valid:
            return 0, False
        rate = fall(run.loss_fast, run.loss_slow)
        return rate, bool(run.guard and -rate > run.guard)

    def _decision(self, update: SimpleNamespace, loss_rate: int, alarm: bool) -> dict[str, int]:
        status = self._status(update)
        decision = {"region": update.region, "status": int(status)}
        if status == DecisionStatus.OK:
            return decision | self._update(update, loss_rate, alarm)
        return _REFUSED | decision

    def _status(self, update: SimpleNamespace) -> DecisionStatus:
        if update.region >= self.regions:
            return DecisionStatus.BAD_REGION
        if not self._record(update.region).valid:
            return DecisionStatus.NOT_CONFIGURED
        if (update.a | update.n) >> ENERGY_BITS:
            return DecisionStatus.BAD_ENERGY
        return DecisionStatus.OK

    def _update(self, update: SimpleNamespace, loss_rate: int, alarm: bool) -> dict[str, int]:
        record, run = self._record(update.region), self._parameters
        state, cadence = record.state, record.cadence
        record.stall = averaged(record.stall, update.stall, TIME_SHIFT)
        record.redo = averaged(record.redo, update.redo, TIME_SHIFT)
        record.confidence = _revised(record.confidence, update.accepts, update.trials)
        learns = bool(update.usable and update.a)
        if learns:
            _average(record, update, run.workers)
        if update.usable:
            _accumulate(record, update)
        guarded = False
        if update.decide:
            decide_speculation(record, run, loss_rate)
            guarded = decide_cadence(record, run, alarm)
        return {
            "state": int(record.state),
            "confidence": record.confidence,
            "changed": int((record.state, record.cadence) != (state, cadence)),
            "alpha_held": int(not learns),
            "guarded": int(guarded),
            "alpha": record.alpha >> ALPHA_BITS,
            "percentage": record.percentage,
            "gain": record.gain,
            "cadence": record.cadence,
            "dwell": record.dwell,
            "rate": fall(record.n_fast, record.n_slow),
            "loss_rate": loss_rate,
        }

    def _check(self, first: int, count: int) -> None:
        words = len(self._words) // WORD
        if first < 0 or count < 0 or first + count > words:
            raise ValueError(
                f"words must be from 0 to {words - 1}, not {first} to {first + count - 1}"
            )

    def _record(self, region: int) -> SimpleNamespace:
        if region not in self._records:
            start = region * size(RegionRecord)
            raw = bytes(self._words[start : start + size(RegionRecord)])
            self._records[region] = SimpleNamespace(**unpack(RegionRecord, raw, reserved=True))
        return self._records[region]

    def _settle(self) -> None:
        """Put the unpacked records back into the words."""
        for region, record in self._records.items():
            start = region * size(RegionRecord)
            self._words[start : start + size(RegionRecord)] = pack(RegionRecord, **vars(record))
        self._records.clear()


def _revised(confidence: int, accepts: int, trials: int) -> int:
    if trials and 8 * accepts >= 7 * trials:
        return min(7, confidence + 1)
    if 4 * accepts < trials:
        return max(0, confidence - 2)
    return confidence


def _average(record: SimpleNamespace, update: SimpleNamespace, workers: int) -> None:
    """Let the averages take in an update's agreement, and the logarithm of its N."""
    agreement = quotient(update.a, update.n, workers)
    level = logarithm(update.n) + (update.exponent << LOGARITHM_BITS + 1)
    record.alpha = agreed(record.alpha, agreement, record.measured)
    if record.measured:
        record.n_fast = averaged(record.n_fast, level, FAST)
        record.n_slow = averaged(record.n_slow, level, SLOW)
    else:
        record.n_fast, record.n_slow = level << FAST, level << SLOW
    record.measured = min(len(ALPHA_SHIFTS) - 1, record.measured + 1)


def _accumulate(record: SimpleNamespace, update: SimpleNamespace) -> None:
    """Bring the sums to the update's exponent and add its energies, or start them anew."""
    rise = update.exponent - record.exponent
    stored = record.a_sum | record.n_sum
    overflows = stored << max(0, -2 * rise) >> SUM_BITS
    if not record.samples or abs(rise) > LARGEST_RESCALE or overflows:
        record.a_sum, record.n_sum, record.samples = update.a, update.n, 1
    else:
        near_overflow = stored >> (SUM_BITS - 1) != 0
        record.a_sum = _scaled(record.a_sum, 2 * rise + near_overflow) + update.a
        record.n_sum = _scaled(record.n_sum, 2 * rise + near_overflow) + update.n
        record.samples = min(65535, record.samples + 1)
    record.exponent = update.exponent


def _scaled(value: int, shift: int) -> int:
    return value >> shift if shift >= 0 else value << -shift
