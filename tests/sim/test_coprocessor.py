"""The whole device as compiled RTL against its golden model, over many random requests."""

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from builds import SHARED

from adagrain.hdl.device.coprocessor import Coprocessor
from adagrain.models.codec import DEFAULT_TABLES, coded_blocks
from adagrain.models.interface.codec import TableNumber
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import pack, size, unpack
from adagrain.models.interface.units import DECODER, ENCODER, Unit, addresses
from adagrain.models.interface.units.code_lengths import CodeLengths, packed_lengths
from adagrain.models.interface.units.decoder import DecoderBegin
from adagrain.models.interface.units.encoder import EncoderBegin, EncoderOpcode
from adagrain.models.interface.units.granularity_unit import (
    Destination,
    TileLoad,
    TileOpcode,
    TileRun,
)
from adagrain.models.interface.units.ranges import Range
from adagrain.models.interface.units.region_manager import (
    RegionOpcode,
    RegionParameters,
    RegionStep,
)
from adagrain.models.interface.units.statistics import StatisticsBegin, StatisticsOpcode
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.interface.units.tensor_input import TensorOpcode
from adagrain.models.link import decode_frame, encode_frame
from adagrain.models.region_manager.settings import default_parameters
from adagrain.sim.benches.coprocessor import VARIANTS
from adagrain.sim.benches.coprocessor.pair import Pair
from adagrain.sim.benches.coprocessor.traffic import Traffic
from adagrain.sim.benches.granularity_unit.requests import doubtful
from adagrain.sim.benches.requests import Request
from adagrain.sim.compiled import DeadlockError, Stop

REQUESTS = 10_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 400

PARAMETERS = pack(RegionParameters, **default_parameters(2))
STEP = bytes(size(RegionStep))


#: The bench's own, which are smaller, or have what these have.
OWN = [name for name in VARIANTS if name not in SHARED]


def device(variant: str) -> Coprocessor:
    return Coprocessor(SHARED[variant]) if variant in SHARED else VARIANTS[variant]()


@pytest.mark.parametrize(
    "variant", [*SHARED, *(pytest.param(name, marks=pytest.mark.full) for name in OWN)]
)
def test_compiled_device_equals_the_model(variant: str, seed: int) -> None:
    generator = random.Random(seed)
    with Pair(device(variant), generator) as pair:
        traffic = Traffic(pair.model.configuration, generator)
        pair.open()
        prologue = [*traffic.prologue(), *traffic.long()]
        for request in [*prologue, *traffic.requests(REQUESTS)]:
            pair.ask(request)
        pair.check_silence()


@pytest.fixture(scope="module")
def pair_of() -> Callable[[str], Pair]:
    """A variant's device and its model, after a reset and with a session."""
    pairs: dict[str, Pair] = {}

    def opened(variant: str) -> Pair:
        if variant not in pairs:
            pairs[variant] = Pair(device(variant), random.Random(0))
        pairs[variant].reset()
        pairs[variant].open()
        return pairs[variant]

    return opened


Opened = Callable[[str], Pair]


@pytest.mark.parametrize("from_link", [0, 1])
@pytest.mark.parametrize("variant", ["tiny_whole", "full"])
@pytest.mark.parametrize("count", [2**32 - 1, 2**32 - 3, 2**32 - 4, 2**31])
def test_the_longest_tensors(pair_of: Opened, variant: str, from_link: int, count: int) -> None:
    """More than 2**30 groups of FP32: all are missed when the pass ends."""
    pair = pair_of(variant)
    begin = pack(StatisticsBegin, count=count, exponent=127, from_link=from_link)
    assert pair.ask(Request(StatisticsOpcode.BEGIN, begin)).status == Status.OK
    wanted = Status.OK if from_link else Status.OVERFLOW
    assert pair.ask(Request(TensorOpcode.DATA, bytes(32))).status == wanted
    assert pair.ask(Request(StatisticsOpcode.END)).status == Status.INCOMPLETE


