"""``adagrain devices``, ``info`` and ``selftest``: what can be opened, what it is, does it work."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .errors import told

if TYPE_CHECKING:
    from serial.tools.list_ports_common import ListPortInfo

__all__ = ["devices", "info", "selftest"]

Url = Annotated[
    str,
    typer.Argument(help="Url of the device: golden:, sim:, virtual:, serial:PORT.", metavar="URL"),
]
Preset = Annotated[
    str | None,
    typer.Option(
        help="Device preset that it must have been built with: tiny, small, full, granular, "
        "wide or whole.",
        show_default="what the device says; full where it is simulated",
    ),
]

Netlist = Annotated[
    str | None,
    typer.Option(help="ecp5, ice40 or gowin: simulate what synthesis makes of the device."),
]

#: Seconds to wait for an answer from a port that may be anything.
_PROBE = 0.3


def devices() -> None:
    """List the devices that can be opened here, serial ports among them, and why others cannot.

    Example: adagrain devices
    """
    from serial.tools import list_ports

    table = Table("url", "what it is", "here")
    table.add_row("golden:", "the golden models, bit-exact and fast", "[green]ready")
    table.add_row("sim:", "the RTL, compiled and run in this process", _simulation())
    table.add_row("virtual:", "a board, simulated down to its serial pins; slow", _simulation())
    for port in sorted(list_ports.comports()):
        table.add_row(f"serial:{port.device}", _adapter(port), _answers(port.device))
    table.add_row("serial:PORT?baud=N", "a board on a serial port", "")
    Console().print(table)


def info(url: Url = "golden:", preset: Preset = None) -> None:
    """Show what a device is and what it has counted.

    Example: adagrain info sim: --preset tiny
    """
    from adagrain.host.device.open_device import open_device

    console = Console()
    with told(), open_device(url, preset) as device:
        found = device.info()
        facts = vars(found) | {"build": f"{found.build:#010x}", "units": tuple(found.units)}
        console.print(_pairs(f"device {url}", facts))
        for unit, constants in found.units.items():
            if constants:
                console.print(_pairs(unit, constants))
        console.print(_pairs("counters", device.counters()))


def selftest(
    url: Url = "golden:",
    preset: Preset = None,
    seed: Annotated[int, typer.Option(help="Seed of the random data.")] = 0,
    netlist: Netlist = None,
) -> None:
    """Check a device against the golden models: link, statistics and decisions.

    Example: adagrain selftest sim:
    """
    from adagrain.host.device.open_device import open_device
    from adagrain.host.device.selftest import selftest as examine

    console = Console()
    options: dict[str, Any] = {"netlist": netlist} if netlist else {}
    with told(), open_device(url, preset, **options) as device:
        with console.status("") as status:
            report = examine(device, seed=seed, progress=status.update)
    table = Table("check", "", "detail", title=f"self-test of {report.backend}, seed {report.seed}")
    for check in report.checks:
        mark = "[green]passed" if check.passed else "[bold red]FAILED"
        table.add_row(check.name, mark, check.detail)
    console.print(table)
    raise typer.Exit(0 if report.passed else 1)


def _adapter(port: "ListPortInfo") -> str:
    numbers = f"{port.vid:04x}:{port.pid:04x}" if port.vid is not None else "no USB adapter"
    return f"{numbers} {port.description}"


def _answers(port: str) -> str:
    """Look for a coprocessor behind a port, at the boards' bit rates.

    The highest one first: a byte of a lower one is a break to a board of a higher one.
    """
    from adagrain.hdl.boards import BOARDS
    from adagrain.host.device.open_device import configuration_behind
    from adagrain.host.errors import DeviceError

    said = ""
    for baud in sorted({round(board.baud) for board in BOARDS.values()}, reverse=True):
        try:
            preset = configuration_behind(f"serial:{port}?baud={baud}", _PROBE).preset
            return f"[green]answers[/] as device preset {preset} at {baud} baud"
        except DeviceError as error:
            said = escape(str(error).partition(";")[0])
    return f"[yellow]{said}"


def _simulation() -> str:
    from adagrain.sim.simulators.verilator import ToolMissingError, require

    try:
        require()
    except ToolMissingError as error:
        return f"[red]{escape(str(error))}"
    return "[green]ready[/] (the first use compiles it)"


def _pairs(title: str, values: Mapping[str, object]) -> Table:
    table = Table(title=title, show_header=False, title_justify="left")
    for name, value in values.items():
        shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        table.add_row(name.replace("_", " "), shown)
    return table
