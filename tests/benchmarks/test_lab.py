"""The network lab: rate, delay and counts of its link; what is cut off; that nothing is left."""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import _lab_check
import _lab_probe
import _link
import pytest
from _lab import Lab, lab
from _lab_check import VoidError
from _link import Link, reason_against
from _relay import RelayError

BENCHMARKS = Path(_link.__file__).parent

REASON = reason_against()

needs_lab = pytest.mark.skipif(REASON is not None, reason=str(REASON))

LINK = Link(rate=40, delay=10)

#: Sends zeros, and gets them; one more argument is the address.
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 5000)) as line:
    line.sendall(bytes(1_000_000))
    line.recv(1)
"""
RECEIVE = """
import socket, sys
with socket.create_server((sys.argv[1], 5000)) as server:
    print("ready", flush=True)
    with server.accept()[0] as line:
        left = 1_000_000
        while left:
            left -= len(line.recv(1 << 16))
"""

#: Makes a lab with a process in it, says its number and its namespace, and waits.
HOLD = """
import subprocess, time
from _lab import lab
from _link import Link
with lab(Link(10), checked=False) as made:
    place = made.places[1]
    inside = subprocess.Popen([*place.prefix, "sleep", "1000"])
    print(inside.pid, place.prefix[1].removeprefix("--net="), flush=True)
    time.sleep(1000)
