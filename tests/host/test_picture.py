"""The log of a run, and the picture that is drawn from it."""

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from adagrain.host.train.history import History, RegionHistory
from adagrain.host.train.picture import _noise_to_signal, draw
from adagrain.models.region_manager.settings import default_parameters, speculation_thresholds

STATES = ("GLOBAL", "HYBRID", "FULL")

#: What is marked in pictures.
MARKS: dict[str, Any] = {"workers": 2, "noise": 3.0, "settings": default_parameters(2)}

PRECISIONS = ("INT4", "INT8", "FP16", "FP32")


def write_log(
    path: Path,
    *,
    regions: int,
    steps: int = 40,
    loss: float | None = 1.0,
    channel_groups: int | None = None,
    compressed: bool = False,
    speculative: bool = False,
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
            if compressed:
                for r, row in enumerate(rows):
                    row["sent"] = {"elements": 1000, "nonzeros": 10 * r, "bits": 150 * r}
                line["bytes_sent"] = 100 * (step + 1)  # also of a step in which nothing was due
            if speculative:
                for r, row in enumerate(rows):  # accepted, or rejected by one worker of two
                    row["guesses"] = {"accepts": 2 - r, "trials": 2 if step else 2 - r}
                times = {"waited": 0.003, "hidden": 0.001 * step, "stall": 0.005}
                line["flown"] = {"passes_redone": 0, **times}
            if channel_groups is not None:
                decided = [
                    {"name": f"layer[{number}]", "precision": PRECISIONS[number % 4]}
                    for number in range(channel_groups)
                ]
                line["precisions"] = {"bit_operations": 7 + step, "channel_groups": decided}
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
    draw(history, tmp_path / "picture.png", title="run", **MARKS)
    pixels = matplotlib.image.imread(tmp_path / "picture.png")
    height, width = pixels.shape[:2]
    assert width > 1000 and height > 1000
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 50, "it is not blank"


def test_a_name_is_no_formula(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    draw(History(), picture, title="a$^$b", **MARKS)
    assert picture.stat().st_size > 0


def test_a_run_of_one_step_is_drawn_without_a_warning(tmp_path: Path) -> None:
    history = History(steps=[0], loss=[2.0], evaluations=[0], accuracy=[0.1])
    row = {"local": 2.0, "average": 1.0, "alpha": 0.5, "cadence": 1, "state": "GLOBAL"}
    history.regions["one"].add(0, row)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(history, tmp_path / "picture.png", title="run", **MARKS)


def test_precisions_are_part_of_the_picture(tmp_path: Path) -> None:
    """Bit-operations of any granular run, and a band for each channel group where they choose."""
    pixels = {}
    for count in (None, 0, 4):
        write_log(tmp_path / "log", regions=3, channel_groups=count)
        history = History.read(tmp_path / "log")
        draw(history, tmp_path / "picture.png", title="run", **MARKS)
        image = matplotlib.image.imread(tmp_path / "picture.png")
        pixels[count] = (255 * image[..., :3]).round().astype(int).reshape(-1, 3)
    assert len(pixels[None]) < len(pixels[0]) < len(pixels[4])
    assert history.channel_groups["layer[2]"].precision == ["FP16"] * 40
    for colour in ((0xE9, 0xD5, 0xFF), (0xC0, 0x84, 0xFC), (0x7E, 0x22, 0xCE), (0x3B, 0x07, 0x64)):
        area = {count: (found == colour).all(axis=1).sum() for count, found in pixels.items()}
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


@pytest.mark.parametrize("spike", [1.0, 1e24, math.inf])
def test_noise_to_signal_is_that_of_the_last_updates(spike: float) -> None:
    """Other noise before them, or one update that is far too large, is forgotten."""
    noise = np.where(np.arange(60) < 30, 5.0, 8.0)
    local, average = 3 + noise, 3 + noise / 4
    local[10], average[10] = spike * local[10], spike * average[10]
    found = _noise_to_signal(RegionHistory(local=[*local], average=[*average]), 4)
    assert found[26:30] == pytest.approx(5 / 3) and found[45:] == pytest.approx(8 / 3)
    assert 5 / 3 < found[37] < 8 / 3


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


def test_what_was_sent_is_part_of_the_picture(drawn: Callable[..., Figure]) -> None:
    figure = drawn(regions=2, compressed=True)
    _, density, total = of(figure, "density of what is sent").lines
    assert np.nanmax(np.abs(density.get_ydata() - 0.01)) == 0
    assert list(total.get_xdata()) == list(range(40))
    np.testing.assert_allclose(total.get_ydata(), 100 / (2 * 2000))
    none, bits = of(figure, "bits of a non-zero").lines
    assert np.isnan(none.get_ydata()).all(), "nothing was sent"
    assert np.nanmax(np.abs(bits.get_ydata() - 15)) == 0
    assert not [axes for axes in drawn(regions=2).axes if "density" in axes.get_title(loc="left")]


def test_guesses_are_part_of_the_picture(drawn: Callable[..., Figure]) -> None:
    figure = drawn(regions=1, speculative=True)
    marks = of(figure, "state: how the region runs while").collections[1:]
    rejected, accepted = ([path.vertices[0][0] for path in own.get_paths()] for own in marks)
    assert (rejected, accepted) == ([], [step + 0.5 for step in range(40)])
    *_, rejected, accepted = (
        [(path.vertices[0][0], path.vertices[:, 1].mean()) for path in own.get_paths()]
        for own in of(drawn(regions=2, speculative=True), "state").collections
    )
    assert rejected == [(step + 0.5, pytest.approx(1.27)) for step in range(1, 40, 2)]
    assert accepted == [(step + 0.5, pytest.approx(1.73)) for step in range(1, 40, 2)]
    hidden, waited = of(figure, "ms of each update").collections
    tops = [max(path.vertices[:, 1].max() for path in own.get_paths()) for own in (hidden, waited)]
    assert tops == pytest.approx([39, 42])
    assert len(of(drawn(regions=2), "state: how the region would run").collections) == 1


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Figure]:
    """Draws what :func:`write_log` is asked for, and gives the figure in place of its pixels."""
    figures: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))

    def draw_log(*, marks: dict[str, Any] = MARKS, **log: int) -> Figure:
        write_log(tmp_path / "log", **log)
        history = History.read(tmp_path / "log")
        draw(history, tmp_path / "picture.png", title="a run", **marks)
        return figures.pop()

    return draw_log


