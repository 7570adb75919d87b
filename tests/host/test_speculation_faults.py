"""Collectives of speculation that fail, workers that are killed or stopped: an error, no hang.

Each fault is at one of the collectives of two steps, on one worker or on all of them, whatever is
in flight there.
"""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from broken_collectives import FAULTS
from process_groups import WorkerServer

WORKER = Path(__file__).parent / "speculation_fault_worker.py"

#: The process group's, in seconds; and how much later all must have ended.
TIME_OUT, GRACE = 2.0, 5.0

#: Collectives of two steps, in whatever order: twice a comparison, two buckets, an agreement.
POINTS = range(8)

#: Several updates deep, and with frames, on which workers agree in a collective more.
WAYS: list[dict[str, Any]] = [
    {"depth": 2},
    {"compression": {"density": 0.1, "bypass": "never"}},
    {"depth": 2, "tau": 0.5, "compression": {"density": 0.1, "bypass": "never"}},
]
MORE_POINTS = range(10)

#: Those of the beginning: a comparison, and broadcasts.
BEGINNING = range(3)

FAULTY = [name for name in FAULTS if name != "stopped"]
KILLED = [name for name in FAULTY if name.startswith("killed")]
ENDINGS = ["state_dict", "settle", "weights", "optimizer", "model", "close"]


@pytest.fixture(scope="module", autouse=True)
def compiled(server: WorkerServer) -> None:
    """Kernels are in the cache: on a busy machine one takes longer than the time-out to compile."""
    job = json.dumps({"time_out": 300.0} | WAYS[-1])
    ended = server.run(WORKER, job, timeout=300)
    assert all(worker.returncode == 0 for worker in ended), ended


def broken(server: WorkerServer, *, count: int = 2, **job: Any) -> list[dict[str, Any]]:
    """What the workers have told that were not killed; it was in time.

    With frames, whose threads run ahead, a fault of one worker may come before another's own.
    """
    one_is_enough = bool(job.get("compression"))
    ended = server.run(WORKER, json.dumps({"time_out": TIME_OUT} | job), count=count, timeout=60)
    victims = job.get("ranks", []) if job.get("fault") in KILLED else []
    told, began = [], []
    for rank, worker in enumerate(ended):
        lines = [json.loads(line) for line in worker.stdout.splitlines()]
        began += [line["began"] for line in lines if "began" in line]
        (own,) = [line for line in lines if "ended" in line] or [None]
        if rank in victims and not (one_is_enough and own):
            assert own is None and worker.returncode == -9, worker
        else:
            assert own is not None and worker.returncode == int("error" in own), worker
            told.append(own)
    ranks = job.get("ranks", [])
    assert len(began) in (range(1, len(ranks) + 1) if one_is_enough else [len(ranks)])
    for own in told if began else ():
        assert own["ended"] - max(began) < job.get("stopped_for", 0) + TIME_OUT + GRACE
    return told


def check_failed(told: list[dict[str, Any]], ending: str = "") -> None:
    """A reason is named, and nothing goes on with weights that may be half updated."""
    for own in told:
        assert own["error"].startswith("WorkerLostError: a worker was lost in the "), own
        *refused, closed = own["refused"].values() or ["done"]
        assert closed == "done"
        if ending == "close":
            continue
        for said in refused:
            assert said == (
                "RuntimeError: speculation must not go on after it has failed, begin again from a "
                f"checkpoint ({own['error']})"
            )


def cases(points: range, workers: int, every: int, first: int = 0) -> list[Any]:
    """Each fault at each point, on one worker and on all; in quick runs one of so many."""
    found = []
    for number, (at, fault, on_all) in enumerate(product(points, FAULTY, (False, True))):
        ranks = [*range(workers)] if on_all else [at % workers]
        marks = () if every and number % every == first else pytest.mark.full
        found.append(pytest.param(at, fault, ranks, id=f"{fault}-{at}-{ranks}", marks=marks))
    return found


