"""The reducer: gathers due regions' gradients, exchanges them, and lets the device decide."""

import logging
import math
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from amaranth.utils import exact_log2

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.device.failover import Failover
from adagrain.host.regions.regions import Regions
from adagrain.models.interface.formats import format_of
from adagrain.models.interface.records import CadencePolicy, Decision, DecisionStatus, pack
from adagrain.models.region_manager.settings import default_parameters, region_record

from .accumulators import Accumulators
from .agreement import PER_REGION, Agreed, agree
from .cadence_plan import first_cadences, longest_cadences
from .clock import Clock
from .energies import AgreedEnergy, Energies
from .exchange import Exchange
from .lockstep import Lockstep
from .reducer_options import ReducerOptions
from .repeated import RepeatedWarnings

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
    workers decide alike, because they decide from the same integers; a checksum of the decisions
    is compared in front of the next exchange.

    It keys on parameters and their row blocks, never on a transport's buckets. Parameters in no
    region are averaged in every backward pass, as DDP does. Front-ends call, for each backward
    pass, :meth:`begin_pass`, then :meth:`add` for each gradient and :meth:`begin_exchange` as
    often as they like, :meth:`end_pass`, and :meth:`write_back` for each gradient; then
    :meth:`decide` once per step. Steps may have several passes: only their sum counts.

    A region in which any worker's gradient is not finite is not updated in that period, on any
    worker; it is counted, logged, and its accumulators start anew.

    Parameters
    ----------
    regions : Regions
        At most as many as the device's table holds.
    device : Coprocessor or Failover
        This worker's device.
    lockstep : Lockstep
        Compares the workers.
    exchange : Exchange
        Averages over them.
    options : ReducerOptions
        Cadences, epochs, who decides.

    Raises
    ------
    ValueError
        If a cadence is no power of two, or does not divide the epoch, or there are too many
        regions.
    TypeError
        If the device has no statistics of a region's type.
    """

    def __init__(
        self,
        regions: Regions,
        device: Coprocessor | Failover,
        lockstep: Lockstep,
        exchange: Exchange,
        options: ReducerOptions,
    ) -> None:
        self.regions = regions
        self.device = device
        self.bytes_dense = 0
        self.dropped = 0
        self.due: dict[int, int] = {}
        self._lockstep = lockstep
        self._exchange = exchange
        self._options = options
        longest = longest_cadences(regions.names, options.cadence_max)
        first = first_cadences(
            regions.names, options.cadences, longest=longest, epoch_steps=options.epoch_steps
        )
        self._clock = Clock(first, options.epoch_steps)
        self._energies = Energies(device, [region.numel for region in regions], exchange.workers)
        self._accumulators = Accumulators(regions, self._clock)
        self._losses: list[float] = []
        self._decisions = 0
        self._warnings = RepeatedWarnings(_log, quiet=exchange.rank != 0)
        self._new_step()
        self._check_device()
        self._configure(longest)

    @property
    def step(self) -> int:
        """Steps that were taken."""
        return self._clock.step

    @property
    def passes(self) -> int:
        """Backward passes since the last step."""
        return self._passes

    @property
    def cadences(self) -> dict[str, int]:
        """Steps per update, by region, for the next step."""
        return dict(zip(self.regions.names, self._clock.cadences, strict=True))

    @property
    def bytes_sent(self) -> int:
        """Bytes of gradients that this worker has put into collectives."""
        return self._exchange.bytes_sent

    def exchanges_anew(self, region: int) -> bool:
        """What gradients of a region hold before a pass is exchanged with those of the pass."""
        return self._clock.cadences[region] == 1

    def report_loss(self, loss: torch.Tensor | float) -> None:
        """Say what a backward pass's loss is, on this worker; a step has the mean of its passes."""
        self._losses.append(float(loss))

    def standing(self) -> dict[str, int]:
        """What must be equal on all workers in front of a backward pass."""
        every = self._options.compare_weights
        looks = every and self.step % every == 0 and not self._passes
        return {
            "steps": self.step,
            "passes": self._passes,
            "decisions": self._decisions,
            "weights": self._weights() if looks else 0,
        }

    def begin_pass(self) -> None:
        """Begin a backward pass, in step with the other workers.

        Raises
        ------
        DisagreementError, WorkerFailedError, WorkerLostError
            If the workers cannot go on together.
        """
        self._lockstep.check(self.standing)
        self._gathered = 0
        self._failure: Exception | None = None
        self._alone: list[torch.Tensor] = []

    def fail(self, error: Exception) -> None:
        """Say that this worker cannot end the pass that has begun; :meth:`end_pass` tells all."""
        self._failure = self._failure or error

    def add(self, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        """Add a parameter's gradient of this pass to its regions' accumulators."""
        self.bytes_dense += gradient.numel() * gradient.element_size()
        pieces = self._accumulators.pieces(parameter)
        if not pieces:
            self._alone.append(gradient)
        for piece in pieces:
            self._accumulators.add(piece, gradient, first=not self._passes)
            self._gathered += 1

    def begin_exchange(self, parameters: Sequence[torch.Tensor]) -> None:
        """Start to average the due parts of parameters whose gradients were added, at once."""
        due = [
            piece
            for parameter in parameters
            for piece in self._accumulators.pieces(parameter)
            if self._clock.is_due(piece.region)
        ]
        self._exchange.begin(
            [piece.of(self._accumulators.totals) for piece in due] + self._alone,
            [piece.of(self._accumulators.averages) for piece in due] + self._alone,
        )
        self._alone = []

    def end_pass(self) -> None:
        """End the backward pass: wait for the exchange, and agree. :attr:`due` says what is due.

        Raises
        ------
        RuntimeError
            If a parameter's gradient was not added.
        WorkerFailedError, WorkerLostError
            If the workers cannot go on together.
        """
        redo = time.perf_counter() - self._step_ended
        entries = [dict.fromkeys(PER_REGION, 0) for _ in self.regions]
        try:
            self._check_gathered()
            due = self._clock.due
            means = [self._accumulators.totals[r] for r in due]
            for r, entry in self._energies.entering(due, means).items():
                entries[r] = entry
        except Exception as error:
            self.fail(error)
        self._stall += self._exchange.end()
        self._agreed = self._agree(entries, redo)
        if self._agreed.failed:
            self._lockstep.tell(self._failure)
        self._passes += 1
        self._dropping |= {r for r in self._clock.due if self._agreed.non_finite[r]}
        self.due = {r: self._clock.cadences[r] for r in self._clock.due if r not in self._dropping}

    def write_back(self, parameter: torch.Tensor, gradient: torch.Tensor) -> None:
        """Write the averages of the parameter's due parts into its gradient, zeros elsewhere."""
        self._accumulators.write_back(parameter, gradient, self.due)

    def restore(self, parameter: torch.Tensor) -> None:
        """Give a parameter a gradient that has none, where earlier steps left something to apply.

        DDP leaves parameters alone that no worker has used in a step, their accumulated gradients
        with them.
        """
        late = {r for r, cadence in self.due.items() if cadence > 1}
        if any(piece.region in late for piece in self._accumulators.pieces(parameter)):
            parameter.grad = torch.zeros_like(parameter)
            self._accumulators.write_back(parameter, parameter.grad, late)

    def decide(self) -> StepLog:
        """End the step after its last backward pass, and have the device decide."""
        numbers, dropped = self._clock.due, sorted(self._dropping)
        updates = self._updates()
        decisions = self.device.update_regions(
            updates, loss=self._agreed.loss, epoch_end=self._clock.closes_epoch
        )
        self._take(numbers, decisions)
        self._report_dropped(dropped)
        log = StepLog(
            self.step,
            self._agreed,
            {self.regions[r].name: u for r, u in zip(numbers, updates, strict=True)},
            {self.regions[r].name: d for r, d in zip(numbers, decisions, strict=True)},
            {
                self.regions[r].name: self._energies.unit(u)
                for r, u in zip(numbers, updates, strict=True)
            },
            tuple(self.regions[r].name for r in dropped),
        )
        decided = self._clock.closes_epoch and self._options.cadence is not None
        self._clock.advance(
            {r: 1 << d["cadence"] for r, d in zip(numbers, decisions, strict=True)}
            if decided
            else {}
        )
        self._new_step()
        if self._options.log:
            self._options.log(log)
        return log

    def state_dict(self) -> dict[str, Any]:
        """Everything that a resumed run needs, of this worker and its device.

        Raises
        ------
        RuntimeError
            If there was a backward pass since the last step: its gradients are not saved.
        """
        if self._passes:
            raise RuntimeError(
                "state must be taken after optimizer.step(), not between the backward pass and it"
            )
        return {
            "regions": self._shape(),
            "workers": self._exchange.workers,
            "step": self.step,
            "cadences": list(self._clock.cadences),
            "exponents": list(self._energies.exponents),
            "accumulators": [total.clone() for total in self._accumulators.totals],
            "check": self._decisions,
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
        if [tuple(entry) for entry in state["regions"]] != self._shape():
            raise ValueError(f"state must be of regions {self._shape()}, not {state['regions']}")
        if state["workers"] != self._exchange.workers:
            raise ValueError(
                f"state must be of {self._exchange.workers} workers, not {state['workers']}"
            )
        self._clock.step = state["step"]
        self._clock.cadences = list(state["cadences"])
        self._energies.exponents = list(state["exponents"])
        for total, saved in zip(self._accumulators.totals, state["accumulators"], strict=True):
            total.copy_(saved)
        self._decisions = state["check"]
        self.dropped = state["dropped"]
        self._exchange.bytes_sent, self.bytes_dense = state["bytes"]
        self.device.load_state_dict(state["device"])
        self._new_step()

    def _shape(self) -> list[tuple[str, int]]:
        return [(region.name, region.numel) for region in self.regions]

    def _new_step(self) -> None:
        self._passes = 0
        self._stall = 0.0
        self._dropping: set[int] = set()
        self._losses.clear()
        self._step_ended = time.perf_counter()

    def _weights(self) -> int:
        """Checksum of all regions' parameters."""
        found = 0
        for parameter in self.regions.parameters():
            octets = parameter.detach().cpu().reshape(-1).contiguous().view(torch.uint8)
            found = zlib.crc32(octets.numpy().data, found)
        return found

    def _check_gathered(self) -> None:
        wanted = self._accumulators.slices
        if self._gathered != wanted and self._failure is None:
            raise RuntimeError(
                f"gradients of all {wanted} slices must be added before the pass ends, "
                f"but {self._gathered} were"
            )

    def _agree(self, entries: list[dict[str, int]], redo: float) -> Agreed:
        stall_us, redo_us = self._options.timing.local(self._stall, redo)
        loss = sum(self._losses) / max(1, len(self._losses))
        finite = bool(self._losses) and math.isfinite(loss)
        worker = {
            "loss": min(max(round(loss * _LOSS_ONE), 0), _LOSS_LARGEST) if finite else 0,
            "losses": int(finite),
            "stall": stall_us,
            "redo": redo_us,
            "failed": int(self._failure is not None),
        }
        agreed = agree(entries, worker, self._lockstep.group)
        stall_us, redo_us = self._options.timing.agreed(self.step, agreed.stall, agreed.redo)
        return replace(agreed, stall=stall_us, redo=redo_us)

    def _updates(self) -> list[dict[str, int]]:
        """Fields of ``RegionUpdate`` of each region that is due."""
        due, agreed = self._clock.due, self._agreed
        kept = [r for r in due if r not in self._dropping]
        energies = self._energies.updates(
            {r: AgreedEnergy(agreed.energy[r], agreed.saturated[r]) for r in kept},
            [self._accumulators.averages[r] for r in kept],
        )
        return [
            {
                "region": r,
                "decide": self._clock.closes_epoch,
                "stall": agreed.stall,
                "redo": agreed.redo,
                **(energies[r] if r in energies else self._energies.nothing(r)),
            }
            for r in due
        ]

    def _take(self, numbers: Sequence[int], decisions: Sequence[Mapping[str, int]]) -> None:
        """Check the decisions' statuses, and bring the checksum of all decisions up to date."""
        for r, decision in zip(numbers, decisions, strict=True):
            if decision["status"] != DecisionStatus.OK:
                status = DecisionStatus(decision["status"]).name
                raise RuntimeError(f"region {self.regions[r].name!r} was refused: {status}")
            self._decisions = zlib.crc32(pack(Decision, **decision), self._decisions)

    def _report_dropped(self, dropped: Sequence[int]) -> None:
        self.dropped += len(dropped)
        for r in dropped:
            self._warnings.warn(
                r,
                f"step {self.step}: {self._agreed.non_finite[r]} elements of the gradient of "
                f"region {self.regions[r].name!r} are not finite; the region is not updated on any "
                "worker",
            )

    def _check_device(self) -> None:
        built = self.device.configuration
        if len(self.regions) > built.regions:
            raise ValueError(
                f"model must have at most {built.regions} regions on preset "
                f"{built.preset!r}, not {len(self.regions)}"
            )
        for region in self.regions:
            code = format_of(region.slices[0].parameter.dtype).code
            if code not in built.formats:
                known = ", ".join(known.name for known in built.formats)
                raise TypeError(
                    f"parameters must be of one of {known} on preset {built.preset!r}, but those "
                    f"of region {region.name!r} are {code.name}"
                )

    def _configure(self, longest: Sequence[int]) -> None:
        """Write the region table."""
        cadence = self._options.cadence
        records = [
            region_record(
                policy=self._options.policy,
                cadence_policy=CadencePolicy.FIXED if cadence is None else cadence,
                cadence=exact_log2(first),
                cadence_max=exact_log2(max(first, most)),
            )
            for first, most in zip(self._clock.cadences, longest, strict=True)
        ]
        parameters = default_parameters(self._exchange.workers) | dict(self._options.parameters)
        self.device.configure_regions(records, parameters)
