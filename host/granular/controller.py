"""The granularity controllers of a layer: what they know, and how they learn."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from adagrain.models.interface.precision import Precision
from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units.precision_controller import PrecisionRecord
from adagrain.models.precision_controller import THRESHOLDS, precision_of_rank, rank_of

from .policy import Policy

__all__ = ["Controllers"]

#: Bits of a number, by rank.
_BITS = tuple(float(precision_of_rank(rank).bits) for rank in range(len(Precision)))

#: Largest threshold, as the device has it.
_ONE = 65535


class Controllers(nn.Module):
    """Controllers of a layer's channel groups.

    The device, or its golden model, decides; here is what it decides by. Thresholds are learnt as
    logarithms to base 2, and kept in ascending order.

    Parameters
    ----------
    policy : Policy
        What they begin with.
    channel_groups : int
        How many there are.
    place : torch.device
        Where the thresholds are.

    Members
    -------
    thresholds : Parameter, shape (channel_groups, 3)
        Logarithms to base 2 of the normalised variances below which INT4, INT8 and FP16 do.
    precisions : list of Precision
        What each channel group computes in.
    normalised_variance : float or None
        What the last look at the layer's input found.
    in_regions : bool
        Thresholds are no part of the network: they are averaged and updated in every step.
    """

    in_regions = False

    def __init__(self, policy: Policy, channel_groups: int, place: torch.device) -> None:
        super().__init__()
        self._policy = policy
        logarithms = [math.log2(threshold) for threshold in policy.thresholds]
        start = torch.tensor(logarithms, dtype=torch.float32, device=place)
        start = start.repeat(channel_groups, 1)
        self.thresholds = nn.Parameter(start, requires_grad=policy.learns)
        record = torch.tensor(list(policy.record()), dtype=torch.uint8)
        self._records = record.repeat(channel_groups, 1)
        self.precisions = [policy.first] * channel_groups
        self.normalised_variance: float | None = None

    def take(self, precisions: list[Precision], records: list[bytes]) -> None:
        """Keep what was decided, and the records as they then stand."""
        self.precisions = precisions
        joined = np.frombuffer(b"".join(records), dtype=np.uint8).copy()
        self._records = torch.from_numpy(joined).view(self._records.shape)

    def get_extra_state(self) -> torch.Tensor:
        """State for ``state_dict``: each channel group's precision, record and last variance.

        They are no buffers: DistributedDataParallel would overwrite them with the first worker's.
        """
        codes = torch.tensor(self.precisions, dtype=torch.uint8)
        seen = torch.tensor(
            math.nan if self.normalised_variance is None else self.normalised_variance,
            dtype=torch.float64,
        )
        raw = seen.view(1).view(torch.uint8).repeat(len(codes), 1)
        return torch.cat([codes[:, None], self._records, raw], dim=1)

    def set_extra_state(self, state: torch.Tensor) -> None:
        """Restore what :meth:`get_extra_state` gave, as far as the policy of now allows.

        Raises
        ------
        ValueError
            If it is of another number of channel groups, or their records of another size.
        """
        raw = self._records.shape[1]
        wanted = len(self.precisions), 1 + raw + 8
        if state.shape != wanted:
            raise ValueError(
                f"state of {wanted[0]} channel groups must be of shape {wanted}, not "
                f"{tuple(state.shape)}"
            )
        state = state.cpu()
        self.precisions = [self._policy.allowed(Precision(code)) for code in state[:, 0].tolist()]
        restored = [self._restored(bytes(row.tolist())) for row in state[:, 1 : 1 + raw]]
        self._records = torch.tensor([list(record) for record in restored], dtype=torch.uint8)
        seen = state[0, 1 + raw :].clone().view(torch.float64).item()
        self.normalised_variance = None if math.isnan(seen) else seen

    def asked_records(self, bounds: list[tuple[Precision, Precision]]) -> list[bytes]:
        """Records with the thresholds of now, and the bounds that resources set.

        Parameters
        ----------
        bounds : list of (Precision, Precision)
            Floor and ceiling of each channel group.

        Raises
        ------
        ValueError
            If a threshold is not a number.
        """
        if not self.thresholds.isfinite().all():
            raise ValueError(
                f"thresholds must be finite, not {self.thresholds.tolist()}; look at the loss, and "
                "at their learning rate"
            )
        rows = self._ascending().detach().exp2().mul(_ONE).round().clamp(0, _ONE).int().tolist()
        found = []
        for raw, row, (floor, ceiling) in zip(self._records, rows, bounds, strict=True):
            record = unpack(PrecisionRecord, bytes(raw.tolist()))
            record |= dict(zip(THRESHOLDS, row, strict=True))
            record |= {"floor": rank_of(floor), "ceiling": rank_of(ceiling)}
            found.append(pack(PrecisionRecord, **record))
        return found

    def hold(self) -> None:
        """Keep the thresholds from passing 1, where no gradient would bring them back."""
        with torch.no_grad():
            self.thresholds.clamp_(max=0.0)

    def bounds(self) -> list[tuple[float, ...]]:
        """Each channel group's thresholds, as normalised variances."""
        return [tuple(row) for row in self._ascending().detach().exp2().tolist()]

    def weights(self) -> torch.Tensor:
        """Shares of each channel group's output that the soft choice takes from each precision.

        Between two neighbouring ranks the odds are 2 ** ((log2 v - threshold) / softness), with
        v the normalised variance, so that the largest weight is that of the rank whose thresholds
        it lies between.

        Returns
        -------
        Tensor, shape (channel_groups, 4)
            By rank, INT4 first; a row's sum is 1, and ranks outside the bounds have 0.

        Raises
        ------
        RuntimeError
            If nothing was looked at yet.
        """
        if self.normalised_variance is None:
            raise RuntimeError("weights need a look at the layer's input first")
        seen = math.log2(max(self.normalised_variance, 1 / _ONE))
        odds = (seen - self._ascending()) * (math.log(2) / self._policy.softness)
        logits = torch.cat([torch.zeros_like(odds[:, :1]), odds.cumsum(dim=1)], dim=1)
        return logits.masked_fill(~self._allowed(), -math.inf).softmax(dim=1)

    def bits(self) -> torch.Tensor:
        """Each channel group's bits: the hard choice's value, the soft choice's gradient."""
        hard = self._tensor([float(precision.bits) for precision in self.precisions])
        if not self._policy.learns or self.normalised_variance is None:
            return hard
        soft = self.weights() @ self._tensor(_BITS)
        return hard + (soft - soft.detach())

    def _allowed(self) -> torch.Tensor:
        """Ranks that the bounds leave to each channel group."""
        records = [unpack(PrecisionRecord, bytes(raw.tolist())) for raw in self._records]
        allowed = [
            [record["floor"] <= rank <= record["ceiling"] for rank in range(len(_BITS))]
            for record in records
        ]
        return torch.tensor(allowed, device=self.thresholds.device)

    def _restored(self, raw: bytes) -> bytes:
        """A record with what its policy says of now."""
        record, own = (
            unpack(PrecisionRecord, raw),
            unpack(PrecisionRecord, self._policy.record()),
        )
        for bound in ("floor", "ceiling"):
            record[bound] = min(max(record[bound], own["floor"]), own["ceiling"])
        record |= {name: own[name] for name in ("hysteresis", "dwell_length")}
        return pack(PrecisionRecord, **record)

    def _tensor(self, values: Sequence[Any]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.float32, device=self.thresholds.device)

    def _ascending(self) -> torch.Tensor:
        return self.thresholds.cummax(dim=1).values.clamp(max=0.0)
