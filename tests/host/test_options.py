"""Options of a run, and those that are refused."""

import json
import math
from dataclasses import fields, replace
from pathlib import Path

import pytest
from command_line import call

from adagrain.host.compression.options import CompressionOptions
from adagrain.host.speculation.options import SpeculationOptions
from adagrain.host.train.config_file import read_config
from adagrain.host.train.option import described
from adagrain.host.train.options import TrainingOptions
from adagrain.models.interface.precision import Precision

WARMED = {"preset": "compress", "warmup_passes": 1}
DENSE = {"preset": "compress", "density": 1.0}
FIXED = {"preset": "all", "precision": "INT8"}


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"name": ""}, "plain folder name, not ''"),
        ({"name": "a/b"}, "not 'a/b'"),
        ({"name": ".."}, r"not '\.\.'"),
        (
            {"preset": "fast"},
            "one of sync, cadence, granular, compress, speculate, all, not 'fast'",
        ),
        (
            {"precision": "INT8"},
            "precision must be left out with training preset 'cadence', not 'INT8'",
        ),
        (
            {"offload": "forward"},
            "offload must be left out with training preset 'cadence', not 'forward'",
        ),
        (
            {"density": 0.1},
            "density must be left out with training preset 'cadence', not 0.1: it belongs to "
            "compress and all",
        ),
        (
            {"preset": "granular", "momentum_correction": True},
            "momentum_correction must be left out with training preset 'granular', not True",
        ),
        ({"preset": "compress", "precision": "INT8"}, "precision must be left out .*, not 'INT8'"),
        ({"preset": "compress", "density": 12}, "density must be .* above 0 and at most 1, not 12"),
        ({"preset": "all", "mantissa_bits": 8}, "mantissa_bits must be .* from 0 to 7, not 8"),
        ({"preset": "compress", "mask": "best"}, "mask must be one of threshold, .* not 'best'"),
        ({"preset": "compress", "warmup_passes": -1}, "warmup_passes must be .* least 0, not -1"),
        ({**WARMED, "warmup_density": 0.0}, "warmup_density must be .*, not 0.0"),
        ({"preset": "compress", "bypass": "at times"}, "bypass must be one of auto, .* 'at times'"),
        ({"preset": "compress", "budget": -5}, "budget must be a positive .* bytes, not -5"),
        (
            {"preset": "compress", "budget": 900, "warmup_passes": 9},
            "warmup_passes must be 0 where there is a budget, not 9",
        ),
        (
            {"preset": "compress", "momentum_correction": True, "momentum": 1.0},
            "momentum must be a number from 0 to below 1, not 1.0",
        ),
        (
            {"preset": "compress", "nesterov": True},
            "nesterov must be False without momentum correction, not True",
        ),
        (
            {"preset": "compress", "error_feedback": 1},
            "error_feedback must be true or false, not 1",
        ),
        ({"net": "rnn"}, "net must be one of auto, mlp, conv, transformer, not 'rnn'"),
        ({"offload": "back"}, "offload must be one of none, forward, not 'back'"),
        ({"preset": "all", "precision": "INT2"}, "dynamic, FP32, FP16, INT8, INT4, not 'INT2'"),
        ({"preset": "granular", "bits": 40.0}, "bits must be from 4 to 32, or 0, not 40"),
        (
            {"preset": "granular", "precision": "FP32", "bits": 8.0},
            "bits must be at least 32 with precision FP32, not 8",
        ),
        ({"preset": "granular", "offload_every": 0}, "offload_every must be at least 1, not 0"),
        ({"preset": "granular", "channel_groups": 0}, "channel_groups must be at least 1, not 0"),
        (
            {"preset": "granular", "penalty": -1.0},
            "penalty must be finite and not negative, not -1",
        ),
        ({"preset": "granular", "gradients": "INT2"}, "gradients must be one of .* not 'INT2'"),
        ({"threshold_rate": -1.0}, "threshold_rate must not be negative, not -1"),
        ({"preset": "speculate", "tau": -0.5}, "tau must be a number from 0 on, not -0.5"),
        ({"preset": "speculate", "tau": math.nan}, "tau must be a finite number, not nan"),
        ({"preset": "speculate", "form": "median"}, "form must be one of rmse, .* not 'median'"),
        ({"preset": "speculate", "depth": 99}, "depth must be .*, not 99"),
        ({"preset": "speculate", "bucket_bytes": -1}, "bucket_bytes must not be negative, not -1"),
        ({"preset": "speculate", "clip": -1.0}, "clip must not be negative, not -1"),
        (
            {"preset": "speculate", "speculation_policy": "often"},
            "must be one of never, seed_literal, cost_aware, always, not 'often'",
        ),
        (
            {"preset": "speculate", "density": 0.1},
            "density must be left out with training preset 'speculate', not 0.1: it belongs to "
            "compress and all",
        ),
        (
            {"preset": "speculate", "precision": "INT8"},
            "precision must be left out with training preset 'speculate', not 'INT8'",
        ),
        (
            {"preset": "speculate", "cadence_max": 8},
            "cadence_max must be left out with training preset 'speculate', not 8: it belongs to "
            "cadence and all",
        ),
        (
            {"preset": "cadence", "tau": 0.1},
            "tau must be left out with training preset 'cadence', not 0.1: it belongs to "
            "speculate and all",
        ),
        *(
            (
                {"preset": "speculate", name: value},
                f"{name} must be left out with training preset 'speculate', not {value!r}: it "
                f"belongs to {what} and all",
            )
            for what, changed in {
                "granular": {
                    "channel_groups": 4,
                    "gradients": "INT4",
                    "penalty": 3.0,
                    "threshold_rate": 2.0,
                    "bits": 8.0,
                    "offload": "forward",
                    "offload_every": 3,
                },
                "cadence": {"noise": 3.0},
            }.items()
            for name, value in changed.items()
        ),
        ({**FIXED, "penalty": 2.0}, "penalty must be left out where precision is fixed, not 2.0"),
        ({**FIXED, "threshold_rate": 9.0}, "threshold_rate must be left out .* fixed, not 9.0"),
        ({"preset": "all", "offload_every": 3}, "left out where nothing is offloaded, not 3"),
        ({**DENSE, "budget": 9000}, "density must not be given beside a budget, .*, but is 1.0"),
        ({"preset": "all", "warmup_density": 0.5}, "must not be given without warmup_passes"),
        ({"workers": 0}, "workers must be at least 1, not 0"),
        ({"steps": 0}, "steps must be at least 1, not 0"),
        ({"batch": -3}, "batch must be at least 1, not -3"),
        ({"checkpoint_every": -1}, "checkpoint_every must not be negative, not -1"),
        ({"cadence_max": 3}, "cadence_max must be a power of two, not 3"),
        ({"epoch_steps": 6}, r"multiple of cadence_max \(4\), not 6"),
        ({"preset": "all", "epoch_steps": 6}, r"multiple of cadence_max \(4\), not 6"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0, not 0.0"),
        ({"preset": "sync", "learning_rate": 0.0}, "learning_rate must be above 0, not 0.0"),
        ({"preset": "sync", "cap": 0.3}, "cap must be left out with training preset 'sync', not"),
        (
            {"preset": "all", "momentum_correction": True, "momentum": 0.0},
            "momentum_correction must be left out where there is no momentum, not True",
        ),
        ({"learning_rate": 0.5}, r"at most cap \(0.2\), not 0.5"),
        ({"noise": 256.0}, "noise must be from 0 to 255, not 256"),
        ({"seed": -1}, "seed must be from 0 to 92"),
        ({"momentum": 1.5}, "momentum must be from 0 to 1, not 1.5"),
        ({"weight_decay": -0.1}, "weight_decay must not be negative, not -0.1"),
        ({"seed": 1 << 60}, "seed must be from 0 to 9223344366820, not 1152921504606846976"),
        ({"learning_rate": math.inf}, "learning_rate must be a finite number, not inf"),
        ({"cap": math.inf}, "cap must be a finite number, not inf"),
        ({"preset": "granular", "penalty": math.nan}, "penalty must be a finite number, not nan"),
        ({"steps": 2.5}, "steps must be a whole number, not 2.5"),
        ({"batch": True}, "batch must be a whole number, not True"),
        ({"learning_rate": "fast"}, "learning_rate must be a number, not 'fast'"),
        ({"device": None}, "device must be a text, not None"),
        ({"runs": "runs"}, "runs must be a path, not 'runs'"),
    ],
)
def test_bad_values(changes: dict[str, object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        TrainingOptions(**{"name": "run", **changes})


def test_device_url_by_rank() -> None:
    assert (
        TrainingOptions(name="run", device="serial:/dev/tty{rank}").device_of(3)
        == "serial:/dev/tty3"
    )


def test_what_was_recorded_is_restored() -> None:
    options = TrainingOptions(name="run", preset="all", runs=Path("/a/b"), command=("x", "--y"))
    assert TrainingOptions.restored(json.loads(json.dumps(options.recorded()))) == options
    with pytest.raises(ValueError, match="must be of this version, but hold colour, wings"):
        TrainingOptions.restored({**options.recorded(), "wings": 2, "colour": "red"})


def test_every_option_says_what_it_is() -> None:
    options = described(TrainingOptions)
    assert {field.name for field in fields(TrainingOptions)} - set(options) == {"command", "replay"}
    for name, (_, known) in options.items():
        assert known.about.endswith("."), name
        assert all(value in known.about for value in known.among), name
    assert "learning rate" in options["cap"][1].about
    assert ", 0 to 8;" in options["depth"][1].about
    assert "fixed:STALL,REDO (both in µs)" in options["timing"][1].about


def test_options_from_a_file(tmp_path: Path) -> None:
    """In TOML, and as a run records its own: the same options again."""
    file = tmp_path / "own.toml"
    file.write_text('preset = "all"\nlearning_rate = 0.05\nsteps = 9\nruns = "elsewhere"\n')
    given = read_config(file)
    wanted = {"preset": "all", "learning_rate": 0.05, "steps": 9, "runs": Path("elsewhere")}
    assert given == wanted
    options = TrainingOptions(name="run", command=("a", "b"), **given)
    recorded = tmp_path / "options.json"
    recorded.write_text(json.dumps(options.recorded()))
    assert TrainingOptions(command=("a", "b"), **read_config(recorded)) == options
    of_another_preset = {**read_config(recorded), "preset": "sync"}
    assert options.built_with == "granular"
    assert TrainingOptions(**of_another_preset).built_with == "full"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "steps =", r"a\.toml must be TOML: Invalid value"),
        ("a.json", "{", r"a\.json must be JSON: Expecting property name"),
        ("a.json", "[3]", r"a\.json must hold options by name, not \[3\]"),
        ("a.toml", "stepz = 3", r"a\.toml must hold .*, not 'stepz'; did you mean 'steps'\?"),
        ("a.toml", "lr = 0.05", r"a\.toml must .*, not 'lr'; did you mean 'learning_rate'\?"),
        ("a.toml", "name = 5", r"name must be a text in .*a\.toml, not 5"),
        ("a.json", '{"runs": 5}', r"runs must be a text in .*a\.json, not 5"),
        ("a.toml", "zzz = 3", r"must hold options of a run, not 'zzz'; there is preset, device, "),
    ],
)
def test_files_that_hold_no_options(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        read_config(tmp_path / name)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"--config file must exist, but there is no .*none\.toml"):
        read_config(tmp_path / "none.toml")
    with pytest.raises(ValueError, match=r"--config file .* cannot be read: Is a directory"):
        read_config(tmp_path)


