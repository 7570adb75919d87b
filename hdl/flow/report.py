"""Report of place and route: resources and clock of a design."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .families import FAMILIES

__all__ = ["Clock", "Report", "SlowPath", "read_report"]


@dataclass(frozen=True)
class Clock:
    """A clock in MHz: what was reached, and what was asked for."""

    reached: float
    wanted: float


@dataclass(frozen=True)
class SlowPath:
    """The slowest path of a clock.

    Parameters
    ----------
    begins, ends : str
        The cells at its ends.
    delay : float
        All of it, in ns.
    in_wires : float
        What wires take of that, in ns.
    """

    begins: str
    ends: str
    delay: float
    in_wires: float

    def __str__(self) -> str:
        span = f"{self.delay:.1f} ns, {self.in_wires:.1f} of them in wires"
        return f"{span}: from {self.begins} to {self.ends}"


@dataclass(frozen=True)
class Report:
    """Resources and clocks of a placed and routed design.

    Parameters
    ----------
    usage : dict of str to int
        Cells by resource, as nextpnr counts them after packing.
    clocks : dict of str to Clock
        By the name of the net.
    seed : int
        Of the placement.
    slow_paths : list of SlowPath
        The slowest one of each clock; not recorded.
    """

    usage: Mapping[str, int]
    clocks: Mapping[str, Clock]
    seed: int
    slow_paths: Sequence[SlowPath] = ()

    @property
    def meets_timing(self) -> bool:
        """True if every clock is as fast as it was asked to be."""
        return self.slack >= 1

    @property
    def slack(self) -> float:
        """Reached over wanted, for the clock that is worst."""
        return min(clock.reached / clock.wanted for clock in self.clocks.values())

    @property
    def megahertz(self) -> float:
        """The slowest clock."""
        return min(clock.reached for clock in self.clocks.values())

    def recorded(self) -> dict[str, Any]:
        """In types that JSON knows."""
        return {name: own for name, own in asdict(self).items() if name != "slow_paths"}


def read_report(path: Path, family: str, seed: int) -> Report:
    """The report that nextpnr wrote with ``--report``."""
    content = json.loads(path.read_text())
    cells = content["utilization"]
    return Report(
        usage={
            resource: sum(cells[cell]["used"] for cell in names if cell in cells)
            for resource, names in FAMILIES[family].placed.items()
        },
        clocks={
            name.removeprefix("$glbnet$"): Clock(entry["achieved"], entry["constraint"])
            for name, entry in content["fmax"].items()
        },
        seed=seed,
        slow_paths=[
            _slow_path(own["path"])
            for own in content["critical_paths"]
            if own["from"] == own["to"] != "<async>"
        ],
    )


def _slow_path(steps: Sequence[Mapping[str, Any]]) -> SlowPath:
    """A path, from its steps through cells and wires."""
    return SlowPath(
        begins=steps[0]["from"]["cell"],
        ends=steps[-1]["to"]["cell"],
        delay=sum(step["delay"] for step in steps),
        in_wires=sum(step["delay"] for step in steps if step["type"] == "routing"),
    )
