"""The learned mask: which half binades of each share are sent, decided by a small network."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from adagrain.host.compression.layout import Key, Layout
from adagrain.host.compression.mask import Mask
from adagrain.host.compression.threshold import threshold_for
from adagrain.models.mask_kernel import chosen
from adagrain.models.mask_network import (
    FEATURES,
    Histogram,
    Losses,
    Slopes,
    base_of,
    features,
    histogram_at,
    keep_tables,
    losses_of,
    slopes,
    with_bound_times,
)
from adagrain.models.numerics.half_binades import half_binade_sums

from .activations import owners_of
from .code_bits import bits_at
from .options import LearnedOptions
from .price import Price
from .survey import Survey
from .training import MaskTraining
from .worth import Worth

__all__ = ["LearnedMask", "watch"]

#: Steps of the training in the first pass.
_FIRST_STEPS = 256

#: Prices that the network learns from in each pass: the one in force times these powers of two.
_OCTAVES = (0, -3, 3)

#: Ends of squared magnitudes.
_TINY, _HUGE = 2.0**-252, 2.0**256

#: How many features each choice of them has, from the first on; the bound is always seen.
_SEEN = {"none": 0, "seed": FEATURES.index("progress") + 1, "all": len(FEATURES)}


class _Decision(NamedTuple):
    """A share's keep-table, the base from which its bins are counted, and what was known."""

    known: tuple[tuple[int, int, int, int], int, int, int]
    base: int
    table: np.ndarray


