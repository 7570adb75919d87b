"""The compressed exchange as a hook of DDP: with a learned mask, a budget, units of a device."""

from typing import Any

import torch
from compression_setup import Setup, average_of, case, gathered, same_bits, to_bf16

from adagrain.host.device.open_device import open_device
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import STREAMED


@case
def coded_by_a_device() -> Any:
    """Frames, and so weights and bytes, are those of the golden codec."""
    built = configuration("tiny", formats=STREAMED, units=("statistics", "encoder", "decoder"))
    for mask in ("threshold", "learned"):
        golden = Setup(density=0.1, mask=mask, mantissa_bits=3)
        golden.train(range(4))
        with open_device("golden:", built) as device:
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
