"""Random requests for the Region Manager: a table, steps, and reads."""

from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units.ranges import First
from adagrain.models.interface.units.region_manager import (
    WORD,
    WORDS_PER_REGION,
    CadencePolicy,
    RegionOpcode,
    RegionParameters,
    RegionRecord,
    RegionStep,
    RegionUpdate,
    SpeculationPolicy,
)
from adagrain.models.region_manager.settings import default_parameters, region_record
from adagrain.sim.benches.requests import Kinds, Request, Requests

__all__ = ["RegionRequests"]


class RegionRequests(Requests):
    """Steps with few updates, and reads of table and parameters."""

    def prologue(self) -> list[Request]:
        """Configure every region."""
        regions = self._configuration.regions
        step = (self._configuration.payload - size(First)) // size(RegionRecord)
        records = [
            region_record(
                policy=self._random.choice(list(SpeculationPolicy)),
                cadence_policy=self._random.choice(list(CadencePolicy)),
                cadence_max=3,
                phase_epoch=self._random.randrange(8),
            )
            for _ in range(regions)
        ]
        writes = [
            self._write(at, b"".join(records[at : at + step])) for at in range(0, regions, step)
        ]
        parameters = pack(RegionParameters, **default_parameters(self._random.choice([1, 2, 7])))
        return [*writes, Request(RegionOpcode.PARAMETERS, parameters)]

    def kinds(self) -> Kinds:
        return {self._step: 2, self._table: 1}

    def wild(self) -> list[Request]:
        """A record, and parameters, of any bits."""
        rng = self._random
        parameters = bytearray(rng.randbytes(size(RegionParameters)))
        workers = pack(First, first=rng.choice([0, 1, 2, 1024, 1025]))
        parameters[: len(workers)] = workers
        return [
            self._write(
                rng.randrange(self._configuration.regions), rng.randbytes(size(RegionRecord))
            ),
            Request(RegionOpcode.PARAMETERS, bytes(parameters)),
        ]

    def tamed(self, opcode: int, payload: bytes) -> bytes:
        if opcode == RegionOpcode.PARAMETERS and len(payload) == size(RegionParameters):
            return bytes(len(payload))
        if opcode == RegionOpcode.WRITE and len(payload) > WORD:
            return pack(First, first=0xFFFF) + payload[size(First) :]
        return payload

    def _write(self, region: int, raw: bytes) -> Request:
        return Request(RegionOpcode.WRITE, pack(First, first=region * WORDS_PER_REGION) + raw)

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

    def _table(self) -> list[Request]:
        words = self._configuration.regions * WORDS_PER_REGION
        return [
            Request(RegionOpcode.READ, self._range(words, WORD, 12)),
            Request(RegionOpcode.STATE),
        ]
