"""Whether a run can be trusted, by its log."""

import pytest

from adagrain.host.train.history import History
from adagrain.host.train.verdict import Verdict, judge

FALLING = [2.3 * 0.99**step for step in range(200)]


@pytest.mark.parametrize(
    "loss, verdict",
    [
        (FALLING, Verdict.FINISHED),
        ([2.3] * 200, Verdict.FINISHED),
        ([2.3, 2.2], Verdict.FINISHED),
        ([2.3], Verdict.FINISHED),
        ([*FALLING, 50.0], Verdict.FINISHED),
        ([*FALLING, None], Verdict.FINISHED),
        ([*FALLING, *[4.4] * 9], Verdict.DIVERGED),
        ([*FALLING, *[4.2] * 9], Verdict.FINISHED),
        ([*FALLING, *[None] * 9], Verdict.DIVERGED),
        ([None] * 200, Verdict.DIVERGED),
        ([], Verdict.FINISHED),
    ],
)
def test_losses(loss: list[float | None], verdict: Verdict) -> None:
    assert judge(History(loss=loss, updates=10), finite=True) is verdict


def test_weights_that_are_not_finite() -> None:
    assert judge(History(loss=list(FALLING)), finite=False) is Verdict.DIVERGED


@pytest.mark.parametrize("dropped, verdict", [(5, Verdict.FINISHED), (6, Verdict.DROPPED)])
def test_updates_that_were_dropped(dropped: int, verdict: Verdict) -> None:
    history = History(loss=list(FALLING), updates=10, dropped=dropped)
    assert judge(history, finite=True) is verdict