@pytest.mark.parametrize(
    "preset, device_preset, granular, longest",
    [
        ("sync", "full", False, 1),
        ("cadence", "full", False, 4),
        ("granular", "granular", True, 1),
        ("compress", "full", False, 1),
        ("speculate", "full", False, 1),
        ("all", "granular", True, 4),
    ],
)
def test_what_a_preset_means(preset: str, device_preset: str, granular: bool, longest: int) -> None:
    options = TrainingOptions(name="run", preset=preset)
    assert options.built_with == device_preset
    assert options.granular is granular
    assert options.longest_cadence == longest
    assert options.decides_cadences is (longest > 1)


def test_a_device_that_codes_frames_of_granular_layers_has_all_units() -> None:
    assert TrainingOptions(name="run", preset="all", coder="device").built_with == "whole"
    learned = {"preset": "compress", "mask": "learned", "coder": "device"}
    assert TrainingOptions(name="run", **learned).built_with == "full"
    assert TrainingOptions(name="run", **learned, network="device").built_with == "whole"
    with pytest.raises(ValueError, match="network must be 'golden' unless mask is 'learned' and c"):
        TrainingOptions(name="run", **learned | {"coder": "golden"}, network="device")


def test_the_longest_cadence_is_what_it_is_asked_to_be() -> None:
    assert TrainingOptions(name="run", preset="all", cadence_max=8).longest_cadence == 8


