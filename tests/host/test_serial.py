"""Serial ports: the virtual board behind one, and everything else that may be there."""

import errno
import os
import signal
import threading
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from builds import TINY

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.errors import DeviceError, DeviceTimeoutError
from adagrain.host.link.transport import stepped, virtual
from adagrain.host.link.transport.serial_port import SerialTransport
from adagrain.host.link.transport.stepped import SteppedTransport
from adagrain.host.link.transport.virtual import VirtualTransport
from adagrain.models.interface.configuration import Configuration, configuration
from adagrain.sim.simulators import runner
from adagrain.sim.virtual_board import VirtualBoard
from adagrain.sim.virtual_board import board as board_module

needs_verilator = pytest.mark.skipif(
    runner.missing("verilator") is not None, reason=str(runner.missing("verilator"))
)


@pytest.fixture(scope="module")
def board() -> Iterator[VirtualBoard]:
    with VirtualBoard(TINY) as board:
        yield board


@pytest.fixture
def garbage() -> Iterator[str]:
    """A port behind which something else answers whatever it gets."""
    master, slave = os.openpty()
    tty.setraw(slave)

    def answer() -> None:
        generator = torch.Generator().manual_seed(0)
        while os.read(master, 64) != b"end":
            noise = torch.randint(256, (200,), generator=generator)
            os.write(master, bytes(noise.tolist()))

    thread = threading.Thread(target=answer)
    thread.start()
    yield os.ttyname(slave)
    tty.tcflush(slave, tty.TCIOFLUSH)
    os.write(slave, b"end")
    thread.join()
    os.close(master)
    os.close(slave)


@needs_verilator
def test_the_virtual_board_equals_the_golden_model(board: VirtualBoard) -> None:
    x = torch.randn(300, generator=torch.Generator().manual_seed(1))
    with adagrain.open_device(f"serial:{board.port}", TINY) as device:
        assert device.info().backend == f"board on {board.port} at 3000000 baud"
        with adagrain.open_device("golden:", TINY) as golden:
            assert device.statistics(x, histogram=True) == golden.statistics(x, histogram=True)
        assert device.selftest().passed
        counted = device.counters()
    faults = ("bad_crc", "bad_frame", "out_of_order", "framing_errors", "overruns", "resent")
    assert {name: counted[name] for name in faults} == dict.fromkeys(faults, 0)


class AskedError(Exception):
    """Says what tells a component from others."""


@needs_verilator
@pytest.mark.parametrize(
    ("module", "build"), [(board_module, VirtualBoard), (stepped, SteppedTransport)]
)
def test_boards_of_two_bit_rates_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, build: Callable[[Configuration], object]
) -> None:
    def compiled(component: Any, _: str, made_from: str, **__: object) -> None:
        component._MustUse__used = True
        raise AskedError(made_from)

    monkeypatch.setattr(module, "CompiledUnit", compiled)
    asked = set()
    for baud in (12e6, 6e6):
        monkeypatch.setattr(module, "BAUD", baud)
        with pytest.raises(AskedError) as told:
            build(TINY)
        asked.add(str(told.value))
    assert len(asked) == 2


@needs_verilator
def test_a_port_can_be_opened_again_but_not_twice(board: VirtualBoard) -> None:
    url = f"serial:{board.port}"
    with adagrain.open_device(url, TINY) as device:
        before = device.counters()["sessions"]
        with pytest.raises(DeviceError, match=f"{board.port} must be free, but another program"):
            adagrain.open_device(url, TINY)
    with adagrain.open_device(url, TINY) as device:
        assert device.counters()["sessions"] == before + 1


@needs_verilator
def test_a_board_of_another_preset(board: VirtualBoard) -> None:
    with pytest.raises(
        DeviceError, match=r"was built with device preset 'tiny'.*'full'.* was asked for"
    ):
        adagrain.open_device(f"serial:{board.port}", "full")


