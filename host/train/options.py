"""Everything that a training run is asked to do, checked before anything starts."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from adagrain.host.granular.policy import Policy

__all__ = ["LATER_PRESETS", "TRAINING_PRESETS", "TrainingOptions"]

#: What this version trains with.
TRAINING_PRESETS = ("sync", "cadence", "granular", "all")

#: Presets in which layers choose their precision, and those in which regions choose their cadence.
_GRANULAR, _CADENCE = ("granular", "all"), ("cadence", "all")

#: What ``precision`` may be.
_PRECISIONS = ("dynamic", "FP32", "FP16", "INT8", "INT4")

#: What the device may compute.
_OFFLOADS = ("none", "forward")

#: Presets whose granularities are still to come.
LATER_PRESETS = ("compress", "speculate")

#: What the values of options must be, by the type of the option.
_KINDS: dict[Any, tuple[Any, str]] = {
    int: (int, "a whole number"),
    float: (int | float, "a number"),
    str: (str, "a text"),
    Path: (Path, "a path"),
}

#: Options that may differ when a run is resumed; of its steps there may be more.
_FREE = {"name", "runs", "device", "timing", "checkpoint_every", "steps", "command"}

#: The most that a seed may be: what PyTorch takes, by what the epochs of samples multiply it.
_LARGEST_SEED = (1 << 63) // 1_000_003 - 1


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """What one training run does.

    Parameters
    ----------
    name : str
        Name of the run; its files go to ``runs/<name>/``.
    runs : Path
        Folder of all runs.
    preset : str
        ``sync``: every region is updated in every step, decisions are recorded.
        ``cadence``: the coprocessors decide how many steps each region accumulates.
        ``granular``: they decide in which precision each layer computes. ``all``: both.
    data : str
        ``digits``, or the path of local MNIST or CIFAR-10 files.
    workers : int
        Processes that train together.
    device : str
        Url of each worker's coprocessor; ``{rank}`` stands for the worker's number.
    device_preset : str
        What the device was built with; by default ``granular`` where layers choose their
        precision, else ``full``.
    by : str
        How parameters are grouped into regions, as :func:`adagrain.regions` takes it.
    steps : int
        Steps of the run; each takes ``workers × batch`` samples.
    batch : int
        Samples per worker and step.
    learning_rate : float
        Peak of the schedule: linear warm-up, then a half cosine to zero.
    warmup : int
        Steps of the warm-up.
    momentum, weight_decay : float
        Of stochastic gradient descent.
    cap : float
        Highest effective learning rate of a region that accumulates over several steps.
    cadence_max : int
        Most steps that a region may accumulate; a power of two.
    epoch_steps : int
        Steps between decisions; a multiple of ``cadence_max``.
    noise : float
        Noise-to-signal ratio of a worker's accumulated gradient above which a region's cadence
        grows; it shrinks below a quarter of that. At most 255.
    precision : str
        ``dynamic``, or the name of the one that all layers compute in, in a granular run.
    units : int
        Granularity units of a layer.
    gradients : str
        Lowest precision of the backward pass in a granular run.
    penalty : float
        λ of the granularity penalty at first; it falls to zero with the run.
    threshold_rate : float
        Learning rate of the thresholds between precisions, in octaves.
    bits : float
        Mean bits of a number that the forward passes may have; 0: as many as are wanted.
    offload : str
        ``forward``: the devices compute forward passes, the golden model those in between, with
        the same bits. ``none``: the golden model computes all of them.
    offload_every : int
        Steps from one that is offloaded to the next.
    seed : int
        Of the weights' initial values and the order of the samples.
    timing : str
        ``measured``, ``fixed`` or ``replay:FILE``: where stall and redo times come from.
    checkpoint_every : int
        Steps between checkpoints; 0 for none.
    command : tuple of str
        Command line, recorded in the summary.

    Raises
    ------
    ValueError
        If a value is out of its range; the message names the value and the range.
    """

    name: str
    runs: Path = Path("runs")
    preset: str = "cadence"
    data: str = "digits"
    workers: int = 2
    device: str = "sim:"
    device_preset: str = ""
    by: str = "module"
    steps: int = 1050
    batch: int = 32
    learning_rate: float = 0.1
    warmup: int = 32
    momentum: float = 0.9
    weight_decay: float = 0.0
    cap: float = 0.2
    cadence_max: int = 4
    epoch_steps: int = 16
    noise: float = 0.25
    precision: str = "dynamic"
    units: int = 1
    gradients: str = "INT8"
    penalty: float = 0.5
    threshold_rate: float = 1.0
    bits: float = 0.0
    offload: str = "none"
    offload_every: int = 16
    seed: int = 0
    timing: str = "measured"
    checkpoint_every: int = 0
    command: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_kinds()
        self._check_preset()
        self._check_precision()
        if not self.device_preset:
            preset = "granular" if self.granular else "full"
            object.__setattr__(self, "device_preset", preset)
        if not self.name or "/" in self.name or self.name.startswith("."):
            raise ValueError(f"name must be a plain folder name, not {self.name!r}")
        for field in ("workers", "steps", "batch", "cadence_max", "epoch_steps", "offload_every"):
            if getattr(self, field) < 1:
                raise ValueError(f"{field} must be at least 1, not {getattr(self, field)}")
        for field in ("warmup", "checkpoint_every", "seed"):
            if getattr(self, field) < 0:
                raise ValueError(f"{field} must not be negative, not {getattr(self, field)}")
        if self.seed > _LARGEST_SEED:
            raise ValueError(f"seed must be at most {_LARGEST_SEED}, not {self.seed}")
        if not 0 <= self.noise <= 255:
            raise ValueError(f"noise must be from 0 to 255, not {self.noise}")
        if self.cadence_max & (self.cadence_max - 1):
            raise ValueError(f"cadence_max must be a power of two, not {self.cadence_max}")
        if self.epoch_steps % self.cadence_max:
            raise ValueError(
                f"epoch_steps must be a multiple of cadence_max ({self.cadence_max}), "
                f"not {self.epoch_steps}"
            )
        if not 0 < self.learning_rate <= self.cap:
            raise ValueError(
                f"learning_rate must be above 0 and at most cap ({self.cap}), "
                f"not {self.learning_rate}"
            )

    @property
    def noise_threshold(self) -> int:
        """``noise`` as the device takes it, Q8.8."""
        return round(self.noise * 256)

    @property
    def longest_cadence(self) -> int:
        """Most steps that a region may accumulate with this preset."""
        return self.cadence_max if self.preset in _CADENCE else 1

    @property
    def granular(self) -> bool:
        """Whether layers choose their precision."""
        return self.preset in _GRANULAR

    @property
    def policy(self) -> "Policy":
        """How they choose it."""
        from adagrain.host.granular.policy import (  # brings torch, which --help can do without
            Policy,
        )

        return Policy(
            fixed=None if self.precision == "dynamic" else self.precision,
            units=self.units,
            gradients=self.gradients,
            penalty=self.penalty,
        )

    def device_of(self, rank: int) -> str:
        """Url of a worker's device."""
        return self.device.replace("{rank}", str(rank))

    @property
    def folder(self) -> Path:
        """Where the run's files go."""
        return self.runs / self.name

    def binding(self) -> dict[str, Any]:
        """The options that a resumed run must share with the run that it goes on with."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _FREE}

    def recorded(self) -> dict[str, Any]:
        """All options in types that JSON knows."""
        return asdict(self) | {"runs": str(self.runs), "command": list(self.command)}

    @classmethod
    def restored(cls, recorded: Mapping[str, Any]) -> Self:
        """The options that :meth:`recorded` gave.

        Raises
        ------
        ValueError
            If one is unknown, as another version may have written it, or out of its range.
        """
        unknown = sorted(recorded.keys() - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"options must be of this version, but hold {', '.join(unknown)}")
        paths = {"runs": Path(recorded["runs"]), "command": tuple(recorded["command"])}
        return cls(**{**recorded, **paths})

    def resumed(self, given: Mapping[str, Any]) -> Self:
        """The options of a run that goes on with others given.

        Raises
        ------
        ValueError
            If one is given that must be the same, with another value, or fewer steps.
        """
        for name, value in given.items():
            begun = getattr(self, name)
            if name not in _FREE and value != begun:
                raise ValueError(
                    f"{name} must be {begun!r}, as run {self.name!r} was begun with, not {value!r}"
                )
        if given.get("steps", self.steps) < self.steps:
            raise ValueError(
                f"steps must be at least {self.steps}, as run {self.name!r} was begun with, "
                f"not {given['steps']}"
            )
        return replace(self, **given)

    def _check_kinds(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type in _KINDS:
                kind, words = _KINDS[field.type]
                if isinstance(value, bool) or not isinstance(value, kind):
                    raise TypeError(f"{field.name} must be {words}, not {value!r}")
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{field.name} must be a finite number, not {value}")

    def _check_precision(self) -> None:
        if self.precision not in _PRECISIONS:
            raise ValueError(
                f"precision must be one of {', '.join(_PRECISIONS)}, not {self.precision!r}"
            )
        if self.offload not in _OFFLOADS:
            raise ValueError(f"offload must be one of {', '.join(_OFFLOADS)}, not {self.offload!r}")
        if not self.granular and (self.precision != "dynamic" or self.offload != "none"):
            name = "precision" if self.precision != "dynamic" else "offload"
            raise ValueError(
                f"{name} must be left out with preset {self.preset!r}, not "
                f"{getattr(self, name)!r}: it belongs to {' and '.join(_GRANULAR)}"
            )
        if self.threshold_rate < 0:
            raise ValueError(f"threshold_rate must not be negative, not {self.threshold_rate:g}")
        if self.bits and not 4 <= self.bits <= 32:
            raise ValueError(f"bits must be from 4 to 32, or 0, not {self.bits:g}")
        if self.granular:
            _ = self.policy  # which checks what belongs to it

    def _check_preset(self) -> None:
        if self.preset in LATER_PRESETS:
            raise ValueError(
                f"preset {self.preset!r} comes with a later version; "
                f"this one has {' and '.join(TRAINING_PRESETS)}"
            )
        if self.preset not in TRAINING_PRESETS:
            raise ValueError(
                f"preset must be one of {', '.join(TRAINING_PRESETS)}, not {self.preset!r}"
            )
