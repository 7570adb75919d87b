"""The precision that each channel group computes in: the twin of ``hdl/precision_controller``.

What decides is the normalised variance of a channel group's input, σ² over the square of its
absmax: a high one asks for high precision, and scaling the input by any factor changes
nothing. A threshold counts once it is passed by the hysteresis, and a change lasts for some
updates, so that noise at a threshold does not flap. Floor and ceiling, which a resource manager
sets, prevail over that, and are counted where they do.
"""

from collections.abc import Iterable, Mapping
from types import SimpleNamespace

from adagrain.models.interface.precision import Precision
from adagrain.models.interface.records import pack, size, unpack, unpack_all
from adagrain.models.interface.units.precision_controller import (
    PrecisionDecision,
    PrecisionRecord,
    PrecisionUpdate,
)

__all__ = ["THRESHOLDS", "PrecisionTable", "precision_of_rank", "precision_record", "rank_of"]

#: Fields of the thresholds, by the rank below them.
THRESHOLDS = ("above_int4", "above_int8", "above_fp16")

_TOP = len(THRESHOLDS)
_ONE = 65535
_WIDTH = size(PrecisionRecord)


def rank_of(precision: Precision) -> int:
    """0 for INT4 to 3 for FP32."""
    return _TOP - precision


def precision_of_rank(rank: int) -> Precision:
    """The inverse of :func:`rank_of`."""
    return Precision(_TOP - rank)


def precision_record(
    thresholds: tuple[float, float, float],
    *,
    hysteresis: float = 0.0,
    dwell: int = 0,
    start: Precision = Precision.FP32,
    floor: Precision = Precision.INT4,
    ceiling: Precision = Precision.FP32,
) -> bytes:
    """A record with its counters at 0.

    Parameters
    ----------
    thresholds : tuple of float
        Normalised variances, 0 to 1 and not falling, above which INT4, INT8 and FP16 do not do.
    hysteresis : float
        How far a threshold must be passed, 0 to 1.
    dwell : int
        Updates for which a change lasts, 0 to 255.
    start : Precision
        What is wanted at first.
    floor, ceiling : Precision
        Lowest and highest precision that resources allow.

    Raises
    ------
    ValueError
        If a value is out of its range, or the floor lies above the ceiling.
    """
    for name, values in (("thresholds", thresholds), ("hysteresis", (hysteresis,))):
        for value in values:
            if not 0 <= value <= 1:
                raise ValueError(f"{name} must be from 0 to 1, not {value:g}")
    if list(thresholds) != sorted(thresholds):
        raise ValueError(f"thresholds must not fall, as {thresholds} do")
    if rank_of(floor) > rank_of(ceiling):
        raise ValueError(f"floor must not be above the ceiling {ceiling.name}, as {floor.name} is")
    return pack(
        PrecisionRecord,
        **{name: round(value * _ONE) for name, value in zip(THRESHOLDS, thresholds, strict=True)},
        hysteresis=round(hysteresis * _ONE),
        wanted=rank_of(start),
        floor=rank_of(floor),
        ceiling=rank_of(ceiling),
        dwell_length=dwell,
    )


class PrecisionTable:
    """A record for each channel group.

    Parameters
    ----------
    channel_groups : int
        How many there are.
    """

    settings = b""  # nothing holds for all channel groups

    def __init__(self, channel_groups: int) -> None:
        self._records = [bytes(_WIDTH)] * channel_groups

    def copy(self) -> "PrecisionTable":
        """Another table, with the same records."""
        other = PrecisionTable(0)
        other._records = list(self._records)
        return other

    def write(self, first: int, raw: bytes) -> None:
        """Replace records from one on.

        Raises
        ------
        ValueError
            If they are not whole records, or reach outside the table.
        """
        if len(raw) % _WIDTH:
            raise ValueError(f"bytes must be whole records of {_WIDTH}, not {len(raw)}")
        records = [raw[at : at + _WIDTH] for at in range(0, len(raw), _WIDTH)]
        self._check(first, len(records))
        self._records[first : first + len(records)] = records

    def read(self, first: int, count: int = 1) -> bytes:
        """Records as they stand.

        Raises
        ------
        ValueError
            If they reach outside the table.
        """
        self._check(first, count)
        return b"".join(self._records[first : first + count])

    def step(self, head: bytes, updates: bytes) -> bytes:
        """Take updates that follow each other into account; their decisions, likewise."""
        decided = self.decide({}, unpack_all(PrecisionUpdate, updates))
        return b"".join(pack(PrecisionDecision, **decision) for decision in decided)

    def decide(
        self, head: Mapping[str, int], updates: Iterable[Mapping[str, int]]
    ) -> list[dict[str, int]]:
        """As :meth:`step`, of the records' fields; there is no head."""
        return [self.update(update) for update in updates]

    def update(self, update: Mapping[str, int]) -> dict[str, int]:
        """Take one update into account.

        Parameters
        ----------
        update : mapping
            Fields of :data:`PrecisionUpdate`.

        Returns
        -------
        dict of str to int
            Fields of :data:`PrecisionDecision`.
        """
        update = unpack(PrecisionUpdate, pack(PrecisionUpdate, **update))
        number = update["channel_group"]
        if number >= len(self._records):
            unknown = pack(PrecisionDecision, channel_group=number, unknown=1)
            return unpack(PrecisionDecision, unknown)
        record = SimpleNamespace(**unpack(PrecisionRecord, self._records[number]))
        normalised = _ratio(update["variance"], update["square"])
        wanted = record.wanted if record.dwell else _asked_for(record, normalised)
        switched = wanted != record.wanted
        chosen = min(max(wanted, record.floor), record.ceiling)
        overridden = chosen != wanted
        record.dwell = record.dwell_length if switched else max(0, record.dwell - 1)
        record.wanted = wanted
        record.switches = (record.switches + switched) & 0xFFFF
        record.overrides = (record.overrides + overridden) & 0xFFFF
        self._records[number] = pack(PrecisionRecord, **vars(record))
        decision = {
            "channel_group": number,
            "normalised_variance": normalised,
            "wanted": wanted,
        }
        decision |= {"switched": int(switched), "overridden": int(overridden)}
        decision["precision"] = precision_of_rank(chosen)
        return unpack(PrecisionDecision, pack(PrecisionDecision, **decision))

    def _check(self, first: int, count: int) -> None:
        if first < 0 or count < 0 or first + count > len(self._records):
            raise ValueError(
                f"channel groups must be from 0 to {len(self._records) - 1}, not {first} to "
                f"{first + count - 1}"
            )


def _ratio(x: int, y: int) -> int:
    return min(_ONE, (x << 16) // y) if x and y else (_ONE if x else 0)


def _asked_for(record: SimpleNamespace, normalised: int) -> int:
    """The rank between whose thresholds it lies, or the present one near to them."""
    thresholds = [getattr(record, name) for name in THRESHOLDS]
    least = sum(normalised > threshold + record.hysteresis for threshold in thresholds)
    most = sum(normalised >= threshold - record.hysteresis for threshold in thresholds)
    return min(max(record.wanted, least), most)
