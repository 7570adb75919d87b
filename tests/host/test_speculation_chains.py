"""Chains of guesses on one worker: bounded staleness, against the rule written down plainly."""

import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest
import torch
from speculation_setup import begun, plain, several, sgd
from torch import nn

from adagrain.host.distributed.exchange import DenseExchange
from adagrain.host.speculation import memory
from adagrain.host.speculation.chain import Chain
from adagrain.host.speculation.replay import Replay
from adagrain.host.speculation.speculate import Speculation
from adagrain.host.speculation.tags import Place, Tags
from adagrain.host.speculation.unchanged import Unchanged
from adagrain.host.speculation.verdict import Guess, Verdict

pytestmark = pytest.mark.usefixtures("lone_worker")

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.05),
}

#: Cadences of the three layers from a step on, in which a period of the old and of the new begins.
ALWAYS_DUE = {0: (1, 1, 1)}
CHANGING = {0: (2, 4, 1), 4: (4, 1, 2), 8: (1, 2, 1), 10: (1, 1, 2)}

STEPS = 13

#: What the other workers make of a gradient.
TRUTH = 0.75

#: Rates fall by this from step to step; cadences do not raise them above the cap.
DECAY, CAP = 0.9, 0.2


def network() -> nn.Sequential:
    torch.manual_seed(4)
    return nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))


def loss_of(model: nn.Module, step: int) -> torch.Tensor:
    x = torch.randn(8, 12, generator=torch.Generator().manual_seed(step))
    return model(x).square().mean()


def scaled(model: nn.Module, optimizer: Any, **options: Any) -> Speculation:
    """Speculation whose guesses are not the truth, and whose updates are never there in time."""
    real = DenseExchange.begin

    def begin(self: DenseExchange, shares: Any, *flat: Any) -> Any:
        return real(self, [own._replace(mean=own.mean * TRUTH) for own in shares], *flat)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DenseExchange, "begin", begin)
        return begun(model, optimizer, **options)


class Update(NamedTuple):
    """What a layer is updated with."""

    mean: list[torch.Tensor]
    rate: float


class Reference:
    """The rule, as it is written; each layer has an optimizer of its own."""

    def __init__(self, kind: str, cadences: Mapping[int, Sequence[int]]) -> None:
        self.model = network()
        self._kind = kind
        self._cadences = cadences
        self._optimizers = self._made(self.model)
        self._rate = self._optimizers[0].param_groups[0]["lr"]
        self._sums: list[list[torch.Tensor]] = [[], [], []]
        self._missing: list[dict[int, Update]] = []

    def run(self, depth: int, *, accepts: bool) -> int:
        """All steps; in how many of them a guess was compared with the truth."""
        compared, cadences = 0, self._cadences[0]
        for step in range(STEPS):
            cadences = self._cadences.get(step, cadences)
            compared += len(self._missing) == depth and bool(self._missing[0])
            if not accepts and len(self._missing) == depth:
                self._arrive()
            guess = copy.deepcopy(self.model)
            replayed = self._made(guess)
            for own, true in zip(replayed, self._optimizers, strict=True):
                own.load_state_dict(copy.deepcopy(true.state_dict()))
            for updates in self._missing:
                self._update(guess, replayed, updates, 1.0)
            loss_of(guess, step).backward()
            if len(self._missing) == depth:
                self._arrive()
            self._missing.append(self._gathered(guess, step, cadences))
            self._rate *= DECAY
        while self._missing:
            self._arrive()
        return compared

    def _made(self, model: nn.Sequential) -> list[torch.optim.Optimizer]:
        return [OPTIMIZERS[self._kind](layer.parameters()) for layer in model[::2]]

    def _gathered(self, guess: nn.Sequential, step: int, cadences: Any) -> dict[int, Update]:
        """Means of the layers that are due."""
        found = {}
        for number, (layer, cadence) in enumerate(zip(guess[::2], cadences, strict=True)):
            own = [parameter.grad for parameter in layer.parameters()]
            before = self._sums[number]
            sums = [a + b for a, b in zip(before, own, strict=True)] if before else own
            self._sums[number] = sums
            if (step + 1) % cadence == 0:
                rate = self._rate * min(cadence, max(1.0, CAP / self._rate))
                found[number] = Update([total * (1.0 / cadence) for total in sums], rate)
                self._sums[number] = []
        return found

    def _arrive(self) -> None:
        self._update(self.model, self._optimizers, self._missing.pop(0), TRUTH)

    @staticmethod
    def _update(
        model: nn.Sequential, optimizers: Any, updates: Mapping[int, Update], part: float
    ) -> None:
        for number, update in updates.items():
            for parameter, mean in zip(model[2 * number].parameters(), update.mean, strict=True):
                parameter.grad = part * mean
            optimizers[number].param_groups[0]["lr"] = update.rate
            optimizers[number].step()
            optimizers[number].zero_grad()


