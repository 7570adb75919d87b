"""Warnings that repeat are counted, and said by one worker."""

import logging

import pytest
import torch
import torch.distributed as dist
from torch import nn

import adagrain
from adagrain.host.distributed.exchange import DenseExchange
from adagrain.host.distributed.lockstep import Lockstep
from adagrain.host.distributed.reducer_options import ReducerOptions
from adagrain.host.distributed.repeated import RepeatedWarnings


def test_each_kind_is_told_at_powers_of_ten(caplog: pytest.LogCaptureFixture) -> None:
    warnings = RepeatedWarnings(logging.getLogger("adagrain"))
    for number in range(120):
        warnings.warn("first", f"it happened in step {number}")
        if number % 60 == 0:
            warnings.warn("second", "so did this")
    assert [record.getMessage() for record in caplog.records] == [
        "it happened in step 0",
        "so did this",
        "it happened in step 9 (the 10th time)",
        "it happened in step 99 (the 100th time)",
    ]


def test_quiet_ones_say_nothing(caplog: pytest.LogCaptureFixture) -> None:
    RepeatedWarnings(logging.getLogger("adagrain"), quiet=True).warn(0, "again")
    assert not caplog.records


@pytest.mark.usefixtures("lone_worker")
def test_updates_that_are_dropped_in_every_step(caplog: pytest.LogCaptureFixture) -> None:
    parameter = nn.Parameter(torch.zeros(4))
    divided = adagrain.regions(nn.ParameterDict({"only": parameter}), "tensor")
    workers = Lockstep(dist.group.WORLD), DenseExchange(dist.group.WORLD)
    with adagrain.open_device("golden:", "tiny") as device:
        reducer = adagrain.RegionReducer(divided, device, *workers, ReducerOptions(cadence=None))
        for _ in range(12):
            reducer.begin_pass()
            reducer.add(parameter, torch.full((4,), torch.nan))
            reducer.begin_exchange([parameter])
            reducer.end_pass()
            reducer.decide()
    assert reducer.dropped == 12
    first, tenth = (record.getMessage() for record in caplog.records)
    assert first.startswith("step 0: 4 elements of the gradient of region 'only' are not finite")
    assert tenth.startswith("step 9: ") and tenth.endswith("(the 10th time)")
