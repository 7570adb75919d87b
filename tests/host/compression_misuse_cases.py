"""Wrong uses of the compressed exchange."""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from compression_reducer_cases import Reduced
from compression_setup import (
    Setup,
    case,
    network,
)
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.compression.frames import Coded
from adagrain.host.compression.hook import CompressionState, compress_hook
from adagrain.host.compression.layout import Layout
from adagrain.host.compression.threshold import HardThreshold
from adagrain.host.device.open_device import open_device
from adagrain.host.errors import DeviceError
from adagrain.models import codec
from adagrain.models.mask import KeepTable
from adagrain.models.mask_network import keep_tables


@case
def options_that_differ() -> Any:
    Setup(density=0.1 if dist.get_rank() else 0.2)


@case
def wrong_option_on_one() -> Any:
    Setup(density=0.1 if dist.get_rank() else 2.0)


def registered(compression: Any, momentum: float = 0.0, **options: Any) -> adagrain.AdagrainState:
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=momentum)
    return adagrain.register(model, optimizer, preset="tiny", compression=compression, **options)


@case
def compression_that_differs() -> Any:
    registered({"density": 0.1 if dist.get_rank() else 0.2})


@case
def compression_on_one() -> Any:
    registered(None if dist.get_rank() else {})


@case
def no_compression() -> Any:
    registered(0.01)


@case
def wrong_option_of_compression() -> Any:
    registered({"densty": 0.1})


@case
def no_backward_on_one() -> Any:
    setup = Reduced({"0": 2}, density=0.2)
    setup.train(range(3))
    loss = setup.model(setup.batch(3)).square().mean()
    if dist.get_rank() == 1:
        setup.optimizer.step()
    loss.backward()


@case
def state_of_a_dense_exchange() -> Any:
    dense, compressed = registered(None), registered({})
    compressed.load_state_dict(dense.state_dict())


@case
def state_of_another_mask_behind_the_reducer() -> Any:
    random, top = registered({"mask": "random"}), registered({"mask": "top"})
    top.load_state_dict(random.state_dict())


@case
def wrong_option_of_the_mask_on_one() -> Any:
    Setup(mask="learned", learned={"hidden": 5 if dist.get_rank() else 0})


@case
def options_of_the_mask_that_differ() -> Any:
    Setup(mask="learned", learned={"hidden": 5 if dist.get_rank() else 6})


@case
def budget_that_no_frame_fits_in() -> Any:
    Setup(budget=112)
    Setup(budget=111)


@case
def budget_of_slices() -> Any:
    registered({"budget": 112}, by="rows:3")


@case
def momentum_twice() -> Any:
    registered({"momentum": 0.9})
    registered({"momentum": 0.9}, momentum=0.5)


@case
def momentum_twice_behind_the_hook() -> Any:
    setup = Setup(momentum=0.5)
    other = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1, momentum=0.9)
    setup.train(range(2))
    other.step()
    alone = torch.zeros(2, requires_grad=True)  # in no bucket
    setup.optimizer = torch.optim.SGD([alone, *setup.model.parameters()], lr=0.05, momentum=0.9)
    before = setup.sha256()
    try:
        setup.train(range(1))
    finally:
        assert setup.sha256() == before


@case
def no_hook() -> Any:
    model = DistributedDataParallel(network())
    state = CompressionState(model)
    optimizer, harmless = torch.optim.SGD(model.parameters(), lr=0.05), 0
    try:
        optimizer.step()
        model(torch.zeros(3, 12)).mul(0).sum().backward()
        optimizer.step()
        harmless = 2
        model(torch.ones(3, 12)).sum().backward()
        optimizer.step()
    finally:
        assert harmless == 2, "steps in which nothing moves are let be"
        state.close()
        optimizer.step()


class Broken(HardThreshold):
    """A mask that fails on one worker, in the third pass."""

    calls = 0

    def keep(self, v: torch.Tensor, layout: Any, density: float) -> torch.Tensor:
        self.calls += 1
        if dist.get_rank() and self.calls == 3:
            return v
        return super().keep(v, layout, density)


@case
def wrong_mask_on_one() -> Any:
    Setup(ddp={"bucket_cap_mb": 25}, mask=Broken()).train(range(5))


class Failing:
    """The golden codec, which fails on one worker in its third pass."""

    def __init__(self, part: str) -> None:
        self._part, self._calls = part, 0

    def encode(self, tensors: Any, **options: Any) -> bytes:
        self._count("encode", 1)
        return codec.encode(tensors, **options)

    def decode(self, frame: bytes, **options: Any) -> Any:
        self._count("decode", 2)
        return codec.decode(frame, **options)

    def _count(self, part: str, calls_a_pass: int) -> None:
        self._calls += part == self._part
        if part == self._part and dist.get_rank() and self._calls == 1 + 2 * calls_a_pass + 1:
            raise DeviceError(f"the device has stopped to {part}")


@case
def coder_that_stops_to_encode_on_one() -> Any:
    Setup(coder=Failing("encode")).train(range(5))


@case
def coder_that_stops_to_decode_on_one() -> Any:
    Setup(coder=Failing("decode")).train(range(5))


class Ending(HardThreshold):
    """Fails behind the frame of its third pass, on one worker."""

    def __init__(self) -> None:
        super().__init__()
        self.passes = 0

    def end_pass(self, density: float) -> None:
        self.passes += 1
        if dist.get_rank() and self.passes == 3:
            raise ValueError("the mask cannot end the pass")
        super().end_pass(density)