@pytest.mark.parametrize("cadences", [ALWAYS_DUE, CHANGING], ids=["always due", "cadences"])
@pytest.mark.parametrize("accepts", [True, False])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_step_goes_out_from_the_newest_guesses_and_nothing_older(
    kind: str, depth: int, accepts: bool, cadences: Mapping[int, Sequence[int]]
) -> None:
    """Rejected, it goes out from the update that it must have, and guesses of the newer ones.

    Each link of a guess has the mean, the cadence and the rate of its step.
    """
    model = network()
    optimizer = OPTIMIZERS[kind](model.parameters())
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, DECAY)
    tau = float("inf") if accepts else 0
    speculation = scaled(model, optimizer, depth=depth, tau=tau, cap=CAP)
    for step in range(STEPS):
        if step in cadences:
            clock = speculation._runtime._stages.clock  # type: ignore[union-attr]
            clock.change(dict(enumerate(cadences[step])))
            assert clock.cadences == [*cadences[step]]
        speculation.step(lambda step=step: loss_of(model, step))
        schedule.step()
    reference = Reference(kind, cadences)
    compared = reference.run(depth, accepts=accepts)
    assert compared >= (STEPS - depth) / 2
    assert speculation.passes_redone == (0 if accepts else compared)
    speculation.close()
    for one, own in zip(model.parameters(), reference.model.parameters(), strict=True):
        assert torch.equal(one, own)


@pytest.mark.parametrize("clip", [None, 0.1])
@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_true_guesses_equal_speculation_off_whatever_is_rejected(
    kind: str, depth: int, clip: float | None
) -> None:
    """With arrivals and rejects at random, several passes, batch norm and dropout."""

    def trained(depth: int) -> list[torch.Tensor]:
        torch.manual_seed(6)
        model = plain()
        optimizer = OPTIMIZERS[kind](model.parameters())
        speculation = begun(
            *(model, optimizer), depth=depth, tau=0, clip=clip, looks=several(40, depth)
        )
        tags, chosen = speculation._runtime._tags, several(3, 7)  # type: ignore[union-attr]
        real = tags.resolve

        def resolve(region: int, *, accepted: bool, worthy: bool, last: bool) -> None:
            assert accepted
            real(region, accepted=chosen() > 1, worthy=worthy, last=last)

        tags.resolve = resolve  # type: ignore[method-assign]
        for step in range(12):
            passes = [3 * step, 3 * step + 1, 3 * step + 2]
            speculation.step(*(lambda n=n: loss_of(model, n) for n in passes))
        redone = speculation.passes_redone
        assert redone >= 5 if depth else not redone
        speculation.close()
        return [*model.parameters(), *model.buffers()]

    for off, deep in zip(trained(0), trained(depth), strict=True):
        assert torch.equal(off, deep)


@pytest.mark.parametrize("depth", [2, 3])
def test_a_region_stands_on_all_its_guesses_until_its_last_update_is_there(depth: int) -> None:
    """With arrivals and verdicts at random: one reject is enough, of whichever guess it is."""
    torch.manual_seed(6)
    model = plain()
    speculation = begun(model, sgd(model), depth=depth, looks=several(33, depth))
    runtime = speculation._runtime
    assert runtime is not None
    arrivals, tags, chosen = runtime._arrivals, runtime._tags, several(2, 7)
    judge, note, resolve = arrivals._judge.judge, arrivals._course.judge, tags.resolve
    found: list[tuple[int, Verdict]] = []
    seen: Counter[tuple[bool, bool]] = Counter()

    def judged(guesses: Sequence[Guess]) -> list[Verdict]:
        return [own._replace(accepted=chosen() > 1, worthy=chosen() > 1) for own in judge(guesses)]

    def noted(step: int, region: int, verdict: Verdict) -> None:
        found.append((region, verdict))
        note(step, region, verdict)

    def resolved(region: int, *, accepted: bool, worthy: bool, last: bool) -> None:
        own = [each for number, each in found if number == region]
        assert accepted == all(each.accepted for each in own)
        assert worthy == all(each.worthy for each in own)
        seen[len({each[:2] for each in own}) > 1, last] += 1
        found[:] = [each for each in found if each[0] != region]
        resolve(region, accepted=accepted, worthy=worthy, last=last)
        assert tags.has(region) != last

    arrivals._judge.judge = judged  # type: ignore[method-assign]
    arrivals._course.judge = noted  # type: ignore[method-assign]
    tags.resolve = resolved  # type: ignore[method-assign]
    for step in range(150):
        speculation.step(*(lambda n=n: loss_of(model, n) for n in (3 * step, 3 * step + 1)))
    speculation.close()
    assert {last for _, last in seen} == {False, True}
    assert any(differs for differs, _ in seen), "two guesses of a region with other verdicts"


