"""The log of a run, and the picture that is drawn from it."""

import json
import math
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from adagrain.host.train.history import History
from adagrain.host.train.picture import _noise_to_signal, draw

STATES = ("GLOBAL", "HYBRID", "FULL")


PRECISIONS = ("INT4", "INT8", "FP16", "FP32")


def write_log(
    path: Path,
    *,
    regions: int,
    steps: int = 40,
    loss: float | None = 1.0,
    units: int | None = None,
) -> None:
    with path.open("w") as file:
        for step in range(steps):
            rows = [
                {
                    "name": f"layer{r}",
                    "local": 2.0 * (r + 1),
                    "average": 1.0 * (r + 1),
                    "alpha": 0.5,
                    "cadence": 1 << (r % 3),
                    "state": STATES[r % 3],
                }
                for r in range(regions)
                if (step + 1) % (1 << (r % 3)) == 0
            ]
            line = {"step": step, "loss": loss, "dropped": [], "regions": rows}
            if units is not None:
                decided = [
                    {"name": f"unit{unit}", "precision": PRECISIONS[unit % 4]}
                    for unit in range(units)
                ]
                line["precisions"] = {"bit_operations": 7 + step, "units": decided}
            file.write(json.dumps(line) + "\n")
            if step % 20 == 19:
                file.write(json.dumps({"step": step, "accuracy": step / 40}) + "\n")


def test_history_is_what_was_logged(tmp_path: Path) -> None:
    write_log(tmp_path / "log", regions=3)
    history = History.read(tmp_path / "log")
    assert history.steps == list(range(40))
    assert history.accuracy == [19 / 40, 39 / 40]
    assert history.evaluations == [19, 39]
    assert list(history.regions) == ["layer0", "layer1", "layer2"]
    assert history.regions["layer2"].step == [3, 7, 11, 15, 19, 23, 27, 31, 35, 39]
    assert set(history.regions["layer1"].cadence) == {2}
    assert set(history.regions["layer2"].state) == {"FULL"}


@pytest.mark.parametrize(
    "regions, loss", [(1, 1.0), (3, None), (40, 1.0)], ids=["one", "no finite loss", "many"]
)
def test_picture_is_drawn(tmp_path: Path, regions: int, loss: float | None) -> None:
    write_log(tmp_path / "log", regions=regions, loss=loss)
    history = History.read(tmp_path / "log")
    draw(history, tmp_path / "picture.png", title="run", workers=2, noise=1.0)
    pixels = matplotlib.image.imread(tmp_path / "picture.png")
    height, width = pixels.shape[:2]
    assert width > 1000 and height > 1000
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 50, "it is not blank"


def test_precisions_are_part_of_the_picture(tmp_path: Path) -> None:
    """Bit-operations of any granular run, and a band for each unit where they choose."""
    pixels = {}
    for units in (None, 0, 4):
        write_log(tmp_path / "log", regions=3, units=units)
        history = History.read(tmp_path / "log")
        draw(history, tmp_path / "picture.png", title="run", workers=2, noise=1.0)
        image = matplotlib.image.imread(tmp_path / "picture.png")
        pixels[units] = (255 * image[..., :3]).round().astype(int).reshape(-1, 3)
    assert len(pixels[None]) < len(pixels[0]) < len(pixels[4])
    assert history.units["unit2"].precision == ["FP16"] * 40
    for colour in ((0xE9, 0xD5, 0xFF), (0xC0, 0x84, 0xFC), (0x7E, 0x22, 0xCE), (0x3B, 0x07, 0x64)):
        area = {units: (found == colour).all(axis=1).sum() for units, found in pixels.items()}
        assert area[4] > 5000 > area[0]


def test_noise_to_signal_of_known_noise(tmp_path: Path) -> None:
    """With signal energy s and noise energy v per worker, the ratio is v / s."""
    workers, s, v = 4, 3.0, 5.0
    row = {"name": "r", "alpha": 0.0, "cadence": 1, "state": "GLOBAL"}
    line = {
        "step": 0,
        "loss": 1.0,
        "dropped": [],
        "regions": [row | {"local": s + v, "average": s + v / workers}],
    }
    (tmp_path / "log").write_text(json.dumps(line))
    region = History.read(tmp_path / "log").regions["r"]
    assert _noise_to_signal(region, workers)[0] == pytest.approx(v / s)


def test_no_ratio_without_signal(tmp_path: Path) -> None:
    row = {"name": "r", "alpha": 0.0, "cadence": 1, "state": "GLOBAL"}
    line = {
        "step": 0,
        "loss": 1.0,
        "dropped": [],
        "regions": [row | {"local": 4.0, "average": 1.0}],
    }
    (tmp_path / "log").write_text(json.dumps(line))
    region = History.read(tmp_path / "log").regions["r"]
    assert math.isnan(_noise_to_signal(region, 4)[0])
