"""The driver's copies of the device's tables, its end, and threads that share it."""

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from golden_device import RECORD, UPDATE, agree, opened
from matrices import GRANULAR

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.errors import ClosedError
from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.host.link.transport.simulated import SimulatedTransport
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.records import unpack_all
from adagrain.models.interface.units.region_manager import RegionRecord
from adagrain.models.precision_controller import precision_record
from adagrain.models.region_manager.table import default_parameters, region_record
from adagrain.models.statistics import statistics

LONG = configuration("granular", slices=2, operands=64, payload=4096, regions=1024)


@pytest.fixture
def device() -> Iterator[Coprocessor]:
    with adagrain.open_device("golden:", GRANULAR) as golden:
        yield golden


@pytest.mark.parametrize("count", [31, 32, 63, 1024])
def test_long_tables_are_read_in_parts(count: int) -> None:
    """More words, or records, than the count of one read can say."""
    with adagrain.open_device("golden:", LONG) as device:
        records = [region_record(phase_epoch=number) for number in range(count)]
        device.configure_regions(records, default_parameters(2))
        assert device.read_table(0, count) == b"".join(records)
        assert [r["phase_epoch"] for r in device.read_regions(0, count)] == [*range(count)]
        wanted = [precision_record((0, 0, 0), dwell=number % 256) for number in range(count)]
        device.precisions.configure(wanted)
        found = device.precisions.read(0, count)
        assert [record["dwell_length"] for record in found] == [n % 256 for n in range(count)]


def test_parameters_alone_are_sent(device: Coprocessor) -> None:
    device.configure_regions([], default_parameters(2))
    assert device.update_regions([], loss=1 << 16) == []
    device.configure_regions([region_record()], default_parameters(2))
    device.configure_regions([], default_parameters(1024) | {"noise": 7})
    for step in range(4):
        device.update_regions([UPDATE], loss=1 << step, epoch_end=True)
    agree(device)


def test_a_smaller_state_leaves_nothing_of_a_larger_one(device: Coprocessor) -> None:
    device.configure_regions([region_record()] * 2, default_parameters(2))
    device.precisions.configure([RECORD])
    smaller = device.state_dict()
    device.configure_regions([region_record(policy=3)] * 9, default_parameters(7))
    device.precisions.configure([precision_record((0.1, 0.2, 0.3), dwell=3)] * 9)
    device.load_state_dict(smaller)
    assert device.state_dict() == smaller
    agree(device)
    assert [record["valid"] for record in device.read_regions(0, 10)] == [1, 1] + [0] * 8
    assert [r["dwell_length"] for r in device.precisions.read(1, 9)] == [0] * 9
    with pytest.raises(ValueError, match="region must be one that was configured, 0 to 1, not 2"):
        device.update_regions([{"region": 2}])


def test_the_state_of_a_device_that_was_never_configured(device: Coprocessor) -> None:
    with adagrain.open_device("golden:", GRANULAR) as fresh:
        state = fresh.state_dict()
    device.configure_regions([region_record()] * 3, default_parameters(2))
    device.load_state_dict(state)
    assert device.state_dict() == state
    assert [record["valid"] for record in device.read_regions(0, 3)] == [0] * 3
    with pytest.raises(ValueError, match="must be configured before they are updated"):
        device.update_regions([])
    device.configure_regions([region_record()], default_parameters(2))
    device.update_regions([UPDATE])
    agree(device)


@pytest.mark.parametrize(
    "call",
    [
        lambda d: d.echo(b""),
        lambda d: d.statistics(torch.ones(3)),
        lambda d: d.counters(),
        lambda d: d.info(),
        lambda d: d.update_regions([]),
        lambda d: d.configure_regions([], default_parameters(1)),
        lambda d: d.precisions.configure([]),
        lambda d: d.matmul(torch.ones(1, 1), torch.ones(1, 1), "FP32"),
        lambda d: d.load_state_dict(d.state_dict()),
    ],
)
@pytest.mark.parametrize("replaceable", [False, True])
def test_a_device_that_was_closed(call: Callable[[Any], Any], replaceable: bool) -> None:
    device = adagrain.open_device("golden:", GRANULAR, replaceable=replaceable)
    device.close()
    device.close()
    with pytest.raises(ClosedError, match=r"device must be open, but golden model.* was closed"):
        call(device)
    assert device.state_dict()["table"] == b""


