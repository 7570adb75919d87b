"""Results that are kept for a second run, and what must not be: equal to a run that waits."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from speculation_setup import begun, reject, sgd
from torch import nn
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

pytestmark = pytest.mark.usefixtures("lone_worker")

#: Computes a loss of a model from a batch.
Loss = Callable[[nn.Module, torch.Tensor], torch.Tensor]


def square(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x).square().mean()


class Body(nn.Module):
    """Three layers of one shape in front of a last one."""

    def __init__(self) -> None:
        super().__init__()
        layers = [m for _ in range(3) for m in (nn.Linear(12, 12), nn.Tanh())]
        self.body, self.last = nn.Sequential(*layers), nn.Linear(12, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.body(x))


class Checkpointed(Body):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(checkpoint(self.body, x, use_reentrant=False))


class Encoder(nn.Module):
    """Gives a list."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(12, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        one = torch.tanh(self.one(x))
        return [one, torch.tanh(self.two(one))]


class Skipping(nn.Module):
    """Takes from the list that its encoder gives."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.middle, self.last = Encoder(), nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = self.encoder(x)
        return self.last(self.middle(skips.pop()) + skips.pop())


class Hooked(nn.Module):
    """Halves a gradient by a hook on a module's output."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two, self.last = nn.Linear(12, 8), nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.two(torch.tanh(self.one(x)))
        hidden.register_hook(lambda gradient: gradient * 0.5)
        return self.last(hidden)


@dataclass
class Output:
    """What a module gives, in a class of its own."""

    logits: torch.Tensor


class Wrapped(nn.Module):
    """Gives an object."""

    def __init__(self) -> None:
        super().__init__()
        self.own = nn.Linear(12, 12)

    def forward(self, x: torch.Tensor) -> Output:
        return Output(self.own(x))


class Changing(nn.Module):
    """Changes what a module of it has given."""

    def __init__(self) -> None:
        super().__init__()
        self.wrapped, self.last = Wrapped(), nn.Linear(12, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output = self.wrapped(x)
        output.logits = output.logits / 2
        return self.last(output.logits)


class Growing(nn.Module):
    """Keeps some of what it gives in a buffer that grows."""

    def __init__(self) -> None:
        super().__init__()
        self.own = nn.Linear(12, 12)
        self.register_buffer("bank", torch.zeros(1, 12))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.own(x)
        self.bank = torch.cat([self.bank, y.detach()[:2]])
        return y + self.bank.mean(0)


def adversarial(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Of a batch that was moved along its own gradient."""
    x = x.clone().requires_grad_()
    (along,) = torch.autograd.grad(square(model, x), x)
    return square(model, (x + 0.1 * along.sign()).detach())


def with_tangents(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(model(forward_ad.make_dual(x, torch.ones_like(x))))
        return found.primal.square().mean() + found.tangent.square().mean()


def with_target(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        target = model(x).mean().item()
    return (model(x) - 0.5 * target).square().mean()


def in_autocast(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return model(x).float().square().mean()


def trained(
    make: Callable[[], nn.Module], loss: Loss, depth: int, *rejected: int
) -> list[torch.Tensor]:
    """Weights and buffers after six steps in which the guesses of some regions are rejected."""
    torch.manual_seed(1)
    model = make()
    speculation = begun(model, sgd(model), tau=0, depth=depth)
    if rejected:
        reject(speculation, *rejected)
    for step in range(6):
        x = torch.randn(8, 12, generator=torch.Generator().manual_seed(step))
        speculation.step(lambda x=x: loss(model, x))
    speculation.close()
    return [own.detach().clone() for own in (*model.parameters(), *model.buffers())]


@pytest.mark.parametrize(
    ("make", "loss", "rejected"),
    [
        (Checkpointed, square, 1),
        (Skipping, square, 3),
        (Hooked, square, 2),
        (Changing, square, 1),
        (lambda: nn.Sequential(Growing(), nn.Linear(12, 2)), square, 1),
        (Body, adversarial, 1),
        (Body, with_tangents, 1),
        (Body, with_target, 1),
        (Body, in_autocast, 1),
    ],
)
def test_a_second_run_is_as_the_first_one_would_have_been(
    make: Callable[[], nn.Module], loss: Loss, rejected: int
) -> None:
    wanted = trained(make, loss, 0)
    for regions in ((), (rejected,)):
        found = trained(make, loss, 1, *regions)
        assert all(map(torch.equal, wanted, found))


def test_an_error_of_a_closures_own_is_raised_in_a_second_run_too() -> None:
    runs = []

    def loss(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        y = square(model, x)
        runs.append(y)
        if len(runs) > 4:
            raise KeyError("no such thing")
        return y

    with pytest.raises(KeyError, match="no such thing"):
        trained(Body, loss, 1, 1)


class Momentum(nn.Module):
    """Moves a frozen layer towards a trained one in its forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(12, 8), nn.Linear(12, 8).requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.query(x)
        self.key.weight.data.mul_(0.9)
        with torch.no_grad():
            self.key.weight.add_(self.query.weight, alpha=0.1)
        return y - self.key(x)


def test_frozen_parameters_are_not_changed_in_a_closure() -> None:
    trained(Momentum, square, 0)
    with pytest.raises(RuntimeError, match=r"'key.weight' is frozen, and must not be changed wit"):
        trained(Momentum, square, 1)


@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.Adafactor])
@pytest.mark.parametrize("loss", [square, in_autocast])
def test_updates_do_not_know_in_which_mode_they_arrive(
    kind: type[torch.optim.Optimizer], loss: Loss
) -> None:
    """In the closure's autocast, or in front of an evaluation in inference mode."""

    def weights(depth: int) -> list[nn.Parameter]:
        torch.manual_seed(1)
        model = Body()
        optimizer = kind(model.parameters(), lr=1e-2)
        speculation = begun(model, optimizer, tau=0, depth=depth, looks=lambda: 0)
        for step in range(5):
            x = torch.randn(8, 12, generator=torch.Generator().manual_seed(step))
            speculation.step(lambda x=x: loss(model, x))
            if step % 2 == 0:
                with torch.inference_mode():
                    model(x)
        speculation.close()
        return [*model.parameters()]

    assert all(map(torch.equal, weights(0), weights(1)))
