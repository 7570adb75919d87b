"""The units that can be synthesised alone, by name, each as a board has it."""

from collections.abc import Callable
from typing import cast

from amaranth.lib.wiring import Component

from adagrain.hdl.arithmetic.float import Adder, Multiplier
from adagrain.hdl.boards import BOARDS, Board
from adagrain.hdl.codec import Decoder, Encoder
from adagrain.hdl.device.coprocessor import Coprocessor
from adagrain.hdl.dot_product import DotProduct
from adagrain.hdl.granularity_unit import GranularityUnit
from adagrain.hdl.link import Link
from adagrain.hdl.precision_controller import PrecisionController
from adagrain.hdl.region_manager import RegionManager
from adagrain.hdl.rescale import Rescale
from adagrain.hdl.slice import Slice
from adagrain.hdl.statistics import Statistics
from adagrain.hdl.stream.queue import Queue
from adagrain.hdl.uart import Receiver, Transmitter
from adagrain.models.interface.configuration import Configuration, configuration
from adagrain.models.interface.formats import FORMATS, FormatCode
from adagrain.models.interface.precision import INTEGERS
from adagrain.models.interface.units import UNITS as DECLARED
from adagrain.models.interface.units import Unit
from adagrain.models.interface.units.unit import load

__all__ = ["check_unit", "units"]


def _statistics(c: Configuration) -> Component:
    return Statistics(c.lanes, powers=c.powers, histogram=c.histogram)


def _granularity_unit(board: Board) -> Component:
    """With integers alone where there is room for nothing else."""
    if board.family == "ice40":
        return GranularityUnit(slices=4, words=512, precisions=INTEGERS)
    return GranularityUnit(slices=4, words=4096)


#: Those that depend on the device preset.
_CONFIGURED: dict[str, Callable[[Configuration], Component]] = {
    "statistics": _statistics,
    "region_manager": RegionManager,
    "link": Link,
    "coprocessor": Coprocessor,
    "queue": lambda c: Queue(8, c.payload),
}


def _core(unit: Unit) -> Callable[[Configuration], Component]:
    return lambda c: cast(Component, load(unit, unit.core)(c.lanes))


def _handler(unit: Unit) -> Callable[[Configuration], Component]:
    return lambda c: cast(Component, load(unit, unit.gateware)(c))


def _of_preset(build: Callable[[Configuration], Component]) -> Callable[[Board], Component]:
    return lambda board: build(configuration(board.preset))


#: Those of the project, beside the cores that descriptors name.
_OWN: dict[str, Callable[[Board], Component]] = {
    **{name: _of_preset(build) for name, build in _CONFIGURED.items()},
    "multiplier": lambda _: Multiplier(FORMATS[FormatCode.FP32]),
    "slice": lambda _: Slice(),
    "granularity_unit": _granularity_unit,
    "precision_controller": lambda _: PrecisionController(64),
    "dot_product": lambda _: DotProduct(8),
    "rescale": lambda _: Rescale(),
    "adder": lambda _: Adder(FORMATS[FormatCode.FP32]),
    "encoder": lambda board: Encoder(configuration(board.preset).lanes),
    "decoder": lambda board: Decoder(configuration(board.preset).lanes),
    "receiver": lambda board: Receiver(board.clock, board.baud),
    "transmitter": lambda board: Transmitter(board.clock, board.baud),
}


def units() -> dict[str, Callable[[Board], Component]]:
    """Makers of all units that are known by now, for a board, by name.

    As ``decoder_commands``, a unit with the handler that answers its requests.
    """
    handled = {unit.name: _handler(unit) for unit in DECLARED.values() if unit.gateware}
    declared = {
        **{f"{name}_commands": build for name, build in handled.items()},
        **handled,
        **{unit.name: _core(unit) for unit in DECLARED.values() if unit.core},
    }
    return {name: _of_preset(build) for name, build in declared.items()} | _OWN


def check_unit(unit: str, board: str) -> None:
    """Make sure that there are a unit and a board of these names.

    Raises
    ------
    ValueError
        If one is unknown.
    """
    if unit not in units():
        raise ValueError(f"unit must be one of {', '.join(units())}, not {unit!r}")
    if board not in BOARDS:
        raise ValueError(f"board must be one of {', '.join(BOARDS)}, not {board!r}")
