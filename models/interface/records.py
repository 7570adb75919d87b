"""The records that cross the boundary between gateware and host, each declared once.

All of them are :mod:`amaranth.lib.data` layouts, little end first, a whole number of bytes
long: gateware instantiates them as signals, the host packs and unpacks them with
:func:`pack` and :func:`unpack`. What a request may hold any number of is a power of two long,
so that a device counts it by a shift.
"""

import enum
import operator
from functools import cache
from typing import Any, NamedTuple

from amaranth.hdl import signed, unsigned
from amaranth.lib import data

__all__ = [
    "BINS",
    "CadencePolicy",
    "Decision",
    "DecisionStatus",
    "HistogramBin",
    "Policy",
    "PrecisionDecision",
    "PrecisionRecord",
    "PrecisionUpdate",
    "RegionParameters",
    "RegionRecord",
    "RegionStep",
    "RegionUpdate",
    "SpeculationState",
    "StatisticsBegin",
    "StatisticsRecord",
    "TileResult",
    "TileRun",
    "pack",
    "size",
    "unpack",
    "unpack_all",
]

#: Bins of the histogram after read-out: half binades below the largest exponent.
BINS = 64


class Policy(enum.IntEnum):
    """Rule set that decides a region's speculation state."""

    NEVER = 0
    SEED_LITERAL = 1
    COST_AWARE = 2
    ALWAYS = 3


class CadencePolicy(enum.IntEnum):
    """Rule that decides a region's cadence."""

    FIXED = 0  # stays at ``cadence``
    PHASE = 1  # ``cadence_min`` before epoch ``phase_epoch``, ``cadence_max`` from then on
    NOISE = 2  # one octave per epoch towards the measured noise-to-signal ratio


class SpeculationState(enum.IntEnum):
    """How a region runs while its global update is in flight."""

    GLOBAL = 0
    HYBRID = 1
    FULL = 2


class DecisionStatus(enum.IntEnum):
    """Why a region's update was refused; its record is then untouched."""

    OK = 0
    BAD_REGION = 1  # number at or above the table's size
    NOT_CONFIGURED = 2  # record without its valid bit
    BAD_ENERGY = 3  # an energy of 2**56 or more


#: Start of a pass over a tensor. ``exponent`` is the shared exponent E, biased by 127 (1…254).
StatisticsBegin = data.StructLayout(
    {
        "count": unsigned(32),
        "format": unsigned(8),
        "exponent": unsigned(8),
        "histogram": unsigned(1),
        "from_link": unsigned(1),  # data come in STATISTICS_DATA frames, not by the data port
        "_reserved": unsigned(14),
    }
)

#: Result of a pass. ``minimum`` and ``maximum`` are FP32 words; exponents are biased by 127.
StatisticsRecord = data.StructLayout(
    {
        "count": unsigned(32),
        "nan": unsigned(32),
        "positive_infinity": unsigned(32),
        "negative_infinity": unsigned(32),
        "zero": unsigned(32),
        "saturated": unsigned(32),
        "minimum": unsigned(32),
        "maximum": unsigned(32),
        "largest_exponent": unsigned(8),  # of finite elements; 0 where all are zero or subnormal
        "exponent": unsigned(8),  # the E of the pass
        "none_finite": unsigned(1),  # minimum and maximum are then 0
        "overflow": unsigned(1),  # more elements than ``count`` can hold: no sum is to be used
        "_reserved": unsigned(14),
        "s1": signed(64),
        "s2": unsigned(64),
        "s3": signed(96),
        "s4": unsigned(96),
    }
)

#: One bin after read-out: bin 0 is the upper half of the largest binade, bin 63 takes the rest.
HistogramBin = data.StructLayout({"count": unsigned(32), "energy": unsigned(48)})

#: One region's state: eight 64-bit words of the region table.
RegionRecord = data.StructLayout(
    {
        # word 0: what the region is, and its small state
        "valid": unsigned(1),
        "policy": unsigned(3),
        "cadence_policy": unsigned(2),
        "state": unsigned(2),
        "confidence": unsigned(3),  # accept counter c, 0…7
        "streak": unsigned(2),  # epochs in a row with α ≥ T1
        "measured": unsigned(3),  # updates in α and the averages of N; saturates
        "gain": unsigned(5),  # h, 0…16 sixteenths
        "cadence": unsigned(4),  # log2 of the steps per update
        "cadence_min": unsigned(4),
        "cadence_max": unsigned(4),
        "cadence_dwell": unsigned(3),  # epochs before the cadence may change again
        "exponent": unsigned(8),  # shared exponent of the sums, biased by 127
        "alpha": unsigned(20),  # α: EMA of min(1, N·W/A), shift 4, Q0.16 with 4 more fraction bits
        # word 1
        "percentage": unsigned(16),  # p, Q0.16
        "samples": unsigned(16),  # updates in the sums; saturates
        "dwell": unsigned(8),  # epochs before the state may change again
        "dwell_length": unsigned(8),  # dwell after the next change; doubles on a demotion
        "phase_epoch": unsigned(16),
        # words 2…7
        "stall": unsigned(64),  # EMA of σ in µs, 4 fraction bits
        "redo": unsigned(64),  # EMA of κ in µs, 4 fraction bits
        "n_fast": unsigned(64),  # EMA of lg N, shift 3, octaves with 10 and 3 fraction bits
        "n_slow": unsigned(64),  # EMA of lg N, shift 6, octaves with 10 and 6 fraction bits
        "a_sum": unsigned(64),  # Σ A since the cadence last changed or was judged
        "n_sum": unsigned(64),  # Σ N, likewise
    }
)

