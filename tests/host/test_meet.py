"""Workers that meet get a connection to each other, or all of them go without."""

import socket
from pathlib import Path

import pytest
from process_groups import WorkerServer

from adagrain.host.distributed import meet

WORKER = Path(__file__)

#: Whether there is a mesh, and what one gathers.
MEETS = """
import os, socket
import numpy as np, torch.distributed as dist
from adagrain.host.distributed import meet
from adagrain.host.distributed.process_group import leave_group

dist.init_process_group("gloo")
rank = dist.get_rank()
{before}
mesh = meet.meet(dist.group.WORLD)
print(None if mesh is None else mesh.gather(np.array([rank, 5])).wait().tolist())
if mesh is not None:
    mesh.close()
leave_group()
"""

#: What keeps workers from meeting.
ALONE = {
    "too many": "meet.LARGEST = 2",
    "no address on one of them": "if rank == 1: del os.environ['MASTER_ADDR']",
    "an unknown address": "if rank == 2: os.environ['MASTER_ADDR'] = 'nowhere.invalid'",
    "nobody listens": "if rank == 0: meet._listener = lambda _: gone()\n"
    "def gone():\n"
    "    made = socket.create_server(('127.0.0.1', 0))\n"
    "    made.shutdown(socket.SHUT_RD)\n"
    "    return made",
    "one does not come": "if rank == 1: meet._connected = lambda *_: {}\nmeet._PATIENCE = 1.0",
    "one does not stay": "real = meet._connected\n"
    "def leaves(*given):\n"
    "    for own in real(*given).values(): own.close()\n"
    "    return {}\n"
    "if rank == 1: meet._connected = leaves",
}


#: The weights and decisions that training ends with, and whether the workers have met.
TRAINS = """
import os
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
import adagrain
from adagrain.host.distributed.process_group import leave_group
from speculation_judges import digest

dist.init_process_group("gloo")
rank = dist.get_rank()
{before}
torch.manual_seed(3)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Linear(4, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
state = adagrain.register(model, optimizer, cadence_max=4, epoch_steps=8)
met = state._lockstep.mesh is not None
for step in range(40):
    optimizer.zero_grad()
    batch = torch.randn(8, 5, generator=torch.Generator().manual_seed(100 * step + rank))
    state.loss(model(batch).square().mean()).backward()
    optimizer.step()
print(met, digest(model.parameters()), state.last_step.agreed.energy, state.cadences)
state.close()
leave_group()
"""


@pytest.mark.parametrize("count", [2, 3])
def test_training_is_the_same_with_and_without(server: WorkerServer, count: int) -> None:
    ended = [
        own.stdout
        for before in ("", ALONE["no address on one of them"])
        for own in server.run(WORKER, source=TRAINS.format(before=before), count=count)
    ]
    rows = [line.partition(" ") for line in ended]
    assert [met for met, _, _ in rows] == ["True"] * count + ["False"] * count, ended
    assert len({rest for _, _, rest in rows}) == 1 and rows[0][2], ended


@pytest.mark.parametrize("count", [2, 3, 4])
def test_they_get_connections(server: WorkerServer, count: int) -> None:
    ended = server.run(WORKER, source=MEETS.format(before=""), count=count)
    wanted = f"{[[rank, 5] for rank in range(count)]}\n"
    assert [own.stdout for own in ended] == [wanted] * count, ended


@pytest.mark.parametrize("before", ALONE.values(), ids=ALONE)
def test_all_go_without(server: WorkerServer, before: str) -> None:
    ended = server.run(WORKER, source=MEETS.format(before=before), count=3)
    assert [own.stdout for own in ended] == ["None\n"] * 3, ended


def test_a_worker_alone_has_nobody_to_meet(server: WorkerServer) -> None:
    (alone,) = server.run(WORKER, source=MEETS.format(before=""), count=1)
    assert alone.stdout == "None\n", alone


def test_strangers_are_not_let_in() -> None:
    """Whoever does not know the token, says nothing, or is a worker that is there already."""
    token, wrong = bytes(16), bytes([1]) * 16
    with socket.create_server(("127.0.0.1", 0)) as listener:
        offers = [meet._Offer("127.0.0.1", listener.getsockname()[1], token)] * 3
        greetings = [(wrong, 1), None, (token, 7), (token, 0), (token, 1), (token, 1), (token, 2)]
        came = [_greeting(offers[0], greeting) for greeting in greetings]
        found = meet._connected(listener, offers, 0)
    assert {*found} == {1, 2}
    for place, own in found.items():
        own.sendall(bytes([place]))
        own.close()
    assert [_said(own) for own in came] == [b"", None, b"", b"", b"\1", b"", b"\2"]


def _greeting(offer: meet._Offer, greeting: tuple[bytes, int] | None) -> socket.socket | None:
    """A connection of somebody who says this; ``None``: who leaves at once."""
    own = socket.create_connection(offer[:2], timeout=20)
    if greeting is None:
        own.close()
        return None
    own.sendall(meet._HELLO.pack(*greeting))
    return own


def _said(own: socket.socket | None) -> bytes | None:
    """Everything that is said to who has connected."""
    if own is None:
        return None
    with own:
        return own.recv(100)
