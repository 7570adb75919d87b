"""An option of a run: written once, for the dataclass, the command line and files."""

import math
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any

__all__ = ["Option", "check", "check_left_out", "described", "option"]

#: What the values of options must be, by the type of the option.
_KINDS: dict[Any, tuple[Any, str]] = {
    int: (int, "a whole number"),
    float: (int | float, "a number"),
    bool: (bool, "true or false"),
    str: (str, "a text"),
    Path: (Path, "a path"),
}


@dataclass(frozen=True)
class Option:
    """Properties of an option beside its name, type and default value.

    Parameters
    ----------
    about : str
        What it is, for people.
    flag : str
        Its name on the command line, where that is another one.
    least, most : float or None
        Bounds of a number.
    among : tuple of str
        What a text may be; empty: anything.
    usual : str
        What stands for the default value where people read it.
    presets : tuple of str
        Training presets that know it, where not all do; others must leave it as it is.
    may_change : bool
        Whether it may have another value when a run is resumed.
    """

    about: str
    flag: str = ""
    least: float | None = None
    most: float | None = None
    among: tuple[str, ...] = ()
    usual: str = ""
    presets: tuple[str, ...] = ()
    may_change: bool = False


def option(default: Any, about: str, **more: Any) -> Any:
    """A field of a dataclass of options; ``MISSING`` for one that must be given.

    ``more`` are the other parameters of :class:`Option`.
    """
    metadata = {"option": Option(about, **more)}
    if default is MISSING:
        return field(metadata=metadata)
    return field(default=default, metadata=metadata)


def described(options: Any) -> dict[str, tuple[Field[Any], Option]]:
    """The options of a dataclass or of one of its instances, by name."""
    return {
        one.name: (one, one.metadata["option"])
        for one in fields(options)
        if "option" in one.metadata
    }


def check(options: Any) -> None:
    """Make sure that each option is of its kind and within its bounds.

    Raises
    ------
    TypeError, ValueError
        If one is not; name, expectation and value are said.
    """
    for name, (declared, known) in described(options).items():
        value = getattr(options, name)
        kind, words = _KINDS[declared.type]
        if isinstance(value, bool) != (kind is bool) or not isinstance(value, kind):
            raise TypeError(f"{name} must be {words}, not {value!r}")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, not {value}")
        if known.among and value not in known.among:
            raise ValueError(f"{name} must be one of {', '.join(known.among)}, not {value!r}")
        if bounds := _missed(value, known):
            raise ValueError(f"{name} must {bounds}, not {value}")


def check_left_out(options: Any, preset: str) -> None:
    """Make sure that options which a training preset passes over have their default values.

    Raises
    ------
    ValueError
        If one is not.
    """
    for name, (declared, known) in described(options).items():
        value = getattr(options, name)
        if known.presets and preset not in known.presets and value != declared.default:
            raise ValueError(
                f"{name} must be left out with training preset {preset!r}, not {value!r}: it "
                f"belongs to {' and '.join(known.presets)}"
            )


def _missed(value: Any, known: Option) -> str:
    """The bounds that a number is outside of; empty where it is within them, or has none."""
    low, high = known.least, known.most
    if (low is None or value >= low) and (high is None or value <= high):
        return ""
    if high is not None:
        return f"be from {low:g} to {high}" if low is not None else f"be at most {high}"
    return "not be negative" if low == 0 else f"be at least {low}"
