"""Training presets: what a run decides."""

__all__ = [
    "CADENCE",
    "COMPRESSED",
    "GRANULAR",
    "LATER_PRESETS",
    "TRAINING_PRESETS",
    "check_preset",
]

#: What this version trains with.
TRAINING_PRESETS = ("sync", "cadence", "granular", "compress", "all")

#: Training presets in which layers choose their precision.
GRANULAR = ("granular", "all")

#: Training presets in which regions choose their cadence.
CADENCE = ("cadence", "all")

#: Training presets in which gradients go compressed.
COMPRESSED = ("compress", "all")

#: Training presets whose granularities are still to come.
LATER_PRESETS = ("speculate",)


def check_preset(name: str) -> None:
    """See to it that there is a training preset of a name.

    Raises
    ------
    ValueError
        If there is none, or not yet.
    """
    if name in LATER_PRESETS:
        raise ValueError(
            f"training preset {name!r} comes with a later version; "
            f"this one has {' and '.join(TRAINING_PRESETS)}"
        )
    if name not in TRAINING_PRESETS:
        raise ValueError(
            f"training preset must be one of {', '.join(TRAINING_PRESETS)}, not {name!r}"
        )
