"""What a device does with a request that the link has accepted: the twin of ``hdl.device`` and its handlers."""

from collections.abc import Callable

import numpy as np
import torch

from adagrain.models.granularity_unit import RunError, TileModel
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FORMATS, FormatCode
from adagrain.models.interface.protocol import (
    MAGIC,
    PROTOCOL_VERSION,
    REGISTERS,
    Opcode,
    Status,
    Unit,
)
from adagrain.models.interface.records import (
    BINS,
    HistogramBin,
    PrecisionDecision,
    PrecisionRecord,
    PrecisionUpdate,
    RegionParameters,
    RegionRecord,
    RegionStep,
    RegionUpdate,
    StatisticsBegin,
    TileResult,
    TileRun,
    pack,
    size,
    unpack,
)
from adagrain.models.precision_controller import PrecisionTable
from adagrain.models.region_manager.settings import MAX_WORKERS
from adagrain.models.region_manager.table import WORD, RegionTable
from adagrain.models.statistics import Statistics, statistics

__all__ = ["GROUP", "WORDS_PER_REGION", "CommandModel", "Refusal", "absent_groups", "identity"]

#: Octets that enter by the data port at once; tensors are zero-padded to whole groups.
GROUP = 16
#: Words of the region table that a record takes.
WORDS_PER_REGION = size(RegionRecord) // WORD


