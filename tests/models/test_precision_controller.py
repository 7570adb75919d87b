"""Precisions that channel groups choose: hysteresis, bounds, and what scaling does not change."""

import random
from fractions import Fraction

import pytest
import torch

from adagrain.models.interface.precision import Precision
from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units.precision_controller import PrecisionRecord
from adagrain.models.precision_controller import (
    PrecisionTable,
    precision_of_rank,
    precision_record,
    rank_of,
)

THRESHOLDS = (0.1, 0.2, 0.3)
NAMES = ("above_int4", "above_int8", "above_fp16")
SQUARE = 1 << 20


def chosen(table: PrecisionTable, normalised: float, number: int = 0) -> Precision:
    variance = round(normalised * SQUARE)
    told = {"channel_group": number, "variance": variance, "square": SQUARE}
    return Precision(table.update(told)["precision"])


def table(**options: object) -> PrecisionTable:
    made = PrecisionTable(2)
    made.write(0, precision_record(THRESHOLDS, **options))
    return made


def counted(made: PrecisionTable, name: str) -> int:
    return unpack(PrecisionRecord, made.read(0))[name]


def test_high_variance_asks_for_high_precision() -> None:
    made = table()
    variances = (0.05, 0.15, 0.25, 0.35, 0.0, 1.0)
    assert [chosen(made, normalised).name for normalised in variances] == [
        *("INT4", "INT8", "FP16", "FP32", "INT4", "FP32")
    ]
    assert counted(made, "switches") == 6


def test_noise_at_a_threshold_does_not_flap() -> None:
    noise = random.Random(3)
    variances = [0.2 + noise.uniform(-0.02, 0.02) for _ in range(500)]
    loose, held = table(), table(hysteresis=0.03)
    for normalised in variances:
        chosen(loose, normalised)
        chosen(held, normalised)
    assert counted(loose, "switches") > 100
    assert counted(held, "switches") == 1  # from FP32, where it begins


def test_a_change_lasts() -> None:
    made = table(dwell=3)
    assert [chosen(made, normalised).name for normalised in (0.0, 1.0, 1.0, 1.0, 1.0, 0.0)] == [
        *("INT4", "INT4", "INT4", "INT4", "FP32", "FP32")
    ]


def test_bounds_prevail_and_are_counted() -> None:
    made = table(floor=Precision.INT8, ceiling=Precision.FP16)
    assert [chosen(made, normalised).name for normalised in (0.0, 0.15, 1.0)] == [
        "INT8",
        "INT8",
        "FP16",
    ]
    assert counted(made, "overrides") == 2


@pytest.mark.parametrize("exponent", [-60, -3, 1, 40])
def test_scaling_by_a_power_of_two_changes_no_decision(exponent: int) -> None:
    generator = torch.Generator().manual_seed(1)
    made, scaled = table(), table()
    for _ in range(50):
        x = torch.randn(100, generator=generator) * torch.rand(1, generator=generator)
        x[0] = 3 * torch.rand(1, generator=generator)
        decisions = []
        for one, which in ((x, made), (x * 2.0**exponent, scaled)):
            normalised = one.double().var(unbiased=False) / one.double().abs().max() ** 2
            decisions.append(chosen(which, float(normalised)))
        assert decisions[0] == decisions[1]


