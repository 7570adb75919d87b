"""Random requests that every device answers: echoes, and registers of all units."""

from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units import addresses, registers
from adagrain.models.interface.units.ranges import ByteRange
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.interface.units.unit import GROUPS, SPAN
from adagrain.sim.benches.requests import Kinds, Request, Requests

__all__ = ["SystemRequests"]


class SystemRequests(Requests):
    """Echoes of any length, and registers from anywhere on."""

    def kinds(self) -> Kinds:
        return {self._echo: 1, self._registers: 1}

    def tamed(self, opcode: int, payload: bytes) -> bytes:
        if opcode == SystemOpcode.REGISTERS and len(payload) == size(ByteRange):
            return pack(ByteRange, first=0xFF, count=2)
        return payload

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
        if _clocked().intersection(range(first, first + count)):
            count = 0
        return [Request(SystemOpcode.REGISTERS, pack(ByteRange, first=first, count=count))]


def _clocked() -> set[int]:
    """Words of registers that count clock cycles, which a model does not have."""
    return {
        address + half
        for address, _, register in registers()
        for half in range(register.words)
        if register.clocked
    }
