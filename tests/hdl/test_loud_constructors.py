# amaranth: UnusedElaboratable=no
"""Every constructor of gateware says which parameter is wrong, what it must be, and what it is."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator

import pytest
from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal, signed
from amaranth.lib import data
from parameter_values import (
    BLOCK,
    BUILT,
    BYTES,
    COUNT_BITS,
    ENTRIES,
    FMT,
    LANES,
    POWERS,
    PRECISIONS,
    REGIONS,
    SLICES,
    STREAMS,
    UART,
    UNIT,
    WITH_SLICES,
    WITH_TABLE,
    WORDS,
    Given,
    at_least,
    between,
    factor,
    factors,
    flag,
    given,
    of_type,
    one_of,
)

import adagrain.hdl
from adagrain.hdl.arithmetic.dsp.ecp5 import Ecp5Product
from adagrain.hdl.arithmetic.dsp.ice40 import Ice40Products
from adagrain.hdl.arithmetic.dsp.products import Products
from adagrain.hdl.arithmetic.float.add import Adder
from adagrain.hdl.arithmetic.float.arithmetic import Arithmetic
from adagrain.hdl.arithmetic.float.convert import Converter
from adagrain.hdl.arithmetic.float.multiply import Multiplier
from adagrain.hdl.arithmetic.float.round import Round
from adagrain.hdl.arithmetic.float.sum import ExactSum
from adagrain.hdl.arithmetic.ratio import Ratio
from adagrain.hdl.boards import BOARDS
from adagrain.hdl.boards.ecp5_clock import Ecp5Clock
from adagrain.hdl.boards.top import Top
from adagrain.hdl.codec import Decoder, Encoder
from adagrain.hdl.codec.bit_packer import BitPacker
from adagrain.hdl.codec.bit_unpacker import BitUnpacker
from adagrain.hdl.codec.block_commands import BlockCommands
from adagrain.hdl.codec.decoder_commands import DecoderCommands
from adagrain.hdl.codec.decoder_pass import DecoderPass
from adagrain.hdl.codec.element_words import ElementWords
from adagrain.hdl.codec.encoder_commands import EncoderCommands
from adagrain.hdl.codec.encoder_pass import EncoderPass
from adagrain.hdl.codec.nonzeros import Nonzeros
from adagrain.hdl.codec.placer import Placer
from adagrain.hdl.codec.read_commands import ReadCommands
from adagrain.hdl.codec.word_grouper import WordGrouper
from adagrain.hdl.device.coprocessor import Coprocessor
from adagrain.hdl.device.dispatcher import Dispatcher
from adagrain.hdl.device.serial_coprocessor import SerialCoprocessor
from adagrain.hdl.device.system import SystemCommands
from adagrain.hdl.device.watchdog import Watchdog
from adagrain.hdl.difference import Difference
from adagrain.hdl.dot_product import DotProduct, IntegerDotProduct
from adagrain.hdl.dot_product.accumulator import AccumulatorMemory
from adagrain.hdl.dot_product.exact import ExactAccumulator
from adagrain.hdl.dot_product.floats import FloatAccumulator
from adagrain.hdl.dot_product.integers import IntegerAccumulator
from adagrain.hdl.dot_product.running_sum import RunningSum
from adagrain.hdl.flow.alone import Harness
from adagrain.hdl.granularity_unit import GranularityUnit
from adagrain.hdl.granularity_unit.commands import TileCommands
from adagrain.hdl.granularity_unit.delivery import Delivery
from adagrain.hdl.granularity_unit.loader import Loader
from adagrain.hdl.granularity_unit.operands import Operands
from adagrain.hdl.granularity_unit.results import Results
from adagrain.hdl.granularity_unit.run_commands import RunCommands
from adagrain.hdl.granularity_unit.sequencer import Sequencer
from adagrain.hdl.handler.access_commands import AccessCommands
from adagrain.hdl.handler.answer import Answer
from adagrain.hdl.handler.choice import Choice
from adagrain.hdl.handler.record_commands import RecordCommands
from adagrain.hdl.handler.step_commands import StepCommands
from adagrain.hdl.link import Link
from adagrain.hdl.link.cobs_decoder import CobsDecoder
from adagrain.hdl.link.cobs_encoder import CobsEncoder
from adagrain.hdl.link.frame_checker import FrameChecker
from adagrain.hdl.link.frame_sender import FrameSender
from adagrain.hdl.link.packet_queue import PacketQueue
from adagrain.hdl.link.session import Session
from adagrain.hdl.mask import Mask
from adagrain.hdl.precision_controller import PrecisionController
from adagrain.hdl.precision_controller.commands import PrecisionCommands
from adagrain.hdl.region_manager import RegionManager
from adagrain.hdl.region_manager.commands import RegionCommands
from adagrain.hdl.region_manager.meter import Meter
from adagrain.hdl.region_manager.region import Region
from adagrain.hdl.region_manager.table import Table
from adagrain.hdl.region_manager.updates import Updates
from adagrain.hdl.rescale.packer import Packer
from adagrain.hdl.statistics import Statistics
from adagrain.hdl.statistics.commands import StatisticsCommands
from adagrain.hdl.statistics.counts import Counts
from adagrain.hdl.statistics.extremes import Extremes
from adagrain.hdl.statistics.histogram import Histogram
from adagrain.hdl.statistics.histogram_commands import HistogramCommands
from adagrain.hdl.statistics.power_sums import PowerSums
from adagrain.hdl.stream.queue import Queue
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.hdl.stream.skid import Skid
from adagrain.hdl.stream.spill_register import SpillRegister
from adagrain.hdl.tensor_input import TensorInput, Unpacker
from adagrain.hdl.tensor_input.downsizer import Downsizer
from adagrain.hdl.tensor_input.pass_commands import PassCommands
from adagrain.hdl.tensor_input.port import TensorPort
from adagrain.hdl.tensor_input.tensor_pass import TensorPass
from adagrain.hdl.uart import Receiver, Transmitter
from adagrain.models.interface.units import ENCODER, SYSTEM, Unit
from adagrain.models.interface.units.region_manager import RegionParameters

#: What each class is built with.
CLASSES: dict[type, dict[str, Given]] = {
    AccessCommands: {"configuration": BUILT, "unit": WITH_TABLE},
    Answer: {"sources": at_least(2, 0)},
    RecordCommands: {"layout": of_type(RegionParameters, data.StructLayout, 8, "layout")},
    StepCommands: {"configuration": BUILT, "unit": WITH_TABLE},
    Adder: {"fmt": FMT},
    Arithmetic: {"fmt": FMT},
    BlockCommands: {
        "configuration": BUILT,
        "unit": of_type(ENCODER, Unit, "encoder"),
        "core": Given(EncoderPass(2), (("core", "of type Component, not 'core'"),)),
        "raw": flag(True),
    },
    BitUnpacker: {
        "width": given(64, "a power of two and at least 4", 0, 2, 48, -64),
        "before": between(28, 1, 36),
        "ahead": between(12, 1, 47),
    },
    CobsDecoder: {"block": BLOCK},
    CobsEncoder: {"block": BLOCK},
    Converter: {"source": FMT, "target": FMT},
    BitPacker: {
        "longest": at_least(40, 7),
        "width": given(64, "a power of two and at least 8", 4, 12, 0, -8),
        "mark": Given(1),
    },
    Counts: {"lanes": LANES, "bits": COUNT_BITS},
    Decoder: {"lanes": LANES},
    DecoderCommands: {"configuration": BUILT},
    DecoderPass: {"lanes": LANES},
    ElementWords: {"lanes": LANES},
    WordGrouper: {"lanes": LANES},
    Deserializer: {"length": BYTES},
    Difference: {"lanes": LANES},
    DotProduct: {"entries": ENTRIES},
    Ecp5Clock: {
        "domain": of_type(ClockDomain("sync"), ClockDomain, "sync"),
        "source": of_type("clk25", str, 25e6),
        "multiple": between(2, 1, 128),
    },
    Ecp5Product: {
        "en": Given(Signal()),
        "a": factor(),
        "b": factor(),
        "o": Given(Signal(signed(36))),
    },
    ExactAccumulator: {"entries": ENTRIES},
    ExactSum: {"fmt": FMT},
    Encoder: {"lanes": LANES},
    EncoderCommands: {"configuration": BUILT},
    EncoderPass: {"lanes": LANES},
    Extremes: {"lanes": LANES},
    FloatAccumulator: {"fmt": FMT, "entries": ENTRIES},
    FrameChecker: {
        "payload": between(256, 1, 65535),
        "depth": given(512, "a power of two and at least 268", 256, 300, -512),
    },
    FrameSender: {"configuration": BUILT},
    Harness: {"unit": Given(Skid(8), (("skid", "of type Component, not 'skid'"),))},
    Histogram: {"lanes": LANES, "count_bits": COUNT_BITS},
    HistogramCommands: {"configuration": BUILT},
    Ice40Products: {"en": Given(Signal()), "operands": factors()},
    IntegerAccumulator: {"entries": ENTRIES},
    IntegerDotProduct: {"entries": ENTRIES},
    Link: {"configuration": BUILT},
    Meter: {"cycles": at_least(64, 1)},
    Multiplier: {"fmt": FMT},
    Packer: {"precisions": PRECISIONS},
    Mask: {"lanes": LANES},
    Nonzeros: {"lanes": LANES, "depth": at_least(32, 3)},
    PacketQueue: {"depth": given(16, "a power of two and at least 4", 2, 12, 0, -4)},
    Placer: {"lanes": LANES},
    PowerSums: {"lanes": LANES, "powers": POWERS, "count_bits": COUNT_BITS},
    PrecisionCommands: {"configuration": BUILT},
    PrecisionController: {
        "channel_groups": given(64, "a power of two from 1 to 65536", 0, 12, -2, 1 << 17)
    },
    Products: {"width": between(8, 1, 18), "lanes": at_least(2, 1)},
    Queue: {"shape": Given(8), "depth": at_least(4, 1)},
    ReadCommands: {"configuration": BUILT},
    Ratio: {"unroll": one_of(1, 2, 4)},
    Receiver: UART,
    Region: {"regions": REGIONS},
    RegionCommands: {"configuration": BUILT},
    RegionManager: {"configuration": BUILT},
    Round: {
        "fmt": FMT,
        "width": at_least(24, 14),
        "exponent_bits": at_least(7, 6),
        "small": flag(True),
    },
    RunningSum: {"entries": ENTRIES},
    Serializer: {"length": BYTES},
    Session: {"configuration": BUILT},
    Skid: {"shape": Given(8)},
    SpillRegister: {"shape": Given(8), "registered": flag(True)},
    Statistics: {
        "lanes": LANES,
        "powers": POWERS,
        "histogram": flag(False),
        "count_bits": COUNT_BITS,
    },
    StatisticsCommands: {"configuration": BUILT},
    AccumulatorMemory: {"m": Given(Module()), "shape": Given(8), "entries": ENTRIES},
    Table: {"regions": REGIONS},
    Top: {"board": Given(BOARDS["ulx3s"], (("ulx3s", "of type Board, not 'ulx3s'"),))},
    Transmitter: UART,
    Updates: {"regions": REGIONS},
    Choice: {
        "opcodes": Given(
            [(1, 2), (3,)],
            (
                ([], "those of at least one handler, not none"),
                ([(1,), (1,)], "of one handler each, not 1"),
                ([(300,), (1,)], "from 0 to 255, not 300"),
                ([(-1,)], "from 0 to 255, not -1"),
                ([(True,)], "an integer, not True"),
                (["ab"], "an integer, not 'a'"),
                ([5], "of type Iterable, not 5"),
                (None, "of type Sequence, not None"),
            ),
        )
    },
    Coprocessor: {"configuration": BUILT, "starvation": between(400, 1, 258048)},
    Delivery: {"slices": SLICES, "words": WORDS},
    Dispatcher: {
        "units": Given(
            (SYSTEM,), (((), "at least one, not none"), ("ab", "of type Unit, not 'a'"))
        ),
        "watchdog": at_least(100, 1),
    },
    GranularityUnit: {"slices": SLICES, "words": WORDS, "precisions": PRECISIONS},
    Loader: {
        "lanes": LANES,
        "slices": SLICES,
        "words": given(64, "a power of two from 2 to 13107", 0, 1, 12, -4, 1 << 14),
    },
    Downsizer: {"words": at_least(4, 1), "lanes": given(2, "at least 1", 0, -2)},
    Operands: {"slices": SLICES, "words": WORDS},
    PassCommands: {"configuration": BUILT, "unit": UNIT},
    Results: {"slices": SLICES, "precisions": PRECISIONS},
    RunCommands: {"configuration": WITH_SLICES},
    Sequencer: {"words": WORDS, "by_rows": flag(False)},
    SerialCoprocessor: {"configuration": BUILT, **UART},
    SystemCommands: {"configuration": BUILT},
    TensorInput: {"configuration": BUILT, "users": at_least(2, 1), "starvation": at_least(400, 1)},
    TensorPass: {"configuration": BUILT, "unit": UNIT, "raw": flag(True)},
    TileCommands: {"configuration": WITH_SLICES},
    Watchdog: {"cycles": at_least(100, 1)},
    TensorPort: {"lanes": LANES},
    Unpacker: {"lanes": LANES, "formats": STREAMS},
}


def gateware() -> Iterator[type]:
    """All classes of the gateware whose constructors take something."""
    for found in pkgutil.walk_packages(adagrain.hdl.__path__, "adagrain.hdl."):
        module = importlib.import_module(found.name)
        for kind in vars(module).values():
            if inspect.isclass(kind) and kind.__module__ == found.name:
                own = issubclass(kind, Elaboratable) or kind in (AccumulatorMemory, TensorPort)
                if own and parameters_of(kind):
                    yield kind


def parameters_of(kind: type) -> list[str]:
    """Names of a constructor's parameters; some Python 3.11 ask an inherited ``__new__``."""
    return [*inspect.signature(kind.__init__).parameters][1:]  # type: ignore[misc]


def test_every_parameter_of_every_class_is_here() -> None:
    found = {kind: parameters_of(kind) for kind in gateware()}
    assert {kind: [*parameters] for kind, parameters in CLASSES.items()} == found


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_right_values_are_taken(kind: type) -> None:
    kind(**{name: parameter.right for name, parameter in CLASSES[kind].items()})


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, id=f"{kind.__name__}-{name}")
        for kind, parameters in CLASSES.items()
        for name, parameter in parameters.items()
        if parameter.wrong
    ],
)
def test_wrong_values_are_named(kind: type, name: str) -> None:
    right = {other: parameter.right for other, parameter in CLASSES[kind].items()}
    for value, said in CLASSES[kind][name].wrong:
        match = f"^{name} must be {re.escape(said)}"
        with pytest.raises((TypeError, ValueError), match=match) as refused:
            kind(**right | {name: value})
        _, _, raises = (kind.__doc__ or "").partition("Raises\n    ------\n")
        assert refused.type.__name__ in raises, f"docstring must say so of {kind.__name__}"
