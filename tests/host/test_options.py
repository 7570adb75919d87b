"""What a run may be asked to do."""

import json
from pathlib import Path

import pytest

from adagrain.host.train.folder import MARK, prepare
from adagrain.host.train.options import TrainingOptions


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"name": ""}, "plain folder name, not ''"),
        ({"name": "a/b"}, "not 'a/b'"),
        ({"name": ".."}, r"not '\.\.'"),
        ({"preset": "fast"}, "one of sync, cadence, granular, all, not 'fast'"),
        ({"precision": "INT8"}, "precision must be left out with preset 'cadence', not 'INT8'"),
        ({"offload": "forward"}, "offload must be left out with preset 'cadence', not 'forward'"),
        ({"offload": "back"}, "offload must be one of none, forward, not 'back'"),
        ({"preset": "all", "precision": "INT2"}, "dynamic, FP32, FP16, INT8, INT4, not 'INT2'"),
        ({"preset": "granular", "bits": 40.0}, "bits must be from 4 to 32, or 0, not 40"),
        ({"preset": "granular", "offload_every": 0}, "offload_every must be at least 1, not 0"),
        ({"preset": "granular", "units": 0}, "units must be at least 1, not 0"),
        ({"preset": "granular", "penalty": -1.0}, "penalty must not be negative, not -1"),
        ({"preset": "granular", "gradients": "INT2"}, "gradients must be one of .* not 'INT2'"),
        ({"threshold_rate": -1.0}, "threshold_rate must not be negative, not -1"),
        ({"preset": "speculate"}, "'speculate' comes with a later version"),
        ({"workers": 0}, "workers must be at least 1, not 0"),
        ({"steps": 0}, "steps must be at least 1, not 0"),
        ({"batch": -3}, "batch must be at least 1, not -3"),
        ({"checkpoint_every": -1}, "checkpoint_every must not be negative, not -1"),
        ({"cadence_max": 3}, "cadence_max must be a power of two, not 3"),
        ({"epoch_steps": 6}, r"multiple of cadence_max \(4\), not 6"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"learning_rate": 0.5}, r"at most cap \(0.2\), not 0.5"),
        ({"noise": 256.0}, "noise must be from 0 to 255, not 256"),
    ],
)
def test_bad_values(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainingOptions(**{"name": "run", **changes})


def test_device_url_by_rank() -> None:
    assert (
        TrainingOptions(name="run", device="serial:/dev/tty{rank}").device_of(3)
        == "serial:/dev/tty3"
    )


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    options = TrainingOptions(name="run", runs=tmp_path)
    with pytest.raises(FileNotFoundError, match=f"no run at {tmp_path}/run to resume"):
        prepare(options, resume=True)
    prepare(options)
    assert json.loads((tmp_path / "run" / MARK).read_text())["name"] == "run"
    (tmp_path / "run" / "precious").touch()
    with pytest.raises(FileExistsError, match="choose another --name, or say --resume"):
        prepare(options)
    prepare(options, resume=True)
    assert (tmp_path / "run" / "precious").exists()
    prepare(options, overwrite=True)
    assert not (tmp_path / "run" / "precious").exists()


def test_foreign_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").touch()
    with pytest.raises(FileExistsError, match="not the folder of a run"):
        prepare(TrainingOptions(name="thesis", runs=tmp_path), overwrite=True)
    assert (tmp_path / "thesis" / "chapter").exists()
