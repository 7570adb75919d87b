"""Rows of regions and of channel groups that a run records of its events."""

from typing import Any

from adagrain.host.distributed.sent import Sent
from adagrain.host.distributed.step_log import StepLog
from adagrain.host.granular import GranularityLog
from adagrain.models.interface.units.region_manager import SpeculationState

__all__ = ["channel_group_rows", "loss_of", "region_rows"]


def loss_of(log: StepLog) -> float | None:
    """Mean loss over the workers; none where one's was not finite."""
    return None if log.agreed.loss is None else log.agreed.loss / (1 << 16)


def region_rows(log: StepLog, workers: int) -> list[dict[str, Any]]:
    """Agreement and decision for each region that was due, by W workers; and what was sent.

    The latter is this worker's, and there where elements are left out; guesses are all workers',
    and there where steps are speculative.
    """
    return [_region_row(name, log, workers) for name in log.updates]


def channel_group_rows(log: GranularityLog) -> list[dict[str, Any]]:
    """Variance, wish and precision of each channel group; none between looks."""
    return [
        vars(found) | {"precision": found.precision.name, "wanted": found.wanted.name}
        for found in log.channel_groups
    ]


def _region_row(name: str, log: StepLog, workers: int) -> dict[str, Any]:
    update, decision, unit = log.updates[name], log.decisions[name], log.units[name]
    row = {
        "name": name,
        "local": update["a"] * unit / workers,
        "average": update["n"] * unit,
        "alpha": decision["alpha"] / 65536,
        "cadence": 1 << decision["cadence"],
        "state": SpeculationState(decision["state"]).name,
        "update": {key: int(value) for key, value in update.items()},
        "decision": decision,
    }
    if log.sent:
        row["sent"] = _sent_row(log.sent[name])
    if "trials" in update:
        row["guesses"] = {key: int(update[key]) for key in ("accepts", "trials")}
    return row


def _sent_row(sent: Sent) -> dict[str, Any]:
    more = {"density": sent.density, "bits_per_nonzero": sent.bits_per_nonzero}
    return sent._asdict() | more
