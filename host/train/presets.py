"""Training presets: what a run decides."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .options import TrainingOptions

__all__ = [
    "CADENCE",
    "COMPRESSED",
    "GRANULAR",
    "SPECULATIVE",
    "TRAINING_PRESETS",
    "check_preset",
    "device_preset_of",
]

#: What this version trains with.
TRAINING_PRESETS = ("sync", "cadence", "granular", "compress", "speculate", "all")

#: Training presets in which layers choose their precision.
GRANULAR = ("granular", "all")

#: Training presets in which regions choose their cadence.
CADENCE = ("cadence", "all")

#: Training presets in which gradients go compressed.
COMPRESSED = ("compress", "all")

#: Training presets whose steps begin while the last update is in flight.
SPECULATIVE = ("speculate", "all")


def check_preset(name: str) -> None:
    """See to it that there is a training preset of a name.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name not in TRAINING_PRESETS:
        raise ValueError(
            f"training preset must be one of {', '.join(TRAINING_PRESETS)}, not {name!r}"
        )


def device_preset_of(options: "TrainingOptions") -> str:
    """The device preset that has the units of a run."""
    on_device = options.network == "device" or (options.granular and options.coder == "device")
    return "whole" if on_device else "granular" if options.granular else "full"
