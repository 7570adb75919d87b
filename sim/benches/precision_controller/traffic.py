"""Records and updates whose variances lie at the thresholds, or anywhere."""

import random
from collections.abc import Iterator

from adagrain.models.interface.records import pack, size, unpack
from adagrain.models.interface.units.precision_controller import PrecisionRecord
from adagrain.models.precision_controller import THRESHOLDS, PrecisionTable
from adagrain.sim.simulators.payload import decode
from adagrain.sim.simulators.stimulus import Stimulus

__all__ = ["record", "stimuli", "update"]


def stimuli(channel_groups: int, count: int, rng: random.Random) -> Iterator[Stimulus]:
    """So many times a channel group's record, updates of it or of none, and what becomes of it."""
    table = PrecisionTable(channel_groups)
    for _ in range(count):
        number, raw = rng.randrange(channel_groups), record(rng)
        table.write(number, raw)
        yield Stimulus({"i_access": [{"write": 1, "number": number, "item": _fields(raw)}]})
        for _ in range(rng.randrange(1, 9)):
            told = update(rng, number, table.read(number))
            if rng.random() < 0.1 and number + channel_groups <= 0xFFFF:
                told["channel_group"] += channel_groups
            yield Stimulus({"i": [told]}, {"o": [table.update(told)]})
        found = {"o_access": [_fields(table.read(number))]}
        yield Stimulus({"i_access": [{"write": 0, "number": number}]}, found)


def _fields(raw: bytes) -> dict[str, int]:
    """A record's, also those that are reserved."""
    return decode(PrecisionRecord, int.from_bytes(raw, "little"))


def record(rng: random.Random) -> bytes:
    """Sound and unsound ones: thresholds in any order, bounds that cross, and any bits."""
    if rng.random() < 0.2:
        return rng.randbytes(size(PrecisionRecord))
    thresholds = [rng.getrandbits(16) for _ in THRESHOLDS]
    if rng.random() < 0.8:
        thresholds.sort()
    return pack(
        PrecisionRecord,
        **dict(zip(THRESHOLDS, thresholds, strict=True)),
        hysteresis=rng.choice((0, 1, 50, 5000, 65535)),
        wanted=rng.randrange(4),
        floor=rng.choice((0, 0, 1, 3)),
        ceiling=rng.choice((3, 3, 2, 0)),
        dwell=rng.choice((0, 0, 1, 200)),
        dwell_length=rng.choice((0, 0, 1, 3, 255)),
        switches=rng.choice((0, 65535)),
        overrides=rng.choice((0, 65535)),
    )


def update(rng: random.Random, number: int, before: bytes) -> dict[str, int]:
    """An update; two in three have a variance near to where the record changes its mind."""
    square = rng.choice((1 << 16, 1 << 20, rng.getrandbits(32), 0xFFFF_FFFF))
    if rng.random() < 0.7:
        fields = unpack(PrecisionRecord, before)
        edge = fields[rng.choice(THRESHOLDS)] + rng.choice((-1, 0, 1)) * fields["hysteresis"]
        normalised = max(0, edge + rng.choice((-1, 0, 0, 1)))
        variance = min(-(-normalised * square >> 16), 0xFFFF_FFFF)
    else:
        variance = rng.choice((0, rng.getrandbits(32), rng.getrandbits(16)))
    square = rng.choice((square, square, square, 0))
    return {"channel_group": number, "variance": variance, "square": square}