class Remembered:
    """A plain restatement, which knows when it changed and how often, in exact fractions."""

    def __init__(self, fields: dict[str, int]) -> None:
        self.fields = fields
        self.rank = fields["wanted"]
        self.free = fields["dwell"]  # the first update that may change it
        self.updates = self.switches = self.overrides = 0

    def update(self, variance: int, square: int) -> tuple[Precision, Fraction]:
        exact = Fraction(variance, square) if square else Fraction(variance > 0)
        normalised = min(Fraction(int(exact * 65536), 65536), Fraction(65535, 65536))
        steps = [Fraction(self.fields[name], 65536) for name in NAMES]
        margin = Fraction(self.fields["hysteresis"], 65536)
        before = self.rank
        if self.updates >= self.free:
            while self.rank < 3 and normalised > steps[self.rank] + margin:
                self.rank += 1
            while self.rank > 0 and normalised < steps[self.rank - 1] - margin:
                self.rank -= 1
        self.updates += 1
        if self.rank != before:
            self.switches += 1
            self.free = self.updates + self.fields["dwell_length"]
        within = sorted((self.fields["floor"], self.rank, self.fields["ceiling"]))[1]
        self.overrides += within != self.rank
        return list(Precision)[::-1][within], normalised


@pytest.mark.parametrize("seed", range(5))
def test_equals_a_plain_restatement(seed: int) -> None:
    """Normalised variances at the thresholds and beside them, any hysteresis, any dwell."""
    rng = random.Random(seed)
    for _ in range(60):
        low, high = sorted(rng.choices(range(4), k=2))
        fields = dict(zip(NAMES, sorted(rng.choices(range(65536), k=3)), strict=True))
        fields |= {"hysteresis": rng.choice((0, 1, 300, 9000)), "wanted": rng.randrange(4)}
        fields |= {"floor": low, "ceiling": high, "dwell": rng.choice((0, 1, 5))}
        fields |= {"dwell_length": rng.choice((0, 1, 2, 7))}
        made, plain = PrecisionTable(1), Remembered(fields)
        made.write(0, pack(PrecisionRecord, **fields))
        for _ in range(40):
            square = rng.choice((65536, 1 << 20, rng.randrange(1, 1 << 32), 0))
            edge = fields[rng.choice(NAMES)] + rng.choice((-1, 0, 1)) * fields["hysteresis"]
            variance = max(0, (edge + rng.choice((-1, 0, 1))) * square >> 16) + rng.randrange(2)
            variance = min(variance, 0xFFFF_FFFF)
            decision = made.update({"channel_group": 0, "variance": variance, "square": square})
            precision, normalised = plain.update(variance, square)
            assert decision["precision"] == precision
            assert Fraction(decision["normalised_variance"], 65536) == normalised
        record = unpack(PrecisionRecord, made.read(0))
        assert (record["switches"], record["overrides"]) == (
            plain.switches,
            plain.overrides,
        )


def test_counters_wrap() -> None:
    made = table(floor=Precision.FP16)
    fields = unpack(PrecisionRecord, made.read(0))
    made.write(0, pack(PrecisionRecord, **fields | {"switches": 65535, "overrides": 65535}))
    assert chosen(made, 0.0) == Precision.FP16
    assert (counted(made, "switches"), counted(made, "overrides")) == (0, 0)


def test_no_variance_where_all_is_zero() -> None:
    made = table()
    for variance, wanted in ((0, 0), (1, 65535)):
        decision = made.update({"channel_group": 0, "variance": variance, "square": 0})
        assert decision["normalised_variance"] == wanted


def test_ranks() -> None:
    assert [rank_of(precision) for precision in Precision] == [3, 2, 1, 0]
    assert [precision_of_rank(rank_of(precision)) for precision in Precision] == list(Precision)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"thresholds": (0.1, 0.2, 1.5)}, "thresholds must be from 0 to 1, not 1.5"),
        ({"thresholds": (0.3, 0.2, 0.5)}, r"thresholds must not fall, as \(0.3, 0.2, 0.5\) do"),
        ({"hysteresis": -0.1}, "hysteresis must be from 0 to 1, not -0.1"),
        (
            {"floor": Precision.FP16, "ceiling": Precision.INT8},
            "floor must not be above the ceiling INT8, as FP16 is",
        ),
        ({"dwell": 256}, "dwell_length must be from 0 to 255, not 256"),
    ],
)
def test_records_that_cannot_be(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        precision_record(**{"thresholds": THRESHOLDS} | changes)
