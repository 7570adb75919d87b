"""Derives tables from gradients as the codec's defaults were, and prints them as rows."""

import numpy as np
from _compression_ways import TASKS
from _gradients import gradients, masked

from adagrain.models.codec import CodeTable, build_table, histogram
from adagrain.models.codec.choice import choose_slots
from adagrain.models.interface.codec import BINS, CLASSES

__all__ = ["print_defaults"]

#: Other gradients than those that are measured.
STEPS, SEED = 30, 1
DENSITIES = 0.1, 0.03, 0.01, 0.003

#: Elements that each network counts for at each density, and what is added for each symbol of
#: the bins that shall have codes: 12 binades.
_WEIGHT, _FLOOR, _FLOORED = 1_000_000, 200, 24

_ROUNDS = 10


def print_defaults() -> None:
    """Two tables, each for the regions that it suits better: of each class its lengths, in hex."""
    rows = []
    for task in TASKS.values():
        gradient = gradients(task.make, task.batch, task.rate, steps=STEPS, seed=SEED)
        for density in DENSITIES:
            counts = histogram(masked(gradient, density))
            rows.append(counts * _WEIGHT // counts.sum())
    counts = np.concatenate(rows)
    counts = counts[counts.any(axis=1)]
    classes = counts @ (np.arange(counts.shape[1]) // BINS) / counts.sum(axis=1)
    slots = (classes > np.median(classes)).astype(np.uint8)
    for _ in range(_ROUNDS):
        tables = [_table(counts[slots == slot].sum(axis=0)) for slot in range(2)]
        slots, _ = choose_slots(counts, tables, 7)
    for table in tables:
        lengths = "".join(f"{length:x}" for length in table.lengths)
        print(*(lengths[BINS * c : BINS * (c + 1)] for c in range(CLASSES)), sep="\n")
        print(f"escape {table.lengths[-1]}\n")


def _table(counts: np.ndarray) -> CodeTable:
    more = np.zeros((CLASSES, BINS), dtype=np.int64)
    more[:, :_FLOORED] = _FLOOR
    return build_table(counts + np.append(more, 0))