def test_reserved_bits_of_parameters_read_as_zero(pair_of: Opened) -> None:
    pair = pair_of("tiny_whole")
    raw = PARAMETERS[:-4] + b"\xff" * 4
    assert pair.ask(Request(RegionOpcode.PARAMETERS, raw)).status == Status.OK
    read = pair.ask(Request(RegionOpcode.STATE)).payload
    assert read == PARAMETERS[:-4] + b"\1" + bytes(3)


def test_a_step_needs_parameters(pair_of: Opened) -> None:
    pair = pair_of("tiny_whole")
    assert pair.ask(Request(RegionOpcode.STEP, STEP[1:])).status == Status.BAD_LENGTH
    assert pair.ask(Request(RegionOpcode.STEP, STEP)).status == Status.NO_PARAMETERS
    refused = pair.ask(Request(RegionOpcode.PARAMETERS, bytes(len(PARAMETERS))))
    assert refused.status == Status.BAD_VALUE
    assert pair.ask(Request(RegionOpcode.STEP, STEP)).status == Status.NO_PARAMETERS
    pair.ask(Request(RegionOpcode.PARAMETERS, PARAMETERS))
    assert pair.ask(Request(RegionOpcode.STEP, STEP)).status == Status.OK


def test_what_was_not_begun_is_told_apart(pair_of: Opened) -> None:
    pair = pair_of("whole")
    run = pack(TileRun, words=1, rows=1)
    for opcode, payload, status in (
        (StatisticsOpcode.END, b"", Status.NOT_STARTED),
        (TensorOpcode.DATA, bytes(16), Status.NOT_STARTED),
        (StatisticsOpcode.HISTOGRAM, b"\0\1", Status.NO_HISTOGRAM),
        (TileOpcode.RUN, run, Status.NO_SUM),
        (RegionOpcode.STEP, STEP, Status.NO_PARAMETERS),
    ):
        assert pair.ask(Request(opcode, payload)).status == status


def test_words_of_a_run_are_counted_from_its_start(pair_of: Opened) -> None:
    """Read long before the slices have multiplied them all."""
    pair = pair_of("whole")
    words = pair.model.configuration.operands
    run = pack(TileRun, words=words, rows=1, first=1)
    assert pair.ask(Request(TileOpcode.RUN, run)).status == Status.OK
    counter = Request(SystemOpcode.REGISTERS, bytes([addresses()["tile_words"], 1]))
    assert pair.ask(counter).payload == words.to_bytes(4, "little")
    run = pack(TileRun, words=1, rows=8)  # has other rows: refused, and not counted
    assert pair.ask(Request(TileOpcode.RUN, run)).status == Status.NO_SUM
    assert pair.ask(counter).payload == words.to_bytes(4, "little")


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("variant", ["whole", pytest.param("integers", marks=pytest.mark.full)])
def test_each_doubt_about_a_run(pair_of: Opened, variant: str, goes_on: bool) -> None:
    """By itself, in a sum that begins or goes on: refused or not, as the model does."""
    pair = pair_of(variant)
    built = pair.model.configuration
    sound = dict.fromkeys(unpack(TileRun, bytes(size(TileRun))), 0)
    sound |= {"mode": int(built.precisions[-1]), "rows": 2, "words": 2, "last": 1, "a_first": 4}
    begins = Request(TileOpcode.RUN, pack(TileRun, **sound | {"first": 1, "last": 0}))
    for change in doubtful(sound | {"first": not goes_on}, built):
        assert pair.ask(begins).status == Status.OK
        changed = sound | {"first": not goes_on} | change
        pair.ask(Request(TileOpcode.RUN, pack(TileRun, **changed)))
        pair.ask(Request(TileOpcode.SETTLE))
    for count in range(built.slices + 2):
        pair.ask(Request(TileOpcode.SCALES, bytes(count)))


