"""Check of a run's log before the run goes on: what was logged must be there, and be readable."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from adagrain.host.distributed.flown import Flown
from adagrain.host.distributed.sent import Sent
from adagrain.models.interface.precision import Precision

from .guesses import STATES
from .metrics import step_of

__all__ = ["check_metrics"]

_NUMBER = int | float

#: What must be in rows of regions; texts are of those given.
_REGION: dict[str, Any] = {
    "name": str,
    "local": _NUMBER,
    "average": _NUMBER,
    "alpha": _NUMBER,
    "cadence": int,
    "state": STATES,
    "sent": dict.fromkeys(Sent._fields, int),
    "guesses": {"accepts": int, "trials": int},
}

#: What must be in the line of a step, and in that of an evaluation.
_STEP: dict[str, Any] = {
    "step": int,
    "loss": _NUMBER | None,
    "dropped": [str],
    "regions": [_REGION],
    "bytes_sent": int,
    "flown": {own.name: _NUMBER for own in fields(Flown)},
    "precisions": {
        "bit_operations": int,
        "channel_groups": [{"name": str, "precision": tuple(own.name for own in Precision)}],
    },
}
_EVALUATION: dict[str, Any] = {"step": int, "accuracy": _NUMBER}

#: What is there in some runs alone.
_OPTIONAL = frozenset({"sent", "guesses", "bytes_sent", "flown", "precisions"})


def check_metrics(path: Path, start: int, *, told: int) -> None:
    """See to it that a run can go on with its log.

    Parameters
    ----------
    path : Path
        The log.
    start : int
        Steps that the run has behind it; lines from there on are not looked at.
    told : int
        The first steps, of which each must have a line; those of the last ones may be written when
        the run goes on.

    Raises
    ------
    ValueError
        If a step has no line, two, or one in front of an earlier one's, or a line has not what the
        run's history is made of.
    """
    remedy = "restore the file, or begin the run anew with --overwrite"
    if told and not path.is_file():
        raise ValueError(f"{path} must be the log of the run, but there is no such file; {remedy}")
    missing, unreadable, last = {*range(told)}, "", -1
    for number, line in enumerate(_lines(path), 1):
        step = step_of(line)
        if step is None:
            unreadable = unreadable or f", and line {number} cannot be read: {line[:40]!r}"
        elif step < start:
            entry = json.loads(line)
            if not _fits(entry, _EVALUATION if "accuracy" in entry else _STEP):
                raise ValueError(
                    f"line {number} of {path} must have the fields of a step or an evaluation, not "
                    f"{line[:40]!r}; {remedy}"
                )
            if "accuracy" in entry:
                continue
            if step <= last:
                raise ValueError(
                    f"line {number} of {path} must be of a step behind {last}, not of {step}; "
                    f"{remedy}"
                )
            missing.discard(step)
            last = step
    if missing:
        raise ValueError(
            f"{path} must have a line for each step until {told - 1}, but has none of step "
            f"{min(missing)}{unreadable}; {remedy}"
        )


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.is_file() else []


def _fits(value: Any, form: Any) -> bool:
    """True if a value is of a type, one of some texts, or consists of what is."""
    if isinstance(form, dict):
        return isinstance(value, dict) and all(
            _fits(value[name], own) if name in value else name in _OPTIONAL
            for name, own in form.items()
        )
    if isinstance(form, list):
        return isinstance(value, list) and all(_fits(own, form[0]) for own in value)
    if isinstance(form, tuple):
        return value in form
    return isinstance(value, form) and not isinstance(value, bool)
