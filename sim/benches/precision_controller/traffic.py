"""Records and updates whose variances lie at the thresholds, or anywhere."""

import random

from adagrain.models.interface.records import pack, size, unpack
from adagrain.models.interface.units.precision_controller import PrecisionRecord
from adagrain.models.precision_controller import THRESHOLDS

__all__ = ["record", "update"]


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


def update(rng: random.Random, unit: int, before: bytes) -> dict[str, int]:
    """An update; two in three have a variance near to where the unit's record changes its mind."""
    square = rng.choice((1 << 16, 1 << 20, rng.getrandbits(32), 0xFFFF_FFFF))
    if rng.random() < 0.7:
        fields = unpack(PrecisionRecord, before)
        edge = fields[rng.choice(THRESHOLDS)] + rng.choice((-1, 0, 1)) * fields["hysteresis"]
        normalised = max(0, edge + rng.choice((-1, 0, 0, 1)))
        variance = min(-(-normalised * square >> 16), 0xFFFF_FFFF)
    else:
        variance = rng.choice((0, rng.getrandbits(32), rng.getrandbits(16)))
    return {"unit": unit, "variance": variance, "square": rng.choice((square, square, square, 0))}
