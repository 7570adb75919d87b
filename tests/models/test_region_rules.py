"""The Region Manager's rules against a plain restatement of their page, in exact fractions.

What α is, the restatement does not ask: it takes the α of each decision, and checks all that
follows from it. Energies are small and of one exponent, so that sums are exact.
"""

import math
import random
from collections.abc import Iterator
from fractions import Fraction

from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units.region_manager import (
    CadencePolicy,
    Decision,
    RegionRecord,
    RegionStep,
    RegionUpdate,
    SpeculationState,
)
from adagrain.models.region_manager.table import RegionTable, default_parameters, region_record

GLOBAL, HYBRID, FULL = SpeculationState


class Average:
    """``acc += x − (acc >> k)``, as it is: k more fraction bits, rounded down."""

    def __init__(self, k: int) -> None:
        self.k, self.sum = k, 0

    def add(self, x: int) -> None:
        self.sum = self.sum + x - self.sum // 2**self.k

    def start(self, x: int) -> None:
        self.sum = x * 2**self.k

    @property
    def value(self) -> Fraction:
        return Fraction(self.sum, 2**self.k)


class Loss:
    """Averages of the loss's logarithm, in octaves of 1024 steps, and when the guard fires."""

    def __init__(self) -> None:
        self.fast, self.slow, self.is_valid = Average(3), Average(6), False

    def add(self, loss: int) -> None:
        octave = len(f"{loss:b}") - 1
        steps = 1024 * octave + int(Fraction(max(loss, 1), 2**octave) * 1024) - 1024
        for average in (self.fast, self.slow):
            (average.add if self.is_valid else average.start)(steps)
        self.is_valid = True

    @property
    def rate(self) -> int:
        """Steps from the slow average down to the fast one."""
        return max(-32768, min(32767, math.floor(self.slow.value - self.fast.value)))

    def fires(self, guard: int) -> bool:
        return guard > 0 and -self.rate > guard


class Speculation:
    """``cost_aware``: which state, which gain, and until which decision epoch no promotion."""

    def __init__(self, record: dict[str, int], parameters: dict[str, int]) -> None:
        self.state, self.confidence = SpeculationState(record["state"]), record["confidence"]
        self.gain, self.length = record["gain"], record["dwell_length"]
        self.parameters = parameters
        self.streak, self.epoch, self.settled_at = record["streak"], 0, record["dwell"]
        self.stall, self.redo = Average(4), Average(4)

    def observe(self, update: dict[str, int]) -> None:
        self.stall.add(update["stall"])
        self.redo.add(update["redo"])
        accepts, trials = update["accepts"], update["trials"]
        if trials and Fraction(accepts, trials) >= Fraction(7, 8):
            self.confidence = min(7, self.confidence + 1)
        elif trials and Fraction(accepts, trials) < Fraction(1, 4):
            self.confidence = max(0, self.confidence - 2)

    def decide(self, alpha: int) -> None:
        self.length = self.length or self.parameters["dwell"]
        self.streak = min(3, self.streak + 1) if alpha >= self.parameters["t1"] else 0
        settled = self.epoch >= self.settled_at
        self.epoch += 1
        near = int(Fraction(alpha, 4096) + Fraction(1, 2))
        before = self.state
        if self.state == GLOBAL:
            if settled and self.streak >= 2 and self._pays(4):
                self.state, self.confidence = HYBRID, 4
        elif self.confidence == 0 or alpha < self.parameters["t0"]:
            self.state = GLOBAL
        elif self.state == FULL and self.confidence <= 3:
            self.state = HYBRID
        elif (
            self.state == HYBRID
            and settled
            and self.confidence >= 6
            and alpha >= self.parameters["t2"]
            and self._pays(self.confidence)
        ):
            self.state = FULL
        self._settle(before)
        steps = (near > self.gain) - (near < self.gain) if before == self.state else near
        begun = 0 if before != self.state else self.gain
        self.gain = {GLOBAL: 0, FULL: 16, HYBRID: min(15, max(1, begun + steps))}[self.state]

    def _settle(self, before: SpeculationState) -> None:
        order = [GLOBAL, HYBRID, FULL]
        if order.index(self.state) < order.index(before):
            self.length = min(255, 2 * self.length)
        if self.state != before:
            self.settled_at = self.epoch + self.length

    def _pays(self, confidence: int) -> bool:
        return confidence * self.stall.value > (7 - confidence) * self.redo.value

    @property
    def dwell(self) -> int:
        return max(0, self.settled_at - self.epoch)


class Cadence:
    """``NOISE``: octaves, the sums since they were last compared, and how long it rests."""

    def __init__(self, record: dict[str, int], parameters: dict[str, int]) -> None:
        self.bounds, self.octave = (record["cadence_min"], record["cadence_max"]), record["cadence"]
        self.parameters = parameters
        self.sums: list[tuple[int, int]] = []
        self.rest = 0

    def decide(self, alarm: bool) -> None:
        if alarm:
            self._move(-1)
            self.rest, self.sums = 2, []
        elif self.rest:
            self.rest -= 1
        elif len(self.sums) >= max(1, self.parameters["noise_samples"]):
            a, n = (sum(column) for column in zip(*self.sums, strict=True))
            if a:
                self._move(self._octave(a, n))
                self.sums = []

    def _octave(self, a: int, n: int) -> int:
        workers = self.parameters["workers"]
        noise, signal = workers * (a - n * workers), n * workers**2 - a
        limit = Fraction(self.parameters["noise"], 256)
        if noise <= 0:
            return -1
        if signal <= 0 or Fraction(noise, signal) > limit:
            return 1
        return -1 if Fraction(noise, signal) <= limit / 4 else 0

    def _move(self, octaves: int) -> None:
        moved = self.octave + octaves
        if octaves and self.bounds[0] <= moved <= self.bounds[1]:
            self.octave, self.rest = moved, 2


