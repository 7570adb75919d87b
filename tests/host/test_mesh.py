"""Rows that workers gather over connections of their own."""

import datetime
import socket
import threading
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
import torch

from adagrain.host.distributed.mesh import Mesh
from adagrain.host.distributed.row_sum import RowSum

TIME_OUT = datetime.timedelta(seconds=20)
SHORT = datetime.timedelta(seconds=0.2)


def ends_of_a_connection() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        return one, listener.accept()[0]


def connected(workers: int) -> list[Mesh]:
    """Those of all workers, in one process."""
    ends: list[dict[int, socket.socket]] = [{} for _ in range(workers)]
    for a, b in combinations(range(workers), 2):
        ends[a][b], ends[b][a] = ends_of_a_connection()
    return [Mesh(own, place, [*range(workers)], TIME_OUT) for place, own in enumerate(ends)]


@pytest.fixture(params=[2, 3, 5])
def meshes(request: pytest.FixtureRequest) -> Iterator[list[Mesh]]:
    made = connected(request.param)
    yield made
    for mesh in made:
        mesh.close()


@pytest.fixture
def pair() -> Iterator[list[Mesh]]:
    made = connected(2)
    yield made
    for mesh in made:
        mesh.close()


def test_all_have_the_rows_of_all_in_the_same_order(meshes: list[Mesh], seed: int) -> None:
    generator = np.random.default_rng(seed)
    for size in generator.integers(0, 300, 20):
        rows = generator.integers(-(2**63), 2**63, (len(meshes), size))
        under_way = [mesh.gather(row) for mesh, row in zip(meshes, rows, strict=True)]
        for own in under_way:
            assert np.array_equal(own.wait(), rows)
            assert np.array_equal(own.wait(), rows)


def test_several_are_under_way_and_waited_for_in_any_order(pair: list[Mesh]) -> None:
    rows = [[np.array([10 * worker + n]) for n in range(4)] for worker in range(2)]
    under_way = [[mesh.gather(row) for row in own] for mesh, own in zip(pair, rows, strict=True)]
    for number in (2, 0, 3, 1):
        for own in under_way:
            assert own[number].wait().tolist() == [[number], [10 + number]]


def test_what_is_longer_than_a_part_arrives_whole(pair: list[Mesh]) -> None:
    rows = np.arange(2_000_000).reshape(2, -1)
    found: list[np.ndarray | None] = [None, None]

    def work(place: int) -> None:
        found[place] = pair[place].gather(rows[place]).wait()

    threads = [threading.Thread(target=work, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert all(own is not None and np.array_equal(own, rows) for own in found)


def test_threads_wait_for_rows_of_their_own(pair: list[Mesh]) -> None:
    """The one whose rows come first does not wait for the other."""
    first, second = (pair[0].gather(np.array([n])) for n in range(2))
    found = []
    waiting = threading.Thread(target=lambda: found.append(second.wait().tolist()))
    waiting.start()
    pair[1].gather(np.array([5]))
    assert first.wait().tolist() == [[0], [5]]
    assert waiting.is_alive()
    pair[1].gather(np.array([6]))
    waiting.join(timeout=20)
    assert found == [[[1], [6]]]


def test_one_knows_whether_they_have_arrived(pair: list[Mesh]) -> None:
    own = pair[0].gather(np.array([1]))
    assert not own.arrived()
    with pytest.raises(RuntimeError, match=r"timed out after 0\.2 s"):
        own.wait(SHORT)
    pair[1].gather(np.array([2]))
    assert own.arrived() and own.arrived()
    assert own.wait(SHORT).tolist() == [[1], [2]]


def test_what_came_before_a_worker_left_still_counts(pair: list[Mesh]) -> None:
    ours = [pair[0].gather(np.array([n])) for n in range(2)]
    pair[1].gather(np.array([7]))
    pair[1].close()
    assert not ours[1].arrived()
    with pytest.raises(RuntimeError, match="connection to worker 1 is lost: "):
        ours[1].wait()
    assert ours[0].wait().tolist() == [[0], [7]]
    late = pair[0].gather(np.array([3]))
    with pytest.raises(RuntimeError, match="connection to worker 1 is lost: "):
        late.wait()


def test_one_waits_for_those_who_are_there_when_another_has_told_and_left() -> None:
    first, second, third = connected(3)
    own = first.gather(np.array([1]))
    second.gather(np.array([2]))
    second.close()
    with pytest.raises(RuntimeError, match="timed out"):
        own.wait(SHORT)
    third.gather(np.array([3]))
    assert own.wait().tolist() == [[1], [2], [3]]
    first.close()
    third.close()


def test_rows_of_another_length_are_refused(pair: list[Mesh]) -> None:
    own = pair[0].gather(np.arange(3))
    pair[1].gather(np.arange(2))
    assert not own.arrived()
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"worker 1 must tell 24 bytes as this .*, not 16"):
            own.wait(SHORT)


def test_a_sum_is_that_of_all_rows(meshes: list[Mesh]) -> None:
    parts = [torch.arange(4) + 10 * place for place in range(len(meshes))]
    wanted = torch.stack(parts).sum(dim=0)
    sums = [RowSum(part, mesh) for part, mesh in zip(parts, meshes, strict=True)]
    for own, part in zip(sums, parts, strict=True):
        own.wait()
        own.wait()
        assert own.arrived() and torch.equal(part, wanted)
