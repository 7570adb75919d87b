"""Options of a run that are those of a part of it, under the same names: taken over, given on."""

from typing import TYPE_CHECKING, Any

from adagrain.host.compression.options import CODERS, CompressionOptions
from adagrain.host.speculation.options import SpeculationOptions

from .option import option
from .presets import COMPRESSED, SPECULATIVE

if TYPE_CHECKING:
    from adagrain.host.granular.policy import Policy

    from .options import TrainingOptions

__all__ = [
    "compressed", "compression_of", "golden_or_device", "policy_of", "speculation_of",
    "speculative",
]  # fmt: skip

#: Options of the compressed exchange that have the same name in a run.
_COMPRESSION = (
    *("density", "mask", "mantissa_bits", "error_feedback", "nesterov"),
    *("warmup_passes", "warmup_density", "bypass", "coder", "network", "seed"),
)

#: Options of speculation that have.
_SPECULATION = ("tau", "form", "depth", "keep_outputs")


def compressed(name: str, about: str) -> Any:
    """An option that has its default value from the compressed exchange."""
    return option(getattr(CompressionOptions, name), about, presets=COMPRESSED)


def golden_or_device(about: str) -> Any:
    """An option that says what does a part of the compressed exchange; all do it alike."""
    return option(CODERS[0], about, among=CODERS, presets=COMPRESSED, may_change=True)


def speculative(name: str, about: str) -> Any:
    """An option that has its default value from speculation."""
    return option(getattr(SpeculationOptions, name), about, presets=SPECULATIVE)


def compression_of(options: "TrainingOptions") -> CompressionOptions | None:
    """Options of compression; ``None`` with training presets without it.

    Raises
    ------
    TypeError, ValueError
        As :meth:`CompressionOptions.of`, for those that are not as they are by themselves.
    """
    if options.preset not in COMPRESSED:
        return None
    values = {name: getattr(options, name) for name in _COMPRESSION}
    given = {
        name: value for name, value in values.items() if value != getattr(CompressionOptions, name)
    }
    momentum = options.momentum if options.momentum_correction else 0.0
    return CompressionOptions.of({"budget": options.budget or None, "momentum": momentum, **given})


def policy_of(options: "TrainingOptions") -> "Policy":
    """Policy by which layers choose their precision."""
    from adagrain.host.granular.policy import (  # brings torch, which --help can do without
        Policy,
    )

    return Policy(
        fixed=None if options.precision == "dynamic" else options.precision,
        channel_groups=options.channel_groups,
        gradients=options.gradients,
        penalty=options.penalty,
    )


def speculation_of(options: "TrainingOptions") -> SpeculationOptions | None:
    """Options of speculation; ``None`` with training presets without it.

    Raises
    ------
    TypeError, ValueError
        As :class:`SpeculationOptions`.
    """
    if options.preset not in SPECULATIVE:
        return None
    return SpeculationOptions(
        clip=options.clip or None,
        bucket_bytes=options.bucket_bytes or None,
        cap=options.cap if options.decides_cadences else SpeculationOptions.cap,
        **{name: getattr(options, name) for name in _SPECULATION},
    )
