"""The driver on devices and links that fail: nothing is lost, and nothing hangs."""

import logging
import sys
import time

import pytest
import torch
from builds import TINY
from transports import BreakingTransport, DyingTransport, ForgetfulTransport, LossyTransport

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.errors import (
    CommandError,
    DeviceError,
    DeviceTimeoutError,
    ProtocolMismatchError,
)
from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.models.interface.configuration import Configuration, configuration
from adagrain.models.interface.records import size
from adagrain.models.interface.units.region_manager import CadencePolicy, RegionRecord
from adagrain.models.interface.units.statistics import StatisticsOpcode
from adagrain.models.region_manager.table import default_parameters, region_record
from adagrain.models.statistics import statistics
from adagrain.sim.virtual_board.faulty_line import Fault


def opened(
    transport: GoldenTransport, *, replaceable: bool = False, **options: float
) -> Coprocessor:
    limits = {"timeout": 0.05, "retries": 40} | options
    device = Coprocessor(transport, TINY, url="test:", **limits)
    device.replaceable = replaceable
    return device


def work(device: Coprocessor, steps: int = 12) -> list[object]:
    """Statistics, decisions and the table that they end with."""
    record = region_record(cadence_policy=CadencePolicy.NOISE, cadence_max=3)
    device.configure_regions([record] * 9, default_parameters(2))
    results: list[object] = []
    for step in range(steps):
        x = torch.randn(50, generator=torch.Generator().manual_seed(step))
        found = device.statistics(x, 3, histogram=True)
        update = {"exponent": 130, "usable": 1, "decide": 1, "a": found.s2, "n": found.s2 // 3}
        updates = [{"region": region, **update} for region in range(9)]
        results.append((found, device.update_regions(updates, loss=1000 - step, epoch_end=True)))
    return [*results, device.state_dict()]


@pytest.fixture(scope="module")
def expected() -> list[object]:
    with opened(GoldenTransport(TINY)) as device:
        return work(device)


#: Repeats come soon, but a machine that is busy elsewhere is not taken for a dead device.
PATIENT = {"timeout": 0.005, "retries": 400}

#: Chance of each fault, alone and all together: at each byte, or at each frame.
CHANCES = {
    **{fault.name: {fault: 0.002} for fault in (Fault.DROP, Fault.FLIP, Fault.DOUBLE)},
    Fault.GARBAGE.name: {Fault.GARBAGE: 0.001},
    **{fault.name: {fault: 0.1} for fault in (Fault.LOSE, Fault.REPEAT, Fault.TRUNCATE)},
    Fault.SWAP.name: {Fault.SWAP: 0.1},
    "all": {
        fault: 0.0005 if fault.name in ("DROP", "FLIP", "DOUBLE", "GARBAGE") else 0.02
        for fault in Fault
    },
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", CHANCES)
def test_faults_of_the_line_cost_time_only(kind: str, seed: int, expected: list[object]) -> None:
    transport = LossyTransport(TINY, chances=CHANCES[kind], seed=seed)
    with opened(transport, **PATIENT) as device:
        assert work(device) == expected
    assert any(transport.happened(fault) for fault in CHANCES[kind])


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", CHANCES)
def test_ten_thousand_commands_are_executed_once_each(kind: str, seed: int) -> None:
    """Each command changes a word of the table by what it finds there, so a repeat would show."""
    commands_sent = 10_000
    transport = LossyTransport(TINY, chances=CHANCES[kind], seed=seed)
    with opened(transport, **PATIENT) as device:
        device.configure_regions([region_record()], default_parameters(1))
        update = {"region": 0, "exponent": 130, "usable": 1, "a": 1, "n": 1}
        before = device.counters()["decisions"]
        for _ in range(commands_sent):
            device.update_regions([update])
        assert device.counters()["decisions"] - before == commands_sent
        assert device.counters()["restored"] == 0
    assert any(transport.happened(fault) for fault in CHANCES[kind])


@pytest.mark.parametrize("every", [17, 37, 64])
def test_a_device_that_was_reset_gets_its_table_back(every: int, expected: list[object]) -> None:
    transport = ForgetfulTransport(TINY, every=every)
    with opened(transport) as device:
        assert work(device) == expected
        transport.every = sys.maxsize
        assert device.counters()["restored"] > 0
        assert device.read_table(0, 9) == device.state_dict()["table"]


def test_a_device_that_is_reset_while_its_table_is_restored(expected: list[object]) -> None:
    transport = ForgetfulTransport(TINY, at=range(30, 37))
    with opened(transport) as device:
        assert work(device) == expected
        assert device.counters()["restored"] > 1
        assert device.read_table(0, 9) == device.state_dict()["table"]


def test_a_device_that_is_reset_again_and_again() -> None:
    with (
        opened(ForgetfulTransport(TINY, at=range(3, 1000))) as device,
        pytest.raises(
            DeviceError, match=r"golden model, .* lost its session 10 times in one call: the dev"
        ),
    ):
        work(device)


@pytest.mark.parametrize("seed", range(4))
def test_frames_that_are_much_too_long_for_the_line(seed: int) -> None:
    """One error in a hundred bytes, found out when frames of a kilobyte are under way."""
    small = configuration("small")
    transport = LossyTransport(small, chances={Fault.FLIP: 1e-2}, seed=seed)
    with Coprocessor(transport, small, url="test:", timeout=0.05, retries=400) as device:
        x = torch.randn(2000, generator=torch.Generator().manual_seed(seed))
        assert device.statistics(x, 3, histogram=True) == statistics(x, 3, histogram=True)
        device.configure_regions([region_record()] * 40, default_parameters(2))
        device.update_regions([{"region": r, "exponent": 130, "usable": 1} for r in range(40)])
        assert device.read_table(0, 40) == device.state_dict()["table"]
        with pytest.raises(
            DeviceError, match=r"a frame of 10\d\d bytes did not get through 16 times"
        ):
            device.echo(bytes(range(1, 129)) * 8)


def test_a_device_that_stops_answering() -> None:
    device = opened(DyingTransport(TINY, answers=6), timeout=0.02, retries=3)
    began = time.monotonic()
    with pytest.raises(
        DeviceTimeoutError,
        match=r"no answer from golden model.* 3 repeats of 0.02 s, nor after a break",
    ):
        work(device)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("answers", [3, 8, 20, 33])
def test_the_golden_model_takes_over(
    answers: int, expected: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    transport = DyingTransport(TINY, answers=answers)
    with opened(transport, replaceable=True, timeout=0.01, retries=2) as device:
        with caplog.at_level(logging.ERROR):
            assert work(device) == expected
        assert device.counters()["fallbacks"] == 1
        assert "DEVICE FAILED" in caplog.text


@pytest.mark.parametrize("answers", [3, 20])
@pytest.mark.parametrize(
    "error", [OSError(5, "Input/output error"), ValueError("port is closed"), IndexError("bug")]
)
def test_the_golden_model_takes_over_from_a_transport_that_raises_what_it_likes(
    answers: int, error: Exception, expected: list[object], caplog: pytest.LogCaptureFixture
) -> None:
    transport = BreakingTransport(TINY, answers=answers, error=error)
    with opened(transport, replaceable=True) as device:
        assert work(device) == expected
        assert device.counters()["fallbacks"] == 1
    assert f"DEVICE FAILED: {type(error).__name__}: {error}. Going on" in caplog.text


def test_wrong_arguments_are_not_the_devices_fault() -> None:
    with opened(GoldenTransport(TINY), replaceable=True) as device:
        for _ in range(2):
            with pytest.raises(ValueError, match="region must be from 0 to 63, not 64"):
                device.update_regions([{"region": 64}])
        with pytest.raises(TypeError, match="dtype must be one of"):
            device.statistics(torch.ones(3, dtype=torch.int64))
        assert device.counters()["fallbacks"] == 0


def test_an_operation_that_the_golden_model_refuses_as_well() -> None:
    """A wrong field is not the device's fault either; the next call is as if it had not been."""
    with opened(GoldenTransport(TINY), replaceable=True) as device:
        device.configure_regions([region_record()] * 2, default_parameters(1))
        with pytest.raises(CommandError, match=r"BEGIN of statistics was refused .*: BAD_VALUE"):
            device.run_pass("statistics", [torch.ones(3)], exponent=0)
        assert (device.url, device.counters()["fallbacks"]) == ("test:", 0)
        assert device.read_regions(0, 2) == 2 * device.read_regions(0, 1)


def test_ctrl_c_while_a_substitute_is_tried() -> None:
    """Which of them was at fault is not known yet: the device stays."""
    transport = BreakingTransport(TINY, answers=20, error=ArithmeticError("once"))
    with opened(transport, replaceable=True) as device:

        def interrupted() -> None:
            if device._session.transport is transport:
                raise ArithmeticError("once")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            device._recovery.run(interrupted)
        assert device.url == "test:"
        assert device._session.transport is transport
        assert device.echo(b"abc") == b"abc"


def test_a_fault_of_a_transport_that_the_golden_model_shares() -> None:
    """Refused by both, an operation itself is at fault: the device stays."""
    transport = BreakingTransport(TINY, answers=20, error=ArithmeticError("of both"))
    with opened(transport, replaceable=True) as device:

        def broken() -> None:
            raise ArithmeticError("of both")

        with pytest.raises(ArithmeticError, match="of both"):
            device._recovery.run(broken)
        assert device.url == "test:"
        assert device.echo(b"abc") == b"abc"
        assert device.counters()["fallbacks"] == 0


def test_a_device_without_a_data_port_is_replaced_by_one_that_has_it() -> None:
    transport = DyingTransport(TINY, answers=9)
    transport.data_port = False
    x = torch.arange(1000.0)
    with opened(transport, replaceable=True, timeout=0.01, retries=0) as device:
        assert device.statistics(x, 3) == statistics(x, 3, powers=TINY.powers)
        assert (device.counters()["fallbacks"], device.url) == (1, "golden:")


def test_the_selftest_is_of_the_device() -> None:
    transport = DyingTransport(TINY, answers=9)
    with opened(transport, replaceable=True, timeout=0.01, retries=0) as device:
        device.configure_regions([region_record()] * 2, default_parameters(1))
        (first, second) = device.read_regions(0, 2)
        assert first == second
        assert len(device.read_table(0, 2)) == 2 * size(RegionRecord)
        assert device.echo(b"abc") == b"abc"
        assert device.url == "test:"
        assert not device.selftest().passed  # of the device, which is dead by now
        assert device.url == "test:"
        assert len(device.read_table(0, 2)) == 2 * size(RegionRecord)
        assert (device.counters()["fallbacks"], device.url) == (1, "golden:")
        assert device.selftest().passed


def test_a_device_of_another_build() -> None:
    transport = GoldenTransport(configuration("tiny", regions=32))
    with pytest.raises(
        ProtocolMismatchError,
        match=r"test: was built with device preset 'tiny', build 0x.* was asked for",
    ):
        opened(transport)


@pytest.mark.parametrize(
    ("register", "message"),
    [("magic", "is no coprocessor: magic must be"), ("protocol", "speaks protocol version 1234")],
)
def test_something_else_answers(
    register: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Configuration.constants
    lying = lambda built: honest(built) | {register: 1234}  # noqa: E731
    monkeypatch.setattr(Configuration, "constants", lying)
    with pytest.raises(ProtocolMismatchError, match=message):
        opened(GoldenTransport(TINY))


def test_the_selftest_finds_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(GoldenTransport(TINY)) as device:
        assert device.selftest().passed
        operations = device._session.transport._model.commands._operations
        honest = operations[StatisticsOpcode.END]

        def faulty(payload: bytes) -> bytes:
            record = bytearray(honest(payload))
            record[40] ^= 1
            return bytes(record)

        monkeypatch.setitem(operations, StatisticsOpcode.END, faulty)
        report = device.selftest()
        assert [check.name for check in report.checks if not check.passed] == [
            "statistics of FP32",
            "statistics of BF16",
        ]


def test_bad_arguments() -> None:
    with adagrain.open_device("golden:", "tiny") as device:
        with pytest.raises(TypeError, match="one of FP32, BF16 on device preset 'tiny', not FP16"):
            device.statistics(torch.ones(3, dtype=torch.float16))
        with pytest.raises(TypeError, match=r"dtype must be one of .*, not torch\.int64"):
            device.statistics(torch.ones(3, dtype=torch.int64))
        with pytest.raises(ValueError, match=r"tensor must have 1 to 2\*\*32-1 elements, not 0"):
            device.statistics(torch.ones(0))
        with pytest.raises(ValueError, match="exponent must be from -126 to 127, not 200"):
            device.statistics(torch.ones(3), 200)
        with pytest.raises(
            ValueError, match="histogram must be False on device preset 'tiny': its build"
        ):
            device.statistics(torch.ones(3), histogram=True)
        with pytest.raises(ValueError, match="region must be from 0 to 63, not 64"):
            device.update_regions([{"region": 64}])
        with pytest.raises(ValueError, match=r"regions must be from 0 to 63 .*, not 0 to 64"):
            device.configure_regions([region_record()] * 65, default_parameters(1))
        with pytest.raises(ValueError, match="record must be 64 bytes, not 3"):
            device.configure_regions([b"abc"], default_parameters(1))
    with pytest.raises(ValueError, match="device url must begin with one of 'golden:', 'sim:'"):
        adagrain.open_device("usb:")
    with pytest.raises(
        ValueError,
        match="device preset must be one of tiny, small, full, granular, wide, whole, not 'huge'",
    ):
        adagrain.open_device("golden:", "huge")


@pytest.mark.parametrize("options", [{}, {"data_port": False}], ids=["port", "link"])
def test_simulation_equals_golden(options: dict[str, bool]) -> None:
    with adagrain.open_device("golden:", TINY) as golden:
        wanted = work(golden)
    with adagrain.open_device("sim:", TINY, **options) as device:
        assert "RTL" in device.info().backend
        assert work(device) == wanted
        assert device.selftest().passed
        assert device.counters()["decision_cycles"] <= TINY.decision_cycles
