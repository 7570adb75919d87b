"""The learned mask: which half binades of each share are sent, decided by a small network."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from adagrain.host.compression.frames import Coded
from adagrain.host.compression.layout import Layout
from adagrain.host.compression.options import MANTISSA_BITS
from adagrain.host.compression.rounding import rounded
from adagrain.host.compression.threshold import threshold_for
from adagrain.models.mask import KeepTable
from adagrain.models.mask_kernel import chosen
from adagrain.models.mask_network import (
    FEATURES,
    Losses,
    Slopes,
    at_bound,
    base_of,
    features,
    histogram_at,
    losses_of,
)
from adagrain.models.numerics.half_binades import half_binade_sums

from .code_bits import bits_at
from .decisions import Decided, Decisions
from .judged import Judged
from .met import Met, together
from .network import Network
from .options import LearnedOptions
from .price import REACH, Price, best_price
from .slopes_kernel import find_slopes
from .survey import Survey
from .training import Lesson, MaskTraining
from .worth import Worth

__all__ = ["LearnedMask"]

#: Steps of the training in the first pass, and where the price is a new one.
_FIRST_STEPS = 256

#: Passes at first in each of which the network takes a step.
_EACH_PASS = 16

#: Ends of squared magnitudes.
_TINY, _HUGE = 2.0**-252, 2.0**256

#: How many features each choice of them has, from the first on; the bound is always seen.
_SEEN = {"none": 0, "seed": FEATURES.index("progress") + 1, "all": len(FEATURES)}


class LearnedMask:
    """Keeps what lies in the bins that the mask generation network has chosen before the pass.

    A pass masks by the tables and bases of an earlier one, as a device does that sees each element
    once; what is larger than any element was then is kept. Behind it, the network takes a step: it
    is judged by what its tables have just kept. Then INT8 decides on the next tables. Behind 16
    passes both are done where a share that was met has tables that are ``step_passes`` passes old.
    An exchange has a threshold of its own in the first pass, behind one that masked nothing, and
    where a region in it was never masked before.

    A region is a share here: a parameter, or a slice of one, as the codec has it.

    Parameters
    ----------
    options : LearnedOptions
        Losses, features, rates.
    seed : int
        Of the network's first weights.
    network : Network or None
        What decides; ``None``: the golden network, compiled.
    mantissa_bits : int
        Of elements that are sent: tables are for these.

    Members
    -------
    price : Price
        What sending costs.
    """

    def __init__(
        self,
        options: LearnedOptions,
        seed: int,
        network: Network | None = None,
        *,
        mantissa_bits: int = MANTISSA_BITS,
    ) -> None:
        self.price = Price(options.price_rate)
        self._weights = tuple(map(float, options.weights))
        self._seen = _SEEN[options.features]
        self._step_passes = options.step_passes
        self._training = MaskTraining(options.hidden, options.rate, seed)
        self._network = network
        self._mantissa_bits = mantissa_bits
        self._survey = Survey(options.survey_passes)
        self._worth = Worth(options.probe_passes, options.probe_every)
        self._decisions = Decisions()
        self._used: Decided | None = None
        self._met: list[Met] = []
        self._left_out = 0
        self._last: tuple[Judged, np.ndarray] | None = None
        self._density = 0.0
        self._energy = 0.0
        self._passes = 0
        self._is_new = True

    @property
    def losses(self) -> Losses | None:
        """Those of the last pass that was masked by tables and learned from."""
        if self._last is None:
            return None
        (sums, bases, code, value), tables = self._last
        return losses_of(histogram_at(sums, bases), tables, bits_at(code, bases), value)

    def watch(self, owners: Sequence[nn.Module]) -> None:
        """Look at the activations of these modules: by region, the one that has its parameters.

        Without that, their features are 0.
        """
        self._survey.watch(owners)

    def close(self) -> None:
        """Let go of the modules that are looked at."""
        self._survey.close()

    def look(self, layout: Layout, gradient: torch.Tensor) -> None:
        """As :meth:`Learner.look`."""
        self._survey.look(layout, gradient)
        self._worth.look(self._passes, layout, gradient)

    def keep(self, v: torch.Tensor, layout: Layout, density: float) -> torch.Tensor:
        """As :meth:`Mask.keep`."""
        self._density = density
        self._worth.values(layout, v)
        made = self._used = self._decisions.of(layout.keys)
        if made is None:
            sums = half_binade_sums(v, layout.sizes)
            bases = base_of(sums)
            self._met.append(Met(*layout, sums, bases, 0, 0))
            return self._first(v, sums, bases, density)
        x = v if self._mantissa_bits == MANTISSA_BITS else rounded(v, self._mantissa_bits).float()
        found = chosen(x, layout.sizes, made.bases, made.tables)
        self._met.append(Met(*layout, found.sums, found.bases, found.elements, found.there))
        return found.kept

    def tables(self) -> list[KeepTable] | None:
        """As :meth:`Tabled.tables`."""
        if self._used is None:
            return None
        tables = self._used.tables.astype(int).tolist()
        return [*map(KeepTable, self._used.bases.tolist(), tables)]

    def heard(self, layout: Layout, made: Coded, average: torch.Tensor) -> None:
        """As :meth:`Learner.heard`."""
        self._left_out += made.left_out
        self._survey.heard(layout, made.frame)
        self._worth.applied(self._passes, layout, average)

    def sample(self) -> torch.Tensor | None:
        """As :meth:`Learner.sample`."""
        return self._worth.sample()

    def probed(self, average: torch.Tensor) -> None:
        """As :meth:`Learner.probed`."""
        met = together(self._met)
        self._worth.probed(average, dict(zip(met.keys, met.bases.tolist(), strict=True)))

    def end_pass(self, density: float) -> None:
        """As :meth:`Mask.end_pass`."""
        self._survey.end_pass()
        self._passes += 1
        self._survey.begin_pass(self._passes)
        met, self._met = self._met, []
        left_out, self._left_out = self._left_out, 0
        if met and self.price.value is not None:
            self._learn(together(met), left_out)
        else:
            self._decisions.clear()
            self._worth.forget()

    def state_dict(self) -> dict[str, Any]:
        """As :meth:`Mask.state_dict`."""
        return {
            "passes": self._passes,
            "price": self.price.value,
            "energy": self._energy,
            "is_new": self._is_new,
            "decisions": self._decisions.state_dict(),
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
        self._decisions.load_state_dict(state["decisions"])
        self._survey.load_state_dict(state["survey"])
        self._survey.begin_pass(self._passes)
        self._worth.load_state_dict(state["worth"])

    def _first(
        self, v: torch.Tensor, sums: np.ndarray, bases: np.ndarray, density: float
    ) -> torch.Tensor:
        """A threshold; the price is that at which just this is worth to be sent."""
        counts = sums[:, :, 0].sum(axis=0)
        counts[0] += len(v) - counts.sum()
        threshold = threshold_for(counts, density)
        energy = float(histogram_at(sums, bases).energies.sum())
        if self.price.value is None and energy:
            self._energy = energy / len(v)
            self.price.value = max(threshold**2, _TINY) / self._bound(1.0)
        return (v.abs() < threshold).logical_not_()

    def _learn(self, met: Met, left_out: int) -> None:
        """A step of the network, judged by this pass; and the tables of the next one."""
        before = self._decisions.of(met.keys)
        if before is not None:
            self._pay(met, left_out)
            if _EACH_PASS < self._passes < before.passes + self._step_passes:
                return
        surveyed = self._survey.of(met.keys)
        value = self._worth.of(met.keys)
        if before is None:
            known = features(surveyed.features, self._passes, met.sizes, met.bases)
            judged = Judged(met.sums, met.bases, surveyed.bits, value)
        else:
            known = before.known
            judged = Judged(met.sums, before.bases, surveyed.bits, value)
            self._last = judged, before.tables
            self._begin_anew_far_off(met, judged)
        lesson = Lesson(
            judged.arrays, self._terms(met, self._price), known, self._limit, self._seen
        )
        self._decisions.put(met.keys, self._step(met, lesson, surveyed.features))

    def _pay(self, met: Met, left_out: int) -> None:
        """Find the price, by what was sent."""
        self.price.chosen(met.kept, self._wanted(met), met.there, left_out)

    def _begin_anew_far_off(self, met: Met, judged: Judged) -> None:
        """Bring the price near; for one that is far from it the network begins anew."""
        wanted = self._wanted(met)
        if not self.price.is_far_off(met.kept, wanted, met.there):
            return
        found = judged._replace(bases=met.bases).arrays, self._terms(met, 1.0)
        if self.price.is_near(*found, wanted):
            return
        *slopes, counts = find_slopes(*found)
        best = best_price(Slopes(*slopes), counts, wanted)
        if 0 < best < np.inf and self.price.bring_near(best) > REACH:
            self._is_new = True

    def _step(self, met: Met, lesson: Lesson, surveyed: np.ndarray) -> Decided:
        """Learn what would have been best, and decide."""
        times, self._is_new = _FIRST_STEPS if self._is_new else 1, False
        given = surveyed, self._passes, met.sizes, met.bases
        if self._network is None:
            known, tables = self._training.learn_and_decide(lesson, *given, times)
        else:
            self._training.learn(lesson, times)
            known = features(*given)
            seen = at_bound(known, lesson.bound, shown=self._seen)
            tables = self._network(self._training.layers(), seen)
        return Decided(known, met.bases, tables, self._passes)

    def _wanted(self, met: Met) -> float:
        return self._density * sum(met.sizes)

    def _terms(self, met: Met, price: float) -> tuple[float, ...]:
        """Those of the losses at a price, as :func:`.slopes_kernel.find_slopes` takes them."""
        return *self._weights, price, self._energy * sum(met.sizes)

    @property
    def _price(self) -> float:
        return self.price.value or 0.0

    def _bound(self, price: float) -> float:
        """The squared magnitude that is worth a price."""
        reconstruction, sparsity, communication = self._weights
        return price * (sparsity + communication) * self._energy / reconstruction

    @property
    def _limit(self) -> float:
        """The squared magnitude that is worth the price in force."""
        return min(max(self._bound(self._price), _TINY), _HUGE)
