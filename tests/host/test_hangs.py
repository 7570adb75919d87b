"""Units that hang: the device resets them, and the driver does again what they had begun."""

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from functools import partial
from typing import Any

import pytest
import torch
from sabotage import Sabotage, SabotagedCoprocessor, Stage

import adagrain
from adagrain.hdl.device import serial_coprocessor
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.errors import CommandError, DeviceError, DeviceTimeoutError, UnitResetError
from adagrain.host.link.session import Request, Session
from adagrain.host.link.transport import simulated, virtual
from adagrain.host.link.transport.base import Transport
from adagrain.models.codec import DEFAULT_TABLES, encode
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.precision import INTEGERS
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units import UNITS
from adagrain.models.interface.units.decoder import DecoderOpcode
from adagrain.models.interface.units.encoder import EncoderBegin, EncoderOpcode
from adagrain.models.interface.units.granularity_unit import TileOpcode, TileRun
from adagrain.models.interface.units.precision_controller import PrecisionOpcode
from adagrain.models.interface.units.region_manager import RegionOpcode, RegionStep
from adagrain.models.interface.units.statistics import StatisticsBegin, StatisticsOpcode
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.interface.units.tensor_input import TensorOpcode
from adagrain.models.link import Frame, decode_frame, encode_frame
from adagrain.models.precision_controller import precision_record
from adagrain.models.region_manager.table import default_parameters, region_record
from adagrain.sim.compiled import CompiledUnit
from adagrain.sim.virtual_board import board

#: All units, as small as they get; a watchdog that lets a pass starve.
BUILD = configuration(
    "tiny",
    units=tuple(name for name, unit in UNITS.items() if unit.gateware),
    histogram=True,
    slices=1,
    operands=64,
    precisions=INTEGERS,
    regions=4,
    watchdog=80_000,
)
#: The first one has to be brought again each time.
TABLES = [*DEFAULT_TABLES.values()]
UPDATE = {"exponent": 130, "usable": 1, "decide": 1, "a": 1 << 30, "n": 1 << 28}


def compiled(component: Any, name: str, **_: Any) -> CompiledUnit:
    """Not from the cache of what is made from the project alone."""
    return CompiledUnit(component, f"sabotaged-{name}")


def sabotaged(scheme: str) -> Transport:
    with pytest.MonkeyPatch.context() as patch:
        if scheme != "virtual":
            patch.setattr(simulated, "Coprocessor", SabotagedCoprocessor)
            patch.setattr(simulated, "CompiledUnit", compiled)
            return simulated.SimulatedTransport(BUILD, data_port=scheme == "sim")
        patch.setattr(serial_coprocessor, "Coprocessor", SabotagedCoprocessor)
        patch.setattr(board, "CompiledUnit", compiled)
        return virtual.VirtualTransport(BUILD)


#: All behind its pins, which takes a build of its own: requests go the same way.
BOARD = pytest.param("virtual", marks=pytest.mark.full)


@pytest.fixture(scope="module")
def transports() -> Iterator[dict[str, Transport]]:
    """Those that were needed till now."""
    opened: dict[str, Transport] = {}
    yield opened
    for transport in opened.values():
        transport.close()


@pytest.fixture(params=["sim", BOARD])
def transport(request: pytest.FixtureRequest, transports: dict[str, Transport]) -> Transport:
    if request.param not in transports:
        transports[request.param] = sabotaged(request.param)
    return transports[request.param]


@pytest.fixture
def device(transport: Transport) -> Coprocessor:
    """As after power-on; its transport serves all tests, and stays open."""
    transport.send_break()
    opened = Coprocessor(transport, BUILD, url="test:", timeout=5, retries=1)
    opened.close = lambda: None  # type: ignore[method-assign]
    return opened


def order(device: Coprocessor, sabotage: Sabotage) -> None:
    assert device.echo(sabotage.order()) == sabotage.order()


