"""Schedules of a run: learning rates, and the granularity penalty."""

import pytest
import torch

from adagrain.host.train.schedule import remaining, restore, schedule


def test_rates_rise_and_fall_but_for_steady_groups() -> None:
    moving, steady = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
    groups = [{"params": [moving]}, {"params": [steady], "lr": 2.0, "steady": True}]
    optimizer = torch.optim.SGD(groups, lr=0.5)
    scheduler = schedule(optimizer, steps=10, warmup=4)
    rates = []
    for _ in range(11):
        rates.append(scheduler.get_last_lr())
        optimizer.step()
        scheduler.step()
    assert [rate for rate, _ in rates[:4]] == [0.125, 0.25, 0.375, 0.5]
    assert [rate for rate, _ in rates[4:]] == sorted((rate for rate, _ in rates[4:]), reverse=True)
    assert rates[10][0] == pytest.approx(0)
    assert {rate for _, rate in rates} == {2.0}


def test_a_run_that_is_extended_goes_on_at_the_longer_runs_rates() -> None:
    """Its first step too, for which the shorter run's rate is 0."""
    parameter = torch.nn.Parameter(torch.zeros(1))

    def begun(steps: int) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LambdaLR]:
        optimizer = torch.optim.SGD([parameter], lr=0.5)
        return optimizer, schedule(optimizer, steps=steps, warmup=2)

    rates = {}
    for steps in (4, 8):
        optimizer, scheduler = begun(steps)
        for _ in range(4):
            optimizer.step()
            scheduler.step()
        rates[steps] = optimizer.param_groups[0]["lr"]
        if steps == 4:
            left, momenta = scheduler.state_dict(), optimizer.state_dict()
    assert rates[4] == 0
    for steps, rate in rates.items():
        optimizer, scheduler = begun(steps)
        optimizer.load_state_dict(momenta)
        restore(scheduler, left)
        assert optimizer.param_groups[0]["lr"] == scheduler.get_last_lr()[0] == rate


def test_the_penalty_falls_to_zero() -> None:
    assert [remaining(step, 4) for step in range(6)] == [1, 0.75, 0.5, 0.25, 0, 0]
