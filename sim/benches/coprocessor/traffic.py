"""Random requests for the whole device, sound and unsound ones."""

import random
from dataclasses import dataclass, replace

import numpy as np

from adagrain.models.granularity_unit import MAX_SUM, TileModel
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FORMATS, FormatCode
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.records import pack, size, unpack
from adagrain.models.interface.units import (
    DIFFERENCE,
    GRANULARITY_UNIT,
    STATISTICS,
    Unit,
    addresses,
    registers,
)
from adagrain.models.interface.units.granularity_unit import (
    Destination,
    TileLoad,
    TileOpcode,
    TileRun,
)
from adagrain.models.interface.units.precision_controller import (
    PrecisionOpcode,
    PrecisionRecord,
    PrecisionUpdate,
)
from adagrain.models.interface.units.region_manager import (
    WORD,
    WORDS_PER_REGION,
    CadencePolicy,
    Policy,
    RegionOpcode,
    RegionParameters,
    RegionRecord,
    RegionStep,
    RegionUpdate,
)
from adagrain.models.interface.units.statistics import (
    BINS,
    HistogramBin,
    StatisticsBegin,
    StatisticsOpcode,
)
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.interface.units.tensor_input import BEAT, TensorOpcode
from adagrain.models.interface.units.unit import GROUPS, SPAN
from adagrain.models.region_manager.settings import default_parameters, region_record
from adagrain.sim.benches.granularity_unit.traffic import random_tile
from adagrain.sim.benches.precision_controller import traffic as precision_traffic

__all__ = ["Request", "Traffic"]

#: Registers that count clock cycles, which a model does not have.
_CLOCKED = {
    address + half
    for address, _, register in registers()
    for half in range(register.words)
    if register.clocked
}


@dataclass(frozen=True)
class Request:
    """One request and what it makes the data port offer."""

    opcode: int
    payload: bytes = b""
    port: bytes = b""

    def words(self) -> np.ndarray:
        """The port's bytes as 32-bit words."""
        return np.frombuffer(self.port, dtype=np.uint32)


