"""Decisions on shares, kept so that a pass with the shares of the last does little for each."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from adagrain.host.compression.layout import Key

__all__ = ["Decided", "Decisions"]


class Decided(NamedTuple):
    """Keep-tables of some shares, and what was known when they were made.

    Members
    -------
    known : ndarray of int64, (shares, 9)
        Features at a bound of 1.
    bases : ndarray of int64, (shares,)
        Exponents from which the bins are counted.
    tables : ndarray of bool, (shares, 64)
        The bins that are kept.
    passes : int
        How many there had been when the first of them was made.
    """

    known: np.ndarray
    bases: np.ndarray
    tables: np.ndarray
    passes: int


class Decisions:
    """Those on each share, until there are others on it."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self._rows: dict[Key, Decided] = {}
        self._last: tuple[tuple[Key, ...], Decided] | None = None
        self._is_dealt = True

    def of(self, keys: tuple[Key, ...]) -> Decided | None:
        """Those on some shares; None where there is none on one of them."""
        if self._last is None or self._last[0] != keys:
            self._deal()
            if not all(key in self._rows for key in keys):
                return None
            rows = zip(*(self._rows[key] for key in keys), strict=True)
            known, bases, tables, passes = rows
            stacked = np.stack(known), np.stack(bases), np.stack(tables)
            self._last = keys, Decided(*stacked, min(passes))
        return self._last[1]

    def put(self, keys: tuple[Key, ...], decided: Decided) -> None:
        """Take those on some shares, in place of any before."""
        if self._last is not None and self._last[0] != keys:
            self._deal()
        self._last, self._is_dealt = (keys, decided), False

    def state_dict(self) -> dict[str, Any]:
        """State for a resumed run."""
        self._deal()
        rows = self._rows.items()
        made = {
            key: [*(torch.from_numpy(np.array(part)) for part in own[:-1]), own.passes]
            for key, own in rows
        }
        return {"rows": made}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave; before, rows had no passes."""
        self.clear()
        for key, (known, bases, tables, *passes) in state["rows"].items():
            arrays = known.numpy(), bases.numpy(), tables.numpy()
            self._rows[key] = Decided(*arrays, *passes or [0])

    def _deal(self) -> None:
        """Keep the last ones share by share too."""
        if self._last is not None and not self._is_dealt:
            keys, (known, bases, tables, passes) = self._last
            rows = zip(known, bases, tables, strict=True)
            self._rows |= {key: Decided(*own, passes) for key, own in zip(keys, rows, strict=True)}
            self._is_dealt = True
