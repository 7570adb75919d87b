"""Everything that a training run is asked to do, checked before anything starts."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

__all__ = ["LATER_PRESETS", "TRAINING_PRESETS", "TrainingOptions"]

#: What this version trains with.
TRAINING_PRESETS = ("sync", "cadence")

#: Presets whose granularities are still to come.
LATER_PRESETS = ("compress", "granular", "speculate", "all")

#: Options that may differ when a run is resumed.
_FREE = {"name", "runs", "device", "timing", "checkpoint_every", "command"}


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
    data : str
        ``digits``, or the path of local MNIST or CIFAR-10 files.
    workers : int
        Processes that train together.
    device : str
        Url of each worker's coprocessor; ``{rank}`` stands for the worker's number.
    device_preset : str
        What the device was built with.
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
    device_preset: str = "full"
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
    seed: int = 0
    timing: str = "measured"
    checkpoint_every: int = 0
    command: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_preset()
        if not self.name or "/" in self.name or self.name.startswith("."):
            raise ValueError(f"name must be a plain folder name, not {self.name!r}")
        for field in ("workers", "steps", "batch", "cadence_max", "epoch_steps"):
            if getattr(self, field) < 1:
                raise ValueError(f"{field} must be at least 1, not {getattr(self, field)}")
        for field in ("warmup", "checkpoint_every", "seed"):
            if getattr(self, field) < 0:
                raise ValueError(f"{field} must not be negative, not {getattr(self, field)}")
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
        return self.cadence_max if self.preset == "cadence" else 1

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