class Traffic:
    """Makes request sequences from a seed.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    generator : random.Random
        Source of all choices.
    longest : int
        Most elements of a tensor.
    """

    def __init__(
        self, configuration: Configuration, generator: random.Random, longest: int = 300
    ) -> None:
        self._configuration = configuration
        self._random = generator
        self._longest = longest
        self._has_histogram = configuration.histogram
        passing = [unit for unit in configuration.built() if unit.passes]
        self._begins = [unit.begin.opcode for unit in passing]
        self._takers = [unit for unit in passing if unit is not GRANULARITY_UNIT]

    def prologue(self) -> list[Request]:
        """Configure every region."""
        regions = self._configuration.regions
        step = (self._configuration.payload - 2) // size(RegionRecord)
        records = [
            region_record(
                policy=self._random.choice(list(Policy)),
                cadence_policy=self._random.choice(list(CadencePolicy)),
                cadence_max=3,
                phase_epoch=self._random.randrange(8),
            )
            for _ in range(regions)
        ]
        writes = [
            Request(RegionOpcode.WRITE, _u16(at * WORDS_PER_REGION) + b"".join(records[at:][:step]))
            for at in range(0, regions, step)
        ]
        parameters = pack(RegionParameters, **default_parameters(self._random.choice([1, 2, 7])))
        return [*writes, Request(RegionOpcode.PARAMETERS, parameters)]

    def requests(self, count: int) -> list[Request]:
        """That many requests, or a few more: passes are several."""
        made: list[Request] = []
        while len(made) < count:
            made += self._random.choice(
                [
                    self.port_pass,
                    self.link_pass,
                    self._step,
                    self._step,
                    self._table,
                    self._echo,
                    self._registers,
                    self._unsound,
                    *([self._tile, self._precisions] * 2 if self._configuration.slices else []),
                ]
            )()
        return made

    def longest_sum(self) -> list[Request]:
        """A sum of FP16 as long as one may be, a word too many, and another sum.

        Nothing where the device has no such sums.
        """
        if Precision.FP16 not in self._configuration.precisions or not self._configuration.slices:
            return []
        operands = self._configuration.operands
        run = dict.fromkeys(("a_first", "b_first", "scaled", "to"), 0)
        run |= {"mode": int(Precision.FP16), "rows": 1, "words": operands}
        words = [operands] * (MAX_SUM // operands - 1) + [operands - 1, 2, 1]
        runs = [{"words": n, "first": not at, "last": n == 1} for at, n in enumerate(words)]
        runs.append({"first": 1, "last": 1})
        return [Request(TileOpcode.RUN, pack(TileRun, **run | change)) for change in runs]

    def port_pass(self, missing: int | None = None) -> list[Request]:
        """A pass whose data come by the port; it lacks so many groups, or now and then one."""
        unit, begin, memory = self._tensor(from_link=0)
        if missing is None:
            missing = self._random.random() < 0.1
        given = memory[: max(0, len(memory) - missing * BEAT)]
        return [
            Request(unit.begin.opcode, begin, given),
            *self._other(unit),
            Request(unit.end.opcode),
            self._bins(),
        ]

    def link_pass(self) -> list[Request]:
        """A pass whose data come in frames; a fifth of them have too few or too many."""
        unit, begin, memory = self._tensor(from_link=1)
        if self._random.random() < 0.2:
            memory = memory[BEAT:] if self._random.random() < 0.5 else memory + bytes(BEAT)
        step = self._random.randrange(1, self._configuration.payload // BEAT + 1) * BEAT
        frames = [
            Request(TensorOpcode.DATA, memory[at : at + step]) for at in range(0, len(memory), step)
        ]
        return [
            Request(unit.begin.opcode, begin),
            *frames,
            *self._other(unit),
            Request(unit.end.opcode),
            self._bins(),
        ]

    def _tensor(self, from_link: int) -> tuple[Unit, bytes, bytes]:
        """A pass of some unit and its data; one that is refused must not leave data at the port."""
        unit = self._random.choice(self._takers)
        code = self._random.choice(self._configuration.formats)
        count = self._random.randrange(1, self._longest)
        if unit is DIFFERENCE and (not from_link or self._random.random() < 0.9):
            count += count % 2
        raw = self._random.randbytes(-(-count * FORMATS[code].bits // 8))
        begin = {
            "count": count,
            "format": code,
            "exponent": self._random.randrange(1, 255),
            "from_link": from_link,
        }
        if unit is STATISTICS and (from_link or self._has_histogram):
            begin["histogram"] = self._random.randrange(2)
        record = pack(unit.begin.request.record, **begin)
        return unit, record, raw + bytes(-len(raw) % BEAT)

    def _other(self, unit: Unit) -> list[Request]:
        """Now and then, what another unit refuses while a pass is under way."""
        other = self._random.choice(self._takers)
        if self._random.random() < 0.8:
            return []
        begin = bytes(other.begin.request.head_size)
        return [
            Request(other.begin.opcode, begin),
            *([Request(other.end.opcode)] * (other != unit)),
        ]

    def _bins(self) -> Request:
        first = self._random.randrange(BINS)
        count = self._entries(size(HistogramBin), 12)
        return Request(
            StatisticsOpcode.HISTOGRAM,
            bytes([self._random.choice([0, first, max(0, BINS - count)]), count]),
        )

    def _entries(self, width: int, few: int) -> int:
        """How many to read: a few, what just fills the payload, or one more."""
        room = min(self._configuration.payload // width, 254)
        return self._random.choice(
            [self._random.randrange(few), self._random.randrange(few), room, room + 1]
        )

    def _step(self) -> list[Request]:
        room = (self._configuration.payload - size(RegionStep)) // size(RegionUpdate)
        head = pack(
            RegionStep,
            loss=self._random.getrandbits(20),
            loss_valid=self._random.randrange(2),
            epoch_end=self._random.randrange(2),
        )
        updates = [self._update() for _ in range(self._random.randrange(min(room, 6) + 1))]
        return [Request(RegionOpcode.STEP, head + b"".join(updates))]

    def _update(self) -> bytes:
        a = self._random.getrandbits(self._random.randrange(1, 58))
        return pack(
            RegionUpdate,
            region=self._random.randrange(self._configuration.regions + 1),
            exponent=self._random.randrange(118, 123),
            usable=self._random.random() < 0.9,
            decide=self._random.random() < 0.5,
            a=a,
            n=self._random.randrange(a + 1),
            stall=self._random.getrandbits(16),
            redo=self._random.getrandbits(16),
            accepts=self._random.randrange(5),
            trials=self._random.randrange(5),
        )

    def _tile(self) -> list[Request]:
        """A tile in one or more runs, now and then with a request that is refused."""
        slices, operands = self._configuration.slices, self._configuration.operands
        rng = np.random.default_rng(self._random.getrandbits(32))
        tile = random_tile(TileModel(slices, operands), slices, rng, self._configuration.precisions)
        exponents = b"".join((exponent & 0xFF).to_bytes(1) for exponent in tile.exponents)
        made = [Request(TileOpcode.SCALES, exponents)] if self._random.random() < 0.8 else []
        if self._random.random() < 0.2:
            made.append(Request(TileOpcode.SCALES, self._random.choice([b"", exponents + b"\1"])))
        for writes, run in zip(tile.writes, tile.runs, strict=True):
            if not run["first"] or self._random.random() < 0.5:
                other = run | self._random.choice(_doubtful(run, self._configuration))
                made.append(Request(TileOpcode.RUN, pack(TileRun, **other)))
            for first, raw in _stretches(writes):
                made += self._load(first, raw)
            made.append(Request(TileOpcode.RUN, pack(TileRun, **run)))
            if run["destination"] or self._random.random() < 0.1:
                made.append(Request(TileOpcode.SETTLE))
        return made

    def _load(self, address: int, raw: bytes) -> list[Request]:
        """A pass that brings words, now and then one that leaves the memories, or is given up."""
        from_link = self._random.randrange(2)
        words = {"count": len(raw) // 4, "format": FormatCode.FP32, "from_link": from_link}
        begin = Request(TileOpcode.LOAD, pack(TileLoad, **words, address=address))
        whole = raw + bytes(-len(raw) % BEAT)
        end = Request(TileOpcode.LOADED)
        wrong = []
        if self._random.random() < 0.1:
            strange = words | {"address": address} | self._strange(address)
            wrong.append(Request(TileOpcode.LOAD, pack(TileLoad, **strange)))
        if from_link and self._random.random() < 0.1:
            wrong += [begin, Request(TileOpcode.RUN, bytes(size(TileRun))), end]
        if not from_link:
            return [*wrong, replace(begin, port=whole), end]
        step = self._configuration.payload // BEAT * BEAT
        parts = [whole[at : at + step] for at in range(0, len(whole), step)]
        return [*wrong, begin, *[Request(TensorOpcode.DATA, part) for part in parts], end]

    def _strange(self, address: int) -> dict[str, int]:
        """What makes a pass unsound."""
        slices, operands = self._configuration.slices, self._configuration.operands
        room = (slices + 1) * operands - address
        return self._random.choice(
            [
                {"count": room + 1},
                {"count": 0},
                {"count": 1 << 31, "address": 0xFFFF},
                {"format": FormatCode.BF16},
                {"format": 0xFF},
            ]
        )

    def _precisions(self) -> list[Request]:
        """Records of the precision controller, updates of them, and both at the table's end."""
        units = self._configuration.regions
        first = self._random.choice([self._random.randrange(units), units - 2])
        records = [precision_traffic.record(self._random) for _ in range(self._random.randrange(4))]
        updates = []
        for number, raw in enumerate(records[: units - first]):
            unit = self._random.choice([first + number, first + number, 0xFFFF, units])
            updates.append(precision_traffic.update(self._random, unit, raw))
        return [
            Request(PrecisionOpcode.WRITE, _u16(first) + b"".join(records)),
            Request(PrecisionOpcode.STEP, b"".join(pack(PrecisionUpdate, **u) for u in updates)),
            Request(
                PrecisionOpcode.READ,
                _u16(first) + bytes([self._entries(size(PrecisionRecord), 4)]),
            ),
        ]

    def _table(self) -> list[Request]:
        words = self._configuration.regions * WORDS_PER_REGION
        count = self._entries(WORD, 12)
        first = self._random.choice(
            [self._random.randrange(words + 1), max(0, words - count), max(0, words - count // 2)]
        )
        return [
            Request(RegionOpcode.READ, _u16(first) + bytes([count])),
            Request(RegionOpcode.STATE),
        ]

    def _echo(self) -> list[Request]:
        longest = self._configuration.payload
        length = self._random.choice([0, longest, self._random.randrange(longest + 1)])
        return [Request(SystemOpcode.ECHO, self._random.randbytes(length))]

    def _registers(self) -> list[Request]:
        words, room = GROUPS * SPAN, self._configuration.payload // 4
        count = self._random.choice([self._random.randrange(6), room, room + 1]) & 0xFF
        at_the_end = min(words - 1, words - count + self._random.randrange(2))
        known = self._random.choice([*addresses().values()])
        first = self._random.choice([known, self._random.randrange(words), at_the_end])
        if _CLOCKED.intersection(range(first, first + count)):
            count = 0
        return [Request(SystemOpcode.REGISTERS, bytes([first, count]))]

    def _unsound(self) -> list[Request]:
        """Any opcode with any payload, but for those that would run for longer than a test."""
        opcode = self._random.choice([*range(0x01, 0x60), 0xD0, 0xD1, 0xFF])
        lengths = [0, 1, 2, 3, 7, 8, 9, 16, 40, size(RegionParameters), self._configuration.payload]
        payload = self._random.randbytes(self._random.choice(lengths))
        if opcode in self._begins:
            payload = bytes(len(payload))
        if opcode == SystemOpcode.REGISTERS and len(payload) == 2:
            payload = b"\xff\2"
        if opcode == RegionOpcode.PARAMETERS and len(payload) == size(RegionParameters):
            payload = bytes(len(payload))
        if opcode == TileOpcode.RUN and len(payload) == size(TileRun):
            payload = bytes(len(payload))
        if opcode == RegionOpcode.WRITE and len(payload) > WORD:
            payload = b"\xff\xff" + payload[2:]
        return [Request(opcode, payload)]

    def wild(self) -> Request:
        """Records and commands whose fields hold anything, and tensors longer than a run."""
        rng, built = self._random, self._configuration
        first = rng.randrange(built.regions) * WORDS_PER_REGION
        begin = {
            "count": rng.choice([2**32 - rng.randrange(1, 9), rng.getrandbits(32)]),
            "format": rng.choice(built.formats),
            "exponent": rng.getrandbits(8),
            "histogram": rng.randrange(2),
            "from_link": rng.randrange(2),
        }
        run = unpack(TileRun, rng.randbytes(size(TileRun)))
        run |= {"rows": rng.randrange(10), "words": rng.randrange(built.operands + 2)}
        workers = rng.choice([0, 1, 2, 1024, 1025])
        return rng.choice(
            [
                Request(RegionOpcode.WRITE, _u16(first) + rng.randbytes(size(RegionRecord))),
                Request(
                    RegionOpcode.PARAMETERS,
                    _u16(workers) + rng.randbytes(size(RegionParameters) - 2),
                ),
                Request(StatisticsOpcode.BEGIN, pack(StatisticsBegin, **begin)),
                Request(TileOpcode.RUN, pack(TileRun, **run)),
                Request(TileOpcode.LOAD, rng.randbytes(size(TileLoad))),
            ]
        )


def _stretches(words: list[tuple[int, int]]) -> list[tuple[int, bytes]]:
    """Words that follow each other, with the first one's address."""
    parts: list[tuple[int, bytes]] = []
    expected = -1
    for address, word in words:
        if address != expected:
            parts.append((address, b""))
        parts[-1] = (parts[-1][0], parts[-1][1] + word.to_bytes(4, "little"))
        expected = address + 1
    return parts


def _doubtful(run: dict[str, int], configuration: Configuration) -> list[dict[str, int]]:
    """Changes that make a run unsound, or another one than the model expects next."""
    operands = configuration.operands
    missing = [mode for mode in Precision if mode not in configuration.precisions]
    going_on = [
        {"rows": run["rows"] % 8 + 1, "words": 1, "first": 0},
        {"mode": run["mode"] ^ 1, "first": 0},
        *({"to": int(to), "scaled": 1, "last": 1} for to in missing),
    ]
    return [
        *({"mode": int(mode)} for mode in missing),
        *going_on * (1 if run["first"] else 5),
        {"a_first": operands - run["words"] * run["rows"] + 1},
        {"b_first": operands - run["words"] + 1},
        {"words": 0},
        {"words": 0xFFFF},
        {"rows": 0},
        {"rows": 9},
        {"first": 1 - run["first"]},
        {"scaled": 1 - run["scaled"]},
        {"destination": 3},
        {"destination": Destination.MEMORY, "to_first": operands},
        {"destination": Destination.MEMORY, "to_first": run["a_first"]},
    ]


def _u16(value: int) -> bytes:
    return value.to_bytes(2, "little")
