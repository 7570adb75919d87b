"""Every command in README, docs and examples is known here, and run, or has a reason why not.

Where a command takes long it is run by `make test-full`; where it would take hours, with sizes that
are less: those stand beside it.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PAGES = (
    *(ROOT / name for name in ("README.md", "sim/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").rglob("*.py")),
)

#: What commands begin with, perhaps behind variables of their environment.
_PROGRAMS = r"(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?(?:make|adagrain|python3?|pytest|pip|torchrun)"

#: A line of a block that has no language, one in a docstring, and what stands between backticks.
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(rf"^({_PROGRAMS} .*?) *(?:#.*)?$", re.MULTILINE)
_SAID = re.compile(rf'[Rr]un it with: ({_PROGRAMS} .*?)\.?(?:""")?$', re.MULTILINE)
_INLINE = re.compile(rf"`({_PROGRAMS} [^`]+)`")

#: Why commands are not run.
BOARD = "needs a board"
TESTS = "runs the tests"
SUITE = "names tests of this suite"
PARTS = "stands for many; others of its kind are run"
WRITES = "would write into the project; tests/models/test_tables.py compares what it writes"
EXAMPLE = "test_foreign_scripts.py, test_compression.py or test_speculation.py of the host runs it"
RECORDS = "would replace recorded figures"
REPLAYS = "needs a recorded run; tests/host/test_replay.py replays one"
OWN = "needs a unit from outside; tests/sim/test_own_unit.py runs it"


@dataclass(frozen=True)
class Run:
    """The way a command is run.

    Parameters
    ----------
    line : str
        What is run in its place, with sizes that are less; ``{folder}`` is an empty folder.
    full : bool
        It takes more than a few seconds, and is run by `make test-full` alone.
    until : str
        It goes on until Ctrl-C, which comes when it has said this.
    needs : str
        A program that may be missing.
    """

    line: str = ""
    full: bool = False
    until: str = ""
    needs: str = ""


QUICK, FULL = Run(), Run(full=True)

#: A short run with golden devices, in a folder of its own.
_SHORT = "--device golden: --steps 20 --runs {folder}"

