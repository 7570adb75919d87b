"""The time-out that a process group was given, which those beside it get, too."""

from datetime import timedelta
from pathlib import Path

import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

from adagrain.host.distributed.lockstep import Lockstep
from adagrain.host.distributed.process_group import time_out_of


def test_a_group_beside_a_scripts_own_has_its_time_out(tmp_path: Path) -> None:
    place = f"file://{tmp_path}/rendezvous"
    dist.init_process_group("gloo", place, rank=0, world_size=1, timeout=timedelta(seconds=7))
    try:
        world = dist.group.WORLD
        assert world and time_out_of(world) == timedelta(seconds=7)
        assert time_out_of(Lockstep(world).group) == timedelta(seconds=7)
    finally:
        dist.destroy_process_group()


def test_a_backend_that_tells_no_time_out() -> None:
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
    try:
        world = dist.group.WORLD
        assert world and time_out_of(world) == timedelta(minutes=30)
    finally:
        dist.destroy_process_group()
