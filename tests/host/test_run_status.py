"""The status of a run, by its log."""

import pytest

from adagrain.host.train.history import History
from adagrain.host.train.run_status import RunStatus, status_of

FALLING = [2.3 * 0.99**step for step in range(200)]


@pytest.mark.parametrize(
    "loss, status",
    [
        (FALLING, RunStatus.FINISHED),
        ([2.3] * 200, RunStatus.FINISHED),
        ([2.3, 2.2], RunStatus.FINISHED),
        ([2.3], RunStatus.FINISHED),
        ([*FALLING, 50.0], RunStatus.FINISHED),
        ([*FALLING, None], RunStatus.FINISHED),
        ([*FALLING, *[4.4] * 9], RunStatus.DIVERGED),
        ([*FALLING, *[4.2] * 9], RunStatus.FINISHED),
        ([*FALLING, *[None] * 9], RunStatus.DIVERGED),
        ([None] * 200, RunStatus.DIVERGED),
        ([], RunStatus.FINISHED),
    ],
)
def test_losses(loss: list[float | None], status: RunStatus) -> None:
    assert status_of(History(loss=loss, updates=10), finite=True) is status


def test_weights_that_are_not_finite() -> None:
    assert status_of(History(loss=list(FALLING)), finite=False) is RunStatus.DIVERGED


@pytest.mark.parametrize("dropped, status", [(5, RunStatus.FINISHED), (6, RunStatus.DROPPED)])
def test_updates_that_were_dropped(dropped: int, status: RunStatus) -> None:
    history = History(loss=list(FALLING), updates=10, dropped=dropped)
    assert status_of(history, finite=True) is status