COMMANDS: dict[str, Run | str] = {
    "make train": Run("make train ARGS='--steps 8 --runs {folder}'"),
    "make test": TESTS,
    "make test-full": TESTS,
    "make docs": WRITES,
    "make bitstream": PARTS,
    "make bitstream BOARD=ulx3s": PARTS,
    "make bitstream BOARD=ulx3s-25f": FULL,
    "make synth": FULL,
    "make synth UNIT=encoder_commands": FULL,
    "make synth UNIT=link BOARD=icebreaker": FULL,
    "make synth UNIT=multiplier": FULL,
    "make synth UNIT=region_manager BOARD=ulx3s-25f": FULL,
    "make synth UNIT=slice": FULL,
    "make sim UNIT=coprocessor": FULL,
    "make sim UNIT=float VARIANT=add_fp32": FULL,
    "make sim UNIT=link": FULL,
    "make sim UNIT=link NETLIST=ecp5": FULL,
    "make sim UNIT=link VARIANT=small NETLIST=ecp5": FULL,
    "make sim UNIT=precision_controller": FULL,
    "make sim UNIT=queue": FULL,
    "make sim UNIT=queue VARIANT=packet SIM=icarus SEED=1 WAVES=1": Run(
        full=True, needs="iverilog"
    ),
    "make sim UNIT=region_manager": FULL,
    "make sim UNIT=region_manager WAVES=1": FULL,
    "make sim UNIT=slice": FULL,
    "make sim UNIT=statistics": FULL,
    "make formal": Run("make formal PROOF=skid", full=True),
    "make formal PROOF=products_ecp5": FULL,
    "make formal PROOF=bit_packer_built": FULL,
    "make formal PROOF=queue": FULL,
    "make mutants": Run(
        "python -m adagrain.sim.mutants --only 'checksum is not looked at'", full=True
    ),
    "make mutants SAMPLE=100": Run("make mutants SAMPLE=1 FOLDER=models", full=True),
    "make mutants SAMPLE=30 FOLDER=hdl SEED=7": PARTS,
    "make bench": Run("make bench BENCH=statistics_golden", full=True),
    "make bench BENCH=granular": PARTS,
    "make bench BENCH=slices": PARTS,
    "make bench BENCH=tiles": FULL,
    "adagrain bitstream --record": RECORDS,
    "adagrain synth --record": RECORDS,
    "adagrain devices": QUICK,
    "adagrain info": QUICK,
    "adagrain program --board ulx3s": BOARD,
    "adagrain recording": "is the name of a format, not a command",
    "adagrain replay runs/first": REPLAYS,
    "adagrain replay runs/first --show": REPLAYS,
    "adagrain replay runs/first --show --rtl": REPLAYS,
    "adagrain selftest serial:/dev/ttyUSB0": BOARD,
    "adagrain selftest sim:": QUICK,
    "adagrain selftest sim: --preset tiny --netlist ice40": FULL,
    "adagrain selftest virtual: --preset small": FULL,
    "adagrain selftest virtual: --preset tiny --netlist gowin": FULL,
    "adagrain synth decoder --board ulx3s --place": FULL,
    "adagrain synth encoder --board ulx3s --place": FULL,
    "adagrain synth encoder_commands": FULL,
    "adagrain synth dot_product --place": FULL,
    "adagrain synth granularity_unit --board icebreaker --place": FULL,
    "adagrain virtual-board --preset small": Run(full=True, until="Ctrl-C ends it"),
    "adagrain train": PARTS,
    "adagrain train --help": QUICK,
    "adagrain train --device serial:/dev/ttyUSB{rank}": BOARD,
    "adagrain train --preset granular --device serial:… --device-preset wide": BOARD,
    "adagrain train --preset sync --device golden:": Run(
        f"adagrain train --preset sync {_SHORT}", full=True
    ),
    "adagrain train --preset speculate --record-run --name first": Run(
        f"adagrain train --preset speculate --record-run --name first {_SHORT}", full=True
    ),
    "adagrain train --preset granular": Run(
        f"adagrain train --preset granular {_SHORT}", full=True
    ),
    "adagrain train --preset granular --offload forward": PARTS,
    "adagrain train --preset compress": PARTS,
    "adagrain train --preset compress --coder device --steps 20": Run(
        "adagrain train --preset compress --coder device --steps 20 --runs {folder}", full=True
    ),
    "adagrain train --preset compress --mask learned --coder device --network device": Run(
        "adagrain train --preset compress --mask learned --coder device --network device --steps 4 "
        "--runs {folder}",
        full=True,
    ),
    "adagrain train --preset compress --density 0.02": Run(
        f"adagrain train --preset compress --density 0.02 {_SHORT}", full=True
    ),
    "adagrain train --data text --preset compress --batch 8 --device golden:": Run(
        f"adagrain train --data text --preset compress --batch 8 {_SHORT}", full=True
    ),
    "adagrain train --preset speculate": PARTS,
    "adagrain train --preset speculate --tau 0.3": Run(
        f"adagrain train --preset speculate --tau 0.3 {_SHORT}", full=True
    ),
    "adagrain train --net conv --preset all": Run(
        f"adagrain train --net conv --preset all {_SHORT}", full=True
    ),
    "adagrain train --preset granular --device sim: --offload forward": Run(
        "adagrain train --preset granular --device sim: --offload forward --steps 4 "
        "--runs {folder}",
        full=True,
    ),
    "adagrain train --data ~/mnist --steps 5000 --checkpoint-every 500 --name mnist": Run(
        f"adagrain train {_SHORT} --checkpoint-every 5 --name mnist && "
        "adagrain train --name mnist --resume --steps 25 --runs {folder} && "
        "adagrain train --config {folder}/mnist/options.json --seed 1 --name again",
        full=True,
    ),
    "adagrain train --name mnist --resume": "is run after the one above",
    "adagrain train --name mnist --resume --steps 9000": "is run after the one above",
    "adagrain train --config runs/mnist/options.json --seed 1 --name again": "likewise",
    "python -m adagrain.sim --help": QUICK,
    "adagrain synth large --board ulx3s": OWN,
    "python -m adagrain.sim large": OWN,
    "python -m adagrain.sim large --netlist ecp5": OWN,
    "PYTHONPATH=examples ADAGRAIN_UNITS=own_unit python examples/own_unit/use.py golden:": QUICK,
    "python examples/own_unit/use.py golden:": OWN,
    "python examples/own_unit/use.py sim:": OWN,
    "python -m adagrain.sim.formal cobs": FULL,
    "python -m adagrain.sim.generated_mutants --sample 10 --folder models --only statistics": PARTS,
    "python -m pytest tests/models/test_float.py tests/sim/test_float.py": SUITE,
    "python -m pytest tests/models/test_link.py": SUITE,
    "python -m pytest tests/sim/test_link_loopback.py": SUITE,
    "pytest tests -k region_manager": SUITE,
    "torchrun --standalone --nproc-per-node 2 --max-restarts 3 examples/speculative.py "
    "--checkpoints FOLDER": "test_speculation_restarts.py of the host runs it",
    "python benchmarks/codec.py": RECORDS,
    "python benchmarks/codec.py --defaults": FULL,
    "python benchmarks/codec_device.py": RECORDS,
    "python benchmarks/compression.py": RECORDS,
    "python benchmarks/compression.py --link 10 --steps 60 --seeds 2 --record": RECORDS,
    "python benchmarks/compression.py --steps 240 --seeds 5 --tasks transformer_0.8M --ways fp16 "
    "powersgd_1 powersgd_2 powersgd_4 threshold_4%_2_bits threshold_3%_2_bits "
    "threshold_1%_2_bits threshold_0.8%_2_bits corrected_1%_2_bits nesterov_4%_2_bits "
    "nesterov_1%_2_bits nesterov_masking_4%_2_bits nesterov_masking_1%_2_bits "
    "dense_nesterov --record": RECORDS,
    "python benchmarks/compression.py --steps 240 --seeds 5 --tasks conv_0.3M --ways fp16 "
    "dense_nesterov dense_nesterov_half_rate powersgd_1 powersgd_2 powersgd_4 "
    "threshold_4%_2_bits threshold_3%_2_bits threshold_1%_2_bits threshold_0.8%_2_bits "
    "corrected_4%_2_bits corrected_1%_2_bits nesterov_4%_2_bits nesterov_1%_2_bits "
    "nesterov_masking_4%_2_bits nesterov_masking_1%_2_bits --record": RECORDS,
    "python benchmarks/compression.py --steps 240 --seeds 10 --tasks transformer_0.8M --ways fp16 "
    "threshold_4%_2_bits nesterov_4%_2_bits nesterov_1%_2_bits --record "
    "compression_240_steps_transformer_ten_seeds": RECORDS,
    "python benchmarks/compression.py --link 1000 --steps 60 --seeds 25 --same-steps --ways fp16 "
    "auto_1% --record": RECORDS,
    "python benchmarks/compression.py --link 1000 --steps 60 --seeds 15 --ways fp16 auto_1% "
    "--record compression_link_1000_fifteen_seeds": RECORDS,
    "python benchmarks/compression.py --steps 240 --seeds 5 --tasks transformer_0.8M --ways fp16 "
    "powersgd16_4 powersgd16_8 powersgd16_8_nesterov_half_rate --record "
    "compression_240_steps_transformer_0.8M_powersgd": RECORDS,
    "python benchmarks/compression.py --ways fp16 random_1%_without_error_feedback --record "
    "compression_chance": RECORDS,
    "python benchmarks/compression.py --link 100 --steps 60 --seeds 3 --ways fp16 powersgd16_8 "
    "local_sgd_64 local_sgd_never nesterov_1%_2_bits --record compression_link_100_controls": (
        RECORDS
    ),
    "python benchmarks/decoder.py": RECORDS,
    "python benchmarks/earlier.py COMMIT": Run(
        "python benchmarks/earlier.py HEAD --preset sync --steps 8 --seeds 1", full=True
    ),
    "python benchmarks/earlier.py 2970373 --record": RECORDS,
    "python benchmarks/encoder.py": RECORDS,
    "python benchmarks/learned_mask.py --seeds 5 --steps 240 --record": RECORDS,
    "python benchmarks/learned_mask.py --task transformer_0.8M --seeds 5 --steps 120 --record": (
        RECORDS
    ),
    "python benchmarks/learned_mask.py --task transformer_0.8M --seeds 10 --steps 120 --ways "
    "threshold_21kB learned_21kB --record learned_mask_transformer_ten_seeds": RECORDS,
    "python benchmarks/learned_mask.py --seeds 30 --steps 240 --ways threshold_3kB learned_3kB "
    "learned_value_3kB learned_value_16_3kB --record learned_mask_thirty_seeds": RECORDS,
    "python benchmarks/learned_mask.py --task conv_0.3M --seeds 15 --ways threshold_7kB "
    "top_by_share_7kB random_7kB learned_7kB learned_value_7kB "
    "--record learned_mask_conv_0.3M": RECORDS,
    "python benchmarks/learned_mask.py --seeds 3 --steps 240 --ways threshold_3kB learned_3kB "
    "--record learned_mask_cost": RECORDS,
    "python benchmarks/presets.py": Run("python benchmarks/presets.py --seeds 1", full=True),
    "python benchmarks/presets.py --compressed": Run(
        "python benchmarks/presets.py --compressed --seeds 1", full=True
    ),
    "python benchmarks/presets.py --record": RECORDS,
    "python benchmarks/speculation.py --rate 100 --delay 20": Run(
        "python benchmarks/speculation.py --repeats 1 --steps 2 --settling 2 --ways ddp always",
        full=True,
    ),
    "python benchmarks/speculation.py --net transformer --rate 1000 --delay 1": Run(
        "python benchmarks/speculation.py --net transformer --rate 1000 --delay 1 --repeats 1 "
        "--steps 2 --settling 2 --ways ddp always",
        full=True,
    ),
    "python benchmarks/speculation.py --rate 100 --delay 20 --repeats 3 --ways ddp "
    '"depth 0" adaptive "adaptive, depth 2"': RECORDS,
    "python benchmarks/speculation.py --record": RECORDS,
    "python benchmarks/speculation.py --forward 0 --backward 0 --rate 100 --delay 20 "
    "--record": RECORDS,
    "python benchmarks/speculation.py --rate 100 --delay 50 --tau 1 --record --ways ddp "
    '"ddp 0.25" "ddp 0.08" "depth 0" adaptive "adaptive, depth 2"': RECORDS,
    "python benchmarks/speculation_faults.py --rate 100 --delay 5 --record": RECORDS,
    "python benchmarks/speculation_loss.py --rate 100 --delay 20": Run(
        "python benchmarks/speculation_loss.py --seeds 1 --steps 12 --ways ddp adaptive 'DiLoCo 4'",
        full=True,
    ),
    "python benchmarks/speculation_loss.py --rate 100 --delay 5 --seeds 10 --record "
    'speculation_accuracy_100_5 --ways "ddp 0.25" adaptive "adaptive, depth 2" '
    '"adaptive, cadences"': RECORDS,
    "python benchmarks/speculation_loss.py --rate 100 --delay 20 --seeds 20 --record "
    'speculation_accuracy_two_deep_100_20 --ways "ddp 0.25" "adaptive, depth 2"': RECORDS,
    "python benchmarks/speculation_loss.py --rate 100 --delay 50 --tau 1 --ways "
    '"ddp 0.25" "adaptive, depth 2" --record': RECORDS,
    "python benchmarks/speculation_thresholds.py": RECORDS,
    "python benchmarks/statistics_golden.py": "is run as make bench",
    **{
        f"torchrun --nproc-per-node 2 examples/{path.name}": EXAMPLE
        for path in (ROOT / "examples").glob("*.py")
    },
}


