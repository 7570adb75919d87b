"""Options of a run from a file."""

import json
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from .option import described
from .options import TrainingOptions

__all__ = ["read_config"]


def read_config(path: Path) -> dict[str, Any]:
    """The options that a file gives: TOML, or the ``options.json`` of a run.

    Raises
    ------
    ValueError
        If it cannot be read, is neither, or has something that is no option; file and name are
        said.
    """
    known = described(TrainingOptions)
    read = json.loads if path.suffix == ".json" else tomllib.loads
    try:
        given: Any = read(path.read_text())
    except FileNotFoundError:
        raise ValueError(f"--config file must exist, but there is no {path}") from None
    except OSError as error:
        raise ValueError(f"--config file {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        wanted = "JSON" if path.suffix == ".json" else "TOML"
        raise ValueError(f"{path} must be {wanted}: {error}") from None
    if not isinstance(given, dict):
        raise ValueError(f"{path} must hold options by name, not {given!r:.60}")
    for own in ("command", "replay"):  # of the run whose options they are
        given.pop(own, None)
    for name in given:
        if name not in known:
            meant = _meant(name)
            guess = f"; did you mean {meant!r}?" if meant else f"; there is {', '.join(known)}"
            raise ValueError(f"{path} must hold options of a run, not {name!r}{guess}")
    for name in ("name", "runs"):
        if not isinstance(given.get(name, ""), str):
            raise ValueError(f"{name} must be a text in {path}, not {given[name]!r}")
    if "runs" in given:
        given["runs"] = Path(given["runs"])
    return given


def _meant(name: str) -> str | None:
    """The option whose name is like this, or is another one on the command line."""
    known = described(TrainingOptions)
    flags = {option.flag.replace("-", "_"): own for own, (_, option) in known.items()}
    close = get_close_matches(name, [*known, *filter(None, flags)], 1)
    return flags.get(close[0], close[0]) if close else None