@needs_verilator
def test_a_board_that_is_unplugged() -> None:
    board = VirtualBoard(TINY)
    with adagrain.open_device(
        f"serial:{board.port}?reconnect=0", TINY, timeout=0.2, retries=1
    ) as device:
        board.close()
        with pytest.raises(DeviceError, match=r"is it unplugged\?|no answer from board"):
            device.statistics(torch.ones(5))


class Talker:
    """A unit that says these bytes again and again, or fails where there are none."""

    said = np.arange(4000, dtype=np.uint8)
    runs, closed = 0, False

    def __init__(self, component: Any, *_: object, **__: object) -> None:
        component._MustUse__used = True

    def run(self, *_: object, **__: object) -> SimpleNamespace:
        if not len(self.said):
            raise RuntimeError("the unit is broken")
        self.runs += 1
        return SimpleNamespace(consumed={"i": 0}, outputs={"o": self.said})

    def set(self, *_: object) -> None: ...

    def step(self, *_: object) -> None: ...

    def close(self) -> None:
        self.closed = True


def test_a_client_that_reads_nothing_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_module, "CompiledUnit", Talker)
    board = VirtualBoard(TINY)

    def fill() -> None:
        """Until the pseudo-terminal takes no more; whether it would, ``select`` does not know."""
        before = 0
        while not before or before < board._unit.runs:
            before = board._unit.runs
            time.sleep(0.2)

    def ends(call: Callable[[], None]) -> bool:
        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        thread.join(20)
        return not thread.is_alive()

    said, heard = 25 * Talker.said.tobytes(), bytearray()
    client = os.open(board.port, os.O_RDONLY | os.O_NOCTTY)

    def hear() -> None:
        while len(heard) < len(said):
            heard.extend(os.read(client, len(said) - len(heard)))

    assert ends(fill)
    assert ends(board.send_break)
    assert ends(hear)
    assert heard == said
    os.close(client)
    assert ends(board.close)