@pytest.mark.parametrize(("at", "fault", "ranks"), cases(POINTS, 2, 11))
def test_a_fault_in_a_step(at: int, fault: str, ranks: list[int], server: WorkerServer) -> None:
    told = broken(server, at=at, fault=fault, ranks=ranks)
    check_failed(told)
    assert len(told) == (2 - len(ranks) if fault in KILLED else 2)


@pytest.mark.parametrize(("at", "fault", "ranks"), cases(MORE_POINTS, 2, 50, 29))
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_fault_in_a_step_with_more_under_way(
    way: dict[str, Any], at: int, fault: str, ranks: list[int], server: WorkerServer
) -> None:
    """Updates of several steps, and frames, on which threads agree."""
    check_failed(broken(server, at=at, fault=fault, ranks=ranks, **way))


@pytest.mark.parametrize(("at", "fault", "ranks"), cases(POINTS, 3, 0))
def test_a_fault_in_a_step_of_three(
    at: int, fault: str, ranks: list[int], server: WorkerServer
) -> None:
    check_failed(broken(server, count=3, at=at, fault=fault, ranks=ranks))


@pytest.mark.parametrize("workers", [3, pytest.param(4, marks=pytest.mark.full)])
@pytest.mark.parametrize("fault", FAULTY)
def test_a_fault_on_some_of_several(fault: str, workers: int, server: WorkerServer) -> None:
    check_failed(broken(server, count=workers, at=5, fault=fault, ranks=[0, workers - 1]))


@pytest.mark.parametrize(("at", "fault", "ranks"), cases(BEGINNING, 2, 5))
def test_a_fault_at_the_beginning(
    at: int, fault: str, ranks: list[int], server: WorkerServer
) -> None:
    check_failed(broken(server, armed=-1, at=at, fault=fault, ranks=ranks))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "fault", ["never", *(pytest.param(own, marks=pytest.mark.full) for own in FAULTY)]
)
def test_a_fault_that_is_met_behind_the_last_step(
    fault: str, ending: str, server: WorkerServer
) -> None:
    """Where all has reached the other worker, it has ended well, and cannot know."""
    told = broken(server, armed=5, at=2, fault=fault, ranks=[1], ending=ending)
    failed = [own for own in told if "error" in own]
    check_failed(failed, ending)
    assert len(told) - len(failed) <= int(fault.endswith("behind"))
    assert len(failed) >= int(fault not in KILLED)


@pytest.fixture(scope="module")
def undisturbed(server: WorkerServer) -> str:
    """The weights that runs end with."""
    first, second = broken(server)
    assert first["weights"] == second["weights"]
    return first["weights"]


@pytest.mark.parametrize("at", [0, *(pytest.param(at, marks=pytest.mark.full) for at in POINTS)])
def test_a_worker_that_is_stopped_for_less_than_the_time_out(
    at: int, undisturbed: str, server: WorkerServer
) -> None:
    told = broken(server, at=at, fault="stopped", ranks=[1], stopped_for=5, time_out=20)
    assert [own["weights"] for own in told] == [undisturbed] * 2


@pytest.mark.parametrize("at", [3, *(pytest.param(at, marks=pytest.mark.full) for at in POINTS)])
def test_a_worker_that_is_stopped_for_longer(at: int, server: WorkerServer) -> None:
    """The other one does not wait for it."""
    first, second = broken(server, at=at, fault="stopped", ranks=[1], stopped_for=10)
    check_failed([first, second])
    assert first["ended"] < second["ended"] - 10 + TIME_OUT + GRACE


def test_an_error_of_a_worker_whose_others_are_gone(server: WorkerServer) -> None:
    """It is raised in place of the one that nobody can be told of it."""
    (own,) = broken(server, at=2, fault="killed", ranks=[0], failing=1)
    assert own["error"] == "KeyError: 'no such thing'"
