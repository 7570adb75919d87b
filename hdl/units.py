"""The units that can be synthesised alone, by name, each as a board has it."""

from collections.abc import Callable

from amaranth.lib.wiring import Component

from adagrain.models.configuration import Configuration, configuration
from adagrain.models.formats import FORMATS, FormatCode
from adagrain.models.precision import INTEGERS
from adagrain.models.protocol import Unit

from .boards import BOARDS, Board
from .coprocessor import Coprocessor
from .dot_product import DotProduct
from .float import Adder, Multiplier
from .granularity_unit import GranularityUnit
from .link import Link
from .precision_controller import PrecisionController
from .queue import Queue
from .region_manager import RegionManager
from .rescale import Rescale
from .slice import Slice
from .statistics import Statistics
from .uart import Receiver, Transmitter

__all__ = ["UNITS", "check_unit"]


def _statistics(c: Configuration) -> Component:
    return Statistics(c.lanes, powers=c.powers, histogram=Unit.HISTOGRAM in c.units)


def _granularity_unit(board: Board) -> Component:
    """With integers alone where there is room for nothing else."""
    if board.family == "ice40":
        return GranularityUnit(slices=4, words=512, precisions=INTEGERS)
    return GranularityUnit(slices=4, words=4096)


#: Those that depend on the preset.
_CONFIGURED: dict[str, Callable[[Configuration], Component]] = {
    "statistics": _statistics,
    "region_manager": RegionManager,
    "link": Link,
    "coprocessor": Coprocessor,
    "queue": lambda c: Queue(8, c.payload),
}


def _of_preset(build: Callable[[Configuration], Component]) -> Callable[[Board], Component]:
    return lambda board: build(configuration(board.preset))


#: How each unit is built for a board.
UNITS: dict[str, Callable[[Board], Component]] = {
    **{name: _of_preset(build) for name, build in _CONFIGURED.items()},
    "multiplier": lambda _: Multiplier(FORMATS[FormatCode.FP32]),
    "slice": lambda _: Slice(),
    "granularity_unit": _granularity_unit,
    "precision_controller": lambda _: PrecisionController(64),
    "dot_product": lambda _: DotProduct(8),
    "rescale": lambda _: Rescale(),
    "adder": lambda _: Adder(FORMATS[FormatCode.FP32]),
    "receiver": lambda board: Receiver(board.clock, board.baud),
    "transmitter": lambda board: Transmitter(board.clock, board.baud),
}


def check_unit(unit: str, board: str) -> None:
    """Make sure that there are a unit and a board of these names.

    Raises
    ------
    ValueError
        If one is unknown.
    """
    if unit not in UNITS:
        raise ValueError(f"unit must be one of {', '.join(UNITS)}, not {unit!r}")
    if board not in BOARDS:
        raise ValueError(f"board must be one of {', '.join(BOARDS)}, not {board!r}")