def test_links_are_taken_off_from_the_oldest_on() -> None:
    parameter = nn.Parameter(torch.zeros(2))
    leaf = nn.Parameter(torch.tensor([3.0, 3.0]))
    chain = Chain({parameter: leaf}, [torch.ones(2), 2 * torch.ones(2)])
    anchor = torch.zeros(2)
    taken = [[own.tolist() for own in chain.take(anchor - n)] for n in range(3)]
    assert taken == [[[n, n], [n + 1, n + 1]] for n in (0.0, 1.0, 2.0)]
    assert chain.left == 0


def test_a_guess_goes_on_from_the_state_that_another_has_left() -> None:
    """And leaves the true one alone."""
    parameter, wanted = (nn.Parameter(torch.ones(3)) for _ in range(2))
    optimizer, plainly = (torch.optim.AdamW([own], lr=0.1) for own in (parameter, wanted))
    leaf, state = nn.Parameter(torch.ones(3)), {}
    for step in range(3):
        gradient = torch.linspace(-1, 1, 3) + step
        leaf.grad, wanted.grad = gradient.clone(), gradient.clone()
        Replay([optimizer], {parameter: 1}, 0.2, Unchanged({})).guess({parameter: leaf}, state)
        plainly.step()
    assert torch.equal(leaf, wanted)
    assert torch.equal(parameter, torch.ones(3)) and not optimizer.state


def test_tags_stay_until_the_last_update_is_there_or_the_step_is_closed() -> None:
    tags = Tags()
    tags.put(1, Place(0, 4))
    tags.resolve(1, accepted=True, worthy=True, last=False)
    assert tags.has(1)
    tags.resolve(1, accepted=False, worthy=True)
    assert not tags.has(1) and tags.guesses == {1: (1, 2)} and tags.first_rejected == (0, 4)
    tags.discard()
    tags.put(1, Place(0, 5))
    assert tags.closed and tags.mask == 0
    tags.begin()
    tags.put(1, Place(0, 6))
    tags.resolve(1, accepted=False, worthy=True)
    assert tags.first_rejected == (0, 6)


def test_steps_are_decided_on_when_their_update_is_needed_and_all_of_them_in_the_end() -> None:
    """Wherever they have landed before."""
    model, told = plain(), []
    speculation = begun(model, sgd(model), depth=3, log=lambda log: told.append(log.step))
    seen = []
    for step in range(5):
        speculation.step(lambda step=step: loss_of(model, step))
        speculation.settle()
        seen.append([*told])
    assert seen == [[], [], [0], [0, 1], [0, 1, 2]]
    speculation.close()
    assert told == [0, 1, 2, 3, 4]


def test_decisions_do_not_depend_on_when_updates_arrive() -> None:
    """Region 0's next update may be here before region 1's last one is."""

    def decided(looks: Callable[[], int]) -> list[object]:
        torch.manual_seed(6)
        model, logs = plain(), []
        speculation = begun(model, sgd(model), depth=3, tau=0, looks=looks, log=logs.append)
        for step in range(10):
            speculation.step(lambda step=step: loss_of(model, step))
        speculation.close()
        energies = ("exponent", "usable", "a", "n")
        return [[[own[name] for name in energies] for own in log.updates.values()] for log in logs]

    late = decided(lambda: 10**9)
    assert len(late) == 10
    assert decided(several(40, 1)) == decided(several(60, 2)) == decided(lambda: 0) == late


def test_a_depth_that_memory_cannot_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Linear(10, 10, bias=False)
    monkeypatch.setattr(memory, "_available", lambda: 3199)
    begun(model, sgd(model), depth=1).close()
    with pytest.raises(
        ValueError, match="but 2 updates in flight take 3200 bytes, and 3199 are available"
    ):
        begun(model, sgd(model), depth=2)