class Refusal(Exception):  # noqa: N818 - it is an answer, not an accident
    """A request gets a status other than OK, and nothing else."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.name)
        self.status = status


def require(condition: bool, status: Status) -> None:
    """Refuse the request unless the condition holds."""
    if not condition:
        raise Refusal(status)


def identity(configuration: Configuration) -> dict[str, int]:
    """The registers that tell what was built, by name."""
    name = configuration.preset.encode().ljust(8, b"\0")
    return {
        "magic": MAGIC,
        "protocol": PROTOCOL_VERSION,
        "build": configuration.build_id(),
        "preset_low": int.from_bytes(name[:4], "little"),
        "preset_high": int.from_bytes(name[4:], "little"),
        "units": sum(1 << unit for unit in configuration.units),
        "formats": sum(1 << code for code in configuration.formats),
        "lanes": configuration.lanes | configuration.powers << 8 | configuration.window << 16,
        "regions": configuration.regions,
        "payload": configuration.payload,
        "slices": configuration.slices | configuration.operands << 8 if configuration.slices else 0,
    }


def absent_groups(configuration: Configuration) -> tuple[int, ...]:
    """Groups of opcodes, their upper four bits, whose unit was not built."""
    built = {
        Opcode.REGIONS_WRITE >> 4: Unit.REGION_MANAGER in configuration.units,
        Opcode.TILE_WRITE >> 4: configuration.slices > 0,
        Opcode.PRECISION_WRITE >> 4: configuration.slices > 0,
    }
    return tuple(group for group, is_built in built.items() if not is_built)


class CommandModel:
    """Executes requests with the golden units.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    kernel : str
        Implementation of the statistics: ``"fused"`` or ``"reference"``.
    link_counters : callable
        The link's counters by register name, read when the host reads them.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        kernel: str = "fused",
        link_counters: Callable[[], dict[str, int]] = dict,
    ) -> None:
        self.configuration = configuration
        self.table = RegionTable(configuration.regions)
        self.tiles = TileModel(configuration.slices, configuration.operands)
        self.precisions = PrecisionTable(configuration.regions)
        self.elements = 0
        self.decisions = 0
        self.tile_words = 0
        self._has_histogram = Unit.HISTOGRAM in configuration.units
        self._kernel = kernel
        self._link_counters = link_counters
        self._port = torch.empty(0, dtype=torch.uint8)
        self._pass: _Pass | None = None
        self._histogram: bytes | None = None
        self._operations: dict[int, Callable[[bytes], bytes]] = {
            Opcode.HELLO: self._hello,
            Opcode.ECHO: bytes,
            Opcode.READ_REGISTERS: self._read_registers,
            Opcode.STATISTICS_BEGIN: self._statistics_begin,
            Opcode.STATISTICS_DATA: self._statistics_data,
            Opcode.STATISTICS_END: self._statistics_end,
            Opcode.HISTOGRAM_READ: self._histogram_read,
            Opcode.REGIONS_WRITE: self._regions_write,
            Opcode.REGIONS_READ: self._regions_read,
            Opcode.REGIONS_PARAMETERS: self._regions_parameters,
            Opcode.REGIONS_STATE: self._regions_state,
            Opcode.REGIONS_STEP: self._regions_step,
            Opcode.TILE_WRITE: self._tile_write,
            Opcode.TILE_RUN: self._tile_run,
            Opcode.TILE_SCALES: self._tile_scales,
            Opcode.PRECISION_WRITE: self._precision_write,
            Opcode.PRECISION_READ: self._precision_read,
            Opcode.PRECISION_STEP: self._precision_step,
        }

    def load(self, words: np.ndarray) -> None:
        """Offer words to the data port; what was left of earlier ones is dropped."""
        self._port = torch.from_numpy(words.view(np.uint8))
        self._take_from_port()

    @property
    def port_groups(self) -> int:
        """Groups that the data port still offers."""
        return len(self._port) // GROUP

    def execute(self, request: bytes) -> bytes:
        """Octets ``opcode ‖ payload`` → octets ``status ‖ payload``."""
        operation = self._operations.get(request[0])
        try:
            require(request[0] >> 4 not in absent_groups(self.configuration), Status.UNSUPPORTED)
            require(operation is not None, Status.UNKNOWN_OPCODE)
            return bytes([Status.OK]) + operation(request[1:])  # type: ignore[misc]
        except Refusal as refusal:
            return bytes([refusal.status])

    def _hello(self, payload: bytes) -> bytes:
        self._pass = None
        return b""

    def _registers(self) -> dict[str, int]:
        values = dict.fromkeys(REGISTERS, 0)
        values |= identity(self.configuration)
        values |= self._link_counters()
        values["elements_low"] = self.elements & 0xFFFF_FFFF
        values["elements_high"] = self.elements >> 32
        values["decisions"] = self.decisions & 0xFFFF_FFFF
        values["tile_words"] = self.tile_words & 0xFFFF_FFFF
        return values

    def _read_registers(self, payload: bytes) -> bytes:
        require(len(payload) == 2, Status.BAD_LENGTH)
        first, count = payload
        require(count > 0 and first + count <= len(REGISTERS), Status.BAD_VALUE)
        values = list(self._registers().values())[first : first + count]
        return b"".join(value.to_bytes(4, "little") for value in values)

    def _statistics_begin(self, payload: bytes) -> bytes:
        require(len(payload) == size(StatisticsBegin), Status.BAD_LENGTH)
        begin = unpack(StatisticsBegin, payload)
        require(self._pass is None, Status.BUSY)
        require(begin["format"] in self.configuration.formats, Status.UNSUPPORTED)
        require(self._has_histogram or not begin["histogram"], Status.UNSUPPORTED)
        require(begin["count"] > 0 and 1 <= begin["exponent"] <= 254, Status.BAD_VALUE)
        self._pass = _Pass(begin)
        if begin["histogram"]:
            self._histogram = None
        self._take_from_port()
        return b""

    def _take_from_port(self) -> None:
        if self._pass is not None and not self._pass.from_link:
            self._port = self._pass.take(self._port)

    def _statistics_data(self, payload: bytes) -> bytes:
        require(self._pass is not None, Status.NOT_STARTED)
        assert self._pass is not None
        require(len(payload) > 0 and len(payload) % GROUP == 0, Status.BAD_LENGTH)
        room = self._pass.missing if self._pass.from_link else 0
        require(len(payload) <= room, Status.OVERFLOW)
        self._pass.take(torch.frombuffer(bytearray(payload), dtype=torch.uint8))
        return b""

    def _statistics_end(self, payload: bytes) -> bytes:
        require(len(payload) == 0, Status.BAD_LENGTH)
        require(self._pass is not None, Status.NOT_STARTED)
        ended, self._pass = self._pass, None
        assert ended is not None
        require(ended.missing == 0, Status.INCOMPLETE)
        result = ended.result(self.configuration.powers, self._kernel)
        self.elements += result.count
        self._histogram = result.histogram_octets() or self._histogram
        return result.record()

    def _histogram_read(self, payload: bytes) -> bytes:
        require(self._has_histogram, Status.UNSUPPORTED)
        require(len(payload) == 2, Status.BAD_LENGTH)
        first, count = payload
        width = size(HistogramBin)
        fits = count > 0 and first + count <= BINS and count * width <= self.configuration.payload
        require(fits, Status.BAD_VALUE)
        require(self._pass is None, Status.BUSY)
        if self._histogram is None:
            raise Refusal(Status.NO_HISTOGRAM)
        return self._histogram[first * width : (first + count) * width]

    def _words(self, first: int, count: int) -> None:
        words = self.configuration.regions * WORDS_PER_REGION
        require(count > 0 and first + count <= words, Status.BAD_VALUE)

    def _regions_write(self, payload: bytes) -> bytes:
        require(len(payload) > 2 and (len(payload) - 2) % WORD == 0, Status.BAD_LENGTH)
        first = int.from_bytes(payload[:2], "little")
        self._words(first, len(payload[2:]) // WORD)
        self.table.write_words(first, payload[2:])
        return b""

    def _regions_read(self, payload: bytes) -> bytes:
        require(len(payload) == 3, Status.BAD_LENGTH)
        first, count = int.from_bytes(payload[:2], "little"), payload[2]
        self._words(first, count)
        require(count * WORD <= self.configuration.payload, Status.BAD_VALUE)
        return self.table.read_words(first, count)

    def _regions_parameters(self, payload: bytes) -> bytes:
        require(len(payload) == size(RegionParameters), Status.BAD_LENGTH)
        parameters = unpack(RegionParameters, payload)
        require(1 <= parameters["workers"] <= MAX_WORKERS, Status.BAD_VALUE)
        self.table.parameters = parameters
        return b""

    def _regions_state(self, payload: bytes) -> bytes:
        require(len(payload) == 0, Status.BAD_LENGTH)
        return self.table.parameter_octets()

    def _regions_step(self, payload: bytes) -> bytes:
        head, body = payload[: size(RegionStep)], payload[size(RegionStep) :]
        whole = len(head) == size(RegionStep) and len(body) % size(RegionUpdate) == 0
        require(whole, Status.BAD_LENGTH)
        require(self.table.configured, Status.NO_PARAMETERS)
        self.decisions += len(body) // size(RegionUpdate)
        return self.table.step(head, body)

    def _tile_write(self, payload: bytes) -> bytes:
        require(len(payload) > 2 and (len(payload) - 2) % 4 == 0, Status.BAD_LENGTH)
        first = int.from_bytes(payload[:2], "little")
        words = np.frombuffer(payload, dtype="<u4", offset=2)
        room = (self.configuration.slices + 1) * self.configuration.operands - first
        require(len(words) <= room, Status.BAD_VALUE)
        self.tiles.memory.write(first, words)
        return b""

    def _tile_run(self, payload: bytes) -> bytes:
        require(len(payload) == size(TileRun), Status.BAD_LENGTH)
        run = unpack(TileRun, payload)
        needed = {run["mode"], run["to"] if run["last"] and run["scaled"] else run["mode"]}
        require(needed <= {*self.configuration.precisions}, Status.UNSUPPORTED)
        try:
            results = self.tiles.run(run)
        except RunError as error:
            raise Refusal(Status.BAD_VALUE if error.started else Status.NO_SUM) from None
        self.tile_words += run["rows"] * run["words"]
        return b"".join(pack(TileResult, **result._asdict()) for result in results)

    def _tile_scales(self, payload: bytes) -> bytes:
        require(len(payload) == self.configuration.slices, Status.BAD_LENGTH)
        self.tiles.exponents = np.frombuffer(payload, dtype=np.int8).astype(np.int64)
        return b""

    def _precision_write(self, payload: bytes) -> bytes:
        width = size(PrecisionRecord)
        require(len(payload) > 2 and (len(payload) - 2) % width == 0, Status.BAD_LENGTH)
        first, records = int.from_bytes(payload[:2], "little"), payload[2:]
        count = len(records) // width
        require(first + count <= self.configuration.regions, Status.BAD_VALUE)
        for number in range(count):
            self.precisions.write(first + number, records[number * width :][:width])
        return b""

    def _precision_read(self, payload: bytes) -> bytes:
        require(len(payload) == 3, Status.BAD_LENGTH)
        first, count = int.from_bytes(payload[:2], "little"), payload[2]
        inside = count > 0 and first + count <= self.configuration.regions
        short = count * size(PrecisionRecord) <= self.configuration.payload
        require(inside and short, Status.BAD_VALUE)
        return b"".join(self.precisions.read(first + number) for number in range(count))

    def _precision_step(self, payload: bytes) -> bytes:
        width = size(PrecisionUpdate)
        require(len(payload) > 0 and len(payload) % width == 0, Status.BAD_LENGTH)
        parts = (payload[at : at + width] for at in range(0, len(payload), width))
        decisions = (self.precisions.update(unpack(PrecisionUpdate, part)) for part in parts)
        return b"".join(pack(PrecisionDecision, **decision) for decision in decisions)


class _Pass:
    """A pass over one tensor: what was announced, and what has come."""

    def __init__(self, begin: dict[str, int]) -> None:
        self.begin = begin
        self.from_link = bool(begin["from_link"])
        self._format = FORMATS[FormatCode(begin["format"])]
        octets = begin["count"] * self._format.bits // 8
        self.missing = -(-octets // GROUP) * GROUP
        self._parts: list[torch.Tensor] = []

    def take(self, octets: torch.Tensor) -> torch.Tensor:
        """Take what is missing; the octets that are left over."""
        part, rest = octets[: self.missing], octets[self.missing :]
        self.missing -= len(part)
        self._parts.append(part)
        return rest

    def result(self, powers: int, kernel: str) -> Statistics:
        octets = self._parts[0] if len(self._parts) == 1 else torch.cat(self._parts)
        tensor = octets.view(self._format.dtype)[: self.begin["count"]]
        return statistics(
            tensor,
            self.begin["exponent"] - 127,
            powers=powers,
            histogram=bool(self.begin["histogram"]),
            kernel=kernel,
        )
