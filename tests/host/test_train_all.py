"""Training runs in which all granularities are decided at once, and those that decide nothing."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from training_runs import STEPS, Run, Train, metrics, repeatable

from adagrain.host.device.open_device import open_device
from adagrain.sim.simulators import runner

#: Several channel groups a layer, and a density that few steps want.
FEW = ("--timing", "fixed", "--channel-groups", "2", "--penalty", "3", "--density", "0.2")

ALL = ("--preset", "all", *FEW)

#: Thresholds stay where they are: they would learn a step later where updates are in flight.
STEADY = ("--threshold-lr", "0")

#: Guesses wherever an update is late, and none of them is good enough.
REJECTS = ("--speculation-policy", "always", "--tau", "1e-9")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def late(train: Train, runs: Path) -> dict[str, Any]:
    """A run whose guesses are all rejected."""
    every = ("--checkpoint-every", "19")
    return train(runs, "late", *ALL, *STEADY, *REJECTS, *every, late=True)


def without_guesses(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A log but for speculation: losses, cadences, precisions, what was sent."""
    names = ("step", "loss", "accuracy", "dropped", "precisions", "bytes_sent")
    rows = ("name", "local", "average", "alpha", "cadence", "sent")
    return [
        {name: line.get(name) for name in names}
        | {"regions": [{n: row[n] for n in rows} for row in line.get("regions", ())]}
        for line in lines
    ]


def test_rejected_guesses_leave_no_trace(train: Train, runs: Path, late: dict[str, Any]) -> None:
    """Weights to the last bit, cadences, precisions and their work, bytes, losses."""
    every = ("--checkpoint-every", "19")
    whole = train(runs, "whole", *ALL, *STEADY, "--depth", "0", *every)
    for name in ("weights_sha256", "accuracy", "bytes_sent", "bytes_dense", "cadences"):
        assert late[name] == whole[name], name
    for name in ("precisions", "compression"):
        assert late[name] == whole[name], name
    assert without_guesses(metrics(runs, "late")) == without_guesses(metrics(runs, "whole"))
    assert max(late["cadences"].values()) > 1


def test_summary(runs: Path, late: dict[str, Any]) -> None:
    found = late["speculation"]
    assert found["passes_redone"] > STEPS / 4
    assert found["rejects"] == found["guesses"] > found["accepts"] == 0
    assert late["bytes_sent"] < late["bytes_dense"] / 2
    assert (runs / "late" / "regions.png").stat().st_size > 20_000


def test_resumed_equals_uninterrupted(train: Train, runs: Path, late: dict[str, Any]) -> None:
    shutil.copytree(runs / "late", runs / "resumed")
    shutil.rmtree(runs / "resumed" / "checkpoints" / f"step-{STEPS:08d}")
    resumed = train(runs, "resumed", "--resume")
    for name in ("weights_sha256", "precisions", "compression", "bytes_sent", "steps"):
        assert resumed[name] == late[name], name
    assert [line["step"] for line in metrics(runs, "resumed") if "loss" in line] == [*range(STEPS)]


def test_thresholds_learn_while_guesses_are_made(train: Train, runs: Path) -> None:
    found = train(runs, "guessing", *ALL, "--speculation-policy", "always", late=True)
    assert found["speculation"]["accepts"] > 0
    looks = [line["precisions"]["channel_groups"] for line in metrics(runs, "guessing")[:17:8]]
    assert looks[0][0]["thresholds"] != looks[-1][0]["thresholds"]
    assert found["accuracy"] > 0.5


def test_several_updates_in_flight(train: Train, runs: Path) -> None:
    every = ("--checkpoint-every", "19")
    deep = (*ALL, "--speculation-policy", "always", "--depth", "2", *every)
    found = train(runs, "deep", *deep, late=True)
    assert found["speculation"]["accepts"] > 0
    assert found["bytes_sent"] < found["bytes_dense"] / 2
    assert max(found["cadences"].values()) > 1 and found["accuracy"] > 0.5
    _goes_on(train, runs, "deep")


def _goes_on(train: Train, runs: Path, name: str) -> None:
    """From its last checkpoint and from the one before; each step is logged once, and whole."""
    shutil.copytree(runs / name, runs / "earlier")
    shutil.rmtree(runs / "earlier" / "checkpoints" / f"step-{STEPS:08d}")
    for own, more in ((name, ("--steps", str(STEPS + 4))), ("earlier", ())):
        found = train(runs, own, "--resume", *more, late=True)
        lines = [line for line in metrics(runs, own) if "loss" in line]
        assert [line["step"] for line in lines] == [*range(found["steps"])]
        assert all("precisions" in line for line in lines)
        accuracies = [line for line in metrics(runs, own) if "accuracy" in line]
        assert accuracies[-1]["step"] == found["steps"] - 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--mask", "learned"), "mask must not learn from activations"),
        (("--by", "rows:2"), "regions must have whole parameters for speculation"),
        (("--device-preset", "full"), "'full' has no slices"),
    ],
)
def test_mistakes(options: tuple[str, ...], said: str, run: Run, tmp_path: Path) -> None:
    ended = run(tmp_path, "wrong", "--preset", "all", *options)
    assert ended.returncode == 2 and said in ended.stderr, ended.stderr
    assert not (tmp_path / "wrong").exists()


@pytest.mark.skipif(
    runner.missing("verilator") is not None, reason=str(runner.missing("verilator"))
)
@pytest.mark.parametrize(
    ("preset", "built", "more"),
    [
        ("sync", "full", ()),
        pytest.param("all", "whole", ("--coder", "device"), marks=pytest.mark.full),
    ],
)
def test_compiled_rtl_takes_part(
    preset: str, built: str, more: tuple[str, ...], train: Train, runs: Path
) -> None:
    """It decides, measures, compares, codes as the golden models do; ``all`` has a large build."""
    few = ("--preset", preset, "--steps", "10", "--timing", "fixed")
    golden = train(runs, f"golden {preset}", *few)
    open_device("sim:", built).close()  # compiled, which the run's time does not include
    coded = train(runs, f"coded {preset}", *few, "--device", "sim:", *more)
    assert coded["options"]["device_preset"] == built
    assert coded["backend"].startswith("RTL, compiled by Verilator")
    assert (coded["device_encoded"] > 0) == (coded["device_decoded"] > 0) == bool(more)
    assert coded["weights_sha256"] == golden["weights_sha256"]
    assert repeatable(runs, f"coded {preset}") == repeatable(runs, f"golden {preset}")