@pytest.mark.parametrize("opcode", [StatisticsOpcode.HISTOGRAM, TileOpcode.RUN])
def test_granular_requests_right_behind_a_new_session_find_no_pass(
    pair_of: Opened, opcode: int
) -> None:
    """Though the unit is still being freed of it: they wait."""
    pair = pair_of("whole")
    if opcode == TileOpcode.RUN:
        begin = Request(TileOpcode.LOAD, pack(TileLoad, count=99, address=1, from_link=1))
        payload = pack(TileRun, words=1, rows=1, mode=2, first=1, last=1)
    else:
        record = pack(StatisticsBegin, count=99, exponent=127, from_link=1, histogram=1)
        begin, payload = Request(StatisticsOpcode.BEGIN, record), b"\0\1"
    for session in range(2, 20):
        pair.open(session)
        assert pair.ask(begin).status == Status.OK
        hello = encode_frame(100 + session, 0, SystemOpcode.HELLO)
        pair.exchange(hello + encode_frame(100 + session, 1, opcode, payload))


def load_table(pair: Pair, unit: Unit, slot: int = 0) -> None:
    opcode = next(own.opcode for own in unit.operations if own.request.head is CodeLengths)
    table = DEFAULT_TABLES[TableNumber.WIDE]
    assert pair.ask(Request(opcode, packed_lengths(slot, table.lengths))).status == Status.OK


def sparse_block(seed: int) -> tuple[bytes, bytes]:
    """Elements of a block of BF16, and what they are coded as by the table and the base 130."""
    draw = torch.Generator().manual_seed(seed)
    x = torch.where(torch.rand(4096, generator=draw) < 0.2, torch.randn(4096, generator=draw), 0)
    x = x.bfloat16()
    (coded,) = coded_blocks(x, 130, DEFAULT_TABLES[TableNumber.WIDE])
    assert coded is not None
    return x.view(torch.int16).numpy().tobytes(), coded


ENCODE = {"count": 4096, "format": FormatCode.BF16, "mantissa_bits": 7, "exponent": 130}
ENCODE |= {"keep": (1 << 64) - 1}


@pytest.mark.parametrize("unit", [ENCODER, DECODER], ids=lambda unit: unit.name)
@pytest.mark.parametrize("brought", [0, 1, 5, 100])
def test_a_pass_of_the_codec_that_a_new_session_gives_up(
    pair_of: Opened, unit: Unit, brought: int
) -> None:
    """Nothing of it is in the next one, whatever had come; tables stay."""
    pair = pair_of("whole")
    load_table(pair, unit)
    elements, coded = sparse_block(brought)
    if unit is ENCODER:
        raw, begin = elements, pack(EncoderBegin, **ENCODE, from_link=1, to_port=1)
    else:
        raw, begin = coded + bytes(-len(coded) % 16), of_coded(coded, from_link=1, to_port=1)
    parts = [raw[at : at + 256] for at in range(0, len(raw), 256)]
    for session in (2, 3):
        pair.open(session)
        for request in (Request(unit.begin.opcode, begin), *data(parts[:brought])):
            assert pair.ask(request).status == Status.OK
    pair.open(4)
    for request in (Request(unit.begin.opcode, begin), *data(parts), Request(unit.end.opcode)):
        assert pair.ask(request).status == Status.OK
    read = pack(Range, first=0, count=32)
    opcode = next(own.opcode for own in unit.operations if own.request.head is Range)
    assert pair.ask(Request(opcode, read)).status == Status.OK
    pair.check_silence()


