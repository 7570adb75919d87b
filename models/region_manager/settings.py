"""Configuration of the Region Manager: records and parameters that make sense."""

from typing import Any

from adagrain.models.interface.records import pack
from adagrain.models.interface.units.region_manager import (
    CadencePolicy,
    RegionRecord,
    SpeculationPolicy,
    SpeculationState,
)

__all__ = ["MAX_WORKERS", "default_parameters", "region_record", "speculation_thresholds"]

#: Largest world size that the arithmetic holds.
MAX_WORKERS = 1024

#: Signal shares at which ``cost_aware`` gives up, takes up and trusts speculation.
_SIGNAL_SHARES = {"t0": 0.15, "t1": 0.30, "t2": 0.50}


def default_parameters(workers: int) -> dict[str, int]:
    """Fields of ``RegionParameters`` that suit a run of that many workers.

    A worker's gradient is signal plus noise, and ``α = N·W / A`` is then ``1/W + f·(1 − 1/W)``,
    where ``f`` is the signal's share of the energy: pure noise gives 1/W, not 0, and for two
    workers α never sits far from ½. So the thresholds are set on ``f`` and follow from it.

    - ``t0``, ``t1``, ``t2``: f = 0.15, 0.30, 0.50. For W = 8 that is α = 0.26, 0.39, 0.56; for
      W = 2 it is 0.575, 0.65, 0.75, and α of noise scatters by some 0.02 around 0.5.
    - ``divergence``, ``variance``, ``medium_variance``: f = 0.50, where noise equals signal:
      1 − α = (1 − 1/W)/2, and a variance of W/(W+1) times N.
    - ``noise``: W, where the noise of the *averaged* gradient equals its signal. (S is that of
      one worker's accumulated gradient; averaging divides it by W.)
    - ``rate``: the loss averages fall apart by 1 %. ``guard``: the fast one is twice the slow one.
    - ``noise_samples``: 16 updates. ``dwell``: 8 decision epochs.

    Raises
    ------
    ValueError
        If ``workers`` is not from 1 to 1024.
    """
    if not 1 <= workers <= MAX_WORKERS:
        raise ValueError(f"workers must be from 1 to {MAX_WORKERS}, not {workers!r}")

    def agreement(share: float) -> int:
        return min(65535, round(65536 * (1 / workers + share * (1 - 1 / workers))))

    variance = round(256 * workers / (workers + 1))
    return {
        "workers": workers,
        **{name: agreement(share) for name, share in _SIGNAL_SHARES.items()},
        "rate": 15,
        "variance": variance,
        "medium_variance": variance,
        "divergence": 65535 - agreement(0.5),
        "noise": min(65535, 256 * workers),
        "guard": 1024,
        "noise_samples": 16,
        "dwell": 8,
    }


#: Error, as a multiple of the largest one that is accepted, at which ``cost_aware`` gives up.
_HOPELESS = 1.25


def speculation_thresholds(tau: float, momentum: float) -> dict[str, int]:
    """Fields ``t0``, ``t1``, ``t2`` where guesses are accepted up to a known error.

    A guess with the gain α misses the true gradient by 1 − α of its energy, one with the gain 1 by
    1/α − 1. An update is made of gradients that momentum has gathered: where they are noise, the
    new one is 1 − β² of its energy. So an error of τ is reached where α is ``t1`` with the gain α,
    ``t2`` with the gain 1; ``t0`` is where the former is a quarter more than τ.

    Whatever the number of workers is, it is in α. With momentum 0.9 and τ = 0.5 all α will do.

    Parameters
    ----------
    tau : float
        Largest error of an update that is accepted, relative to the true one; from 0 on.
    momentum : float
        β, of SGD, or of the first moment of Adam; from 0 to below 1.

    Raises
    ------
    ValueError
        If one is out of its range.
    """
    if not tau >= 0:
        raise ValueError(f"tau must be a number from 0 on, not {tau!r}")
    if not 0 <= momentum < 1:
        raise ValueError(f"momentum must be from 0 to below 1, not {momentum!r}")
    allowed = tau * tau / (1 - momentum * momentum)
    shares = {
        "t0": 1 - _HOPELESS**2 * allowed,
        "t1": 1 - allowed,
        "t2": 1 / (1 + allowed),
    }
    return {name: min(65535, round(65536 * max(0.0, share))) for name, share in shares.items()}


#: How a region starts under each policy, where the caller does not say.
_STARTS = {
    SpeculationPolicy.NEVER: {"state": SpeculationState.GLOBAL, "gain": 0, "percentage": 0},
    SpeculationPolicy.SEED_LITERAL: {
        "state": SpeculationState.HYBRID,
        "gain": 8,
        "percentage": 32768,
    },
    SpeculationPolicy.COST_AWARE: {"state": SpeculationState.GLOBAL, "gain": 0, "percentage": 0},
    SpeculationPolicy.ALWAYS: {"state": SpeculationState.FULL, "gain": 16, "percentage": 65535},
}


def region_record(**fields: int) -> bytes:
    """A region's first record, as the table holds it; fields not named get sane values.

    Those are: valid, policy ``COST_AWARE`` in the state in which the policy starts, cadence
    policy ``FIXED`` at cadence 2⁰ within 2⁰ … 2², nothing measured yet.

    Raises
    ------
    ValueError
        If a field does not exist, a value does not fit it, or the values contradict each other.
    """
    policy = _member(
        SpeculationPolicy, "policy", fields.get("policy", SpeculationPolicy.COST_AWARE)
    )
    record = {"valid": 1, "policy": policy, "cadence_max": 2, **_STARTS[policy], **fields}
    _member(CadencePolicy, "cadence_policy", record.get("cadence_policy", CadencePolicy.FIXED))
    _member(SpeculationState, "state", record["state"])
    low, cadence, high = (record.get(name, 0) for name in ("cadence_min", "cadence", "cadence_max"))
    if not low <= cadence <= high:
        raise ValueError(
            f"cadence must be from cadence_min {low} to cadence_max {high}, not {cadence}"
        )
    if record["gain"] > 16:
        raise ValueError(f"gain must be from 0 to 16 sixteenths, not {record['gain']}")
    return pack(RegionRecord, **record)


def _member(kind: Any, name: str, value: int) -> Any:
    if value not in [member.value for member in kind]:
        choices = ", ".join(f"{member.value} ({member.name})" for member in kind)
        raise ValueError(f"{name} must be one of {choices}, not {value!r}")
    return kind(value)
