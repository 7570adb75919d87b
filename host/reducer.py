"""The reducer: gathers due regions' gradients, exchanges them, and lets the device decide."""

import logging
import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.distributed as dist
from amaranth.utils import exact_log2

from adagrain.models.records import CadencePolicy, Decision, DecisionStatus, Policy, pack
from adagrain.models.region_settings import default_parameters, region_record

from .agreement import CHECK_BITS, PER_REGION, Agreed, agree
from .cadence_plan import first_cadences, longest_cadences
from .driver import Coprocessor
from .energies import Energies
from .exchange import Exchange, waited_for
from .failover import Failover
from .pieces import flat, pieces_of
from .regions import Regions
from .repeated import RepeatedWarnings
from .timing import Timing

__all__ = ["RegionReducer", "StepLog"]

_log = logging.getLogger("adagrain")

_LOSS_ONE = 1 << 16
_LOSS_LARGEST = (1 << 32) - 1


@dataclass(frozen=True)
class StepLog:
    """What the workers agreed on in a step, and what was decided.

    Parameters
    ----------
    step : int
        Number of the step, from 0.
    agreed : Agreed
        The sums over the workers.
    updates, decisions : dict of str to dict
        Fields of ``RegionUpdate`` and ``Decision`` by region, for those that were due.
    units : dict of str to float
        Squared gradient that one unit of a region's energies stands for.
    dropped : tuple of str
        Regions whose update was dropped, because a gradient was not finite.
    """

    step: int
    agreed: Agreed
    updates: dict[str, dict[str, int]]
    decisions: dict[str, dict[str, int]]
    units: dict[str, float]
    dropped: tuple[str, ...]


