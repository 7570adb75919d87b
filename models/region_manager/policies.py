"""The rules by which a region's speculation state and cadence are decided.

Both functions change a record in place, on the step that closes a decision epoch.
"""

from types import SimpleNamespace

from adagrain.models.interface.units.region_manager import (
    CadencePolicy,
    SpeculationPolicy,
    SpeculationState,
)

from .averages import ALPHA_BITS, normalised

__all__ = ["TENTH", "decide_cadence", "decide_speculation", "sixteenths"]

#: A tenth in Q0.16: the seed's step of the hybrid percentage.
TENTH = 6554

#: Decision epochs that a cadence stays after a change.
CADENCE_DWELL = 2


def sixteenths(fraction: int) -> int:
    """A Q0.16 fraction rounded to sixteenths, 0…16."""
    return (fraction + 2048) >> 12


def decide_speculation(
    record: SimpleNamespace, parameters: SimpleNamespace, loss_rate: int
) -> None:
    """Choose state, gain and percentage by the record's policy.

    Parameters
    ----------
    record : namespace of ``RegionRecord`` fields
        α, confidence, stall and redo are already those after this update.
    parameters : namespace of ``RegionParameters`` fields
    loss_rate : int
        Octaves, Q5.10, of the step.
    """
    if record.policy == SpeculationPolicy.COST_AWARE:
        _cost_aware(record, parameters)
    elif record.policy == SpeculationPolicy.SEED_LITERAL:
        _seed_literal(record, parameters, loss_rate)
    elif record.policy == SpeculationPolicy.ALWAYS:
        _enter(record, SpeculationState.FULL, 65535)
    else:
        _enter(record, SpeculationState.GLOBAL, 0)


def _agreement(record: SimpleNamespace) -> int:
    """α, Q0.16."""
    return record.alpha >> ALPHA_BITS


def _enter(record: SimpleNamespace, state: SpeculationState, percentage: int) -> None:
    record.state = state
    record.percentage = percentage
    record.gain = sixteenths(percentage)


def _cost_aware(record: SimpleNamespace, parameters: SimpleNamespace) -> None:
    """Speculate where α and the expected gain speak for it; a state keeps for its dwell."""
    alpha, confidence, state = _agreement(record), record.confidence, record.state
    settled = record.dwell == 0
    record.dwell = max(0, record.dwell - 1)
    record.dwell_length = record.dwell_length or parameters.dwell
    record.streak = min(3, record.streak + 1) if alpha >= parameters.t1 else 0
    target = min(15, max(1, sixteenths(alpha)))

    if state not in (SpeculationState.HYBRID, SpeculationState.FULL):
        record.state, record.gain = SpeculationState.GLOBAL, 0
        if settled and record.streak >= 2 and _gains(record, 4):
            record.state, record.gain = SpeculationState.HYBRID, target
            record.confidence = 4
            record.dwell = record.dwell_length
    elif confidence == 0 or alpha < parameters.t0:
        record.state, record.gain = SpeculationState.GLOBAL, 0
        _lengthen_dwell(record)
    elif state == SpeculationState.FULL:
        record.gain = 16
        if confidence <= 3:
            record.state, record.gain = SpeculationState.HYBRID, target
            _lengthen_dwell(record)
    elif settled and confidence >= 6 and alpha >= parameters.t2 and _gains(record, confidence):
        record.state, record.gain = SpeculationState.FULL, 16
        record.dwell = record.dwell_length
    else:
        record.gain = _one_towards(record.gain, sixteenths(alpha))
    record.percentage = min(65535, record.gain << 12)


def _gains(record: SimpleNamespace, confidence: int) -> bool:
    """True where c·σ − (7−c)·κ is positive."""
    stall, redo = normalised(record.stall, record.redo, 32)
    return confidence * stall > (7 - confidence) * redo


def _lengthen_dwell(record: SimpleNamespace) -> None:
    record.dwell_length = min(255, 2 * record.dwell_length)
    record.dwell = record.dwell_length


def _one_towards(gain: int, target: int) -> int:
    return min(15, max(1, gain + (target > gain) - (target < gain)))


def _seed_literal(record: SimpleNamespace, parameters: SimpleNamespace, loss_rate: int) -> None:
    """The seed's three conditions; where they disagree, the hybrid percentage moves a tenth.

    The variance across the workers is that of ``A = W`` and ``N = α``; none is known before
    energies have entered α.
    """
    alpha, workers = _agreement(record), parameters.workers
    whole = workers << 16 if record.measured else 0
    variance = max(0, whole - alpha * workers) << 8
    unit = alpha * (workers - 1)
    divergence = 65535 - alpha
    slow = (
        loss_rate < parameters.rate
        and variance > parameters.variance * unit
        and divergence > parameters.divergence
    )
    fast = (
        loss_rate > parameters.rate
        and variance < parameters.variance * unit
        and divergence < parameters.divergence
    )
    if slow:
        _enter(record, SpeculationState.FULL, 65535)
    elif fast:
        _enter(record, SpeculationState.GLOBAL, 0)
    else:
        medium = parameters.medium_variance * unit
        percentage = record.percentage + TENTH * ((variance > medium) - (variance < medium))
        _enter(record, SpeculationState.HYBRID, min(65535, max(0, percentage)))


def decide_cadence(record: SimpleNamespace, parameters: SimpleNamespace, alarm: bool) -> bool:
    """Choose the cadence by the record's cadence policy.

    Parameters
    ----------
    alarm : bool
        The loss guard of this step: the loss has risen.

    Returns
    -------
    bool
        Whether the loss guard decided.
    """
    if record.cadence_policy == CadencePolicy.PHASE:
        late = parameters.epoch >= record.phase_epoch
        record.cadence = record.cadence_max if late else record.cadence_min
    if record.cadence_policy != CadencePolicy.NOISE:
        return False
    if alarm:
        _move_cadence(record, -1)
        record.cadence_dwell = CADENCE_DWELL
        record.samples = 0
    elif record.cadence_dwell:
        record.cadence_dwell -= 1
    elif record.samples >= max(1, parameters.noise_samples):
        a, n = normalised(record.a_sum, record.n_sum, 22)
        if a:
            _move_cadence(record, _comparison(a, n, parameters))
            record.samples = 0
    return alarm


def _comparison(a: int, n: int, parameters: SimpleNamespace) -> int:
    """+1 where noise-to-signal S is above T, −1 where it is at most T/4, else 0.

    ``S = W·(A − N·W) / (N·W² − A)``. No noise (A ≤ N·W) gives −1; no signal gives +1.
    """
    workers = parameters.workers
    noise, signal = workers * (a - n * workers), n * workers * workers - a
    if noise <= 0:
        return -1
    if signal <= 0 or noise << 8 > parameters.noise * signal:
        return 1
    return -1 if noise << 10 <= parameters.noise * signal else 0


def _move_cadence(record: SimpleNamespace, direction: int) -> None:
    within = (
        record.cadence < record.cadence_max
        if direction > 0
        else record.cadence > record.cadence_min
    )
    if direction and within:
        record.cadence += direction
        record.cadence_dwell = CADENCE_DWELL