def of_coded(coded: bytes, **ways: int) -> bytes:
    words = -(-len(coded) // 4)
    fields = {"count": words, "spare": 4 * words - len(coded), "elements": 4096}
    fields |= {"element_format": FormatCode.BF16, "exponent": 130, "mantissa_bits": 7}
    return pack(DecoderBegin, **fields, **ways)


def data(parts: list[bytes]) -> list[Request]:
    return [Request(TensorOpcode.DATA, part) for part in parts]


def asked(pair: Pair, *requests: Request) -> list[int]:
    """What the device says where nobody takes what leaves by its data port."""
    statuses = []
    for request in requests:
        frame = encode_frame(1, pair._sequence, request.opcode, request.payload)
        pair._sequence += 1
        run = pair._unit.run(
            {"i": frame},
            {"o": 400},
            stop=Stop("o", 0),
            max_cycles=1 << 20,
            may_retract=["o_data"],
        )
        statuses.append(decode_frame(run.outputs["o"].tobytes()[:-1]).status)
    return statuses


#: A run of one word.
RUN = {"words": 1, "rows": 8, "mode": Precision.INT8, "first": 1, "last": 1}


def test_operands_that_cannot_be_cleared_end_in_a_reset(pair_of: Opened) -> None:
    """Results that nobody takes stand in the way of a run, and that of words that become 0."""
    pair = pair_of("whole")
    sends = pack(TileRun, **RUN, destination=Destination.PORT)
    keeps = pack(TileRun, **RUN, destination=Destination.MEMORY, to_first=16)
    statuses = asked(
        pair,
        Request(TileOpcode.RUN, sends),
        Request(TileOpcode.RUN, keeps),
        Request(TileOpcode.LOAD, pack(TileLoad, count=4, format=FormatCode.FP32, from_link=1)),
        Request(TileOpcode.LOADED),
        Request(TileOpcode.SETTLE),
        Request(SystemOpcode.REGISTERS, bytes([addresses()["unit_resets"], 1])),
    )
    assert statuses == [*[Status.OK] * 3, Status.INCOMPLETE, Status.UNIT_RESET, Status.OK]


def test_a_block_waits_for_results_that_leave_slowly(pair_of: Opened) -> None:
    """Each beat that leaves keeps the watchdog quiet, though none is the block's."""
    pair = pair_of("whole")
    load_table(pair, ENCODER)
    elements, _ = sparse_block(1)
    run = Request(TileOpcode.RUN, pack(TileRun, **RUN, destination=Destination.PORT))
    begin = Request(EncoderOpcode.BEGIN, pack(EncoderBegin, **ENCODE, to_port=1))
    assert asked(pair, run, begin) == [Status.OK] * 2
    inputs: dict[str, Any] = {
        "i": encode_frame(1, 4, EncoderOpcode.END),
        "i_data": np.frombuffer(elements, np.uint32).reshape(-1, 4),
    }
    most = pair.model.configuration.watchdog * 2 // 3
    for _ in range(3):
        with pytest.raises(DeadlockError) as waits:
            pair._unit.run(inputs, {"o": 100, "o_data": 1}, max_cycles=most, may_retract=["o_data"])
        assert not len(waits.value.run.outputs["o"])
        inputs = {}
    answer = pair._unit.run({}, {"o": 100, "o_data": 4096}, stop=Stop("o", 0), max_cycles=most)
    assert decode_frame(answer.outputs["o"].tobytes()[:-1]).status == Status.OK


def test_a_port_that_takes_nothing_ends_in_a_reset(pair_of: Opened) -> None:
    """After the watchdog's patience; then there is no table."""
    pair = pair_of("whole")
    load_table(pair, ENCODER)
    elements, _ = sparse_block(1)
    begin = pack(EncoderBegin, **ENCODE, to_port=1)
    frames = [
        encode_frame(1, 2, EncoderOpcode.BEGIN, begin),
        encode_frame(1, 3, EncoderOpcode.END),
        encode_frame(1, 4, EncoderOpcode.BEGIN, begin),
    ]
    inputs = {"i": b"".join(frames), "i_data": np.frombuffer(elements, np.uint32).reshape(-1, 4)}
    run = pair._unit.run(
        inputs,
        {"o": 200},
        stop=Stop("o", 0, 3),
        max_cycles=1 << 20,
        may_retract=["o_data"],
    )
    answers = [decode_frame(raw) for raw in run.outputs["o"].tobytes().split(b"\0")[:3]]
    statuses = [answer.status for answer in answers]
    assert statuses == [Status.OK, Status.UNIT_RESET, Status.NO_TABLE]
    assert run.cycles > pair.model.configuration.watchdog
