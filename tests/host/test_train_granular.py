"""Training runs whose layers choose their precision."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from training_runs import STEPS, Train, metrics, repeatable

from adagrain.host.device.open_device import open_device
from adagrain.host.granular import Policy

#: In mid-period of looks, dwells and cadences.
EVERY = 35
OPTIONS = ("--timing", "fixed", "--channel-groups", "2", "--penalty", "3")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def whole(train: Train, runs: Path) -> dict[str, Any]:
    arguments = ("--preset", "all", "--density", "0.2", "--checkpoint-every", str(EVERY), *OPTIONS)
    return train(runs, "whole", *arguments)


def test_summary(whole: dict[str, Any]) -> None:
    found = whole["precisions"]
    assert set(found["channel_groups"]) == {
        f"{layer}[{number}]" for layer in ("hidden1", "hidden2", "output") for number in (0, 1)
    }
    assert found["bit_operations"] > 0
    assert 0 < found["of_fp32"] < found["of_fp16"] < 1
    assert found["switches"] > 0
    assert found["products"] == 0
    sample = 2 * 64 * 128 + 3 * 128 * 64 + 3 * 64 * 10  # the first layer's input needs no gradient
    assert sum(found["work"].values()) == 2 * 32 * STEPS * sample
    assert max(whole["cadences"].values()) > 1
    assert whole["accuracy"] > 0.5


def test_log_and_picture(runs: Path, whole: dict[str, Any]) -> None:
    steps = [line for line in metrics(runs, "whole") if "loss" in line]
    looks = [line for line in steps if line["precisions"]["channel_groups"]]
    assert [look["step"] for look in looks] == list(range(0, STEPS, Policy().every))
    first, *_, last = (look["precisions"]["channel_groups"][0] for look in looks)
    assert last["name"] == "hidden1[0]"
    assert 0 < last["normalised_variance"] < 1
    assert last["thresholds"] == sorted(last["thresholds"])
    assert last["thresholds"] != first["thresholds"], "they learn"
    events = EventAccumulator(str(runs / "whole" / "events"))
    events.Reload()
    assert "bits/hidden1[0]" in events.Tags()["scalars"]
    assert (runs / "whole" / "regions.png").stat().st_size > 20_000


def test_resumed_equals_uninterrupted(train: Train, runs: Path, whole: dict[str, Any]) -> None:
    shutil.copytree(runs / "whole", runs / "resumed")
    shutil.rmtree(runs / "resumed" / "checkpoints" / f"step-{STEPS:08d}")
    resumed = train(runs, "resumed", "--resume")
    assert repeatable(runs, "resumed") == repeatable(runs, "whole")
    assert resumed["weights_sha256"] == whole["weights_sha256"]
    assert resumed["precisions"] == whole["precisions"]
    assert resumed["compression"] == whole["compression"]


@pytest.mark.full  # compiles the largest build
def test_the_rtl_computes_the_same_forward_passes(train: Train, runs: Path) -> None:
    options = ("--preset", "granular", "--steps", "12", *OPTIONS)
    golden = train(runs, "golden", *options)
    open_device("sim:", "granular").close()  # compiled, which the run's time does not include
    simulated = train(
        runs, "simulated", *options, *("--device", "sim:", "--offload", "forward"),
        *("--offload-every", "8"),
    )  # fmt: skip
    assert "Verilator" in simulated["backend"]
    forward = simulated["precisions"]["forward"]
    assert "Verilator" in forward and forward.endswith("in 1 step of 8, golden model in between")
    assert golden["precisions"]["forward"] == "golden model"
    assert simulated["weights_sha256"] == golden["weights_sha256"]
    assert metrics(runs, "simulated") == metrics(runs, "golden")
    assert simulated["precisions"]["products"] >= 2 * 2 * 3
    assert simulated["precisions"]["cycles"] > 0


def test_fixed_precision_and_budget(train: Train, runs: Path) -> None:
    options = ("--preset", "granular", "--steps", "12", "--timing", "fixed")
    fixed = train(runs, "fixed", *options, "--precision", "INT4")
    assert fixed["precisions"]["work"]["INT4"] > 0
    assert fixed["precisions"]["work"]["INT8"] == pytest.approx(
        fixed["precisions"]["work"]["INT4"] * (2 - 64 * 128 / (64 * 128 + 128 * 64 + 640))
    )
    assert fixed["precisions"]["switches"] == 0
    short = train(runs, "short", *options, "--bits", "4", "--gradients", "INT4")
    found = short["precisions"]
    assert set(found["channel_groups"].values()) == {"INT4"}
    assert found["overrides"] > 0
    assert found["work"]["INT4"] > 0.9 * sum(found["work"].values())
