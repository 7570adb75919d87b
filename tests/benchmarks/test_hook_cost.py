"""What the benchmark of the hook's cost tells of the stages."""

from collections.abc import Iterator
from pathlib import Path

import hook_cost
import pytest
import torch
import torch.distributed as dist
from _stages import Stages
from torch import nn


@pytest.fixture(autouse=True)
def lone_worker(tmp_path: Path) -> Iterator[None]:
    dist.init_process_group("gloo", f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_each_stage_has_a_share() -> None:
    """All stages take time, and none is left out because a method has another name by now."""
    stages = Stages()
    x, y = torch.randn(4, 3), torch.randint(2, (4,))
    step = hook_cost._training(lambda: nn.Linear(3, 2), "cadence_1", x, y, stages)
    for _ in range(3):
        step()
    shares = stages.shares(1.0, skip=1)
    wanted = {"statistics", "decisions", "exchange", "agreement", "lockstep", "optimizer"}
    assert wanted | {"accumulators", "rest"} == {*shares}
    assert all(share > 0 for share in shares.values())
