"""Wrong calls and command lines: each gets one line that names the value and what was expected."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import call
from torch import nn

import adagrain
from adagrain import granular
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.distributed.timing import Timing
from adagrain.host.train.data import load
from adagrain.host.train.options import TrainingOptions
from adagrain.models.interface.configuration import configuration

#: Command lines; ``{runs}`` is an empty folder.
LINES = [
    ("", "Usage: .* COMMAND"),
    ("trian", "No such command 'trian'. Did you mean 'train'"),
    ("--versoin", "No such option: --versoin"),
    (
        "info carrier:pigeon",
        "must begin with one of 'golden:', .*, 'virtual:', not 'carrier:pigeon'",
    ),
    ("info golden", "device url must begin with .* not 'golden'"),
    ("info golden:xyz", "device url must be 'golden:', not 'golden:xyz'"),
    ("info sim:xyz", "device url must be 'sim:', not 'sim:xyz'"),
    ("info serial:", "device url must be 'serial:PORT', not 'serial:'"),
    ("info serial:/dev/x?speed=9", "option of a serial url must be baud or reconnect, not 'speed'"),
    ("info serial:/dev/x?baud=fast", "baud must be a positive number, not 'fast'"),
    (
        "info golden: --preset huge",
        "device preset must be one of tiny, .*, granular, wide, whole, not 'huge'",
    ),
    ("selftest golden: --seed x", "--seed must be a valid integer, not 'x'"),
    ("selftest golden: --netlist ecp5", "kernel, direct, timeout, retries, not 'netlist'"),
    ("selftest sim: --netlist xilinx", "netlist must be one of ecp5, ice40, gowin, not 'xilinx'"),
    ("virtual-board --netlist xilinx", "netlist must be one of ecp5, ice40, gowin, not 'xilinx'"),
    ("replay /nowhere --show --seed 4", "--seed must be given with --rtl"),
    ("sim toaster", "unit must be one of .*queue.*, not 'toaster'"),
    ("sim queue --simulator vcs", "simulator must be verilator or icarus, not 'vcs'"),
    ("sim queue --variant none", "variant of queue must be one of single, .*, not 'none'"),
    ("synth fpu", "unit must be one of .*, not 'fpu'"),
    ("synth link --board abacus", "board must be one of .*, not 'abacus'"),
    ("synth link --place --mhz 0", "--mhz must be greater than or equal to 1, not '0'"),
    ("bitstream --board abacus", "board must be one of .*, not 'abacus'"),
    ("synth queue --record --recorded /no/where", "--record needs .*, but there is no /no/where"),
    ("bitstream --record --recorded /no/where", "--record needs .*, but there is no /no/where"),
    ("program --folder /no", "must be a bitstream in /no/ulx3s, but there is none"),
    ("virtual-board --preset huge", "one of tiny, .*, granular, wide, whole, not 'huge'"),
    ("train --stepz 3", "No such option: --stepz"),
    ("train --steps many", "--steps must be a valid integer, not 'many'"),
    ("train --steps 0", "steps must be at least 1, not 0"),
    ("train --lr inf", "learning_rate must be a finite number, not inf"),
    ("train --lr nan", "learning_rate must be a finite number, not nan"),
    ("train --lr 0.5", r"learning_rate must be at most cap \(0.2\), not 0.5"),
    ("train --preset speculate --tau -1", "tau must be a number from 0 on, not -1"),
    ("train --tau 0.1", "tau must be left out with training preset 'cadence', not 0.1"),
    (
        "train --preset speculate --device golden: --by rows:8",
        "must have whole parameters for speculation, but 'hidden1.*' is a block of rows",
    ),
    (
        "train --preset speculate --device golden: --device-preset tiny",
        "speculation needs .* unit 'difference', which device preset 'tiny' has not",
    ),
    (
        "train --preset fast",
        "must be one of sync, cadence, granular, compress, speculate, all, not 'fast'",
    ),
    (
        "train --preset compress --density 0",
        "density must be a number above 0 and at most 1, not 0",
    ),
    ("train --density 0.1", "density must be left out with training preset 'cadence', not 0.1"),
    ("train --device golden: --preset granular --device-preset small", "'small' has no slices"),
    (
        "train --precision INT8",
        "precision must be left out with training preset 'cadence', not 'INT8'",
    ),
    ("train --data /no/data", "data must be .* not '/no/data'"),
    ("train --data {runs}", "holds neither MNIST .* nor CIFAR-10"),
    ("train --device golden", "device url must begin with .* not 'golden'"),
    ("train --timing guessed", "timing must be .* not 'guessed'"),
    ("train --timing replay:/no", "timing file must exist, but there is no /no"),
    ("train --by colour", "by must be .* not 'colour'"),
    ("train --by rows:128 --device golden: --device-preset tiny", "at most 64 .* 'tiny', not 133"),
    ("train --workers 9999", "workers must be at most 1347, one a sample, not 9999"),
    ("train --workers 99", "batch must be at most 13 for 99 workers and 1347 samples, not 32"),
    (
        "train --cadence-max 1048576 --epoch-steps 1048576",
        "cadence_max must be a power of two from 1 to 32768, not 1048576",
    ),
    ("train --seed 9999999999999999999", "seed must be from 0 to .*, not 9999999999999999999"),
    ("train --name a/b", "name must be a plain folder name, not 'a/b'"),
    ("train --name none --resume", "there must be a run at .*none to resume, but there is none"),
    ("train --resume", "--resume must be given with the run's --name"),
    ("train --name x --resume --overwrite", "--resume must be given without --overwrite"),
    ("train --config /no/where.toml", "--config file must exist, but there is no /no/where.toml"),
    ("train --momentum 2", "momentum must be from 0 to 1, not 2"),
    ("train --from-step 5", "--from-step must be given with --resume"),
]


@pytest.mark.parametrize("line, message", LINES, ids=[line for line, _ in LINES])
def test_wrong_command_lines(tmp_path: Path, line: str, message: str) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    words = [word.replace("{runs}", str(runs)) for word in line.split()]
    if words[:1] == ["train"]:
        words += ["--runs", str(runs)]
    status, text = call(*words)
    assert status == 2
    assert re.search(message, text), text
    assert "Traceback" not in text
    assert text.count("error:") == (1 if words else 0)
    assert not list(runs.iterdir()), "nothing is left behind"


X = torch.ones(3)

#: Calls of the library; each gets an open device.
CALLS: list[tuple[Callable[[Coprocessor], Any], str]] = [
    (lambda _: adagrain.open_device(None), "device url must be a text, not None"),  # type: ignore
    (lambda _: adagrain.open_device("gold:"), "must begin with one of 'golden:', .*, not 'gold:'"),
    (
        lambda _: adagrain.open_device("golden:", "huge"),
        "device preset must be one of .*, not 'huge'",
    ),
    (lambda _: adagrain.open_device("golden:", 7), "device preset must be one of .*, not 7"),  # type: ignore
    (
        lambda _: adagrain.open_device("golden:", port=7),
        "direct, timeout, retries, not 'port'",
    ),
    (lambda _: adagrain.open_device("sim:", kernel="x"), "data_port, netlist, .*, not 'kernel'"),
    (lambda _: adagrain.open_device("golden:", kernel="x"), "kernel must be one of .*, not 'x'"),
    (lambda _: adagrain.open_device("golden:", timeout=0), "timeout must be a positive .*, not 0"),
    (lambda _: adagrain.open_device("golden:", timeout="1"), "timeout must be .*, not '1'"),
    (lambda _: adagrain.open_device("golden:", retries=-1), "retries must be a whole .*, not -1"),
    (lambda _: configuration("full", lanes=3), "lanes must be 1, 2 or 4, not 3"),
    (lambda _: configuration("full", payload=1000), "power of two from 256 to 4096, not 1000"),
    (lambda d: d.statistics(X, exponent=128), "exponent must be from -126 to 127, not 128"),
    (lambda d: d.statistics(X.double()), "dtype must be one of .*float32, .*, not .*float64"),
    (lambda d: d.statistics(X[:0]), r"tensor must have 1 to 2\*\*32-1 elements, not 0"),
    (lambda d: d.echo(bytes(1025)), "payload must have at most 1024 bytes, not 1025"),
    (lambda d: d.update_regions([{"region": 1024}]), "region must be from 0 to 1023, not 1024"),
    (lambda _: adagrain.regions(nn.Linear(2, 2), "colour"), "by must be .*, not 'colour'"),
    (lambda _: adagrain.regions(nn.Linear(2, 2), "rows:0"), "must be .*, not 'rows:0'"),
    (lambda _: adagrain.register(nn.Linear(2, 2), None), "must be a DistributedDataParallel, not"),  # type: ignore
    (lambda _: granular.Policy(channel_groups=0), "channel_groups must be at least 1, not 0"),
    (lambda _: granular.Policy(hysteresis="x"), "hysteresis must be a number, not 'x'"),  # type: ignore
    (lambda _: granular.Policy(dwell=1.5), "dwell must be an integer, not 1.5"),  # type: ignore
    (lambda _: granular.Policy(skip="0"), "skip must be names of layers, .*, not '0'"),  # type: ignore
    (lambda _: granular.Policy(skip=None), "skip must be names of layers, .*, not None"),  # type: ignore
    (lambda _: granular.Policy(thresholds=0.3), "thresholds must be numbers, .*, not 0.3"),  # type: ignore
    (lambda _: granular.Policy(thresholds=("a", 1, 1)), "thresholds must be numbers, as"),  # type: ignore
    (lambda _: granular.convert(3), "model must be a module, not 3"),  # type: ignore
    (lambda _: granular.convert(nn.Linear(2, 2), "INT8"), "policy must be a Policy, not 'INT8'"),  # type: ignore
    (
        lambda _: granular.convert(nn.Linear(2, 2), overrides={"": "INT8"}),  # type: ignore
        "overrides must have a Policy for '', not 'INT8'",
    ),
    (
        lambda _: granular.convert(nn.Linear(2, 2), overrides="INT8"),  # type: ignore
        "overrides must be policies by names of layers, not 'INT8'",
    ),
    (lambda _: granular.Policy(gradients="INT2"), "gradients must be one of .*, not 'INT2'"),
    (lambda _: granular.Granularity(nn.Linear(2, 2), "golden:"), "must have granular layers"),  # type: ignore
    (lambda _: Timing.parse("guessed"), "timing must be .*, not 'guessed'"),
    (lambda _: load("/no/data"), "data must be .*, not '/no/data'"),
    (lambda _: TrainingOptions(name="x", steps=1.5), "steps must be a whole number, not 1.5"),  # type: ignore
    (lambda _: TrainingOptions(name=".."), r"name must be a plain folder name, not '\.\.'"),
]


@pytest.fixture(scope="module")
def device() -> Iterator[Coprocessor]:
    with adagrain.open_device("golden:") as opened:
        yield opened


@pytest.mark.parametrize("wrong, message", CALLS, ids=[message for _, message in CALLS])
def test_wrong_calls(
    device: Coprocessor, wrong: Callable[[Coprocessor], Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError, OSError), match=message) as caught:
        wrong(device)
    assert "\n" not in str(caught.value)
    assert device.statistics(X).count == 3, "the device goes on"
