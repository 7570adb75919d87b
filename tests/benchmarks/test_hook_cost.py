"""What the benchmark of the hook's cost tells of the stages."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

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
    training = hook_cost._training(lambda: nn.Linear(3, 2), "cadence_1", x, y, stages)
    for _ in range(3):
        training.step()
    training.close()
    shares = stages.shares(1.0, skip=1)
    wanted = {"statistics", "decisions", "exchange", "agreement", "lockstep", "optimizer"}
    assert wanted | {"accumulators", "rest"} == {*shares}
    assert all(share > 0 for share in shares.values())


@pytest.mark.parametrize("way", hook_cost.WAYS)
def test_a_network_goes_on_where_it_was(way: str) -> None:
    x, y = torch.randn(4, 3), torch.randint(2, (4,))
    made = hook_cost._training(lambda: nn.Linear(3, 2), way, x, y)
    made.step()
    saved = made.save()
    again = hook_cost._training(lambda: nn.Linear(3, 2), way, x, y, None, saved)
    assert str(again.save()) == str(saved)
    for training in (made, again):
        training.step()
        training.close()
    assert again.save()["model"].keys() == saved["model"].keys()
    assert str(again.save()["model"]) == str(made.save()["model"]) != str(saved["model"])


def test_medians_and_quartiles_of_rounds() -> None:
    """A round that took long moves no median, and if all ways did, no quotient."""
    walls = [[1.0, 4.0], [10.0, 40.0], [2.0, 4.0]]
    plain = [[hook_cost.Times(wall, 5.0) for wall in turn] for turn in walls]
    own = [
        [hook_cost.Times(factor * wall, 6.0) for wall in turn]
        for factor, turn in zip((1.0, 1.1, 1.3), walls, strict=True)
    ]
    assert hook_cost.medians(plain) == (3.0, 5.0)  # 2 and 4
    assert hook_cost.quartiles(own, plain) == pytest.approx([1.05, 1.2])
    assert hook_cost.mean(plain) == pytest.approx(61 / 6)


def test_each_round_counts_a_decision_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are made anew after some rounds, each time another one first, and closed."""
    made: list[list[str]] = []
    closed: list[str] = []
    steps: Counter[str] = Counter()

    def timed(step: Callable[[], None]) -> hook_cost.Times:
        before = steps.copy()
        step()
        ((way, _),) = (steps - before).items()
        return hook_cost.Times((steps[way] - 1) % 16, 0.0)

    def make(ways: Sequence[str], saved: Mapping[str, Any]) -> dict[str, hook_cost.Training]:
        assert saved == ({way: {"way": way} for way in ways} if made else {})
        made.append([*ways])
        return {
            way: hook_cost.Training(
                partial(steps.update, [way]),
                partial(dict[str, Any], way=way),
                partial(closed.append, way),
            )
            for way in ways
        }

    monkeypatch.setattr(hook_cost, "_timed", timed)
    rounds = hook_cost.MADE + 2
    times = hook_cost._measured("nothing", rounds, make, ["plain", "other"])
    epoch = [hook_cost.Times(step, 0.0) for step in range(16)]
    assert times == {"plain": rounds * [epoch], "other": rounds * [epoch]}
    taken = (rounds + 2 * hook_cost.WARM_UP) * (16 + hook_cost.COLD)
    assert steps == {"plain": taken, "other": taken}
    assert made == [["plain", "other"], ["other", "plain"]]
    assert closed == ["plain", "other", "other", "plain"]


def test_a_step_beyond_the_aim() -> None:
    figures = {
        "cadence_1_to_plain_transformer_0.8M": 1.0512,
        "cadence_1_to_plain_convolutions_0.3M": 1.05,
        "cadence_1_to_plain_mlp_0.1M": 2.5,
        "cadence_to_4_to_plain_convolutions_0.3M": 1.2,
    }
    said = "a step of transformer_0.8M must take at most 1.05 of plain DDP's, not 1.051"
    assert hook_cost.beyond_aim(figures) == [said]
    assert hook_cost.beyond_aim({"cadence_1_to_plain_mlp_0.1M": 2.5}) == []
