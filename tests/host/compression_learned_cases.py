"""The compressed exchange as a hook of DDP: with a learned mask, a budget, units of a device."""

from typing import Any

import torch
import torch.distributed as dist
from compression_setup import Setup, average_of, case, gathered, replaced, same_bits, to_bf16

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.device.open_device import open_device
from adagrain.models import codec
from adagrain.models.codec import commands
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import STREAMED
from adagrain.models.mask import masked


@case
def coded_by_a_device() -> Any:
    """Frames, and so weights and bytes, are those of the golden codec."""
    for mask in ("threshold", "learned"):
        golden = Setup(density=0.1, mask=mask, mantissa_bits=3)
        golden.train(range(4))
        with open_device("golden:", CODEC) as device:
            coded = Setup(density=0.1, mask=mask, mantissa_bits=3, coder=device)
            coded.train(range(4))
            counts = device.counters()
        assert counts["encoded"] >= 4 * 1064 and counts["decoded"] > 0
        assert coded.sha256() == golden.sha256()
        assert coded.state.bytes_sent == golden.state.bytes_sent


@case
def decided_by_a_device() -> Any:
    """The learned mask's tables come from the granularity unit, and are the golden network's."""
    golden = Setup(density=0.1, mask="learned")
    golden.train(range(6))
    with open_device("golden:", "whole") as device:
        decided = Setup(density=0.1, mask="learned", coder=device, network="device")
        before = device.counters()["tile_words"]
        decided.train(range(6))
        assert device.counters()["tile_words"] > before
    assert decided.sha256() == golden.sha256()
    assert decided.state.bytes_sent == golden.state.bytes_sent


class Watched:
    """The codec of a device; what it is given to mask is noted."""

    def __init__(self, device: Coprocessor) -> None:
        self._device = device
        self.masked: list[int] = []

    def encode(self, tensors: Any, *, mantissa_bits: Any = None, masks: Any = None) -> bytes:
        if masks is not None:
            self.masked.append(sum(int(x.count_nonzero()) for x in tensors))
        return self._device.encode(tensors, mantissa_bits=mantissa_bits, masks=masks)

    def decode(self, frame: bytes, **options: Any) -> Any:
        return self._device.decode(frame, **options)


CODEC = configuration("tiny", formats=STREAMED, units=("statistics", "encoder", "decoder"))


@case
def masked_by_a_device() -> Any:
    """It is given all elements from the second pass on, and sends what the golden mask leaves."""
    for bits in (7, 2, 0):
        golden = Setup(density=0.1, mask="learned", mantissa_bits=bits)
        golden.train(range(6))
        with open_device("golden:", CODEC) as device:
            coder = Watched(device)
            coded = Setup(density=0.1, mask="learned", mantissa_bits=bits, coder=coder)
            coded.train(range(6))
        assert [elements > 1000 for elements in coder.masked] == [False] + [True] * 5
        assert coded.state.exchange.masked_by_coder == 5
        assert golden.state.exchange.masked_by_coder == 0
        assert coded.sha256() == golden.sha256()
        assert coded.state.bytes_sent == golden.state.bytes_sent
        assert coded.state.counts == golden.state.counts


@case
def parameters_without_gradient_masked_by_a_device() -> Any:
    """What waits of them is not sent, though a table would keep it."""
    found = []
    for coder in (codec, None):
        with open_device("golden:", CODEC) as device:
            chosen = {"mask": "learned", "coder": coder or Watched(device)}
            setup = Setup(ddp={"find_unused_parameters": True}, density=0.1, **chosen)
            setup.train(range(3))
            bias = setup.network[3].bias
            hook = bias.register_hook(torch.zeros_like)
            setup.train(range(3, 5))
            hook.remove()
            setup.train(range(5, 7))
        found.append((setup.sha256(), setup.state.bytes_sent, setup.state.counts.refused))
    assert found[0] == found[1] and not found[0][2]


def without_last_bins(x: torch.Tensor, exponent: int, keep: Any) -> torch.Tensor:
    """A mask that keeps its last bins in no other case than where it keeps all."""
    return masked(x, exponent, [*keep[:4], *[0] * 60] if not all(keep) else keep)


@case
def masked_otherwise_by_a_device() -> Any:
    """It leaves too much out on one worker: its frames count on none, and nothing is lost."""
    arrived: list[bool | None] = []
    with open_device("golden:", CODEC) as device:
        setup = Setup(density=0.1, mask="learned", coder=Watched(device))
        wrong = without_last_bins if dist.get_rank() else commands.masked
        with replaced(commands, "masked", wrong):
            for step in range(7):
                if setup.state.exchange.bypass._refused:
                    arrived.append(setup.judged_uncompressed(step))
                else:
                    arrived.append(bool(setup.judged(step).any()))
                setup.optimizer.step()
    by_table = dist.get_rank() == 0  # a pass behind an uncompressed one has no table
    assert arrived == [True, by_table, None, True, by_table, None, True]
    assert setup.state.counts.refused == 2 * dist.get_rank()
    assert setup.state.counts.dense_after_refusal == 2


@case
def budget() -> Any:
    found = []
    for mask in ("threshold", "threshold_before", "learned"):
        setup = Setup(ddp={"bucket_cap_mb": 25}, budget=400, mask=mask)
        setup.train(range(40))
        before = setup.state.bytes_sent
        setup.train(range(40, 60))
        found.append((setup.state.bytes_sent - before) / 20)
        assert [*setup.state.exchange._plan._sizes.values()][-1] <= 400
    return found


@case
def learned() -> Any:
    """Workers have masks of their own, and what a probe tells all of them is the same."""
    setup = Setup(
        ddp={"bucket_cap_mb": 25},
        density=0.1,
        mask="learned",
        learned={"probe_passes": 4, "probe_every": 1},
    )
    mask = setup.state.exchange.mask
    told = []
    old = mask.probed
    mask.probed = lambda average: told.append(average.clone()) or old(average)
    for step in range(9):
        own = setup.own_gradients(step)
        setup.judged(step)
        if step % 4 == 0:
            assert same_bits(told[-1], to_bf16(average_of(to_bf16(own)) * 2) / 2)
        setup.optimizer.step()
    assert len(told) == 3
    surveyed = mask._survey.of(tuple((number, 0) for number in range(6)))
    seen = surveyed.features[:, :4].tolist()
    assert seen[0] == seen[1] != seen[2] and all(map(any, seen))
    prices = gathered(torch.tensor([mask.price.value]))
    assert not torch.equal(*prices)
    return setup.sha256()