"""


@pytest.fixture(scope="module")
def made() -> Iterator[Lab]:
    with lab(LINK, checked=False) as made:
        yield made


def started(made: Lab, worker: int, *command: str) -> subprocess.Popen[str]:
    """A command of a worker."""
    return subprocess.Popen(
        [*made.places[worker].prefix, *command], stdout=subprocess.PIPE, text=True
    )


def ping(made: Lab) -> float:
    """Milliseconds to the second worker and back, from the first."""
    arguments = '["pings", ["10.77.0.2"], 3, 0.5]'
    probe = started(made, 0, sys.executable, "-I", "-S", _lab_probe.__file__, arguments)
    said, _ = probe.communicate()
    return float(said.strip("[]\n"))


def state_of(process: int) -> str:
    """The letter that the kernel has for it, Z for none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(1200):
        if is_so():
            return
        time.sleep(0.05)
    pytest.fail("nothing happened in 60 s")


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"rate": 0}, "rate must be more than 0 Mbit/s, not 0"),
        ({"rate": -3.5}, "rate must be more than 0 Mbit/s, not -3.5"),
        ({"rate": math.nan}, "rate must be more than 0 Mbit/s, not nan"),
        ({"delay": -1}, "delay must be 0 ms or more, not -1"),
        ({"delay": math.inf}, "delay must be 0 ms or more, not inf"),
        ({"delay": 5, "jitter": 6}, "jitter must be from 0 ms to the delay, 5, not 6"),
        ({"workers": 1}, "workers must be 2 to 8, not 1"),
        ({"workers": 9}, "workers must be 2 to 8, not 9"),
    ],
)
def test_bad_figures_are_named(figures: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Link(**{"rate": 10.0, **figures})


def test_the_command_names_bad_figures() -> None:
    command = [sys.executable, str(BENCHMARKS / "lab.py"), "--rate", "0"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 1
    assert outcome.stderr == "rate must be more than 0 Mbit/s, not 0\n"


def test_reasons_against_a_lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert reason_against() == "a network lab needs root"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(_link, "_TUN", tmp_path / "tun")
    monkeypatch.setattr(_link, "_TOOLS", ())
    assert (
        reason_against()
        == f"a network lab needs {tmp_path}/tun, which cannot be opened (No such file or directory)"
    )
    monkeypatch.setattr(_link, "_TOOLS", ("ip", "no-such-tool"))
    monkeypatch.setattr(_link.shutil, "which", lambda tool: None if "-" in tool else tool)
    assert reason_against() == "a network lab needs no-such-tool"


@needs_lab
def test_rate_and_delay_are_those_of_the_link(made: Lab) -> None:
    found = made.check()
    assert found.round_trips == [pytest.approx(2 * LINK.delay, rel=0.1)]
    assert found.rates == [pytest.approx(LINK.rate, rel=0.1)] * 2


@needs_lab
def test_jitter_is_about_the_delay() -> None:
    with lab(Link(rate=40, delay=10, jitter=8), checked=False) as made:
        trips = [ping(made) for _ in range(6)]
    assert 4 <= min(trips) <= 36
    assert max(trips) > min(trips) + 1


@needs_lab
def test_another_link_is_void(made: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lab_check, "_TRIES", 1)
    monkeypatch.setattr(_lab_check, "_SECONDS_TO_RATE", 0.1)
    wrong = Link(rate=20, delay=15)
    with pytest.raises(VoidError) as caught:
        _lab_check.check(wrong, made.places, made.addresses)
    said = str(caught.value)
    assert said.startswith("the link of 20 Mbit/s, 15 ms, 2 workers is void: ")
    assert "round trip to worker 1 must be 30 ms ± 3, not 20." in said
    assert "rate to worker 0 must be 20 Mbit/s ± 2, not " in said


@needs_lab
@pytest.mark.parametrize("rate", [40, 200])  # segments, and packets of several
def test_bytes_on_the_wire_are_counted_each_way(rate: float) -> None:
    with lab(Link(rate, delay=10), checked=False) as made:
        receiving = started(made, 1, sys.executable, "-c", RECEIVE, made.addresses[1])
        assert receiving.stdout
        receiving.stdout.readline()
        assert not started(made, 0, sys.executable, "-c", SEND, made.addresses[1]).wait()
        assert not receiving.wait()
        time.sleep(0.1)  # the last acknowledgements
        first, second = made.counts()
    assert first.sent == second.received
    assert second.sent == first.received
    assert first.sent == pytest.approx(1_000_000 * 1500 / 1448, rel=0.01)
    assert 0 < second.sent < 0.05 * first.sent
    assert first.lost == second.lost == 0


@needs_lab
def test_a_worker_is_cut_off_and_joined_again(made: Lab) -> None:
    made.cut(1)
    assert ping(made) == math.inf
    assert made.counts()[0].lost >= 3
    made.mend(1)
    assert ping(made) < math.inf
    with pytest.raises(ValueError, match=r"^worker must be 0 to 1, not 2$"):
        made.cut(2)


@needs_lab
def test_a_worker_is_paused_resumed_and_killed(made: Lab) -> None:
    worker = started(made, 1, "sh", "-c", "echo there; exec sleep 1000")
    assert worker.stdout
    worker.stdout.readline()
    made.pause(1)
    wait_until(lambda: state_of(worker.pid) == "T")
    made.resume(1)
    wait_until(lambda: state_of(worker.pid) == "S")
    made.kill(1)
    assert worker.wait(60) == -signal.SIGKILL


@needs_lab
def test_nothing_is_left_after_an_exception() -> None:
    with pytest.raises(RuntimeError, match=r"^no$"):
        with lab(LINK, checked=False) as made:
            worker = started(made, 0, "sh", "-c", "echo there; exec sleep 1000")
            assert worker.stdout
            worker.stdout.readline()
            namespace = Path(made.places[0].prefix[1].removeprefix("--net="))
            assert namespace.exists()
            raise RuntimeError("no")
    assert worker.wait(60) == -signal.SIGKILL
    assert not namespace.exists()


@needs_lab
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_program_that_ends(number: signal.Signals) -> None:
    path = os.pathsep.join([str(BENCHMARKS), *sys.path])
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert holder.stdout
    process, namespace = holder.stdout.readline().split()
    assert state_of(int(process)) != "Z"
    holder.send_signal(number)
    holder.wait()
    relay = int(namespace.split("/")[2])
    wait_until(lambda: state_of(int(process)) == state_of(relay) == "Z")


@needs_lab
def test_who_comes_after_the_end_does_not_stay() -> None:
    with ExitStack() as held:
        with lab(LINK, checked=False) as made:
            net, *prefix = made.places[0].prefix[1:]
            namespace = held.enter_context(Path(net.removeprefix("--net=")).open())
        again = f"--net=/proc/{os.getpid()}/fd/{namespace.fileno()}"
        command = ["nsenter", again, *prefix, "true"]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stderr) == (1, "the lab has ended\n")


@needs_lab
def test_a_child_that_has_all_files_open_does_not_keep_a_lab() -> None:
    with lab(LINK, checked=False):
        child = os.fork()
        if not child:
            time.sleep(60)
            os._exit(0)
        began = time.monotonic()
    assert time.monotonic() < began + 30
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@needs_lab
def test_a_relay_that_ended_is_told_of() -> None:
    with lab(LINK, checked=False) as made:
        relay = int(made.places[0].prefix[1].split("/")[2])
        os.kill(relay, signal.SIGKILL)
        with pytest.raises(RelayError, match=r"^the relay of packets ended with -9: nothing said$"):
            made.counts()