@case
def mask_that_cannot_end_a_pass_on_one() -> Any:
    Setup(mask=Ending()).train(range(5))


@case
def mask_that_cannot_end_the_last_pass_on_one() -> Any:
    """No pass is left in which the others could be told; no state is taken for a sound one."""
    setup = Setup(mask=Ending())
    setup.train(range(3))
    setup.state.state_dict()
    setup.train(range(3, 4))


class Sampling(HardThreshold):
    """Cannot tell in its third pass, on one worker, what it wants to know of all."""

    def __init__(self) -> None:
        super().__init__()
        self.passes = 0

    def look(self, layout: Layout, gradient: torch.Tensor) -> None:
        """See nothing."""

    def heard(self, layout: Layout, made: Coded, average: torch.Tensor) -> None:
        """Learn nothing."""

    def sample(self) -> torch.Tensor:
        self.passes += 1
        if dist.get_rank() and self.passes == 3:
            raise ValueError("the mask cannot sample")
        return torch.ones(4)

    def probed(self, average: torch.Tensor) -> None:
        assert average.equal(torch.ones(4))


@case
def mask_that_cannot_sample_on_one() -> Any:
    Setup(mask=Sampling()).train(range(5))


@case
def mask_that_cannot_sample_on_one_uncompressed() -> Any:
    Setup(mask=Sampling(), bypass="always").train(range(5))


class Unfit(Failing):
    """Makes frames that do not fit on one worker, from its fourth on, whatever is in them."""

    def __init__(self, wrong: Callable[[bytes], bytes]) -> None:
        super().__init__("")
        self._wrong = wrong

    def encode(self, tensors: Any, **options: Any) -> bytes:
        self._calls += 1
        frame = codec.encode(tensors, **options)
        return self._wrong(frame) if dist.get_rank() and self._calls > 3 else frame


@case
def coder_whose_frames_are_too_long_on_one() -> Any:
    Setup(coder=Unfit(lambda frame: frame + bytes(9999))).train(range(5))


@case
def coder_whose_frames_are_empty_on_one() -> Any:
    Setup(coder=Unfit(lambda frame: b"")).train(range(5))


class Stopping(Failing):
    """A network that stops in its fourth pass, the first one being a trial."""

    def keep_tables(self, layers: Any, seen: Any, exponents: Any) -> list[KeepTable]:
        self._count("keep_tables", 1)
        return [KeepTable(0, own) for own in keep_tables(layers, seen).astype(int).tolist()]


@case
def network_that_stops_on_one() -> Any:
    Setup(mask="learned", coder=Stopping("keep_tables"), network="device").train(range(9))


class Wrong(Failing):
    """Makes other frames."""

    def encode(self, tensors: Any, **options: Any) -> bytes:
        return codec.encode([2 * x for x in tensors], **options)


@case
def coder_with_frames_of_its_own() -> Any:
    Setup(coder=Wrong("")).train(range(1))


class Unmasking(Failing):
    """Does not mask."""

    def encode(self, tensors: Any, *, masks: Any = None, **options: Any) -> bytes:
        return codec.encode(tensors, **options)


@case
def coder_with_a_mask_of_its_own() -> Any:
    Setup(coder=Unmasking("")).train(range(1))


@case
def no_coder() -> Any:
    Setup(coder="gloden")


@case
def coder_without_a_device() -> Any:
    Setup(coder="device")


@case
def coder_that_cannot_code() -> Any:
    registered({"coder": "device"})


@case
def network_of_a_coder_that_is_no_device() -> Any:
    Setup(mask="learned", coder=Failing(""), network="device")


@case
def network_of_a_device_without_slices() -> Any:
    with open_device("golden:", "small") as device:
        Setup(mask="learned", coder=device, network="device")


class Otherwise(Failing):
    """Keeps what the network does not."""

    def keep_tables(self, layers: Any, seen: Any, exponents: Any) -> list[KeepTable]:
        return [KeepTable(0, own) for own in (~keep_tables(layers, seen)).astype(int).tolist()]


@case
def network_that_decides_otherwise() -> Any:
    Setup(mask="learned", coder=Otherwise(""), network="device")


@case
def network_without_its_mask() -> Any:
    Setup(coder=Otherwise(""), network="device")


@case
def network_that_is_none() -> Any:
    Setup(mask="learned", network="golden:")


@case
def frozen_when_the_state_was_made() -> Any:
    made = network()
    model = DistributedDataParallel(made)
    made[0].requires_grad_(False)
    state = CompressionState(model)
    made[0].requires_grad_(True)
    model.register_comm_hook(state, compress_hook)
    model(torch.ones(3, 12)).sum().backward()


@case
def join() -> Any:
    setup = Setup()
    with setup.model.join():
        setup.train(range(1))


@case
def double_precision() -> Any:
    Setup(make=lambda: nn.Linear(12, 4).double())


@case
def buckets_that_are_skipped() -> Any:
    Setup(ddp={"find_unused_parameters": True, "skip_all_reduce_unused_params": True})


@case
def registered_with_buckets_that_are_skipped() -> Any:
    skips = {"find_unused_parameters": True, "skip_all_reduce_unused_params": True}
    model = DistributedDataParallel(network(), **skips)
    adagrain.register(model, torch.optim.SGD(model.parameters(), lr=0.05), preset="tiny")
