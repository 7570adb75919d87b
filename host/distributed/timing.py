"""Sources of the times that enter decisions: measured, fixed, or those of an earlier run."""

from pathlib import Path
from typing import Self

from adagrain.host.json_lines import read_json_lines

__all__ = ["Timing"]

_LARGEST = 0xFFFF_FFFF


class Timing:
    """Stall and redo times in microseconds.

    Only their sums over the workers enter decisions, and those are logged. ``fixed`` and
    ``replay`` make runs repeatable, and comparable between devices.

    Parameters
    ----------
    fixed : tuple of int or None
        Stall and redo of every worker and step.
    replayed : dict or None
        Sums over the workers, by step.
    """

    def __init__(
        self,
        *,
        fixed: tuple[int, int] | None = None,
        replayed: dict[int, tuple[int, int]] | None = None,
    ) -> None:
        self._fixed = fixed
        self._replayed = replayed

    @classmethod
    def parse(cls, text: str) -> Self:
        """``measured``, ``fixed`` (0 µs), ``fixed:STALL,REDO`` or ``replay:FILE``.

        Raises
        ------
        ValueError
            If the text is none of these, a time is beyond 32 bits, or the file holds no times.
        """
        kind, _, argument = text.partition(":")
        if text == "measured":
            return cls()
        if text == "fixed":
            return cls(fixed=(0, 0))
        if kind == "fixed" and len(argument.split(",")) == 2:
            stall, redo = argument.split(",")
            if stall.isdecimal() and redo.isdecimal():
                return cls(fixed=(_bounded(stall), _bounded(redo)))
        if kind == "replay":
            return cls(replayed=_read(Path(argument)))
        raise ValueError(
            f"timing must be 'measured', 'fixed', 'fixed:STALL,REDO' or 'replay:FILE', not {text!r}"
        )

    def local(self, stall: float, redo: float) -> tuple[int, int]:
        """Contribution of this worker for measured seconds."""
        if self._fixed is not None:
            return self._fixed
        return round(stall * 1e6), round(redo * 1e6)

    def check(self, first: int, steps: int) -> None:
        """See to it that there are times of so many steps from a first one on.

        Raises
        ------
        ValueError
            If the replayed run did not get this far.
        """
        for step in range(first, first + steps):
            if self._replayed is not None and step not in self._replayed:
                raise ValueError(f"replayed times must cover step {step}, but do not")

    def agreed(self, step: int, stall: int, redo: int) -> tuple[int, int]:
        """Times that enter the decisions of a step, given the sums over the workers.

        Raises
        ------
        ValueError
            If the replayed run did not get this far.
        """
        if self._replayed is not None:
            self.check(step, 1)
            stall, redo = self._replayed[step]
        return min(stall, _LARGEST), min(redo, _LARGEST)


def _bounded(text: str) -> int:
    time = int(text)
    if time > _LARGEST:
        raise ValueError(f"timing must have times of at most {_LARGEST} µs, not {time}")
    return time


def _read(path: Path) -> dict[int, tuple[int, int]]:
    if not path.is_file():
        raise ValueError(f"timing file must exist, but there is no {path}")
    try:
        lines = read_json_lines(path)
        times = {line["step"]: (line["stall"], line["redo"]) for line in lines if "stall" in line}
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"timing file must be a run's metrics.jsonl, but {path} is not") from None
    for step, found in times.items():
        if not all(type(value) is int and value >= 0 for value in (step, *found)):
            raise ValueError(
                f"timing file must hold whole numbers, but step {step} of {path} has {found}"
            )
    if not times:
        raise ValueError(f"timing file must hold a run's times, but {path} holds none")
    return times
