"""What the benchmarks of compression refuse, and the digits that they make."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import compression
import learned_mask
import pytest
import torch
import torch.distributed as dist
from _augmented_digits import augmented, digits, held_out
from _compression_aims import beyond_aims_of_link, beyond_aims_of_losses, beyond_aims_of_time
from _compression_ways import MOMENTUM, optimizer_of, rate_of
from _local_steps import in_their_mean
from torch import nn

#: Ways that no benchmark takes unless they are named.
CONTROLS = (
    *("powersgd16_4", "powersgd16_8", "powersgd16_8_nesterov_half_rate"),
    *("random_1%_without_error_feedback", "local_sgd_never"),
)


#: What trains a small network, in a process of its own.
SMALL_TRAINING = Path(__file__).with_name("small_training.py")


@pytest.fixture(scope="module")
def small_trainings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By way, loss and bytes of 2 steps and of 8."""
    rendezvous = tmp_path_factory.mktemp("small") / "rendezvous"
    arguments = (str(rendezvous), *CONTROLS, "powersgd_4", "dense")
    path = os.pathsep.join((str(Path(compression.__file__).parent), *sys.path))
    ended = subprocess.run(
        [sys.executable, str(SMALL_TRAINING), *arguments],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return dict(map(json.loads, ended.stdout.splitlines()))


@pytest.mark.parametrize("way", CONTROLS)
def test_controls_train(way: str, small_trainings: dict[str, Any]) -> None:
    (loss_of_2, bytes_of_2), (loss_of_8, bytes_of_8) = small_trainings[way]
    assert loss_of_8 < loss_of_2
    assert (bytes_of_8 > bytes_of_2) is (way != "local_sgd_never")


def test_factors_in_fp16_take_half_the_bytes(small_trainings: dict[str, Any]) -> None:
    wide, narrow, dense = (
        small_trainings[way][1][1] for way in ("powersgd_4", "powersgd16_4", "dense")
    )
    assert wide == 2 * narrow < dense


def test_nesterov_in_sgd_at_half_the_rate() -> None:
    descent = torch.optim.SGD([torch.zeros(1)], lr=1, momentum=MOMENTUM)
    way, model, task = "powersgd16_8_nesterov_half_rate", Mock(), Mock(rate=0.1)
    assert rate_of(way, task) == 0.05 and rate_of("powersgd16_8", task) == 0.1
    assert optimizer_of(way, model, descent) is descent and descent.param_groups[0]["nesterov"]


def test_controls_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["compression.py", "--help"])
    with pytest.raises(SystemExit):
        compression.main()
    said = "".join(capsys.readouterr().out.split())
    assert all(f",{way}" in said and f"``{way}``" in str(compression.__doc__) for way in CONTROLS)


def run(way: str, pace: float, losses: list[float]) -> dict[str, Any]:
    seconds = [pace * (look + 1) for look in range(len(losses))]
    told = {"way": way, "losses": losses, "loss": losses[-1], "seconds": seconds}
    return {**told, "steps": 2 * len(losses), "bytes": 1}


def test_a_common_loss_favours_none_of_two_runs() -> None:
    def sooner(one: dict[str, Any], other: dict[str, Any]) -> tuple[list[float], list[float]]:
        job = {"ways": [one["way"]], "to_loss": True}
        own = compression._figure([one, other], other["way"], job)
        return own["steps_to_common_loss"], own["times_faster_to_common_loss"]

    lucky, late = run("fp16", 1.0, [4, 3, 2]), run("auto", 2.0, [4, 2.5, 3, 2])
    assert sooner(lucky, late) == ([4], [0.625])  # 2.5: after 2.5 seconds and after 4
    even = run("auto", 2.0, [4, 2.5, 3])
    assert sooner(lucky, even)[1] == [0.625] and sooner(even, lucky)[1] == [1.6]
    figure = compression._figure([lucky, even], "auto", {"ways": ["fp16"], "to_loss": True})
    assert figure["steps_to_loss"] == ["never"] and figure["times_faster_to_loss"] == [0.0]


def test_a_loss_that_is_the_same_for_all_seeds() -> None:
    lucky, fair = run("fp16", 1.0, [4, 3, 1]), run("fp16", 1.0, [4, 3, 2.5])
    autos = [run("auto", 1.0, [4, 2.5, 2]), run("auto", 2.0, [4, 3, 2.5])]
    figure = compression._figure([lucky, fair, *autos], "auto", {"ways": ["fp16"], "to_loss": True})
    assert figure["steps_to_highest_loss"] == [4, 6]  # 2.5, which the first reaches after 2.25
    assert figure["times_faster_to_highest_loss"] == [1.125, 0.5]
    assert figure["time_to_first"] == 1.5 and figure["error_of_time"] == 0.5


@pytest.mark.parametrize(
    ("loss", "seconds", "steps"), [(5, 0.5, 2), (4, 0.5, 2), (3.5, 0.75, 3), (3, 1, 4)]
)
def test_between_two_looks_a_loss_falls_in_a_line(loss: float, seconds: float, steps: int) -> None:
    assert compression._reached(run("fp16", 0.5, [4, 3, 2]), loss) == (seconds, steps)


def link(**sooner: float) -> dict[str, dict[str, Any]]:
    return {name: {"times_faster_to_common_loss": [times]} for name, times in sooner.items()}


