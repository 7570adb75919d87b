"""Golden model of the Region Manager: the region table and what a step does to it."""

from types import SimpleNamespace
from typing import Any

from amaranth.lib import data

from .records import (
    Decision,
    DecisionStatus,
    RegionParameters,
    RegionRecord,
    RegionStep,
    RegionUpdate,
    pack,
    size,
    unpack,
)
from .region_policies import decide_cadence, decide_speculation, normalised
from .region_settings import MAX_WORKERS, default_parameters, region_record

__all__ = ["RegionTable", "default_parameters", "region_record"]

#: Octets of a word of the table.
WORD = 8

#: Energies must be below 2 to this power.
ENERGY_BITS = 56

#: Sums stay below 2 to this power when they are scaled to a smaller exponent.
SUM_BITS = 62

#: A change of the exponent by more than this starts the sums anew.
LARGEST_RESCALE = 7

#: Fraction bits, and shift, of the averages.
SHIFTS = {"stall": 4, "redo": 4, "a_ema": 4, "n_ema": 4, "n_fast": 3, "n_slow": 6}

#: Everything that is kept at the record's exponent.
SUMS = ("a_ema", "n_ema", "n_fast", "n_slow", "a_sum", "n_sum")


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

    @property
    def configured(self) -> bool:
        """Parameters have been written: steps can be taken."""
        return self._parameters.workers != 0

    def parameter_octets(self) -> bytes:
        """The parameters as a ``RegionParameters`` record."""
        return pack(RegionParameters, **vars(self._parameters))

    def write_words(self, first: int, octets: bytes) -> None:
        """Overwrite 64-bit words of the table; a record is ten of them.

        Raises
        ------
        ValueError
            If they are not whole words, or reach outside the table.
        """
        if len(octets) % WORD:
            raise ValueError(f"octets must be whole words of {WORD}, not {len(octets)}")
        self._check(first, len(octets) // WORD)
        self._settle()
        self._words[first * WORD : first * WORD + len(octets)] = octets

    def read_words(self, first: int, count: int) -> bytes:
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
        if not 1 <= self._parameters.workers <= MAX_WORKERS:
            raise ValueError(
                f"workers must be from 1 to {MAX_WORKERS}, not {self._parameters.workers}"
            )
        width = size(RegionUpdate)
        if len(updates) % width:
            raise ValueError(f"updates must be whole records of {width} bytes, not {len(updates)}")
        loss_rate, alarm = self._begin(SimpleNamespace(**unpack(RegionStep, head)))
        decisions = []
        for start in range(0, len(updates), width):
            update = _UPDATE.decode(updates[start : start + width])
            status = self._status(update)
            decision = {"region": update.region, "status": status}
            if status == DecisionStatus.OK:
                decision.update(self._update(update, loss_rate, alarm))
            decisions.append(_DECISION.encode(decision))
        return b"".join(decisions)

    def _begin(self, step: SimpleNamespace) -> tuple[int, bool]:
        """Bring the run's averages up to date; the loss rate and the state of the loss guard."""
        run = self._parameters
        if step.loss_valid:
            if not run.loss_valid:
                run.loss_fast, run.loss_slow, run.loss_valid = step.loss << 3, step.loss << 6, 1
            else:
                run.loss_fast += step.loss - (run.loss_fast >> 3)
                run.loss_slow += step.loss - (run.loss_slow >> 6)
        if step.epoch_end:
            run.epoch = min(65535, run.epoch + 1)
        if not run.loss_valid:
            return 0, False
        fall, rises = _relative_fall(run.loss_slow, run.loss_fast)
        return _signed(fall, rises), bool(run.guard and rises and fall > run.guard)

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
        _average(record, stall=update.stall, redo=update.redo)
        record.confidence = _judged(record.confidence, update.accepts, update.trials)
        if update.usable:
            _accumulate(record, update)
        a, n = normalised(record.a_ema, record.n_ema, 32)
        if a:
            record.alpha = _ratio(n * run.workers, a)
        guarded = False
        if update.decide:
            decide_speculation(record, run, loss_rate, a, n)
            guarded = decide_cadence(record, run, alarm)
        fall, rises = _relative_fall(record.n_slow, record.n_fast)
        return {
            "state": record.state,
            "confidence": record.confidence,
            "changed": (record.state, record.cadence) != (state, cadence),
            "held": not a,
            "guarded": guarded,
            "alpha": record.alpha,
            "percentage": record.percentage,
            "gain": record.gain,
            "cadence": record.cadence,
            "dwell": record.dwell,
            "rate": _signed(fall, rises),
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
            octets = bytes(self._words[start : start + size(RegionRecord)])
            self._records[region] = _RECORD.decode(octets)
        return self._records[region]

    def _settle(self) -> None:
        """Put the unpacked records back into the words."""
        for region, record in self._records.items():
            start = region * size(RegionRecord)
            self._words[start : start + size(RegionRecord)] = _RECORD.encode(vars(record))
        self._records.clear()


def _average(record: SimpleNamespace, **values: int) -> None:
    """``acc += x − (acc >> k)``: k more fraction bits than x, so no dead zone."""
    fields = vars(record)
    for name, value in values.items():
        fields[name] += value - (fields[name] >> SHIFTS[name])


def _judged(confidence: int, accepts: int, trials: int) -> int:
    if trials and 8 * accepts >= 7 * trials:
        return min(7, confidence + 1)
    if 4 * accepts < trials:
        return max(0, confidence - 2)
    return confidence


def _accumulate(record: SimpleNamespace, update: SimpleNamespace) -> None:
    """Bring the sums to the update's exponent and add its energies, or start them anew."""
    fields = vars(record)
    rise = update.exponent - record.exponent
    stored = 0
    for name in SUMS:
        stored |= fields[name]
    fresh = not record.scaled or abs(rise) > LARGEST_RESCALE
    if fresh or stored << max(0, -2 * rise) >> SUM_BITS:
        fields.update(
            {"a_ema": update.a << 4, "n_ema": update.n << 4},
            n_fast=update.n << 3,
            n_slow=update.n << 6,
            a_sum=update.a,
            n_sum=update.n,
            samples=1,
            scaled=1,
        )
    else:
        crowded = (record.a_sum | record.n_sum) >> (SUM_BITS - 1) != 0
        for name in SUMS:
            halve = crowded and name in ("a_sum", "n_sum")
            fields[name] = _scaled(fields[name], 2 * rise + halve)
        _average(record, a_ema=update.a, n_ema=update.n, n_fast=update.n, n_slow=update.n)
        started = record.samples > 0
        record.a_sum = started * record.a_sum + update.a
        record.n_sum = started * record.n_sum + update.n
        record.samples = min(65535, record.samples + 1)
    record.exponent = update.exponent


def _scaled(value: int, shift: int) -> int:
    return value >> shift if shift >= 0 else value << -shift


def _ratio(x: int, y: int) -> int:
    """⌊x·2¹⁶/y⌋, at most 65535; 0 where x is."""
    if x >= y:
        return 65535 if x else 0
    return (x << 16) // y


def _relative_fall(slow: int, fast: int) -> tuple[int, bool]:
    """How far the fast average is from the slow one, Q0.16 of the latter; whether above it."""
    slow, fast = normalised(slow, fast << 3, 32)
    return _ratio(abs(slow - fast), slow), fast > slow


def _signed(fall: int, rises: bool) -> int:
    """Q0.16 and its sign as Q1.15, truncated towards zero."""
    return -(fall >> 1) if rises else fall >> 1


class _Codec:
    """Quick conversion between a record's octets and its fields."""

    def __init__(self, layout: data.Layout) -> None:
        self._octets = size(layout)
        self._fields = [(str(name), field.offset, (1 << field.width) - 1) for name, field in layout]

    def decode(self, octets: bytes) -> SimpleNamespace:
        bits = int.from_bytes(octets, "little")
        return SimpleNamespace(
            **{name: bits >> offset & mask for name, offset, mask in self._fields}
        )

    def encode(self, fields: dict[str, Any]) -> bytes:
        bits = 0
        for name, offset, mask in self._fields:
            bits |= (fields.get(name, 0) & mask) << offset
        return bits.to_bytes(self._octets, "little")


_RECORD, _UPDATE, _DECISION = _Codec(RegionRecord), _Codec(RegionUpdate), _Codec(Decision)
