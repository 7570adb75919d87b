"""Rules that the Region Manager decides by, and the states that it decides on."""

import enum

__all__ = ["CadencePolicy", "SpeculationPolicy", "SpeculationState"]


class SpeculationPolicy(enum.IntEnum):
    """Rule set that decides a region's speculation state."""

    NEVER = 0
    SEED_LITERAL = 1
    COST_AWARE = 2
    ALWAYS = 3


class CadencePolicy(enum.IntEnum):
    """Rule that decides a region's cadence."""

    FIXED = 0  #: stays at ``cadence``
    PHASE = 1  #: ``cadence_min`` before decision epoch ``phase_epoch``, then ``cadence_max``
    NOISE = 2  #: one octave per decision epoch towards the measured noise-to-signal ratio


class SpeculationState(enum.IntEnum):
    """Mode of a region while its global update is in flight."""

    GLOBAL = 0
    HYBRID = 1
    FULL = 2