class Slow(Talker):
    """A unit that runs until it may end, and is closed when it does not run any more."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.busy, self.may_end = threading.Event(), threading.Event()

    def run(self, *_: object, **__: object) -> SimpleNamespace:
        self.busy.set()
        assert self.may_end.wait(20)
        self.busy.clear()
        return SimpleNamespace(consumed={"i": 0}, outputs={"o": np.empty(0, np.uint8)})

    def close(self) -> None:
        assert not self.busy.is_set()
        super().close()


@pytest.mark.parametrize("call", [VirtualBoard.join, VirtualBoard.close])
def test_ctrl_c_while_the_simulation_runs(
    call: Callable[[VirtualBoard], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_module, "CompiledUnit", Slow)
    board = VirtualBoard(TINY)
    unit = cast(Slow, board._unit)
    assert unit.busy.wait(20)
    main = threading.main_thread().ident
    assert main is not None
    ctrl_c = threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        ctrl_c.start()
        call(board)
    threading.Timer(0.1, unit.may_end.set).start()
    board.close()
    assert unit.closed


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_board_whose_simulation_failed_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_module, "CompiledUnit", Talker)
    monkeypatch.setattr(Talker, "said", np.empty(0, np.uint8))
    before = len([*Path("/proc/self/fd").iterdir()])
    board = VirtualBoard(TINY)
    board.join()
    board.send_break()
    for _ in range(2):
        board.close()
    assert board._unit.closed
    assert len([*Path("/proc/self/fd").iterdir()]) == before


@needs_verilator
@pytest.mark.full  # a build of its own, which answers nothing; test_something_else_answers stays
def test_a_wrong_bit_rate_is_named() -> None:
    with (
        SteppedTransport(configuration("tiny"), adapter_baud=1e6) as line,
        pytest.raises(DeviceTimeoutError, match="no answer from virtual board in steps"),
    ):
        Coprocessor(line, configuration("tiny"), url="virtual:", timeout=0.02, retries=1)


@needs_verilator
@pytest.mark.parametrize(
    "count", [20_000, pytest.param(691_200, marks=pytest.mark.full, id="a minute at 115200")]
)
def test_garbage_is_survived(count: int) -> None:
    """The device is in step again after it, with its session, and has counted it."""
    noise = torch.randint(256, (count,), generator=torch.Generator().manual_seed(7))
    with SteppedTransport(configuration("tiny")) as line:
        device = Coprocessor(line, configuration("tiny"), url="virtual:", timeout=1, retries=3)
        before = device.counters()
        line.insert(bytes(noise.tolist()))
        assert device.echo(b"still there") == b"still there"
        after = device.counters()
    assert after["sessions"] == before["sessions"] and after["restored"] == 0
    damaged = sum(after[name] - before[name] for name in ("bad_crc", "bad_frame"))
    assert damaged & 0xFFFF > count // 1000


@needs_verilator
def test_a_payload_that_is_too_long(board: VirtualBoard) -> None:
    with adagrain.open_device(f"serial:{board.port}", TINY) as device:
        with pytest.raises(ValueError, match="payload must have at most 256 bytes, not 257"):
            device.echo(bytes(257))
        assert device.echo(bytes(256)) == bytes(256)


def test_something_else_answers(garbage: str) -> None:
    with pytest.raises(DeviceTimeoutError, match=f"no answer from board on {garbage}"):
        adagrain.open_device(f"serial:{garbage}", timeout=0.2, retries=2)


def test_a_port_that_is_not_there() -> None:
    with pytest.raises(DeviceError, match="serial port must exist, not '/dev/nothing'; ports here"):
        adagrain.open_device("serial:/dev/nothing")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("baud=fast", "baud must be a positive number, not 'fast'"),
        ("baud=0", "baud must be a positive number, not '0'"),
        ("baud=2147483648", r"baud must be below 2\^31, not '2147483648'"),
        ("parity=odd", "option of a serial url must be baud or reconnect, not 'parity'"),
    ],
)
def test_wrong_options(options: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        adagrain.open_device(f"serial:/dev/nothing?{options}")


def test_a_process_that_was_forked_does_not_keep_the_port() -> None:
    """As workers of a data loader are, which have all files of the process that forked them."""
    master, slave = os.openpty()
    transport = SerialTransport(os.ttyname(slave), TINY)
    child = os.fork()
    if not child:
        signal.pause()
    try:
        transport._reopen(OSError("of the line"))
        transport.close()
        SerialTransport(os.ttyname(slave), TINY).close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(slave)
        os.close(master)


def test_what_was_begun_is_ended_before_anything_else() -> None:
    """Whoever used the port before may have stopped within a frame."""
    master, slave = os.openpty()
    tty.setraw(slave)
    transport = SerialTransport(os.ttyname(slave), TINY)
    assert os.read(master, 8) == b"\0"
    transport.send(b"frame\0")
    assert os.read(master, 8) == b"frame\0"
    assert transport.abandon()
    assert os.read(master, 8) == b"\0"
    transport.close()
    os.close(slave)
    os.close(master)


class Board:
    """A pseudo-terminal behind which nothing answers."""

    backend, made = "nothing", list["Board"]()

    def __init__(self, *_: object, **__: object) -> None:
        self._ends = os.openpty()
        self.port = os.ttyname(self._ends[1])
        self.closed = False
        self.made.append(self)

    def close(self) -> None:
        if not self.closed:
            for end in self._ends:
                os.close(end)
        self.closed = True


def test_a_virtual_board_survives_its_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual, "VirtualBoard", Board)
    transport = VirtualTransport(TINY)
    transport._reopen(OSError("of the line"))
    transport.send(b"frame\0")
    assert not Board.made[-1].closed
    transport.close()
    assert Board.made[-1].closed


def test_a_virtual_board_without_its_port_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual, "VirtualBoard", Board)

    def busy(_: object) -> None:
        raise OSError(errno.EBUSY, "busy")

    monkeypatch.setattr(SerialTransport, "_open", busy)
    with pytest.raises(DeviceError, match="must be free, but another program"):
        VirtualTransport(TINY)
    assert Board.made[-1].closed
