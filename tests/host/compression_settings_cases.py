"""What a script may have set around the compressed exchange."""

import itertools
from typing import Any

import torch
from compression_reducer_cases import Reduced
from compression_setup import Setup, case, network
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.compression.hook import CompressionState, compress_hook

#: Options of every kind of mask, and of what else is kept for each element.
KINDS: tuple[dict[str, Any], ...] = (
    *({"mask": mask} for mask in ("threshold", "top", "random", "learned")),
    {"momentum": 0.9, "nesterov": True},
    {"bypass": "always"},
)


def _trained(batches: list[torch.Tensor], options: dict[str, Any]) -> str:
    """A run in FP32, of the weights that others have."""
    initial = network_in_fp32()
    setup = Setup(make=lambda: initial, density=0.1, **options)
    for batch in batches:
        setup.optimizer.zero_grad()
        setup.model(batch).square().mean().backward()
        setup.optimizer.step()
    assert all(own.dtype == torch.float32 for own in setup.residuals().split(8))
    return setup.sha256()


def network_in_fp32() -> nn.Module:
    """The network, whatever type is the default one."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        return network()
    finally:
        torch.set_default_dtype(before)


@case
def other_default_types() -> Any:
    """They are those of what a script makes, and change nothing here."""
    batches = [torch.randn(16, 12, generator=torch.Generator().manual_seed(n)) for n in range(5)]
    for options in KINDS:
        wanted = _trained(batches, options)
        for dtype in (torch.float64, torch.bfloat16, torch.float16):
            torch.set_default_dtype(dtype)
            try:
                assert _trained(batches, options) == wanted, (options, dtype)
            finally:
                torch.set_default_dtype(torch.float32)


@case
def another_default_device() -> Any:
    """A mask's weights are drawn on the CPU wherever a script has its tensors made."""
    with torch.device("meta"):
        found = Setup(make=network_on_the_cpu, density=0.1, mask="learned")
    wanted = Setup(density=0.1, mask="learned")
    for setup in (found, wanted):
        setup.train(range(3))
    assert found.sha256() == wanted.sha256()


def network_on_the_cpu() -> nn.Module:
    with torch.device("cpu"):
        return network()


class Mixed(nn.Module):
    """Parameters of two types, so that DDP has two buckets at least."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.first, self.second = nn.Linear(12, 40), nn.Linear(40, 4).bfloat16()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).bfloat16()).float()


@case
def static_graphs_of_two_types() -> Any:
    """In their first pass DDP calls each bucket the first one, and none the last."""
    for caps, by in itertools.product((1e-3, 25), ("hook", "tensor", "rows:3")):
        found = set()
        for static in (False, True):
            ddp = {"bucket_cap_mb": caps, "static_graph": static}
            made = {"ddp": ddp, "make": Mixed, "density": 1.0}
            setup = Setup(**made) if by == "hook" else Reduced({}, by, **made)
            setup.train(range(5))
            found.add(_bits(setup.network))
        assert len(found) == 1, (caps, by)


def _bits(module: nn.Module) -> bytes:
    return b"".join(p.detach().float().numpy().tobytes() for p in module.parameters())


@case
def model_of_an_earlier_pytorch() -> Any:
    """Whose DDP cannot skip buckets."""
    model = DistributedDataParallel(network())
    del model.skip_all_reduce_unused_params
    state = CompressionState(model, bypass="never")
    model.register_comm_hook(state, compress_hook)
    model(torch.ones(3, 12)).sum().backward()
    assert state.exchange.passes == 1