def of(figure: Figure, title: str) -> Axes:
    """The axes whose title begins so."""
    (found,) = [axes for axes in figure.axes if axes.get_title(loc="left").startswith(title)]
    return found


def levels(axes: Axes) -> dict[str, float]:
    """The levels that are marked, by their names."""
    return {text.get_text(): text.xy[1] for text in axes.texts}


def test_steps_are_told_below_the_last_strip(drawn: Callable[..., Figure]) -> None:
    for figure, last in (
        (drawn(regions=2), "state"),
        (drawn(regions=2, speculative=True), "ms of each"),
        (drawn(regions=2, compressed=True), "bits of a non-zero"),
        (drawn(regions=2, compressed=True, channel_groups=0), "bit-operations"),
        (drawn(regions=2, channel_groups=0), "bit-operations"),
        (drawn(regions=2, channel_groups=2), "precision"),
    ):
        told = [axes.get_title(loc="left") for axes in figure.axes if axes.get_xlabel() == "step"]
        assert len(told) == 1 and told[0].startswith(last)
        assert {axes.get_xlim() for axes in figure.axes if axes.get_title(loc="left")} == {(0, 39)}
        assert figure.get_suptitle() == "a run"


def test_levels_are_marked(drawn: Callable[..., Figure]) -> None:
    marks = {"workers": 5, "noise": 3.0, "settings": default_parameters(5)}
    figure = drawn(regions=2, marks=marks)
    agreement = levels(of(figure, "agreement α"))
    assert list(agreement) == ["noise alone", "T0", "T1", "T2"]
    assert agreement["noise alone"] == 0.2 < agreement["T0"] < agreement["T1"] < agreement["T2"] < 1
    assert of(figure, "agreement α").get_ylim() == (0, 1)
    assert levels(of(figure, "noise-to-signal")) == {"threshold": 3.0}
    lines = [line.get_ydata()[0] for line in of(figure, "noise-to-signal").lines]
    assert lines[-1] == 3.0


