"""Random but telling inputs for the Region Manager: plausible runs, edges, and rubbish."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import Shape, unsigned

from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units.region_manager import (
    WORD,
    Decision,
    RegionParameters,
    RegionRecord,
    RegionStep,
    RegionUpdate,
    SpeculationPolicy,
    SpeculationState,
)
from adagrain.models.region_manager.averages import ALPHA_BITS, ALPHA_SHIFTS, quotient
from adagrain.models.region_manager.table import (
    ENERGY_BITS,
    RegionTable,
    default_parameters,
    region_record,
)
from adagrain.sim.simulators.payload import decode
from adagrain.sim.simulators.stimulus import Stimulus

__all__ = ["Run", "configured", "decoded", "read", "runs", "step", "stimuli", "write"]


@dataclass(frozen=True)
class Run:
    """One configuration of the table, and the steps that follow.

    Parameters
    ----------
    parameters : bytes
        A ``RegionParameters`` record.
    table : bytes
        ``RegionRecord`` records, for the whole table.
    steps : list of tuple of bytes
        ``RegionStep`` record, and ``RegionUpdate`` records in a row.
    """

    parameters: bytes
    table: bytes
    steps: list[tuple[bytes, bytes]]


def runs(seed: int, count: int, regions: int, steps: int) -> list[Run]:
    """``count`` runs of ``steps`` steps; each step updates half of the table on average."""
    rng = random.Random(seed)
    return [_run(rng, regions, steps) for _ in range(count)]


def stimuli(run: Run, regions: int) -> Iterator[Stimulus]:
    """A run, and all that the golden model answers; at the end, the whole table.

    A reset leaves the unit's memory as it is: what runs before have written goes first.
    """
    golden = RegionTable(regions)
    yield write(0, golden.read(0, regions * size(RegionRecord) // WORD))
    yield from configured(golden, run)
    yield read(0, run.table)
    for head, updates in run.steps:
        given, decided = step(golden, head, updates)
        yield given
        yield replace(decided, shown={"parameters": decoded(RegionParameters, golden.settings)[0]})
    yield read(0, golden.read(0, len(run.table) // WORD))


def configured(golden: RegionTable, run: Run) -> list[Stimulus]:
    """Parameters and table, which the golden model gets as well."""
    golden.settings = run.parameters
    golden.write(0, run.table)
    parameters = {"i_parameters": decoded(RegionParameters, run.parameters)}
    return [Stimulus(parameters), write(0, run.table)]


def step(golden: RegionTable, head: bytes, updates: bytes) -> tuple[Stimulus, Stimulus]:
    """A step's begin, and its updates with the golden model's decisions."""
    decisions = decoded(Decision, golden.step(head, updates))
    given = Stimulus({"i_step": decoded(RegionStep, head)})
    return given, Stimulus({"i": decoded(RegionUpdate, updates)}, {"o": decisions})


def write(first: int, raw: bytes) -> Stimulus:
    """Words of the table."""
    words = decoded(unsigned(8 * WORD), raw)
    pairs = enumerate(words, start=first)
    return Stimulus({"i_access": [{"number": at, "write": 1, "item": word} for at, word in pairs]})


def read(first: int, raw: bytes) -> Stimulus:
    """Words of the table, and what they must be."""
    words = decoded(unsigned(8 * WORD), raw)
    addresses = range(first, first + len(words))
    return Stimulus({"i_access": [{"number": at} for at in addresses]}, {"o_access": words})


def decoded(shape: Any, raw: bytes) -> list[Any]:
    """Records, or numbers, that follow each other."""
    width = Shape.cast(shape).width // 8
    starts = range(0, len(raw), width)
    return [decode(shape, int.from_bytes(raw[at : at + width], "little")) for at in starts]


def _run(rng: random.Random, regions: int, steps: int) -> Run:
    wild = rng.random() < 0.3
    workers = rng.choice((1, 2, 2, 3, 4, 8, 100, rng.randint(1, 1024), 1024))
    threshold = _Threshold(rng, workers)
    table = b"".join(_record(rng, wild, threshold) for _ in range(regions))
    parameters = _parameters(rng, workers, wild, threshold)
    return Run(parameters, table, [_step(rng, regions, workers, threshold) for _ in range(steps)])


class _Threshold:
    """Energies whose quotient is a threshold, and averages that are at it or just below."""

    def __init__(self, rng: random.Random, workers: int) -> None:
        self.a = rng.choice((8 * workers, 2**56 - 1))
        self.n = self.a * rng.randrange(1, 9) // (8 * workers)
        self.alpha = quotient(self.a, self.n, workers)


def _parameters(rng: random.Random, workers: int, wild: bool, threshold: _Threshold) -> bytes:
    fields = default_parameters(workers) | {"noise_samples": rng.randrange(4)}
    fields |= {name: threshold.alpha for name in ("t0", "t1", "t2") if rng.random() < 0.3}
    fields |= {"dwell": rng.randrange(4), "guard": rng.choice((0, 100, 1024))}
    fields |= {"epoch": rng.choice((0, 65534, 65535))}
    if wild:
        raw = rng.randbytes(size(RegionParameters))
        loss_valid = rng.randrange(2).to_bytes(4, "little")
        return workers.to_bytes(2, "little") + raw[2:-4] + loss_valid
    return pack(RegionParameters, **fields)


def _record(rng: random.Random, wild: bool, threshold: _Threshold) -> bytes:
    kind = rng.random()
    if kind < 0.05:
        return bytes(size(RegionRecord))
    if wild and kind < 0.7:
        shift = rng.choice((0, 0, 8, 40))
        words = [rng.getrandbits(64) for _ in range(2)]
        words += [rng.getrandbits(64) >> shift for _ in range(6)]
        return b"".join(word.to_bytes(8, "little") for word in (words[0] | 1, *words[1:]))
    low, cadence, high = sorted(rng.choices(range(5), k=3))
    return region_record(
        policy=rng.choice(
            (*SpeculationPolicy, SpeculationPolicy.COST_AWARE, SpeculationPolicy.COST_AWARE)
        ),
        cadence_policy=rng.choice((0, 1, 2, 2, 2)),
        cadence_min=low,
        cadence=cadence,
        cadence_max=high,
        phase_epoch=rng.choice((0, 1, 2, rng.randrange(20), 65535)),
        confidence=rng.randrange(8),
        state=rng.choice((*SpeculationState, SpeculationState.GLOBAL)),
        dwell=rng.choice((0, 0, 1, 1, 2)),
        streak=rng.randrange(4),
        **(_near_overflow(rng) if rng.random() < 0.2 else {}),
        **(_settled(rng, threshold) if rng.random() < 0.4 else {}),
    )


def _settled(rng: random.Random, threshold: _Threshold) -> dict[str, int]:
    """An average that the threshold's energies keep where it is, or bring there."""
    alpha = (threshold.alpha << ALPHA_BITS) + rng.choice((0, 0, -1, 1, 15, 16))
    return {"measured": len(ALPHA_SHIFTS) - 1, "alpha": min(max(alpha, 0), (1 << 20) - 1)}