def calls(device: Coprocessor) -> list[Callable[[], Any]]:
    """One of each kind, with the same results whenever they are made in this order."""
    x = torch.randn(90, generator=torch.Generator().manual_seed(1))
    a, b = (torch.ones(2, 2, dtype=torch.int8) * n for n in (3, 5))
    sparse = torch.where(x > 1, x, 0.0).bfloat16()
    records = [region_record(phase_epoch=n) for n in range(4)]
    return [
        lambda: device.configure_regions(records, default_parameters(2)),
        lambda: device.precisions.configure([precision_record((0.1, 0.2, 0.3))] * 3),
        lambda: device.statistics(x, 3, histogram=True),
        lambda: device.update_regions([{"region": r, **UPDATE} for r in range(4)], loss=9),
        lambda: device.precisions.decide([{"channel_group": 1, "variance": 1, "square": 9}]),
        lambda: device.matmul(a, b, "INT8", to="INT4").values.tolist(),  # noqa: PLW0108
        lambda: device.read_regions(0, 4),
        lambda: device.precisions.read(0, 3),
        *(partial(device.encode, [sparse], tables=[table]) for table in TABLES),
        *(partial(decoded, device, encode([sparse], tables=[table])) for table in TABLES),
        device.state_dict,
    ]


def decoded(device: Coprocessor, frame: bytes) -> list[float]:
    return device.decode(frame)[0].tolist()


def work(device: Coprocessor) -> list[Any]:
    return [call() for call in calls(device)]


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    with adagrain.open_device("golden:", BUILD) as golden:
        return work(golden)


def stages(opcode: IntEnum) -> list[tuple[Stage, int]]:
    """Places where a request may hang: before its status, in its payload, in its reply."""
    found = [(Stage.CALL, 0), (Stage.REPLY, 0)]
    if opcode not in _EMPTY:
        found.append((Stage.PAYLOAD, 0))
    if opcode in (*_WRITING, RegionOpcode.STEP, PrecisionOpcode.STEP):
        found.append((Stage.PAYLOAD, 3))
    if opcode in _ANSWERING:
        found += [(Stage.REPLY, 1), (Stage.REPLY, 3)]
    return found


_ANSWERING = (
    SystemOpcode.REGISTERS,
    StatisticsOpcode.END,
    StatisticsOpcode.HISTOGRAM,
    EncoderOpcode.END,
    DecoderOpcode.END,
    RegionOpcode.READ,
    RegionOpcode.STEP,
    TileOpcode.LOADED,
    PrecisionOpcode.READ,
    PrecisionOpcode.STEP,
)
_WRITING = (
    StatisticsOpcode.BEGIN,
    RegionOpcode.WRITE,
    RegionOpcode.PARAMETERS,
    TileOpcode.LOAD,
    TileOpcode.RUN,
    PrecisionOpcode.WRITE,
    EncoderOpcode.TABLE,
    EncoderOpcode.BEGIN,
    DecoderOpcode.TABLE,
    DecoderOpcode.BEGIN,
)
#: What has no payload.
_EMPTY = (
    *(StatisticsOpcode.END, SystemOpcode.REGISTERS, TileOpcode.LOADED, TileOpcode.SETTLE),
    EncoderOpcode.END,
    DecoderOpcode.END,
)
_OPCODES = (*_ANSWERING, *_WRITING, TileOpcode.SCALES, TileOpcode.SETTLE)


def tried(opcode: IntEnum) -> list[tuple[Stage, int]]:
    """Those of its stages that are tried; in quick runs one, of each opcode another one."""
    found = stages(opcode)
    if os.environ.get("ADAGRAIN_FULL") == "1":
        return found
    return [found[[*_OPCODES, TensorOpcode.DATA].index(opcode) % len(found)]]


def _cases(opcodes: Sequence[IntEnum]) -> list[Any]:
    return [
        pytest.param(
            scheme,
            opcode,
            id=f"{scheme}-{type(opcode).__name__}.{opcode.name}",
            marks=BOARD.marks if scheme == "virtual" else (),
        )
        for scheme in ("sim", "virtual")
        for opcode in opcodes
    ]


#: With no data port, tensors come in frames.
_FRAMES = [
    pytest.param("frames", TensorOpcode.DATA, id="frames"),
    pytest.param("virtual", TensorOpcode.DATA, id="virtual-frames", marks=BOARD.marks),
]