def test_aims_on_a_link() -> None:
    ours = "nesterov_1%_2_bits"
    all_well = link(fp16=1, powersgd_4=4, local_sgd_64=6, **{ours: 18})
    assert [*beyond_aims_of_link(10, all_well)] == []
    behind = link(fp16=1, powersgd_4=4, local_sgd_64=6, **{ours: 4.5})
    assert [*beyond_aims_of_link(10, behind)] == [
        f"{ours} must be at least 5 times as fast as fp16, not 4.500",
        f"{ours} must be faster than local_sgd_64, 6.000, not 4.500",
    ]
    assert [*beyond_aims_of_link(100, behind)] == []
    assert [*beyond_aims_of_link(1000, link(**{"auto_1%": 0.96}))] == [
        "auto_1% must be at least 0.97 times as fast as fp16, not 0.960"
    ]
    assert [*beyond_aims_of_link(10, link(fp16=1))] == [*beyond_aims_of_link(50, behind)] == []


def test_aims_of_time() -> None:
    figures = {"fp16": {"time_to_first": 1.0}, "auto_1%": {"time_to_first": 1.031}}
    assert [*beyond_aims_of_time(1000, figures)] == [
        "steps of auto_1% must take at most 1.03 of fp16's time, not 1.031"
    ]
    figures["auto_1%"]["time_to_first"] = 1.03
    assert [*beyond_aims_of_time(1000, figures)] == [*beyond_aims_of_time(10, figures)] == []


def test_aims_of_losses() -> None:
    def way(loss: float, fewer: float) -> dict[str, float]:
        return {"loss_to_first": loss, "bytes_of_first": fewer}

    figures = {"a": way(1.004, 31), "b": way(1.021, 101), "c": way(1.0, 29)}
    assert [*beyond_aims_of_losses("net", figures)] == [
        "loss of net at 1/100 must be at most 1.02 of fp16's, not 1.0210"
    ]
    assert len([*beyond_aims_of_losses("net", {"c": way(1.0, 29)})]) == 2


def test_aims_of_the_learned_mask() -> None:
    def way(loss: float, error: float, time: float) -> dict[str, float]:
        return {"loss_to_first": loss, "standard_error": error, "learning_of_a_step": time}

    figures = {
        "threshold_3kB": way(1.0, 0, 0.0),
        "learned_3kB": way(1.015, 0.008, 0.019),
        "random_3kB": way(2.0, 0.1, 0.0),
    }
    assert [*learned_mask.beyond_aims(figures, "3kB")] == []
    figures["learned_3kB"] = way(1.015, 0.007, 0.025)
    figures["random_3kB"] = way(1.01, 0.1, 0.0)
    assert [*learned_mask.beyond_aims(figures, "3kB")] == [
        "learned must be as good as the threshold, not 1.0150 ± 0.0070 of its loss",
        "learned must be better than 1.0100, not 1.0150",
        "learned must take less than 2% of a step, not 2.5%",
    ]
    assert [*learned_mask.beyond_aims(figures, "21kB")] == []


def test_local_steps_are_judged_by_their_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(dist, "all_reduce", lambda tensor: tensor.add_(3))
    network = nn.Linear(2, 1)
    before = network.weight.clone()
    with in_their_mean(network):
        assert network.weight.equal((before + 3) / 2)
    assert network.weight.equal(before)


def test_tasks_that_no_link_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["compression.py", "--link", "10", "--tasks", "conv_0.3M"])
    with pytest.raises(SystemExit):
        compression.main()
    said = "tasks on a link must be of transformer_0.8M, not ['conv_0.3M']"
    assert said in capsys.readouterr().err


def test_the_same_steps_are_timed_on_a_link_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["compression.py", "--same-steps"])
    with pytest.raises(SystemExit):
        compression.main()
    assert "--same-steps must be with --link" in capsys.readouterr().err


def test_digits_follow_from_the_generator_and_are_never_met_twice() -> None:
    x, labels = augmented(200, torch.Generator().manual_seed(1))
    same, _ = augmented(200, torch.Generator().manual_seed(1))
    other, _ = augmented(200, torch.Generator().manual_seed(2))
    assert x.equal(same)
    assert not any(row in other for row in x)
    assert x.shape == (200, *digits().inputs.shape[1:])
    assert labels.unique().tolist() == [*range(digits().classes)]


def test_clear_digits_are_shifted_by_a_pixel_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_SECOND", "_NOISE"):
        monkeypatch.setattr(f"_augmented_digits.{name}", 0)
    darkest = digits().inputs.min()
    data = torch.nn.functional.pad(digits().inputs, [1] * 4, value=float(darkest))
    moved = torch.stack([data[:, :, y : y + 8, x : x + 8] for y in range(3) for x in range(3)])
    x, labels = augmented(60, torch.Generator().manual_seed(3))
    for image, label in zip(x, labels, strict=True):
        where = (moved == image).flatten(2).all(dim=2).nonzero()
        assert (digits().labels[where[:, 1]] == label).any()


def test_digits_held_out_are_of_images_that_none_trains_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert held_out()[0].equal(held_out()[0])
    for name in ("_SHIFT", "_SECOND", "_NOISE"):
        monkeypatch.setattr(f"_augmented_digits.{name}", 0)
    x, _ = held_out()
    known = {image.numpy().tobytes() for image in digits().inputs}
    assert not any(image.numpy().tobytes() in known for image in x)
