"""Training runs whose gradients go compressed, from the command line."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from training_runs import STEPS, Train, metrics

from adagrain.host.device.open_device import open_device
from adagrain.sim.simulators import runner

#: In mid-period of slots.
EVERY = 35

#: Two buckets of DDP, which others take the place of behind the first step.
OPTIONS = ("--net", "conv", "--batch", "8", "--timing", "fixed", "--density", "0.05")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def whole(train: Train, runs: Path) -> dict[str, Any]:
    arguments = ("--preset", "compress", "--checkpoint-every", str(EVERY), *OPTIONS)
    return train(runs, "whole", *arguments)


def test_summary(runs: Path, whole: dict[str, Any]) -> None:
    found, elements = whole["compression"], 298_570
    assert found["bytes_dense_bf16"] == 2 * STEPS * elements
    assert found["of_dense_bf16"] == whole["bytes_sent"] / found["bytes_dense_bf16"] < 0.12
    assert found["of_dense_bf16"] / 2 < found["frames_of_dense_bf16"] < found["of_dense_bf16"]
    assert found["density"] == pytest.approx(0.05, rel=0.2)
    assert 8 < found["bits_per_nonzero"] < 17
    assert list(found["regions"]) == list(whole["cadences"])
    densities = [sent["density"] for sent in found["regions"].values()]
    assert min(densities) < 0.05 < max(densities)
    assert (found["refused"], found["void"], found["bypass"]) == (0, 0, {})
    lines = [line for line in metrics(runs, "whole") if "loss" in line]
    assert lines[-1]["bytes_sent"] == whole["bytes_sent"]
    assert (runs / "whole" / "regions.png").stat().st_size > 20_000


def test_resumed_equals_uninterrupted(train: Train, runs: Path, whole: dict[str, Any]) -> None:
    shutil.copytree(runs / "whole", runs / "resumed")
    shutil.rmtree(runs / "resumed" / "checkpoints" / f"step-{STEPS:08d}")
    resumed = train(runs, "resumed", "--resume")
    assert metrics(runs, "resumed") == metrics(runs, "whole")
    for name in ("weights_sha256", "compression", "bytes_sent"):
        assert resumed[name] == whole[name], name


#: The golden path, and one device that does all.
WAYS = {
    "host": ("--coder", "golden", "--network", "golden"),
    "device": ("--coder", "device", "--network", "device"),
}


@pytest.mark.parametrize(("begun", "resumed"), [("host", "device"), ("device", "host")])
def test_a_run_goes_on_another_way(begun: str, resumed: str, train: Train, runs: Path) -> None:
    """What masks and codes may change, the weights do not; the device preset follows."""
    learned = ("--preset", "compress", "--mask", "learned", "--timing", "fixed")
    options = (*learned, "--steps", "9", "--checkpoint-every", "5", *WAYS[begun])
    whole = train(runs, begun, *options, narrow=True)
    shutil.rmtree(runs / begun / "checkpoints" / "step-00000009")
    (runs / begun / "summary.json").unlink()
    again = train(runs, begun, "--resume", *WAYS[resumed], narrow=True)
    presets = {"host": "full", "device": "whole"}
    assert whole["options"]["device_preset"] == presets[begun]
    assert again["options"]["device_preset"] == presets[resumed]
    for name in ("weights_sha256", "bytes_sent", "accuracy"):
        assert again[name] == whole[name], name


@pytest.mark.skipif(
    runner.missing("verilator") is not None, reason=str(runner.missing("verilator"))
)
@pytest.mark.parametrize(
    ("built", "more"),
    [
        ("full", ()),
        pytest.param("whole", ("--network", "device"), marks=pytest.mark.full),
    ],
)
def test_frames_of_a_simulated_device_are_the_golden_codecs(
    built: str, more: tuple[str, ...], train: Train, runs: Path
) -> None:
    """Compiled RTL masks, makes this run's frames and takes them apart: same bytes, same weights.

    And it decides on its masks, where it has all units.
    """
    options = ("--preset", "compress", "--steps", "6", "--timing", "fixed", "--mask", "learned")
    golden = train(runs, f"golden {built}", *options)
    open_device("sim:", built).close()  # compiled, which the run's time does not include
    coded = train(runs, f"coded {built}", *options, "--device", "sim:", "--coder", "device", *more)
    assert coded["compression"].pop("coder").startswith("RTL, compiled by Verilator")
    assert coded["compression"].pop("masking").startswith("RTL, compiled by Verilator")
    assert golden["compression"].pop("coder") == "golden codec"
    assert golden["compression"].pop("masking") == "host"
    decided = coded["compression"].pop("network").startswith("RTL, compiled by Verilator")
    assert decided == bool(more)
    assert golden["compression"].pop("network") == "golden network"
    for name in ("weights_sha256", "bytes_sent", "compression"):
        assert coded[name] == golden[name], name
    elements = 2 * coded["bytes_dense"] // 4
    assert coded["device_encoded"] >= elements, "by both workers, all of them"
    assert coded["device_decoded"] > 0
    assert (coded["device_tile_words"] > 0) == bool(more)
    assert coded["options"]["device_preset"] == built
    assert golden["device_encoded"] == golden["device_decoded"] == 0


def test_options_of_a_run_are_those_of_the_next(
    train: Train, runs: Path, whole: dict[str, Any]
) -> None:
    recorded = runs / "whole" / "options.json"
    assert json.loads(recorded.read_text())["density"] == 0.05
    again = train(runs, "again", "--config", str(recorded), "--device", "golden:", "--steps", "3")
    assert metrics(runs, "again")[:3] == metrics(runs, "whole")[:3]
    assert again["options"]["density"] == 0.05