def head(rng: random.Random, loss: Loss, table: RegionTable) -> dict[str, int]:
    """A step's loss; the guard is now and then where it just fires, or just does not."""
    fields = {"loss": rng.choice((0, 100, rng.randrange(1 << 20))), "loss_valid": 1}
    loss.add(fields["loss"])
    if rng.random() < 0.5 and loss.rate < 0:
        guard = -loss.rate + rng.choice((-1, 0, 1))
        table.parameters = table.parameters | {"guard": guard}
    return fields


def updates(rng: random.Random, parameters: dict[str, int], count: int) -> Iterator[dict[str, int]]:
    """Phases of agreeing and of disagreeing workers, of success and of failure."""
    workers, limit = parameters["workers"], Fraction(parameters["noise"], 256)
    changes = 0
    for number in range(count):
        if number == changes:
            good, calm = rng.random() < 0.6, rng.choice((0, 1, 2))
            changes += rng.choice((6, 12, 40))
        trials = rng.choice((0, 4, 8, 8))
        n = rng.randrange(1, 1000)
        a = n * workers * (1 if calm == 0 else workers if calm == 2 else 1) + calm
        if calm == 1:  # noise over signal just at a limit
            ratio = limit / rng.choice((1, 4))
            a = int(Fraction(n * workers**2 * (ratio + 1)) / (workers + ratio))
            a += rng.choice((-1, 0, 0, 1))
        yield {
            "a": max(0, a),
            "n": n,
            "stall": rng.choice((0, 1000, 1000)),
            "redo": rng.choice((0, 750, 1000)) if good else 5000,
            "trials": trials,
            "accepts": trials - (trials > 0 and rng.random() < 0.1) if good else rng.randrange(2),
            "decide": rng.random() < 0.8,
        }


def test_equals_a_plain_restatement() -> None:
    """Through every change of state, and with losses just at the guard and beside it."""
    seen = set[tuple[SpeculationState, SpeculationState]]()
    for seed in range(40):
        seen |= compare(seed)
    ways = {(GLOBAL, HYBRID), (HYBRID, FULL), (FULL, HYBRID), (HYBRID, GLOBAL), (FULL, GLOBAL)}
    assert seen >= ways


def compare(seed: int) -> set[tuple[SpeculationState, SpeculationState]]:
    """A run of both; the changes of state that it met."""
    rng = random.Random(seed)
    workers = rng.choice((2, 2, 3, 8))
    parameters = default_parameters(workers) | {
        "dwell": rng.choice((0, 1, 2, 200)),
        "noise_samples": rng.choice((0, 1, 3)),
        "noise": rng.choice((256, 1024)),
        "t0": rng.choice((0, 20_000, 36_000)),
        "t1": rng.choice((0, 30_000, 40_000)),
        "t2": rng.choice((0, 40_000)),
    }
    table = RegionTable(1)
    table.parameters = parameters
    raw = region_record(
        cadence_policy=CadencePolicy.NOISE,
        cadence=1,
        cadence_max=3,
        confidence=rng.randrange(8),
        dwell_length=rng.choice((0, 0, 100)),
    )
    table.write(0, raw)
    record = unpack(RegionRecord, raw)
    loss, cadence = Loss(), Cadence(record, parameters)
    speculation = Speculation(record, parameters)
    seen = set[tuple[SpeculationState, SpeculationState]]()
    for update in updates(rng, parameters, 250):
        fields = head(rng, loss, table)
        told = {"usable": 1, "exponent": 120, **update}
        found = unpack(Decision, table.step(pack(RegionStep, **fields), pack(RegionUpdate, **told)))
        alarm = loss.fires(table.parameters["guard"])
        speculation.observe(update)
        cadence.sums.append((update["a"], update["n"]))
        before = speculation.state
        if update["decide"]:
            speculation.decide(found["alpha"])
            cadence.decide(alarm)
        wanted = {
            "state": speculation.state,
            "gain": speculation.gain,
            "percentage": min(65535, speculation.gain * 4096),
            "confidence": speculation.confidence,
            "dwell": speculation.dwell,
            "cadence": cadence.octave,
            "guarded": alarm and update["decide"],
            "loss_rate": loss.rate,
        }
        assert {name: found[name] for name in wanted} == wanted, f"{update}: seed {seed}"
        seen.add((before, speculation.state))
        kept = unpack(RegionRecord, table.read(0, len(raw) // 8))
        assert kept["samples"] == len(cadence.sums)
        assert kept["dwell_length"] == speculation.length
    return seen


def test_samples_stay_at_their_largest_number() -> None:
    table = RegionTable(1)
    table.parameters = default_parameters(2)
    raw = region_record(exponent=120, samples=65534, a_sum=5, n_sum=2)
    table.write(0, raw)
    for number in (1, 2, 3):
        table.step(
            pack(RegionStep), pack(RegionUpdate, usable=1, exponent=120, a=10, n=4, decide=0)
        )
        record = unpack(RegionRecord, table.read(0, len(raw) // 8))
        assert record["samples"] == 65535
        assert (record["a_sum"], record["n_sum"]) == (5 + 10 * number, 2 + 4 * number)