#: What holds for all regions: thresholds, the world size, and the run's loss averages.
RegionParameters = data.StructLayout(
    {
        "workers": unsigned(16),
        "epoch": unsigned(16),  # decision epochs so far; saturates
        "t0": unsigned(16),  # α thresholds of ``cost_aware``, Q0.16
        "t1": unsigned(16),
        "t2": unsigned(16),
        "rate": unsigned(16),  # threshold of the loss rate, octaves, Q6.10 (``seed_literal``)
        "variance": unsigned(16),  # variance thresholds over N, Q8.8 (``seed_literal``)
        "medium_variance": unsigned(16),
        "divergence": unsigned(16),  # 1−α threshold, Q0.16 (``seed_literal``)
        "noise": unsigned(16),  # T of the noise cadence: noise-to-signal of an update, Q8.8
        "guard": unsigned(16),  # rise of the loss that halves cadences, octaves, Q6.10; 0: none
        "noise_samples": unsigned(8),  # fewest updates in the sums before they are judged
        "dwell": unsigned(8),  # first dwell of a state change, in epochs
        "loss_fast": unsigned(32),  # EMA of lg loss, shift 3, octaves with 10 and 3 fraction bits
        "loss_slow": unsigned(32),  # EMA of lg loss, shift 6, octaves with 10 and 6 fraction bits
        "loss_valid": unsigned(1),
        "_reserved": unsigned(31),
    }
)

#: Head of a REGIONS_STEP command; ``RegionUpdate`` records follow.
RegionStep = data.StructLayout(
    {
        "loss": unsigned(32),  # mean over the workers, Q16.16
        "loss_valid": unsigned(1),
        "epoch_end": unsigned(1),  # this step closes a decision epoch: count it once
        "_reserved": unsigned(30),
    }
)

#: What one due region brings to a step.
RegionUpdate = data.StructLayout(
    {
        "region": unsigned(16),
        "exponent": unsigned(8),  # E of both energies, biased by 127
        "usable": unsigned(1),  # energies are of finite, unsaturated tensors
        "decide": unsigned(1),  # state and cadence may change now
        "_reserved": unsigned(6),
        "a": unsigned(64),  # A = Σ_k S2(g_k), below 2**56
        "n": unsigned(64),  # N = S2(ḡ), below 2**56
        "stall": unsigned(32),  # σ in µs, all-reduced
        "redo": unsigned(32),  # κ in µs, all-reduced
        "accepts": unsigned(16),
        "trials": unsigned(16),
    }
)

#: What the Region Manager answers for it.
Decision = data.StructLayout(
    {
        "region": unsigned(16),
        "status": unsigned(8),
        "state": unsigned(2),
        "confidence": unsigned(3),
        "changed": unsigned(1),  # state or cadence changed in this step
        "held": unsigned(1),  # A was 0, or not usable: α is that of before
        "guarded": unsigned(1),  # the loss guard halved the cadence
        "alpha": unsigned(16),
        "percentage": unsigned(16),
        "gain": unsigned(8),
        "cadence": unsigned(8),  # log2
        "dwell": unsigned(8),
        "_reserved": unsigned(8),
        "rate": signed(16),  # n_slow − n_fast, octaves, Q5.10, saturated
        "loss_rate": signed(16),  # loss_slow − loss_fast, likewise
    }
)


#: A run of the granularity unit over words of its operand memories.
TileRun = data.StructLayout(
    {
        "a_first": unsigned(16),  # word of the first row, from the start of the memory of ``a``
        "b_first": unsigned(16),  # word of each column, from the start of its slice's memory
        "words": unsigned(16),  # words of each row and column
        "rows": unsigned(4),  # 1 to 8
        "mode": unsigned(2),  # `Precision`
        "first": unsigned(1),  # sums begin; otherwise they go on
        "last": unsigned(1),  # sums end, and are sent
        "scaled": unsigned(1),  # they are rescaled, and sent in packed words
        "to": unsigned(2),  # `Precision` of these
        "_reserved": unsigned(5),
    }
)

