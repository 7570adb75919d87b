"""Bitstreams: Amaranth's build plan, run step by step, with several seeds of place and route."""

import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from adagrain.hdl.boards.board import Board
from adagrain.hdl.boards.top import Top

from .families import FAMILIES
from .report import Report, read_report
from .router import Congestion
from .tools import PatienceError, ToolError, run, written

__all__ = ["PATIENCE", "SEEDS", "Bitstream", "build"]

#: Seeds that are tried before timing is given up.
SEEDS = (1, 2, 3)

#: Seconds that a seed is given from its start, and again from each round of the router that leaves
#: fewer wires to two nets: routing that runs into congestion may never end.
PATIENCE = 30 * 60

#: Where place and route report, and part by which a clock may be off from the board's.
_REPORT, _OFF = "report.json", 1e-3

#: What nextpnr says where there is no room, with the kind of cell.
_DOES_NOT_FIT = r"(?:no BELs remaining to implement cell type '|Failed to expand region .* )(\w+)"

Step = tuple[str, list[str]]


@dataclass(frozen=True)
class Bitstream:
    """A file for a board, and what place and route say of it."""

    path: Path
    report: Report


def build(
    board: Board,
    folder: Path,
    *,
    seeds: Sequence[int] = SEEDS,
    patience: float = PATIENCE,
    progress: Callable[[str], None] = lambda text: None,
) -> Bitstream:
    """Build the device for a board; the first seed that meets timing, or the best one.

    Parameters
    ----------
    board : Board
        What for.
    folder : Path
        Where all files go.
    seeds : sequence of int
        Seeds of place and route, in the order in which they are tried.
    patience : float
        Seconds without progress after which a seed is given up.
    progress : callable
        Called with what is being done, and with what came of each seed: "seed 2 …".

    Raises
    ------
    ToolError
        If a program is missing, fails or writes nothing, as nextpnr fails where the design does not
        fit; if no seed comes to its end in time, or a clock is not held to the board's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    progress("elaborating")
    family = FAMILIES[board.family]
    plan = board.platform().build(
        Top(board),
        do_build=False,
        synth_opts=family.options,
        script_after_read=family.before,
        script_after_synth=family.after,
        nextpnr_opts=" ".join(("--freq", str(board.clock / 1e6), *board.options)),
    )
    plan.extract(folder)
    synthesis, place, *finish = _steps((folder / "build_top.sh").read_text())
    product, netlist = folder / family.product, _file_of(place, folder, "--json")
    _forget(product, netlist)

    progress("synthesising (some minutes)")
    run(*synthesis, folder)
    written(netlist)
    best: Report | None = None
    for seed in seeds:
        progress(f"placing and routing, seed {seed} (some minutes)")
        try:
            report = _place(place, board, folder, seed, patience, Congestion(progress, seed))
        except PatienceError as error:
            progress(f"seed {seed} is given up: {error}")
            continue
        progress(f"seed {seed} reaches {report.megahertz:.1f} MHz")
        if best is None or report.slack > best.slack:
            best = report
            _keep(place, folder)
        if report.meets_timing:
            break
    if best is None:
        raise ToolError(
            f"place and route must get further in {patience:.0f} s with one of the seeds "
            f"{', '.join(map(str, seeds))}, but it did with none"
        )
    _restore(place, folder)
    progress("packing")
    for step in finish:
        run(*step, folder)
    return Bitstream(written(product), best)


def _steps(script: str) -> list[Step]:
    """Programs, by the variables that name them, and their arguments."""
    lines = [shlex.split(line) for line in script.splitlines() if line.startswith('"$')]
    return [(line[0].removeprefix("$"), line[1:]) for line in lines]


def _place(
    place: Step, board: Board, folder: Path, seed: int, patience: float, router: Congestion
) -> Report:
    variable, given = place
    arguments = [own for own in given if own != "--quiet"]  # the router is to tell how it gets on
    arguments += ["--report", _REPORT, "--seed", str(seed), "--timing-allow-fail"]
    routed, reported = _routed(place, folder), folder / _REPORT
    _forget(routed, reported)
    try:
        run(variable, arguments, folder, patience=patience, further=router)
    except ToolError as error:
        if full := re.search(_DOES_NOT_FIT, str(error)):
            raise ToolError(
                f"device preset {board.preset!r} must fit the {board.title}, but there is no room "
                f"for all its {full[1].removesuffix('s')} cells; adagrain synth --board "
                f"{board.name} shows what it takes"
            ) from None
        raise
    written(routed)
    report = read_report(written(reported), board.family, seed)
    _check_clocks(report, board)
    return report


def _check_clocks(report: Report, board: Board) -> None:
    """See to it that every clock is held to the board's: a lost constraint is met by anything."""
    wanted = {name: clock.wanted for name, clock in report.clocks.items()}
    if not wanted or any(abs(own * 1e6 / board.clock - 1) > _OFF for own in wanted.values()):
        raise ToolError(
            f"clocks of the {board.title} must be held to {board.clock / 1e6:g} MHz, but place and "
            f"route held them to {wanted or 'nothing'}"
        )


def _forget(*paths: Path) -> None:
    """Remove what an earlier run has written, which would be taken for what this one writes."""
    for path in paths:
        path.unlink(missing_ok=True)


def _routed(place: Step, folder: Path) -> Path:
    """The file that holds the routed design."""
    return _file_of(place, folder, "--textcfg", "--asc", "--write")


def _file_of(place: Step, folder: Path, *options: str) -> Path:
    """The file that is given behind one of these options."""
    arguments = place[1]
    option = next(own for own in options if own in arguments)
    return folder / arguments[arguments.index(option) + 1]


def _keep(place: Step, folder: Path) -> None:
    routed = _routed(place, folder)
    shutil.copyfile(routed, routed.with_suffix(".best"))


def _restore(place: Step, folder: Path) -> None:
    routed = _routed(place, folder)
    shutil.copyfile(routed.with_suffix(".best"), routed)