def test_how_layers_choose() -> None:
    usual = TrainingOptions(name="run", preset="granular").policy
    assert (usual.fixed, usual.channel_groups) == (None, 1)
    assert (usual.gradients, usual.penalty) == (Precision.INT8, 0.5)
    learned = TrainingOptions(name="run", preset="all", gradients="FP16", penalty=0.25).policy
    assert (learned.gradients, learned.penalty) == (Precision.FP16, 0.25)
    fixed = TrainingOptions(name="run", preset="all", precision="FP32", channel_groups=3).policy
    assert (fixed.fixed, fixed.channel_groups) == (Precision.FP32, 3)


def test_how_gradients_are_compressed() -> None:
    usual = CompressionOptions(bypass="never")
    assert TrainingOptions(name="run", preset="compress").compression == usual
    assert TrainingOptions(name="run", preset="granular").compression is None
    chosen = {"mask": "top", "mantissa_bits": 2, "error_feedback": False, "bypass": "auto"}
    warmup = {"density": 0.05, "warmup_passes": 9, "warmup_density": 0.5}
    options = TrainingOptions(
        name="run",
        preset="all",
        momentum_correction=True,
        nesterov=True,
        seed=4,
        **chosen,
        **warmup,
    )
    corrected = {"momentum": 0.9, "nesterov": True}
    assert options.compression == CompressionOptions(**chosen, **warmup, **corrected, seed=4)
    options = TrainingOptions(name="run", preset="all", budget=5000)
    assert options.compression == replace(usual, budget=5000)


