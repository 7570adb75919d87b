"""Granular layers among what else PyTorch does: autocast, encoders, checkpoints, DDP, compiling."""

import copy

import pytest
import torch
from granular_networks import network
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from adagrain.host.granular import Granularity, GranularLayer, Policy, convert
from adagrain.models.interface.precision import Precision


@pytest.mark.parametrize("precision", list(Precision.__members__))
def test_autocast_changes_no_bit(precision: str) -> None:
    x = torch.randn(6, 12)
    results = []
    for enabled in (False, True):
        model = convert(network(), Policy(fixed=precision, gradients=precision))
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            y = model(x)
            y.square().sum().backward()
        results.append([y, *(p.grad for p in model.parameters() if p.grad is not None)])
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)


def test_autocast_may_choose_what_comes_before() -> None:
    model = nn.Sequential(nn.Linear(12, 12), convert(nn.Linear(12, 5), Policy(every=1)))
    with Granularity(model), torch.autocast("cpu", torch.bfloat16):
        y = model(torch.randn(6, 12))
        y.sum().backward()
    assert y.dtype == torch.float32
    assert model[1].controllers.thresholds.grad.count_nonzero()


def test_encoders_call_their_layers_in_evaluation() -> None:
    """torch's own would read the weights instead, and compute in float32."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
    model = convert(nn.TransformerEncoder(layer, 2), Policy(fixed="INT4")).eval()
    x, absent = torch.randn(3, 5, 16), torch.arange(5) > torch.tensor([[4], [3], [2]])
    for options in ({}, {"src_key_padding_mask": absent}):
        wanted = model(x, **options)
        with torch.no_grad():
            found = copy.deepcopy(model)(x, **options)
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_layers_learn_the_same(reentrant: bool) -> None:
    results = []
    for kept in (True, False):
        model = convert(network(), Policy(every=1))
        torch.manual_seed(1)
        x = torch.randn(6, 12, requires_grad=True)
        with Granularity(model):
            y = model(x) if kept else checkpoint(model, x, use_reentrant=reentrant)
            y.square().sum().backward()
        results.append([p.grad for p in model.parameters()])
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)
        assert one.count_nonzero()


def test_plain_ddp_trains_layers_that_are_not_always_used(lone_worker: object) -> None:
    model = nn.ModuleDict({"one": nn.Linear(12, 8), "two": nn.Linear(12, 8)})
    convert(model, Policy(every=1, penalty=0.5))

    class Either(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = model

        def forward(self, x: torch.Tensor, name: str) -> torch.Tensor:
            return self.layers[name](x)

    wrapped = DistributedDataParallel(Either(), find_unused_parameters=True)
    with Granularity(wrapped) as granularity:
        assert set(granularity.precisions()) == {"layers.one", "layers.two"}
        for name, rows in (("one", 4), ("two", 4), ("one", 0), ("two", 3)):
            loss = wrapped(torch.randn(rows, 12), name).sum()
            (loss + granularity.penalty()).backward()
            granularity.step()


def test_the_penalty_counts_each_pass_of_the_step() -> None:
    shared = nn.Linear(6, 6)
    model = nn.Sequential(shared, nn.ReLU(), shared, nn.ReLU(), nn.Linear(6, 4))
    convert(model, Policy(fixed="INT8", penalty=1.0), {"4": Policy(fixed="FP32", penalty=1.0)})
    with Granularity(model) as granularity:
        model(torch.randn(5, 6))
        wanted = (8 * 72 + 32 * 24) / (32 * 96)
        assert granularity.penalty().item() == pytest.approx(wanted)
        model.eval()(torch.randn(900, 6))
        assert granularity.penalty().item() == pytest.approx(wanted)
        granularity.step()
        model.train()[0](torch.randn(5, 6))
        assert granularity.penalty().item() == pytest.approx(8 / 32)


def test_compiled_models_train_and_choose_alike() -> None:
    results = []
    for compiled in (False, True):
        model = convert(network(), Policy(every=1, dwell=0, penalty=0.5))
        with Granularity(model) as granularity:
            called = torch.compile(model, backend="aot_eager") if compiled else model
            assert Granularity(called).precisions() == granularity.precisions()
            logs = []
            for seed in range(3):
                torch.manual_seed(seed)
                y = called(torch.randn(6, 12) ** (1 + 2 * seed))
                (y.square().mean() + granularity.penalty()).backward()
                logs.append((y, granularity.step()))
            results.append((logs, [p.grad for p in model.parameters()]))
    for (one, log), (other, other_log) in zip(results[0][0], results[1][0], strict=True):
        assert torch.equal(one, other)
        assert log == other_log
    assert all(map(torch.equal, results[0][1], results[1][1]))


def test_a_graph_without_breaks_is_refused() -> None:
    torch.compiler.reset()  # else what another test has compiled with breaks may serve
    model = torch.compile(convert(network()), fullgraph=True, backend="eager")
    with pytest.raises(Exception, match=r"torch\.compiler\.disable"):
        model(torch.randn(2, 12))


def test_second_derivatives_are_refused() -> None:
    model, x = convert(network(), Policy(fixed="INT8")), torch.randn(3, 12, requires_grad=True)
    (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_a_default_of_float64_changes_no_bit() -> None:
    model, x = convert(network(), Policy(fixed="FP32")), torch.randn(3, 12)
    wanted = model(x)
    torch.set_default_dtype(torch.float64)
    try:
        other = convert(network().float(), Policy(fixed="FP32"))
        other.load_state_dict(model.state_dict())
        with Granularity(other) as granularity:
            found = other(x)
            assert granularity.penalty().dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)
    assert found.dtype == torch.float32
    assert torch.equal(found, wanted)


def test_controllers_are_where_the_weights_are() -> None:
    layer = convert(nn.Linear(12, 8), Policy(channel_groups=2)).to("meta")
    layer.controllers.normalised_variance = 0.1
    assert layer.controllers.bits().is_meta
    assert layer.controllers.thresholds.is_meta


def test_layers_compute_on_alone_after_the_device_is_let_go() -> None:
    model, x = convert(network(), Policy(fixed="INT8")), torch.randn(4, 12)
    first = Granularity(model, offload=1)
    first.live = True
    wanted = model(x)
    second = Granularity(model)
    assert torch.equal(model(x), wanted)
    assert first.offloaded.products == 2
    first.close()
    layers = [layer for layer in model.modules() if isinstance(layer, GranularLayer)]
    assert all(layer.measure == second.device.statistics for layer in layers)
    second.close()
    assert torch.equal(model(x), wanted)


def test_a_copy_looks_at_nothing() -> None:
    """Though it was made in a step that does, behind the look."""
    model = convert(network(), Policy(every=1))
    with Granularity(model):
        model(torch.randn(4, 12))
        assert model.one.looking and model.one.seen
        other = copy.deepcopy(model).one
    assert not other.looking and other.seen is None


def test_evaluation_is_offloaded_where_every_step_is() -> None:
    x = torch.randn(4, 12)
    for every, products in ((1, 2), (2, 0)):
        model = convert(network(), Policy(fixed="INT8")).eval()
        with Granularity(model, offload=every) as granularity:
            model(x)
            assert granularity.offloaded.products == products
