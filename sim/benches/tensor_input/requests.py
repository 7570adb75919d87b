"""Random passes over tensors, by data port and in requests, for any unit that takes them."""

from typing import ClassVar

from adagrain.models.interface.formats import FORMATS
from adagrain.models.interface.records import pack
from adagrain.models.interface.units import GRANULARITY_UNIT, Unit
from adagrain.models.interface.units.tensor_input import BEAT, TensorOpcode
from adagrain.sim.benches.requests import Kinds, Request, Requests

__all__ = ["PassRequests", "data_requests", "padded"]


class PassRequests(Requests):
    """Passes of a unit, now and then with too few data, or too many.

    All units that take tensors share the passes between them.
    """

    #: The unit.
    unit: ClassVar[Unit]

    def kinds(self) -> Kinds:
        share = 1 / len(self._takers())
        return {self._by_port: share, self._by_link: share}

    def tamed(self, opcode: int, payload: bytes) -> bytes:
        return bytes(len(payload)) if opcode == self.unit.begin.opcode else payload

    def port_pass(self, missing: int | None = None) -> list[Request]:
        """A pass whose data come by the port; it lacks so many beats, or now and then one."""
        begin, memory = self._tensor(from_link=0)
        if missing is None:
            missing = self._random.random() < 0.1
        given = memory[: max(0, len(memory) - missing * BEAT)]
        opcode = self.unit.begin.opcode
        return [Request(opcode, begin, given), *self._other(), Request(self.unit.end.opcode)]

    def link_pass(self) -> list[Request]:
        """A pass whose data come in requests; a fifth of them have too few or too many."""
        begin, memory = self._tensor(from_link=1)
        if self._random.random() < 0.2:
            memory = memory[BEAT:] if self._random.random() < 0.5 else memory + bytes(BEAT)
        step = self._random.randrange(1, self._configuration.payload // BEAT + 1) * BEAT
        data = data_requests(memory, step)
        end = Request(self.unit.end.opcode)
        return [Request(self.unit.begin.opcode, begin), *data, *self._other(), end]

    def _by_port(self) -> list[Request]:
        return [*self.port_pass(), *self._after()]

    def _by_link(self) -> list[Request]:
        return [*self.link_pass(), *self._after()]

    def _after(self) -> list[Request]:
        """The request that follows a pass."""
        return []

    def _count(self, from_link: int) -> int:
        """Elements of a tensor; one that is refused must not leave data at the port."""
        return self._random.randrange(1, self._longest)

    def _more(self, from_link: int) -> dict[str, int]:
        """More fields of the record that begins a pass."""
        return {}

    def _tensor(self, from_link: int) -> tuple[bytes, bytes]:
        """The record that begins a pass, and its data."""
        code = self._random.choice(self._configuration.formats)
        count = self._count(from_link)
        begin = {
            "count": count,
            "format": code,
            "exponent": self._random.randrange(1, 255),
            "from_link": from_link,
        }
        record = pack(self.unit.begin.request.record, **begin, **self._more(from_link))
        return record, padded(self._random.randbytes(-(-count * FORMATS[code].bits // 8)))

    def _other(self) -> list[Request]:
        """Now and then, what another unit refuses while a pass is under way."""
        other = self._random.choice(self._takers())
        if self._random.random() < 0.8:
            return []
        begin = Request(other.begin.opcode, bytes(other.begin.request.head_size))
        return [begin, *([Request(other.end.opcode)] * (other != self.unit))]

    def _takers(self) -> list[Unit]:
        """Units whose passes are alike."""
        built = self._configuration.built()
        return [unit for unit in built if unit.passes and unit is not GRANULARITY_UNIT]


def data_requests(memory: bytes, step: int) -> list[Request]:
    """Requests that bring a tensor's memory, so many bytes at once."""
    starts = range(0, len(memory), step)
    return [Request(TensorOpcode.DATA, memory[at : at + step]) for at in starts]


def padded(raw: bytes) -> bytes:
    """A tensor's memory in whole beats."""
    return raw + bytes(-len(raw) % BEAT)