class RegionReducer:
    """Averages gradients over the workers, each region at its cadence.

    In step t, region r with cadence c is *due* where c divides t + 1. Every step adds each
    region's gradient to its accumulator on this worker; of a due region, the mean over its c
    steps is exchanged and averaged, the others stay local. The device takes the energies of what
    entered and of what came out, summed over the workers in one int64 all-reduce, and decides; in
    the last step of an epoch, in which every region is due, the new cadences take effect. All
    workers decide alike, because they decide from the same integers; a hash of the decisions
    travels with the next step's sums.

    It keys on parameters and their row blocks, never on a transport's buckets. Front-ends call
    :meth:`add` for each gradient, :meth:`begin_exchange` as often as they like, and
    :meth:`finish` once per step.

    Energies are those of :class:`~adagrain.host.energies.Energies`.

    A region in which any worker's gradient is not finite is not updated in that period, on any
    worker; it is counted, logged, and its accumulators start anew.

    Parameters
    ----------
    regions : Regions
        At most as many as the device's table holds.
    device : Coprocessor or Failover
        This worker's device.
    group : ProcessGroup or None
        The workers.
    cadence : CadencePolicy or None
        Who decides cadences; ``None``: cadence 1 everywhere, for ever.
    cadences : dict of str to int or None
        Cadences at the beginning, by region; 1 for those that are not named.
    cadence_max : int or dict of str to int
        Longest cadence, for all regions or by region; powers of two.
    policy : Policy
        Rules for the speculation state, which is recorded only.
    epoch_steps : int
        Steps per decision epoch; a multiple of the longest cadence.
    parameters : dict of str to int or None
        Fields of ``RegionParameters`` that differ from the defaults for this many workers.
    timing : Timing
        Where stall and redo times come from.
    log : callable or None
        Called with a :class:`StepLog` at the end of every step.

    Raises
    ------
    ValueError
        If a cadence is no power of two, or does not divide the epoch, or there are too many
        regions.
    """

    def __init__(
        self,
        regions: Regions,
        device: Coprocessor | Failover,
        *,
        group: dist.ProcessGroup | None = None,
        cadence: CadencePolicy | None = CadencePolicy.NOISE,
        cadences: Mapping[str, int] | None = None,
        cadence_max: int | Mapping[str, int] = 4,
        policy: Policy = Policy.COST_AWARE,
        epoch_steps: int = 16,
        parameters: Mapping[str, int] | None = None,
        timing: Timing | None = None,
        log: Callable[[StepLog], None] | None = None,
    ) -> None:
        self.regions = regions
        self.device = device
        self.step = 0
        self.bytes_dense = 0
        self.dropped = 0
        self.due: dict[int, int] = {}
        self._group = group
        self._workers = dist.get_world_size(group)
        self._epoch_steps = epoch_steps
        self._timing = timing or Timing()
        self._log = log
        self._energies = Energies(device, [region.numel for region in regions], self._workers)
        self._accumulators = [flat(region) for region in regions]
        self._averages = [flat(region) for region in regions]
        self._pieces = pieces_of(regions)
        self._gathered = 0
        self._exchange = Exchange(group)
        self._warnings = RepeatedWarnings(_log, quiet=dist.get_rank(group) != 0)
        self._loss: float | None = None
        self._check = 0
        self._step_ended = time.perf_counter()
        longest = longest_cadences(regions.names, cadence_max)
        self._cadences = first_cadences(
            regions.names, cadences or {}, longest=longest, epoch_steps=epoch_steps
        )
        self._configure(cadence, policy, longest, parameters or {})

    @property
    def cadences(self) -> dict[str, int]:
        """Steps per update, by region, for the next step."""
        return dict(zip(self.regions.names, self._cadences, strict=True))

    @property
    def bytes_sent(self) -> int:
        """Bytes of gradients that this worker has put into collectives."""
        return self._exchange.bytes_sent

    def report_loss(self, loss: torch.Tensor | float) -> None:
        """Say what this step's loss is, on this worker, before :meth:`finish`."""
        self._loss = float(loss)

    def add(self, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        """Add a parameter's gradient of this step to its regions' accumulators."""
        for piece in self._pieces.get(id(parameter), ()):
            total = piece.of(self._accumulators)
            part = piece.part.of(gradient).reshape(-1)
            cadence = self._cadences[piece.region]
            if self.step % cadence:
                total.add_(part)
            else:
                total.copy_(part)  # so that −0 stays −0
            if cadence > 1 and self._is_due(piece.region):
                total.mul_(1.0 / cadence)
            self._gathered += 1

    def begin_exchange(self, parameters: Sequence[torch.Tensor]) -> None:
        """Start to average the due parts of parameters whose gradients were added, at once."""
        pieces = [piece for p in parameters for piece in self._pieces.get(id(p), ())]
        self.bytes_dense += sum(4 * piece.part.numel for piece in pieces)
        due = [piece for piece in pieces if self._is_due(piece.region)]
        self._exchange.begin(
            [piece.of(self._accumulators) for piece in due],
            [piece.of(self._averages) for piece in due],
        )

    def finish(self) -> StepLog:
        """End the step: agree, wait for the exchange, decide. :attr:`due` says what to update.

        Raises
        ------
        RuntimeError
            If a parameter's gradient was not added.
        WorkerLostError, DisagreementError
            If the workers cannot go on together.
        """
        self._check_gathered()
        numbers = [r for r in range(len(self.regions)) if self._is_due(r)]
        redo = time.perf_counter() - self._step_ended
        entries = [dict.fromkeys(PER_REGION, 0) for _ in self.regions]
        for r in numbers:
            entries[r] = self._energies.entering(r, self._accumulators[r])
        stall = self._exchange.end()
        agreed = self._agree(entries, stall, redo)
        dropped = [r for r in numbers if agreed.non_finite[r]]
        updates = [self._update(r, agreed, dropped) for r in numbers]
        decisions = self.device.update_regions(
            updates, loss=agreed.loss, epoch_end=self._closes_epoch
        )
        self._take(numbers, decisions)
        self._report_dropped(dropped, agreed)
        self.due = {r: c for r, c in self._due_cadences(numbers).items() if r not in dropped}
        log = StepLog(
            self.step,
            agreed,
            {self.regions[r].name: u for r, u in zip(numbers, updates, strict=True)},
            {self.regions[r].name: d for r, d in zip(numbers, decisions, strict=True)},
            {self.regions[u["region"]].name: self._energies.unit(u) for u in updates},
            tuple(self.regions[r].name for r in dropped),
        )
        self._next_step(numbers, decisions)
        if self._log:
            self._log(log)
        return log

    def write_back(self, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        """Write the averages of the parameter's due parts into its gradient."""
        for piece in self._pieces.get(id(parameter), ()):
            if piece.region in self.due:
                part = piece.part.of(gradient)
                part.copy_(piece.of(self._averages).view_as(part))

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs, of this worker and its device."""
        return {
            "regions": [(region.name, region.numel) for region in self.regions],
            "workers": self._workers,
            "step": self.step,
            "cadences": list(self._cadences),
            "exponents": list(self._energies.exponents),
            "accumulators": [total.clone() for total in self._accumulators],
            "check": self._check,
            "dropped": self.dropped,
            "bytes": (self.bytes_sent, self.bytes_dense),
            "device": self.device.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave; a step in mid-period goes on bit for bit.

        Raises
        ------
        ValueError
            If it is of other regions or of another number of workers.
        """
        own = [(region.name, region.numel) for region in self.regions]
        if [tuple(entry) for entry in state["regions"]] != own:
            raise ValueError(f"state must be of regions {own}, not {state['regions']}")
        if state["workers"] != self._workers:
            raise ValueError(f"state must be of {self._workers} workers, not {state['workers']}")
        self.step = state["step"]
        self._cadences = list(state["cadences"])
        self._energies.exponents = list(state["exponents"])
        for total, saved in zip(self._accumulators, state["accumulators"], strict=True):
            total.copy_(saved)
        self._check = state["check"]
        self.dropped = state["dropped"]
        self._exchange.bytes_sent, self.bytes_dense = state["bytes"]
        self.device.load_state_dict(state["device"])

    @property
    def _closes_epoch(self) -> bool:
        return (self.step + 1) % self._epoch_steps == 0

    def _is_due(self, region: int) -> bool:
        return (self.step + 1) % self._cadences[region] == 0

    def _due_cadences(self, numbers: Sequence[int]) -> dict[int, int]:
        return {r: self._cadences[r] for r in numbers}

    def _check_gathered(self) -> None:
        wanted = sum(len(pieces) for pieces in self._pieces.values())
        if self._gathered != wanted:
            raise RuntimeError(
                f"gradients of all {wanted} slices must be added before the step ends, "
                f"but {self._gathered} were"
            )
        self._gathered = 0

    def _agree(self, entries: list[dict[str, int]], stall: float, redo: float) -> Agreed:
        stall_us, redo_us = self._timing.local(stall, redo)
        finite = self._loss is not None and math.isfinite(self._loss)
        loss = round((self._loss or 0.0) * _LOSS_ONE) if finite else 0
        worker = {
            "loss": min(max(loss, 0), _LOSS_LARGEST),
            "losses": int(finite),
            "stall": stall_us,
            "redo": redo_us,
        }
        with waited_for("the agreement on energies"):
            agreed = agree(
                entries,
                worker,
                check=self._check,
                group=self._group,
                device=self._accumulators[0].device,
            )
        stall_us, redo_us = self._timing.agreed(self.step, agreed.stall, agreed.redo)
        return replace(agreed, stall=stall_us, redo=redo_us)

    def _update(self, region: int, agreed: Agreed, dropped: Sequence[int]) -> dict[str, int]:
        """Fields of ``RegionUpdate``."""
        if region in dropped:
            energies = self._energies.nothing(region)
        else:
            energies = self._energies.update(
                region,
                agreed.energy[region],
                self._averages[region],
                clean=not agreed.saturated[region],
            )
        return {
            "region": region,
            "decide": self._closes_epoch,
            "stall": agreed.stall,
            "redo": agreed.redo,
            **energies,
        }

    def _take(self, numbers: Sequence[int], decisions: Sequence[Mapping[str, int]]) -> None:
        """Check the decisions' statuses, and bring the hash of all decisions up to date."""
        for r, decision in zip(numbers, decisions, strict=True):
            if decision["status"] != DecisionStatus.OK:
                status = DecisionStatus(decision["status"]).name
                raise RuntimeError(f"region {self.regions[r].name!r} was refused: {status}")
            octets = pack(Decision, **decision)
            self._check = zlib.crc32(octets, self._check) & ((1 << CHECK_BITS) - 1)

    def _report_dropped(self, dropped: Sequence[int], agreed: Agreed) -> None:
        self.dropped += len(dropped)
        for r in dropped:
            self._warnings.warn(
                r,
                f"step {self.step}: {agreed.non_finite[r]} elements of the gradient of region "
                f"{self.regions[r].name!r} are not finite; the region is not updated on any worker",
            )

    def _next_step(self, numbers: Sequence[int], decisions: Sequence[Mapping[str, int]]) -> None:
        if self._closes_epoch and self._decides:
            for r, decision in zip(numbers, decisions, strict=True):
                self._cadences[r] = 1 << decision["cadence"]
        self.step += 1
        self._loss = None
        self._step_ended = time.perf_counter()

    def _configure(
        self,
        cadence: CadencePolicy | None,
        policy: Policy,
        longest: Sequence[int],
        parameters: Mapping[str, int],
    ) -> None:
        """Write the region table."""
        if len(self.regions) > self.device.configuration.regions:
            raise ValueError(
                f"model must have at most {self.device.configuration.regions} regions on preset "
                f"{self.device.configuration.preset!r}, not {len(self.regions)}"
            )
        self._decides = cadence is not None
        records = [
            region_record(
                policy=policy,
                cadence_policy=CadencePolicy.FIXED if cadence is None else cadence,
                cadence=exact_log2(first),
                cadence_max=exact_log2(max(first, most)),
            )
            for first, most in zip(self._cadences, longest, strict=True)
        ]
        self.device.configure_regions(records, default_parameters(self._workers) | dict(parameters))