def documented() -> dict[str, Path]:
    """Commands as they are written, and for each a page on which it is."""
    found: dict[str, Path] = {}
    for page in PAGES:
        text = page.read_text()
        blocks = [block for language, block in _BLOCK.findall(text) if not language]
        lines = [line for block in blocks for line in _LINE.findall(block)]
        for line in (*lines, *_INLINE.findall(text), *_SAID.findall(text)):
            found.setdefault(" ".join(line.removeprefix(".venv/bin/").split()), page)
    return {line: page for line, page in found.items() if "=…" not in line}


def test_all_commands_are_known() -> None:
    unknown = {line: page.name for line, page in documented().items() if line not in COMMANDS}
    assert not unknown, "each command of README and docs must be in COMMANDS"


def test_no_other_commands_are_known() -> None:
    gone = COMMANDS.keys() - documented().keys()
    assert not gone, "each command in COMMANDS must be in README or docs"


def test_every_example_says_how_to_run_it() -> None:
    for page in sorted((ROOT / "examples").rglob("*.py")):
        said = page.read_text()
        assert len(_SAID.findall(said)) == said.lower().count("run it with"), page.name


def test_files_that_are_named_exist() -> None:
    for line, how in COMMANDS.items():
        for path in re.findall(r"\b(?:tests|benchmarks|examples)/\S+\.py", f"{line} {how}"):
            assert (ROOT / path).exists(), line


