"""Resource manager: bounds on precision by what the machine and the user can afford."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adagrain.models.interface.precision import Precision
from adagrain.models.precision_controller import precision_of_rank, rank_of

from .kinds import check_is_number

__all__ = ["Budget", "BudgetError", "Cost", "ResourceManager", "slice_cycles"]

#: Part of a limit below which a busy host counts as idle again.
_RELIEF = 0.9

#: Bits of the lowest precision and of the highest.
_LEAST_BITS, _MOST_BITS = Precision.INT4.bits, Precision.FP32.bits


class BudgetError(ValueError):
    """A budget that even the lowest precision exceeds."""


@dataclass(frozen=True)
class Cost:
    """Cost of a channel group in a step.

    Parameters
    ----------
    name : str
        Of its layer.
    macs : int
        Multiplications of a forward pass.
    weights : int
        Numbers that its operand memory holds.
    floor, ceiling : Precision
        What its policy allows.
    """

    name: str
    macs: int
    weights: int
    floor: Precision
    ceiling: Precision


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of what may be used; ``None``: as much as there is.

    Parameters
    ----------
    cycles : float or None
        Cycles of the device's slices for all forward passes of a step: reckoned from the numbers
        of multiplications, times what the device's counters have shown to come on top.
    bytes : float or None
        Bytes of all weights, packed at their precisions.
    bits : float or None
        Mean bits of a number, over all multiplications; 4 to 32.
    cpu, memory : float or None
        Parts of the host's processors and memory that may be busy, 0 to 1. While they are
        exceeded, ceilings fall by a precision at each look; below nine tenths they rise again.

    Raises
    ------
    TypeError, ValueError
        If a value is no number, or out of its range.
    """

    cycles: float | None = None
    bytes: float | None = None
    bits: float | None = None
    cpu: float | None = None
    memory: float | None = None

    def __post_init__(self) -> None:
        given = {name: value for name, value in vars(self).items() if value is not None}
        for name, value in given.items():
            check_is_number(name, value)
            if name in ("cycles", "bytes") and not value > 0:
                raise ValueError(f"{name} must be above 0, not {value:g}")
            if name == "bits" and not _LEAST_BITS <= value <= _MOST_BITS:
                raise ValueError(f"bits must be from {_LEAST_BITS} to {_MOST_BITS}, not {value:g}")
            if name in ("cpu", "memory") and not 0 < value <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, not {value:g}")

    @property
    def watches_host(self) -> bool:
        """True if it depends on what else the host does, and so on time."""
        return self.cpu is not None or self.memory is not None


def host_load() -> tuple[float, float]:
    """Parts of the processors, since the last call, and of the memory that are in use."""
    import psutil

    return psutil.cpu_percent() / 100, psutil.virtual_memory().percent / 100


class ResourceManager:
    """Sets floor and ceiling of each channel group, so that a budget is kept.

    Bounds hold for a channel group from its next sample on that has a normalised variance, and for
    a layer that has been used in a step.

    Parameters
    ----------
    budget : Budget
        What may be used.
    slices : int or None
        Slices of the device, which share the work; ``None``: as many as it has.
    load : callable
        What tells the host's load, as :func:`host_load` does.

    Raises
    ------
    TypeError
        If the budget is none.

    Members
    -------
    pressure : int
        Precisions by which a busy host lowers all ceilings.
    overhead : float
        Cycles that the device's slices were busy, of each that was reckoned: more than 1 where
        rows or columns do not fill them. 1 until it has computed something.
    """

    def __init__(
        self,
        budget: Budget,
        slices: int | None = None,
        load: Callable[[], tuple[float, float]] = host_load,
    ) -> None:
        if not isinstance(budget, Budget):
            raise TypeError(f"budget must be a Budget, not {budget!r}")
        self.budget = budget
        self.slices = slices
        self.pressure, self.overhead = 0, 1.0
        self._load = load

    def state_dict(self) -> dict[str, float]:
        """State: pressure that was felt, and what was measured."""
        return {"pressure": self.pressure, "overhead": self.overhead}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self.pressure, self.overhead = int(state["pressure"]), state["overhead"]

    def feel(self) -> None:
        """Look at how busy the host is; once for all layers that look at their inputs together."""
        if not self.budget.watches_host:
            return
        pairs = zip(self._load(), (self.budget.cpu, self.budget.memory), strict=True)
        parts = [used / limit for used, limit in pairs if limit is not None]
        if max(parts) > 1:
            self.pressure = min(self.pressure + 1, len(Precision) - 1)
        elif max(parts) < _RELIEF:
            self.pressure = max(self.pressure - 1, 0)

    def bounds(self, costs: Sequence[Cost]) -> list[tuple[Precision, Precision]]:
        """Floors and ceilings with which the budget is kept whatever the controllers want.

        Where a limit is exceeded, one ceiling after the other falls, until it is kept: of the
        highest ones that whose fall frees most.

        Parameters
        ----------
        costs : sequence of Cost
            All channel groups.

        Raises
        ------
        BudgetError
            If the budget is exceeded with all channel groups at their floors.
        """
        floors = [rank_of(cost.floor) for cost in costs]
        ceilings = [
            max(floor, rank_of(cost.ceiling) - self.pressure)
            for floor, cost in zip(floors, costs, strict=True)
        ]
        for name, limit, needs in self._limits(costs):
            table = [[needs(cost, precision_of_rank(r)) for r in range(4)] for cost in costs]
            while sum(row[r] for row, r in zip(table, ceilings, strict=True)) > limit:
                gains = [
                    (r, row[r] - row[r - 1]) if r > floor else (0, 0.0)
                    for row, r, floor in zip(table, ceilings, floors, strict=True)
                ]
                best = max(range(len(costs)), key=gains.__getitem__)
                if gains[best] == (0, 0.0):
                    least = sum(row[r] for row, r in zip(table, ceilings, strict=True))
                    raise BudgetError(
                        f"{name} must be at least {_shown(name, least, costs)} with all channel "
                        f"groups at their floors, not {getattr(self.budget, name):.12g}"
                    )
                ceilings[best] -= 1
        return [
            (cost.floor, precision_of_rank(rank))
            for cost, rank in zip(costs, ceilings, strict=True)
        ]

    def _limits(
        self, costs: Sequence[Cost]
    ) -> list[tuple[str, float, Callable[[Cost, Precision], float]]]:
        """Name of each limit, its value, and what a channel group needs of it in a precision."""
        budget, found = self.budget, list[tuple[str, float, Callable[[Cost, Precision], float]]]()
        if budget.cycles is not None:
            found.append(("cycles", budget.cycles, self._cycles))
        if budget.bytes is not None:
            found.append(("bytes", budget.bytes, lambda c, p: c.weights * p.bits / 8))
        if budget.bits is not None:
            macs = sum(cost.macs for cost in costs)
            found.append(("bits", budget.bits * macs, lambda c, p: c.macs * p.bits))
        return found

    def _cycles(self, cost: Cost, precision: Precision) -> float:
        return self.overhead * slice_cycles(cost.macs, precision, self.slices or 1)


def slice_cycles(macs: int, precision: Precision, slices: int) -> int:
    """Cycles of so many multiplications, if all slices have something to multiply in each."""
    return -(-macs // (precision.lanes * slices))


def _shown(name: str, least: float, costs: Sequence[Cost]) -> str:
    """Least value of a limit, rounded up."""
    if name == "bits":
        return f"{math.ceil(1e6 * least / sum(c.macs for c in costs)) / 1e6:.12g}"
    return f"{math.ceil(least)}"