class LearnedMask:
    """Keeps what lies in the bins that the mask generation network has chosen in the pass before.

    A pass masks by the tables and bases of the one before, as a device does that sees each element
    once; what is larger than any element was then is kept. Behind it, the network takes a step: it
    is judged by what its tables have just kept. Then INT8 decides on the next tables. In the first
    pass, and behind one that masked nothing, an exchange has a threshold of its own.

    A region is a share here: a parameter, or a slice of one, as the codec has it.

    Parameters
    ----------
    options : LearnedOptions
        Losses, features, rates.
    seed : int
        Of the network's first weights.

    Members
    -------
    price : Price
        What sending costs.
    losses : Losses or None
        Those of the last pass that was masked by tables.
    """

    def __init__(self, options: LearnedOptions, seed: int) -> None:
        self.price = Price(options.price_rate)
        self.losses: Losses | None = None
        self._options = options
        self._training = MaskTraining(options.hidden, options.rate, seed)
        self._survey = Survey(options.survey_passes)
        self._worth = Worth(options.probe_passes, options.probe_every)
        self._decisions: dict[Key, _Decision] = {}
        self._sizes: dict[Key, int] = {}
        self._sums: dict[Key, np.ndarray] = {}
        self._elements = 0
        self._density = 0.0
        self._energy = 0.0
        self._passes = 0
        self._is_new = True

    def watch(self, owners: Sequence[nn.Module]) -> None:
        """Look at the activations of these modules: by region, the one that has its parameters.

        Without that, their features are 0.
        """
        self._survey.watch(owners)

    def look(self, layout: Layout, gradient: torch.Tensor) -> None:
        """As :meth:`Learner.look`."""
        self._survey.look(self._passes, layout, gradient)
        self._worth.look(self._passes, layout, gradient)

    def keep(self, v: torch.Tensor, layout: Layout, density: float) -> torch.Tensor:
        """As :meth:`Mask.keep`."""
        sums = half_binade_sums(v, layout.sizes)
        self._sums |= zip(layout.keys, sums, strict=True)
        self._sizes |= zip(layout.keys, layout.sizes, strict=True)
        self._elements += layout.elements
        self._density = density
        self._worth.values(layout, v)
        if not all(key in self._decisions for key in layout.keys):
            return self._first(v, sums, layout.elements, density)
        made = [self._decisions[key] for key in layout.keys]
        tables = np.stack([own.table for own in made])
        return chosen(v, layout.sizes, np.array([own.base for own in made]), tables)

    def heard(self, layout: Layout, frame: bytes, average: torch.Tensor) -> None:
        """As :meth:`Learner.heard`."""
        self._survey.heard(self._passes, layout, frame)
        self._worth.applied(self._passes, layout, average)

    def sample(self) -> torch.Tensor | None:
        """As :meth:`Learner.sample`."""
        return self._worth.sample()

    def probed(self, average: torch.Tensor) -> None:
        """As :meth:`Learner.probed`."""
        bases = base_of(np.stack([*self._sums.values()])).tolist()
        self._worth.probed(average, dict(zip(self._sums, bases, strict=True)))

    def end_pass(self, density: float) -> None:
        """As :meth:`Mask.end_pass`."""
        self._survey.end_pass(self._passes)
        self._passes += 1
        sums, self._sums = self._sums, {}
        if sums and self.price.value is not None:
            keys = sorted(sums)  # whatever the order of exchanges: sums of floats depend on it
            self._learn(keys, np.stack([sums[key] for key in keys]))
        else:
            self._decisions = {}
            self._worth.forget()
        self._elements = 0

    def state_dict(self) -> dict[str, Any]:
        """As :meth:`Mask.state_dict`."""
        made = {
            key: (own.known, own.base, torch.from_numpy(own.table))
            for key, own in self._decisions.items()
        }
        return {
            "passes": self._passes,
            "price": self.price.value,
            "energy": self._energy,
            "is_new": self._is_new,
            "decisions": made,
            "training": self._training.state_dict(),
            "survey": self._survey.state_dict(),
            "worth": self._worth.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As :meth:`Mask.load_state_dict`.

        Raises
        ------
        ValueError
            If the state's network has other hidden layers.
        """
        self._training.load_state_dict(state["training"])
        self._passes, self._energy = state["passes"], state["energy"]
        self.price.value = state["price"]
        self._is_new = state["is_new"]
        self._decisions = {
            key: _Decision(known, base, table.numpy())
            for key, (known, base, table) in state["decisions"].items()
        }
        self._survey.load_state_dict(state["survey"])
        self._worth.load_state_dict(state["worth"])

    def _first(
        self, v: torch.Tensor, sums: np.ndarray, elements: int, density: float
    ) -> torch.Tensor:
        """A threshold; the price is that at which just this is worth to be sent."""
        counts = sums[:, :, 0].sum(axis=0)
        counts[0] += elements - counts.sum()
        threshold = threshold_for(counts, density)
        energy = float(histogram_at(sums, base_of(sums)).energies.sum())
        if self.price.value is None and energy:
            self._energy = energy / elements
            self.price.value = max(threshold**2, _TINY) / self._bound(1.0)
        return (v.abs() < threshold).logical_not_()

    def _learn(self, keys: list[Key], sums: np.ndarray) -> None:
        """A step of the network, judged by this pass; and the tables of the next one."""
        rows = [
            _Decision(self._known(key), base, np.zeros(0, dtype=bool))
            for key, base in zip(keys, base_of(sums).tolist(), strict=True)
        ]
        first = not all(key in self._decisions for key in keys)
        made = rows if first else [self._decisions[key] for key in keys]
        at = [own.base for own in made]
        histogram, bits = histogram_at(sums, at), bits_at(self._survey.bits(keys), at)
        value = self._worth.of(keys)
        if not first:
            kept = np.stack([own.table for own in made])
            self.losses = losses_of(histogram, kept, bits, value)
            self.price.sent(_sent(histogram, kept, sums), self._density * self._elements)
        energy = self._energy * sum(self._sizes[key] for key in keys)
        found = slopes(histogram, bits, self._options.weights, self._price, value, energy)
        self._step(self._seen(made), found, _FIRST_STEPS if self._is_new else 1)
        self._is_new = False
        tables = keep_tables(self._training.layers(), self._shown(self._seen(rows)))
        self._decisions |= {
            key: own._replace(table=table)
            for key, own, table in zip(keys, rows, tables, strict=True)
        }

    def _step(self, seen: np.ndarray, found: Slopes, steps: int) -> None:
        """Learn what would have been best, also at other prices."""
        gain, cost = found
        whole = Slopes(
            np.concatenate([gain] * len(_OCTAVES)),
            np.concatenate([np.ldexp(cost, octaves) for octaves in _OCTAVES]),
        )
        shown = [self._shown(with_bound_times(seen, octaves)) for octaves in _OCTAVES]
        for _ in range(steps):
            self._training.step(np.concatenate(shown), whole)

    @property
    def _price(self) -> float:
        return self.price.value or 0.0

    def _bound(self, price: float) -> float:
        """The squared magnitude that is worth a price."""
        weights = self._options.weights
        cost = weights.sparsity + weights.communication
        return price * cost * self._energy / weights.reconstruction

    def _known(self, key: Key) -> tuple[tuple[int, int, int, int], int, int, int]:
        """What is known of a share in this pass, beside its base."""
        return (*self._survey.features(key), self._passes, self._sizes[key])

    def _seen(self, made: list[_Decision]) -> np.ndarray:
        """All features of some shares, at the price in force."""
        bound = min(max(self._bound(self._price), _TINY), _HUGE)
        return np.stack([features(*own.known, own.base, bound) for own in made])

    def _shown(self, seen: np.ndarray) -> np.ndarray:
        """Those that the network may see."""
        shown = seen.copy()
        shown[:, _SEEN[self._options.features] : -1] = 0
        return shown


def _sent(histogram: Histogram, kept: np.ndarray, sums: np.ndarray) -> float:
    """Elements that a mask has kept, with those beyond its first bin."""
    beyond = sums[:, :, 0].sum() - histogram.counts.sum()
    return float((histogram.counts * kept).sum() + beyond)


def watch(mask: Mask, model: nn.Module, parameters: Iterable[nn.Parameter]) -> None:
    """Let a mask that learns look at the activations of the modules that have these parameters.

    Parameters
    ----------
    mask : Mask
        Any; others do not look at them.
    model : Module
        Where the modules are.
    parameters : iterable of Parameter
        One of each region.
    """
    if isinstance(mask, LearnedMask):
        mask.watch(owners_of(model, parameters))
