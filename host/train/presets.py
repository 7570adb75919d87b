"""Training presets: what a run decides."""

__all__ = [
    "CADENCE",
    "COMPRESSED",
    "GRANULAR",
    "SPECULATIVE",
    "TRAINING_PRESETS",
    "check_preset",
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