def _near_overflow(rng: random.Random) -> dict[str, int]:
    """Sums that have just room for one more update, or a count of updates that has."""
    sums = {name: rng.getrandbits(61) | 1 << 61 for name in ("a_sum", "n_sum")}
    return {"exponent": 120, "samples": rng.choice((9, 65534, 65535)), **sums}


def _step(
    rng: random.Random, regions: int, workers: int, threshold: _Threshold
) -> tuple[bytes, bytes]:
    loss = rng.getrandbits(32) >> rng.choice((0, 12, 16, 31))
    head = pack(RegionStep, loss=loss, loss_valid=rng.random() < 0.8, epoch_end=rng.random() < 0.5)
    count = rng.randrange(regions + 1)
    return head, b"".join(_update(rng, regions, workers, threshold) for _ in range(count))


def _update(rng: random.Random, regions: int, workers: int, threshold: _Threshold) -> bytes:
    a, n = _energies(rng, workers)
    if rng.random() < 0.3:
        a, n = threshold.a, threshold.n
    trials = rng.choice((0, 1, 8, rng.getrandbits(16)))
    accepts = rng.choice((0, trials, trials, trials // 4, -(-7 * trials // 8)))
    outside = rng.random() < 0.02
    region = rng.randrange(regions, 65536) if outside else rng.randrange(regions)
    stall, redo = (rng.getrandbits(32) >> rng.choice((0, 16, 20, 32)) for _ in range(2))
    if rng.random() < 0.05:
        stall, redo = rng.choices((0, 1, 2**32 - 1), k=2)
        accepts, trials = rng.choices((0, 1, 2**16 - 1), k=2)
    elif rng.random() < 0.7:  # steady and close to each other, so that weights decide
        stall = 1000
        redo = (500, 1150, 1300, 3000)[region % 4]
    return pack(
        RegionUpdate,
        region=region,
        exponent=_near(rng, 120) if rng.random() < 0.95 else rng.getrandbits(8),
        usable=rng.random() < 0.9,
        decide=rng.random() < 0.7,
        a=a,
        n=n,
        stall=stall,
        redo=redo,
        accepts=accepts,
        trials=trials,
    )


def _energies(rng: random.Random, workers: int) -> tuple[int, int]:
    """A and N: usually N·W ≤ A, as averages have it."""
    kind = rng.random()
    if kind < 0.05:
        most = (1 << ENERGY_BITS) - 1
        pairs = ((0, 0), (1, 0), (0, 1), (1, 1), (most, most), (most, 0), (0, most), (most, 1))
        return rng.choice(pairs)
    if kind < 0.08:
        return rng.getrandbits(64), rng.getrandbits(64)
    if kind < 0.15:
        return rng.getrandbits(ENERGY_BITS), rng.getrandbits(ENERGY_BITS)
    a = rng.getrandbits(rng.choice((4, 20, 40, 41, 42, ENERGY_BITS)))
    least, most = a // workers**2, a // workers
    return a, rng.choice((least, most, rng.randint(least, most), rng.randint(least, most)))


def _near(rng: random.Random, middle: int) -> int:
    return middle + rng.choice((0, 0, 0, 0, 1, -1, 2, -3))