def test_momentum_of_what_is_sent_goes_on_with_nesterovs() -> None:
    assert CompressionOptions(momentum=0.9).masks_momentum
    nesterov = CompressionOptions(momentum=0.9, nesterov=True)
    assert not nesterov.masks_momentum
    for masks in (False, True):
        assert replace(nesterov, momentum_masking=masks).masks_momentum is masks


def test_how_steps_are_speculative() -> None:
    assert TrainingOptions(name="run", preset="speculate").speculation == SpeculationOptions()
    assert TrainingOptions(name="run", preset="compress").speculation is None
    chosen_cap = TrainingOptions(name="run", preset="all", cap=0.3, tau=0.1)
    assert chosen_cap.speculation == SpeculationOptions(cap=0.3, tau=0.1)
    chosen = {"tau": 0.0, "form": "maximum", "depth": 0, "bucket_bytes": 9, "keep_outputs": False}
    options = TrainingOptions(name="run", preset="speculate", clip=2.0, **chosen)
    assert options.speculation == SpeculationOptions(clip=2.0, **chosen)


def test_only_the_name_has_to_be_given_and_all_by_name() -> None:
    with pytest.raises(TypeError, match="positional"):
        TrainingOptions("run")  # type: ignore[misc]
    with pytest.raises(TypeError, match="'name'"):
        TrainingOptions()  # type: ignore[call-arg]


@pytest.mark.parametrize("noise, threshold", [(0, 0), (0.25, 64), (0.001, 0), (255, 65280)])
def test_noise_as_the_device_takes_it(noise: float, threshold: int) -> None:
    assert TrainingOptions(name="run", noise=noise).noise_threshold == threshold


@pytest.mark.parametrize(
    "changes",
    [
        {"workers": 1, "steps": 1, "batch": 1, "cadence_max": 1, "epoch_steps": 1},
        {"warmup": 0, "checkpoint_every": 0, "seed": 0},
        {"seed": 9223344366820},
        {"learning_rate": 0.2},
        {"preset": "sync", "learning_rate": 0.5, "epoch_steps": 2},
        {**DENSE, "mantissa_bits": 0},
        {**WARMED, "warmup_density": 1.0},
        {"preset": "granular", "bits": 4.0},
        {"preset": "granular", "bits": 32.0},
        {"preset": "granular", "penalty": 0.0, "threshold_rate": 0.0},
    ],
)
def test_the_ends_of_what_is_allowed(changes: dict[str, object]) -> None:
    options = TrainingOptions(**{"name": "run", **changes})
    assert {name: getattr(options, name) for name in changes} == changes


def test_the_command_line_prevails_over_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(f'steps = 0\nbatch = 0\nruns = "{tmp_path}"\n')
    status, said = call("train", "--config", str(file))
    assert (status, said) == (2, "error: steps must be at least 1, not 0")
    status, said = call("train", "--config", str(file), "--steps", "5")
    assert (status, said) == (2, "error: batch must be at least 1, not 0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--preset", "compress", "--density", "12"),
            "density must be a number above 0 and at most 1, not 12.0",
        ),
        (
            ("--preset", "sync", "--no-error-feedback"),
            "error_feedback must be left out with training preset 'sync', not False: it belongs to "
            "compress and all",
        ),
        (
            ("--data", "text", "--net", "conv", "--device", "golden:"),
            "net must be transformer for data set 'text', not 'conv'",
        ),
        (
            ("--net", "transformer", "--device", "golden:"),
            "net must be mlp or conv for data set 'digits', not 'transformer'",
        ),
    ],
)
def test_bad_values_end_in_one_line(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert call("train", *arguments, "--runs", str(tmp_path)) == (2, f"error: {message}")
    assert [*tmp_path.iterdir()] == []