#: An element of a tile, or a word of a run that is ``scaled``.
TileResult = data.StructLayout(
    {
        # FP32, FP16 with zeros above, or an integer of 32 bits; or numbers, little end first
        "word": unsigned(32),
        "flags": unsigned(8),  # exception flags; an integer that wrapped around has OVERFLOW
    }
)


#: What the granularity controller knows of a granularity unit. Ranks go from 0, INT4, to 3, FP32.
PrecisionRecord = data.StructLayout(
    {
        "above_int4": unsigned(16),  # spread above which INT4 does not do, Q0.16
        "above_int8": unsigned(16),
        "above_fp16": unsigned(16),
        "hysteresis": unsigned(16),  # how far a threshold must be passed, Q0.16
        "wanted": unsigned(2),  # rank that the spread asks for
        "floor": unsigned(2),  # ranks that resources allow
        "ceiling": unsigned(2),
        "_reserved": unsigned(2),
        "dwell": unsigned(8),  # updates for which ``wanted`` stays
        "dwell_length": unsigned(8),  # updates for which it stays after a change
        "_reserved2": unsigned(8),
        "switches": unsigned(16),  # changes of ``wanted``, modulo 2**16
        "overrides": unsigned(16),  # updates in which the bounds prevailed, modulo 2**16
    }
)

#: What is told of a granularity unit's input.
PrecisionUpdate = data.StructLayout(
    {
        "unit": unsigned(16),
        "variance": unsigned(32),  # of the elements, in units of ``square``
        "square": unsigned(32),  # of the largest magnitude
        "_reserved": unsigned(48),
    }
)

#: What the granularity controller answers.
PrecisionDecision = data.StructLayout(
    {
        "unit": unsigned(16),
        "spread": unsigned(16),  # variance over square, Q0.16
        "precision": unsigned(2),  # `Precision`
        "wanted": unsigned(2),  # rank
        "switched": unsigned(1),  # ``wanted`` has changed
        "overridden": unsigned(1),  # the bounds prevailed
        "unknown": unsigned(1),  # there is no such unit: nothing has changed, the rest is 0
        "_reserved": unsigned(1),
    }
)


class _Field(NamedTuple):
    """Where a field is, and what it may be."""

    offset: int
    width: int
    low: int
    high: int


class _Form(NamedTuple):
    """A layout, looked up once: amaranth finds sizes and offsets anew whenever it is asked."""

    octets: int
    fields: dict[str, _Field]
    named: dict[str, _Field]


def size(layout: data.Layout) -> int:
    """Bytes that a record of the layout takes on the wire."""
    return _form(layout).octets


def pack(layout: data.Layout, **fields: int) -> bytes:
    """The record's bytes; fields not named are 0.

    Raises
    ------
    TypeError, ValueError
        If a field does not exist, or a value is no integer or does not fit it.
    """
    form = _form(layout)
    bits = 0
    for name, value in fields.items():
        field = form.fields.get(name)
        if field is None:
            raise ValueError(f"field must be one of {', '.join(form.named)}, not {name!r}")
        try:
            value = operator.index(value)
        except TypeError:
            raise TypeError(f"{name} must be an integer, not {value!r}") from None
        if not field.low <= value <= field.high:
            raise ValueError(f"{name} must be from {field.low} to {field.high}, not {value}")
        bits |= (value & ((1 << field.width) - 1)) << field.offset
    return bits.to_bytes(form.octets, "little")


def unpack(layout: data.Layout, octets: bytes) -> dict[str, int]:
    """The fields of a record by name, reserved ones left out.

    Raises
    ------
    ValueError
        If there are not exactly :func:`size` octets.
    """
    form = _form(layout)
    if len(octets) != form.octets:
        raise ValueError(f"record must be {form.octets} bytes long, not {len(octets)}")
    bits = int.from_bytes(octets, "little")
    return {name: _extract(bits, field) for name, field in form.named.items()}


def unpack_all(layout: data.Layout, octets: bytes) -> list[dict[str, int]]:
    """The fields of records that follow each other.

    Raises
    ------
    ValueError
        If they end within one.
    """
    width = size(layout)
    return [unpack(layout, octets[at : at + width]) for at in range(0, len(octets), width)]


@cache
def _form(layout: data.Layout) -> _Form:
    if layout.size % 8:
        raise ValueError(f"layout must be a whole number of bytes, not {layout.size} bits")
    fields = {
        str(name): _Field(field.offset, field.width, *_range(field.shape)) for name, field in layout
    }
    named = {name: field for name, field in fields.items() if not name.startswith("_")}
    return _Form(layout.size // 8, fields, named)


def _range(shape: Any) -> tuple[int, int]:
    if shape.signed:
        return -(1 << (shape.width - 1)), (1 << (shape.width - 1)) - 1
    return 0, (1 << shape.width) - 1


def _extract(bits: int, field: _Field) -> int:
    value = (bits >> field.offset) & ((1 << field.width) - 1)
    return value - (1 << field.width) if value > field.high else value