def test_readme_and_makefile_take_as_long() -> None:
    """The minutes that people are told to wait."""
    readme, makefile = ((ROOT / name).read_text() for name in ("README.md", "Makefile"))
    for target in ("train", "test"):
        told = re.search(rf"^make {target} .*\(about (\d+) min", readme, re.MULTILINE)
        helped = re.search(rf"^{target}: .*\(about (\d+) min", makefile, re.MULTILINE)
        assert told and helped and told[1] == helped[1], f"make {target}"


def _parameters() -> list[object]:
    runs = [(line, how) for line, how in COMMANDS.items() if isinstance(how, Run)]
    marks = {True: [pytest.mark.full], False: []}
    return [pytest.param(line, how, marks=marks[how.full], id=line) for line, how in runs]


@pytest.mark.parametrize("line, how", _parameters())
def test_command(line: str, how: Run, tmp_path: Path) -> None:
    if how.needs and shutil.which(how.needs) is None:
        pytest.skip(f"needs {how.needs}")
    if not (ROOT / ".venv" / ".stamp").exists():
        pytest.skip("needs the environment that make setup makes")
    wanted = (how.line or line).replace("{folder}", str(tmp_path))
    programs = Path(sys.executable).parent
    process = subprocess.Popen(
        f"exec {wanted}" if how.until else wanted,  # a shell would die of Ctrl-C itself
        shell=True,
        cwd=ROOT,
        env=os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    said = ""
    if how.until:
        assert process.stdout
        while how.until not in said and (more := process.stdout.readline()):
            said += more
        os.killpg(process.pid, signal.SIGINT)
    said += process.communicate()[0]
    assert process.returncode == 0, said[-4000:]
    assert "Traceback" not in said
