"""Everything that a training run is asked to do, checked before anything starts."""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from adagrain.host.compression.options import BYPASSES, MASKS, CompressionOptions
from adagrain.host.speculation.form import Form
from adagrain.host.speculation.options import SpeculationOptions
from adagrain.models.interface.policies import SpeculationPolicy

from .option import described, option
from .option_fit import check_fit
from .parts import (
    compressed,
    compression_of,
    golden_or_device,
    policy_of,
    speculation_of,
    speculative,
)  # fmt: skip
from .presets import CADENCE, COMPRESSED, GRANULAR, SPECULATIVE, device_preset_of

if TYPE_CHECKING:
    from adagrain.host.granular.policy import Policy

__all__ = ["NETS", "TrainingOptions"]

#: The most that a seed may be: what PyTorch takes, by what the passes over the data multiply it.
_LARGEST_SEED = (1 << 63) // 1_000_003 - 1

#: Networks; the first one stands for that of the data.
NETS = ("auto", "mlp", "conv", "transformer")


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of one training run; the fields say of themselves what they are.

    Raises
    ------
    TypeError, ValueError
        If a value is of another kind or out of its range; the message names value and range.
    """

    preset: str = option(
        "cadence",
        "Training preset. sync: update all in every step; cadence: regions as the coprocessors "
        "decide; granular: layers in the precision that they decide; compress: send few elements "
        "of each gradient; speculate: begin steps while an update is in flight; all: all of these.",
    )
    device: str = option(
        "sim:",
        "Url of each worker's coprocessor: sim:, golden:, virtual:, serial:PORT ({rank} for its "
        "number).",
        may_change=True,
    )
    device_preset: str = option(
        "",
        "Device preset that it was built with: tiny, small, full, granular, wide or whole.",
        usual="granular, full, or whole, by what is needed",
        may_change=True,
    )
    workers: int = option(2, "Processes that train together.", least=1)
    data: str = option("digits", "digits, text, or a folder with MNIST or CIFAR-10 files.")
    net: str = option(
        NETS[0], f"Network: {', '.join(NETS[1:])}; auto: that of the data.", among=NETS
    )
    by: str = option("module", "How parameters become regions: module, tensor or rows:N.")
    steps: int = option(
        1050, "Steps of the run, each of workers x batch samples.", least=1, may_change=True
    )
    batch: int = option(32, "Samples per worker and step.", least=1)
    learning_rate: float = option(
        0.1, "Peak learning rate: linear warm-up, then half a cosine to zero.", flag="lr"
    )
    warmup: int = option(32, "Steps in which the learning rate rises.", least=0)
    momentum: float = option(0.9, "Momentum of stochastic gradient descent.", least=0, most=1)
    weight_decay: float = option(0.0, "Weight decay of stochastic gradient descent.", least=0)
    cap: float = option(
        0.2,
        "Highest effective learning rate of a region that accumulates over several steps.",
        presets=CADENCE,
    )
    cadence_max: int = option(
        4,
        "Most steps that a region may accumulate, a power of two.",
        least=1,
        presets=CADENCE,
    )
    epoch_steps: int = option(
        16, "Steps of a decision epoch, a multiple of the longest cadence.", least=1
    )
    noise: float = option(
        0.25,
        "Noise-to-signal ratio above which cadences grow; below a quarter of it they shrink.",
        least=0,
        most=255,
        presets=CADENCE,
    )
    precision: str = option(
        "dynamic",
        "dynamic, or FP32, FP16, INT8, INT4 for all layers.",
        among=("dynamic", "FP32", "FP16", "INT8", "INT4"),
        presets=GRANULAR,
    )
    channel_groups: int = option(
        1,
        "Channel groups of a layer: parts of its outputs, each with its own precision.",
        presets=GRANULAR,
    )
    gradients: str = option(
        "INT8",
        "Lowest precision of the backward pass: INT4, INT8, FP16 or FP32.",
        presets=GRANULAR,
    )
    penalty: float = option(
        0.5,
        "Weight of the granularity penalty at first; it falls to zero with the run.",
        presets=GRANULAR,
    )
    threshold_rate: float = option(
        1.0,
        "Peak learning rate of precision thresholds, in octaves.",
        flag="threshold-lr",
        least=0,
        presets=GRANULAR,
    )
    bits: float = option(
        0.0, "Mean bits of a number that forward passes may have; 0: any.", presets=GRANULAR
    )
    offload: str = option(
        "none",
        "forward: devices compute forward passes, the golden model those in between, with the "
        "same bits; none: the golden model computes all.",
        among=("none", "forward"),
        presets=GRANULAR,
    )
    offload_every: int = option(
        16, "Steps from one that is offloaded to the next.", least=1, presets=GRANULAR
    )
    density: float = compressed("density", "Part of all elements of a gradient that is sent.")
    budget: int = option(
        0, "Bytes that a worker sends in a step, about; 0: as the density says.", presets=COMPRESSED
    )
    mask: str = compressed("mask", f"What chooses what is sent: {', '.join(MASKS)}.")
    mantissa_bits: int = compressed("mantissa_bits", "Mantissa bits of what is sent, 0 to 7.")
    error_feedback: bool = compressed(
        "error_feedback", "What is not sent is added to the next gradient."
    )
    momentum_correction: bool = option(
        False, "Momentum comes before the mask, not behind the exchange.", presets=COMPRESSED
    )
    nesterov: bool = compressed("nesterov", "Momentum correction is Nesterov's.")
    warmup_passes: int = compressed(
        "warmup_passes", "Steps in which the density falls to what it is to be."
    )
    warmup_density: float = compressed("warmup_density", "Density from which it falls.")
    bypass: str = option(
        "never",
        f"Gradients go uncompressed, as BF16: {', '.join(BYPASSES)}; auto: where that is faster.",
        presets=COMPRESSED,
    )
    coder: str = golden_or_device(
        "What masks, makes frames and takes them apart: device, or the golden codec; all the same."
    )
    network: str = golden_or_device(
        "What decides on the learned mask's tables: the device that is the coder, or golden."
    )
    tau: float = speculative(
        "tau", "Largest error of a guessed update, relative to the true one; 0: equal to the bit."
    )
    form: str = speculative("form", f"How that error is measured: {', '.join(Form)}.")
    depth: int = speculative(
        "depth", "Updates that may be in flight, 0 to 8; 0: each is waited for at its step's end."
    )
    bucket_bytes: int = option(
        0,
        "Regions go together in collectives of at most so many bytes; 0: as the link has it.",
        least=0,
        presets=SPECULATIVE,
    )
    clip: float = option(
        0.0, "Largest norm of all gradients together; 0: any.", least=0, presets=SPECULATIVE
    )
    keep_outputs: bool = speculative(
        "keep_outputs", "A pass is done again from the first rejected guess on, not whole."
    )
    speculation_policy: str = option(
        SpeculationPolicy.COST_AWARE.name.lower(),
        "Who decides where there are guesses: never, seed_literal, cost_aware or always.",
        among=tuple(policy.name.lower() for policy in SpeculationPolicy),
        presets=SPECULATIVE,
    )
    record_run: bool = option(
        False,
        "Record what the run decides and what of it depends on time, for adagrain replay.",
        presets=SPECULATIVE,
        may_change=True,
    )
    seed: int = option(0, "Of initial weights and sample order.", least=0, most=_LARGEST_SEED)
    timing: str = option(
        "measured",
        "Stall and redo times: measured, fixed (0), fixed:STALL,REDO (both in µs), or replay:FILE.",
        may_change=True,
    )
    checkpoint_every: int = option(
        0, "Steps between checkpoints; 0: none.", least=0, may_change=True
    )
    name: str = option(
        MISSING,
        "Name of the run: its folder.",
        usual="from training preset and time",
        may_change=True,
    )
    runs: Path = option(Path("runs"), "Folder of all runs.", may_change=True)  # noqa: RUF009
    command: tuple[str, ...] = ()  # the command line, for the summary
    replay: str = ""  # folder of a recording that the run follows

    def __post_init__(self) -> None:
        check_fit(self)

    @property
    def noise_threshold(self) -> int:
        """``noise`` as the device takes it, Q8.8."""
        return round(self.noise * 256)

    @property
    def decides_cadences(self) -> bool:
        """True if regions choose their cadence."""
        return self.preset in CADENCE

    @property
    def longest_cadence(self) -> int:
        """Most steps that a region may accumulate with this training preset."""
        return self.cadence_max if self.decides_cadences else 1

    @property
    def granular(self) -> bool:
        """True if layers choose their precision."""
        return self.preset in GRANULAR

    @property
    def policy(self) -> "Policy":
        """The policy by which they choose it."""
        return policy_of(self)

    @property
    def compression(self) -> CompressionOptions | None:
        """Options of compression, if there is any."""
        return compression_of(self)

    @property
    def speculation(self) -> SpeculationOptions | None:
        """Options of speculation, if there is any."""
        return speculation_of(self)

    @property
    def built_with(self) -> str:
        """Device preset of the run's devices: what is given, or what it needs."""
        return self.device_preset or device_preset_of(self)

    def device_of(self, rank: int) -> str:
        """Url of a worker's device."""
        return self.device.replace("{rank}", str(rank))

    @property
    def folder(self) -> Path:
        """Folder of the run's files."""
        return self.runs / self.name

    def binding(self) -> dict[str, Any]:
        """The options that a resumed run must share with the run that it goes on with."""
        return {
            name: getattr(self, name)
            for name, (_, known) in described(self).items()
            if not known.may_change
        }

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
