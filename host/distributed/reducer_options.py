"""Options of cadences and decisions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral
from types import NoneType
from typing import TYPE_CHECKING, Any, Self

from adagrain.host.telemetry.events import Sink
from adagrain.host.telemetry.sinks import LogSink
from adagrain.models.interface.policies import CadencePolicy, SpeculationPolicy

from .option_names import check_names
from .timing import Timing

if TYPE_CHECKING:
    from .step_log import StepLog

__all__ = ["ReducerOptions"]


#: What options may be, and what people call these kinds.
_KINDS: dict[str, tuple[type, ...]] = {
    "cadence": (CadencePolicy, NoneType),
    "cadences": (Mapping,),
    "cadence_max": (Integral, Mapping),
    "policy": (SpeculationPolicy,),
    "epoch_steps": (Integral,),
    "parameters": (Mapping,),
    "compare_weights": (Integral,),
    "timing": (Timing,),
    "log": (Callable, NoneType),  # type: ignore[dict-item]
    "sinks": (list, tuple),
}
_ARTICLES = {Integral: "an integer", NoneType: "None", Mapping: "a mapping from names to integers"}
_ARTICLES |= {list: "a list", tuple: "a tuple of sinks"}


@dataclass(frozen=True)
class ReducerOptions:
    """Options of :class:`~adagrain.host.distributed.reducer.RegionReducer` and of ``register``.

    Parameters
    ----------
    cadence : CadencePolicy or None
        Who decides cadences; ``None``: they stay as they begin, for ever.
    cadences : dict of str to int
        Cadences at the beginning, by region; 1 for those that are not named.
    cadence_max : int or dict of str to int
        Longest cadence, for all regions or by region; powers of two.
    policy : SpeculationPolicy
        Rules for the speculation state, which is recorded only, but where steps are speculative.
    epoch_steps : int
        Steps per decision epoch; a multiple of the longest cadence.
    parameters : dict of str to int
        Fields of ``RegionParameters`` that differ from the defaults for this many workers.
    compare_weights : int
        The workers' weights are compared in front of every so many steps, the first too; 0: never.
    timing : Timing
        Where stall and redo times come from.
    log : callable or None
        Called with a :class:`StepLog` at the end of every step.
    sinks : sequence of Sink
        What receives every record of statistics, and every step.

    Raises
    ------
    TypeError, ValueError
        If an option is of a wrong kind, or a number out of its range.
    """

    cadence: CadencePolicy | None = CadencePolicy.NOISE
    cadences: Mapping[str, int] = field(default_factory=dict)
    cadence_max: int | Mapping[str, int] = 4
    policy: SpeculationPolicy = SpeculationPolicy.COST_AWARE
    epoch_steps: int = 16
    parameters: Mapping[str, int] = field(default_factory=dict)
    compare_weights: int = 64
    timing: Timing = field(default_factory=Timing)
    log: "Callable[[StepLog], None] | None" = None
    sinks: Sequence[Sink] = ()

    def __post_init__(self) -> None:
        for name, kinds in _KINDS.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, kinds):
                wanted = " or ".join(_ARTICLES.get(kind, f"a {kind.__name__}") for kind in kinds)
                raise TypeError(f"{name} must be {wanted}, not {value!r}")
        for sink in self.sinks:
            if not all(callable(getattr(sink, name, None)) for name in ("statistics", "step")):
                raise TypeError(f"sinks must have statistics() and step(), not {sink!r}")
        for name, number in self.parameters.items():
            if isinstance(number, bool) or not isinstance(number, Integral):
                raise TypeError(f"{name} of parameters must be an integer, not {number!r}")
        if self.epoch_steps < 1:
            raise ValueError(f"epoch_steps must be at least 1, not {self.epoch_steps!r}")
        if self.compare_weights < 0:
            raise ValueError(f"compare_weights must not be negative, not {self.compare_weights!r}")
        for name in ("cadences", "cadence_max", "epoch_steps", "parameters", "compare_weights"):
            object.__setattr__(self, name, _plain(getattr(self, name)))

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Those that are named.

        Raises
        ------
        TypeError
            If there is none of a name; what it may be instead is said.
        """
        check_names("register", options, [option.name for option in fields(cls)])
        return cls(**options)

    def all_sinks(self) -> list[Sink]:
        """The sinks, and ``log`` as one of them."""
        return [*self.sinks, *([LogSink(self.log)] if self.log else [])]

    def saved(self) -> dict[str, Any]:
        """Those that a state is of, beside what regions begin with; as texts and numbers."""
        return {
            "cadence": None if self.cadence is None else self.cadence.name,
            "policy": self.policy.name,
            "parameters": {name: int(value) for name, value in sorted(self.parameters.items())},
        }

    def common(self) -> dict[str, Any]:
        """Those that all workers must have in common."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            name: dict(sorted(value.items())) if isinstance(value, Mapping) else value
            for name, value in found.items()
            if name not in ("timing", "log", "sinks")
        }


def _plain(value: Any) -> Any:
    """Integers of others as Python's own: ``torch.load`` refuses those of NumPy in a state."""
    if isinstance(value, Mapping):
        return {name: _plain(own) for name, own in value.items()}
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else value
