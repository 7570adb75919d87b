"""Options of speculative training."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self

from adagrain.host.distributed.option_names import check_names, check_number
from adagrain.host.distributed.reducer_options import ReducerOptions

from .form import Form

__all__ = ["SpeculationOptions"]

#: Options of reducers that are others here: each region is updated in every step.
_EVERY_STEP = {"cadence": None, "cadence_max": 1}

#: Most updates in flight.
_DEEPEST = 8

#: Options that say where something is on this worker.
_FOLDERS = ("record", "replay")


@dataclass(frozen=True)
class SpeculationOptions:
    """Options of :func:`~.speculate.speculate` that are not those of a reducer.

    Parameters
    ----------
    tau : float
        Largest error of a guessed update that is accepted, relative to the true one; 0: only
        weights that are equal to the bit; infinite: all that are finite.
    form : str
        How the error is measured: ``"rmse"``, ``"mean_absolute"`` or ``"maximum"``.
    depth : int
        How many updates may be in flight, at most 8; 0: none, each is waited for at the end of its
        step. From 2 on a step may go out from weights that up to depth − 1 updates were guessed of
        (bounded staleness); whether those guesses were right is not asked any more.
    bucket_bytes : int or None
        Regions go together in collectives of at most so many bytes; larger ones alone. ``None``:
        as it is best on this link, which is measured at the beginning, and for this model.
    clip : float or None
        Largest norm of all gradients together, as :func:`torch.nn.utils.clip_grad_norm_` has it.
        A norm takes all gradients: no region's update can be applied before all have arrived.
    cap : float
        Highest learning rate that a cadence above 1 may reach.
    keep_outputs : bool
        After a reject, modules in front of it are left out; otherwise a pass is done again whole.
    record : str, Path or None
        Folder for a recording of the run, of which each worker writes a file.
    replay : str, Path or None
        Folder of a recording, whose course the run is to take again.

    Raises
    ------
    TypeError, ValueError
        If an option is of a wrong kind, or out of its range.
    """

    tau: float = 0.5
    form: str = "rmse"
    depth: int = 1
    bucket_bytes: int | None = None
    clip: float | None = None
    cap: float = 0.2
    keep_outputs: bool = True
    record: str | Path | None = None
    replay: str | Path | None = None

    def __post_init__(self) -> None:
        check_number(self, "tau", Real, "a number from 0 on", lambda tau: tau >= 0)
        if self.form not in [*Form]:
            raise ValueError(f"form must be one of {', '.join(Form)}, not {self.form!r}")
        wanted = f"an integer from 0 to {_DEEPEST}"
        check_number(self, "depth", Integral, wanted, lambda depth: 0 <= depth <= _DEEPEST)
        if self.bucket_bytes is not None:
            wanted = "a positive integer, or None"
            check_number(self, "bucket_bytes", Integral, wanted, lambda size: size > 0)
        check_number(self, "cap", Real, "a positive number", lambda cap: cap > 0)
        if self.clip is not None:
            wanted = "a positive number, or None"
            check_number(self, "clip", Real, wanted, lambda clip: 0 < clip < math.inf)
        if not isinstance(self.keep_outputs, bool):
            raise TypeError(f"keep_outputs must be True or False, not {self.keep_outputs!r}")
        for name in _FOLDERS:
            if not isinstance(getattr(self, name), str | Path | None):
                raise TypeError(f"{name} must be a folder, or None, not {getattr(self, name)!r}")
        if self.record is not None and self.replay is not None:
            raise ValueError("record must be None where a recording is replayed")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> tuple[Self, ReducerOptions]:
        """Those that are named, and the reducer's.

        Raises
        ------
        TypeError, ValueError
            If there is none of a name, or one is of a wrong kind, or out of its range, or has no
            effect beside the others.
        """
        own = [option.name for option in fields(cls)]
        others = [option.name for option in fields(ReducerOptions)]
        check_names("speculate", options, [*own, *others])
        rest = {name: value for name, value in options.items() if name in others}
        chosen = cls(**{name: value for name, value in options.items() if name in own})
        if rest.get("cadence") is None:
            rest = _EVERY_STEP | rest
        reducing = ReducerOptions(**rest)
        if reducing.cadence is None and not reducing.cadences:
            given = ("cap", chosen.cap, cls.cap), ("cadence_max", reducing.cadence_max, 1)
            for name, value, unused in given:
                if value != unused:
                    raise ValueError(
                        f"{name} must be left out where each region is updated in every step, not "
                        f"{value!r}: give cadences, or a policy, cadence"
                    )
        return chosen, reducing

    @property
    def worth(self) -> float:
        """Largest error of a guess that policies take for worth it.

        With several updates in flight a reject waits for the oldest of them, and a region that is
        not guessed for all: there a guess is worth it where it is nearer to the truth than none;
        but for τ = 0, which has nothing near.
        """
        return max(1.0, self.tau) if self.depth > 1 and self.tau else self.tau

    def common(self) -> dict[str, Any]:
        """Values that all workers must have in common."""
        names = [option.name for option in fields(self) if option.name not in _FOLDERS]
        return {name: getattr(self, name) for name in names}