def test_levels_are_those_that_have_decided(drawn: Callable[..., Figure]) -> None:
    """Where there is none, as that of 0 with a tolerance of 1, none is marked."""
    settings = speculation_thresholds(0.5, 0.9)
    figure = drawn(regions=2, marks=MARKS | {"settings": settings})
    found = levels(of(figure, "agreement α"))
    wanted = {name.upper(): value / 65536 for name, value in settings.items() if value}
    assert {name: found[name] for name in wanted} == wanted and len(found) == 1 + len(wanted)
    assert list(levels(of(drawn(regions=2, marks=MARKS | {"settings": {}}), "agreement α"))) == [
        "noise alone"
    ]


def test_scales_are_of_what_is_drawn(drawn: Callable[..., Figure]) -> None:
    figure = drawn(regions=2)
    for title in ("training loss", "gradient energy", "noise-to-signal"):
        assert of(figure, title).get_yscale() == "log"
    for title in ("test accuracy", "agreement α"):
        assert of(figure, title).get_yscale() == "linear"
    assert list(of(figure, "test accuracy").lines[0].get_ydata()) == [19 / 40, 39 / 40]
    assert [text.get_text() for text in of(figure, "test accuracy").texts] == ["97.50%"]


@pytest.mark.parametrize("regions, named", [(1, True), (12, True), (13, False)])
def test_regions_are_named_while_there_are_few(
    drawn: Callable[..., Figure], regions: int, named: bool
) -> None:
    figure = drawn(regions=regions)
    names = {f"layer{region}" for region in range(regions)}
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert set(legends) == (names if named else set())
    assert [text.get_text() for text in of(figure, "state").get_yticklabels()] == legends
    dark_to_light = "" if named else "13 regions, from the first (dark) to the last (light)"
    assert figure.get_supxlabel() == dark_to_light


def test_small_energies_are_drawn_and_none_is_not(
    tmp_path: Path, drawn: Callable[..., Figure], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scale with decades has no place for 0, but for all above."""
    read = History.read

    def small(path: Path) -> History:
        history = read(path)
        history.regions["layer0"].average[:2] = [0.0, 1e-9]
        history.regions["layer0"].local[:2] = [0.5, 0.0]
        return history

    monkeypatch.setattr(History, "read", small)
    faint, strong = of(drawn(regions=1), "gradient energy").lines
    np.testing.assert_array_equal(strong.get_ydata()[:3], [math.nan, 1e-9, 1.0])
    np.testing.assert_array_equal(faint.get_ydata()[:3], [0.5, math.nan, 2.0])


def test_strips_of_long_runs_have_no_more_columns_than_are_seen(
    drawn: Callable[..., Figure],
) -> None:
    (cells,) = of(drawn(regions=3, steps=9000), "cadence").collections
    shown = np.asarray(cells.get_array()).reshape(3, 4096)
    assert shown[:, 0].tolist() == [0, 0, 0] and (shown[:, 2:] == [[0], [1], [2]]).all()


def test_strips_hold_a_decision_until_the_next(drawn: Callable[..., Figure]) -> None:
    """Cadence 4 is first decided at step 3, and nothing is known before."""
    (cells,) = of(drawn(regions=3), "cadence").collections
    shown = np.asarray(cells.get_array()).reshape(3, 40)
    assert shown[0].tolist() == [0] * 40
    assert shown[1].tolist() == [0] + [1] * 39
    assert shown[2].tolist() == [0] * 3 + [2] * 37
