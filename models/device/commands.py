"""Answers of a device to requests that the link has accepted: the twin of ``hdl/device``."""

from collections.abc import Callable
from typing import Any

from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import unpack
from adagrain.models.interface.units import UNITS, Unit, registers, unit_of
from adagrain.models.interface.units.ranges import ByteRange
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.interface.units.unit import GROUPS, SPAN, load

from .refusal import Refusal, require
from .tensor_input import TensorInputModel
from .unit_model import UnitModel

__all__ = ["CommandModel"]


class CommandModel:
    """Executes requests with the golden units.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    link_counters : callable
        The link's counters by register name, read when the host reads them.

    Attributes
    ----------
    tensor_input : TensorInputModel
        Where tensors come in.
    units : dict of str to UnitModel
        Those that were built, by name.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        link_counters: Callable[[], dict[str, int]] = dict,
    ) -> None:
        self.configuration = configuration
        self.tensor_input = TensorInputModel(configuration)
        self.units: dict[str, UnitModel] = {
            unit.name: load(unit, unit.twin)(configuration, self.tensor_input)
            for unit in configuration.built()
            if unit.twin
        }
        self._link_counters = link_counters
        self._results: list[int] = []
        self._operations: dict[int, Callable[[bytes], bytes]] = {
            SystemOpcode.HELLO: self._hello,
            SystemOpcode.REGISTERS: self._registers,
            SystemOpcode.ECHO: bytes,
            **self.tensor_input.operations,
        }
        for name, model in self.units.items():
            _check(UNITS[name], model)
            self._operations.update(model.operations)

    def __getitem__(self, unit: str) -> Any:
        """The golden model of a unit that was built."""
        return self.units[unit]

    def execute(self, request: bytes) -> bytes:
        """Bytes ``opcode ‖ payload`` → bytes ``status ‖ payload``."""
        opcode, payload = request[0], request[1:]
        try:
            unit = unit_of(opcode)
            if unit is not None and unit.twin:
                require(unit.name in self.units, Status.UNSUPPORTED)
            operation = unit.operation(opcode) if unit else None
            if operation is None:
                raise Refusal(Status.UNKNOWN_OPCODE)
            require(operation.request.fits(len(payload)), Status.BAD_LENGTH)
            reply = self._operations[opcode](payload)
            if unit is not None and unit.sends:
                self._results += self.units[unit.name].take_results()
            return bytes([Status.OK]) + reply
        except Refusal as refusal:
            return bytes([refusal.status])

    def take_results(self) -> list[int]:
        """32-bit words that have come out of the data port since this was last asked.

        Units send in the order of their requests.
        """
        taken, self._results = self._results, []
        return taken

    def registers(self) -> dict[str, int]:
        """All registers by name; those that count clock cycles, and those of other units, are 0."""
        values = dict.fromkeys((register.name for _, _, register in registers()), 0)
        values |= self.configuration.constants() | self._link_counters()
        for model in self.units.values():
            values |= model.registers()
        return values

    def _hello(self, payload: bytes) -> bytes:
        self.tensor_input.hello()
        for model in self.units.values():
            model.hello()
        return b""

    def _registers(self, payload: bytes) -> bytes:
        first, count = unpack(ByteRange, payload).values()
        fits = count * 4 <= self.configuration.payload
        require(0 < count <= GROUPS * SPAN - first and fits, Status.BAD_VALUE)
        values, words = self.registers(), dict[int, int]()
        for address, _, register in registers():
            for half in range(register.words):
                words[address + half] = values[register.name] >> 32 * half & 0xFFFF_FFFF
        found = (words.get(address, 0) for address in range(first, first + count))
        return b"".join(word.to_bytes(4, "little") for word in found)


def _check(unit: Unit, model: UnitModel) -> None:
    """Make sure that a golden model has the operations of its unit.

    Raises
    ------
    ValueError
        If it lacks one.
    """
    for operation in unit.operations:
        if operation.opcode not in model.operations:
            raise ValueError(
                f"operation {operation.opcode.name} of unit {unit.name!r} must have a golden "
                f"model, but {type(model).__name__} has none"
            )