@pytest.mark.parametrize(
    ("transport", "opcode"),
    [*_cases(_OPCODES), *_FRAMES],
    indirect=["transport"],
)
def test_calls_that_hang_once_are_made_again(
    device: Coprocessor, opcode: IntEnum, expected: list[Any]
) -> None:
    """Whatever command it is and wherever it stops, all results are the golden model's."""
    for number, (stage, after) in enumerate(tried(opcode), start=1):
        order(device, Sabotage(opcode, stage, after))
        if opcode is SystemOpcode.REGISTERS:
            device.info()
        assert work(device) == expected
        counted = device.counters()
        assert (counted["hangs"], counted["unit_resets"]) == (number, number), stage
    assert counted["breaks_sent"] == counted["restored"] == 0


_FOR_EVER = {
    StatisticsOpcode.END: 2,
    RegionOpcode.STEP: 3,
    TileOpcode.RUN: 5,
    PrecisionOpcode.STEP: 4,
}


@pytest.mark.parametrize(
    ("transport", "opcode"),
    _cases(tuple(_FOR_EVER)),
    indirect=["transport"],
)
def test_a_unit_that_hangs_for_ever(
    device: Coprocessor,
    opcode: IntEnum,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The call that needs it is given up; the others work, and a fallback takes its place."""
    monkeypatch.setattr(device._session.transport, "close", lambda: None)  # other tests need it
    needing = _FOR_EVER[opcode]
    configure, configure_precisions, *_ = calls(device)
    configure()
    configure_precisions()
    before = device.state_dict()
    order(device, Sabotage(opcode, Stage.REPLY, after=0, times=255))
    message = (
        rf"hung 3 times in one call: {opcode.name} of \w+ made no progress, and its unit was reset"
    )
    for _ in range(2):
        with pytest.raises(DeviceError, match=message):
            calls(device)[needing]()
        assert device.state_dict() == before
    assert device.counters()["hangs"] == 6
    assert device.counters()["unit_resets"] >= 6  # commands that were under way behind, too
    for number, call in enumerate(calls(device)[:6]):
        if number != needing:
            call()
    device.load_state_dict(before)

    with caplog.at_level(logging.ERROR), adagrain.open_device("golden:", BUILD) as golden:
        golden.load_state_dict(before)
        wanted = calls(golden)[needing]()
        device.replaceable = True
        assert calls(device)[needing]() == wanted
        assert device.counters()["fallbacks"] == 1
    assert "DEVICE FAILED" in caplog.text and "hung 3 times" in caplog.text


def answered(session: Session, opcode: IntEnum, payload: bytes = b"") -> str:
    """The status of a request, by its name."""
    try:
        session.call([Request(opcode, payload)])
    except UnitResetError:
        return "UNIT_RESET"
    except CommandError as error:
        return str(error).rpartition(": ")[2]
    return "OK"


def test_what_a_unit_that_was_reset_has_forgotten(device: Coprocessor) -> None:
    """It answers as after power-on, and is ready to be given all that again."""
    session, ask = device._session, partial(answered, device._session)
    begin = pack(StatisticsBegin, count=4, exponent=127, histogram=1, from_link=1)
    run = pack(TileRun, rows=1, words=1, mode=2, first=1)
    more = pack(TileRun, rows=1, words=1, mode=2, last=1)
    step = bytes(size(RegionStep))
    device.configure_regions([region_record()], default_parameters(2))

    def statistics() -> list[str]:
        requests = [(StatisticsOpcode.BEGIN, begin), (TensorOpcode.DATA, bytes(16))]
        return [ask(*request) for request in (*requests, (StatisticsOpcode.END, b""))]

    assert statistics() == ["OK"] * 3
    assert ask(StatisticsOpcode.HISTOGRAM, b"\0\1") == "OK"
    order(device, Sabotage(TensorOpcode.DATA, Stage.PAYLOAD, after=5))
    assert statistics() == ["OK", "UNIT_RESET", "NOT_STARTED"]
    assert ask(StatisticsOpcode.HISTOGRAM, b"\0\1") == "NO_HISTOGRAM"
    assert device.counters()["elements"] == 0
    assert statistics() == ["OK"] * 3

    assert [ask(TileOpcode.RUN, raw) for raw in (run, more)] == ["OK", "OK"]
    assert ask(TileOpcode.RUN, run) == "OK"
    order(device, Sabotage(TileOpcode.SCALES, Stage.REPLY))
    assert ask(TileOpcode.SCALES, bytes(1)) == "UNIT_RESET"
    assert ask(TileOpcode.RUN, more) == "NO_SUM"
    assert [ask(TileOpcode.RUN, raw) for raw in (run, more)] == ["OK", "OK"]

    assert ask(RegionOpcode.STEP, step) == "OK"
    order(device, Sabotage(RegionOpcode.STEP, Stage.REPLY))
    assert ask(RegionOpcode.STEP, step) == "UNIT_RESET"
    assert ask(RegionOpcode.STEP, step) == "NO_PARAMETERS"
    device.configure_regions([region_record()], default_parameters(2))
    assert ask(RegionOpcode.STEP, step) == "OK"

    device.encode([torch.ones(3).bfloat16()], tables=TABLES)
    block = pack(EncoderBegin, count=4, format=FormatCode.BF16, from_link=1)
    order(device, Sabotage(EncoderOpcode.BEGIN, Stage.REPLY))
    assert ask(EncoderOpcode.BEGIN, block) == "UNIT_RESET"
    assert ask(EncoderOpcode.BEGIN, block) == "NO_TABLE"

    order(device, Sabotage(SystemOpcode.ECHO, Stage.REPLY, after=7))
    assert ask(SystemOpcode.ECHO, bytes(20)) == "UNIT_RESET"
    assert session.call([Request(SystemOpcode.ECHO, bytes(20))]) == [bytes(20)]
    assert device.counters()["unit_resets"] == 5


def test_a_reply_that_was_begun_is_repeated_as_it_was_replaced(device: Coprocessor) -> None:
    """An empty payload under the new status, however often the request is sent."""
    transport = device._session.transport
    order(device, Sabotage(SystemOpcode.ECHO, Stage.REPLY, after=9))
    session = device._session
    frame = encode_frame(session._id, session._next, SystemOpcode.ECHO, bytes(range(30)))
    for _ in range(3):
        transport.send(frame)
        (answer,) = filter(None, transport.receive(1, 5).split(b"\0"))
        wanted = Frame(session._id, session._next, SystemOpcode.ECHO, b"", Status.UNIT_RESET)
        assert decode_frame(answer) == wanted


def test_a_device_that_falls_silent_gets_a_break(transport: Transport, expected: list[Any]) -> None:
    """A handler that seems to get on is not reset; the host gets the device out of it."""
    transport.send_break()
    device = Coprocessor(transport, BUILD, url="test:", timeout=0.5, retries=1)
    *early, step = calls(device)[:4]
    results = [call() for call in early]
    order(device, Sabotage(RegionOpcode.STEP, Stage.PRETENCE, after=3, times=255))
    assert [*results, step()] == expected[:4]
    counted = device.counters()
    assert (counted["breaks_sent"], counted["unit_resets"], counted["hangs"]) == (1, 0, 0)
    assert [call() for call in calls(device)[4:]] == expected[4:]


def test_a_device_that_fell_silent_can_be_opened_again(
    transport: Transport, expected: list[Any]
) -> None:
    transport.send_break()
    device = Coprocessor(transport, BUILD, url="test:", timeout=0.5, retries=1)
    order(device, Sabotage(SystemOpcode.REGISTERS, Stage.PRETENCE, times=255))
    session = Session(transport, window=2, payload=256, timeout=0.5, retries=0)
    session.open()
    with pytest.raises(DeviceTimeoutError, match="no answer from"):
        session.call([Request(SystemOpcode.REGISTERS, b"\0\1")])
    device = Coprocessor(transport, BUILD, url="test:", timeout=0.5, retries=1)
    assert device.counters()["breaks_sent"] == 1
    assert work(device) == expected