def test_a_closed_simulation_is_freed() -> None:
    transport = SimulatedTransport(configuration("tiny"))
    transport.close()
    transport.close()
    with pytest.raises(ValueError, match=r"coprocessor must not be used after close\(\)"):
        transport.receive(1, 1.0)


def told(call: Callable[[], Any]) -> str:
    """What a call says of a device that is not open, or nothing."""
    try:
        call()
    except ClosedError as error:
        return str(error)
    return "nothing"


def test_a_forked_process_is_refused_and_does_not_wait() -> None:
    """Also where a thread that it does not have is within a call; the parent goes on."""
    with adagrain.open_device("golden:") as device:
        within, may_end = threading.Event(), threading.Event()

        def hold() -> None:
            with device._recovery:
                within.set()
                may_end.wait(20)

        thread = threading.Thread(target=hold)
        thread.start()
        assert within.wait(20)
        heard, says = os.pipe()
        if not (child := os.fork()):
            calls: list[Callable[[], Any]] = [lambda: device.echo(b"a"), device.state_dict]
            try:
                os.write(says, ", ".join(map(told, [*calls, device.close])).encode())
            finally:
                os._exit(0)
        has_ended = bool(select.select([heard], [], [], 20)[0])
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        may_end.set()
        thread.join()
        assert has_ended
        own = f"device must be opened in this process, {child}: it belongs to process {os.getpid()}"
        assert os.read(heard, 1000).decode() == f"{own}, {own}, nothing"
        os.close(heard)
        os.close(says)
        assert device.echo(b"abc") == b"abc"


def test_a_closed_device_refuses_all_threads_and_keeps_none_waiting() -> None:
    device = adagrain.open_device("golden:", GRANULAR)
    device.close()
    errors = list[BaseException]()

    def work() -> None:
        try:
            device.counters()
        except BaseException as error:
            errors.append(error)

    work()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(10)
    assert [type(error) for error in errors] == [ClosedError, ClosedError]


def test_a_state_is_that_between_two_calls() -> None:
    """Of all records, with the parameters of the same step, while another thread decides."""
    count, torn = 64, list[set[int]]()
    with opened(GoldenTransport(GRANULAR)) as device:
        device.configure_regions([region_record(cadence_max=3)] * count, default_parameters(2))
        is_over = threading.Event()

        def save() -> None:
            while not is_over.is_set():
                state = device.state_dict()
                steps = {r["samples"] for r in unpack_all(RegionRecord, state["table"])}
                if steps != {state["parameters"]["epoch"]}:
                    torn.append(steps)

        thread = threading.Thread(target=save)
        thread.start()
        try:
            for step in range(1, 151):
                updates = [{"region": region, **UPDATE} for region in range(count)]
                device.update_regions(updates, loss=9, epoch_end=True)
                assert {r["samples"] for r in device.read_regions(0, count)} == {step}
        finally:
            is_over.set()
            thread.join()
    assert not torn


def test_threads_share_a_device() -> None:
    """Each call as a whole: their commands do not get in between each other's."""
    x = [torch.randn(40, generator=torch.Generator().manual_seed(n)) for n in range(4)]
    failures = list[BaseException]()
    with opened(GoldenTransport(GRANULAR)) as device:
        device.configure_regions([region_record()] * 4, default_parameters(2))
        device.precisions.configure([RECORD] * 4)

        def work(number: int) -> None:
            try:
                for _ in range(25):
                    found = device.statistics(x[number], 3, histogram=True)
                    assert found == statistics(x[number], 3, histogram=True)
                    device.update_regions([{"region": number, **UPDATE}])
                    update = {"channel_group": number, "variance": 1, "square": 3}
                    device.precisions.decide([update])
                    assert device.echo(bytes([number])) == bytes([number])
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        agree(device)
        assert device.counters()["sessions"] == 1
        assert device.counters()["decisions"] == 100
