"""Decisions on the bypass of the compressed exchange, the same on all workers."""

from typing import Any

import torch.distributed as dist
from compression_reducer_cases import Reduced
from compression_setup import Setup, case, replaced

from adagrain.host.compression import departure, probe
from adagrain.host.distributed import groups


@case
def bypass() -> Any:
    """One worker alone finds the one way slow, and then the other: all decide alike."""
    seconds = iter([0.0, 9.0, 9.0, 0.0])
    other = probe._seconds
    if dist.get_rank():
        other = lambda call: (call(), next(seconds))[1]  # noqa: E731
    found = []
    with replaced(probe, "_seconds", other):
        setup = Setup(density=0.1, bypass="auto")
        sent = []
        for step in range(40):
            before = setup.state.bytes_sent
            setup.backward(step)
            sent.append(setup.state.bytes_sent - before)
            setup.optimizer.step()
    record = setup.state.exchange.bypass.record
    found.append([record, setup.sha256(), [made.times for made in setup.state.decisions]])
    assert record == {2: False, 16: True}
    assert 2 * setup.residuals().numel() in sent[16:31]
    again = Setup(density=0.1, bypass=record)
    again.train(range(40))
    assert again.sha256() == setup.sha256()
    return found


@case
def bypass_outlier() -> Any:
    """Of two looks at a fast line the best counts, whoever is slow in the other.

    Where only a part of the elements is measured, all of them take as much longer.
    """
    looks = [0.001, 0.04, 0.002, 0.003]
    for most, dense in ((probe._ELEMENTS, 3000), (100, 3000 * 1064 // 100)):
        seconds = iter(looks if dist.get_rank() else [0.0] * len(looks))
        timed = replaced(probe, "_seconds", lambda call, own=seconds: (call(), next(own))[1])
        with timed, replaced(probe, "_ELEMENTS", most):
            setup = Setup(density=0.1, bypass="auto")
            setup.train(range(5))
        (made,) = setup.state.decisions
        assert (made.times.gather, made.times.dense) == (1000, dense)


@case
def bypass_goes_on() -> Any:
    """A decision behind a resume knows what else a step takes, as one without it does."""
    for bypass in ("auto", "never"):
        first, second = (Setup(density=0.1, bypass=bypass) for _ in range(2))
        first.train(range(5))
        second.go_on_from(first)
        known = [own.state.exchange._stopwatch.elsewhere for own in (first, second)]
        assert known == [known[0]] * 2 if bypass == "auto" else known[1] == 0 < known[0]


@case
def bypass_always() -> Any:
    """Whole, and in halves; one bucket, and several."""
    found = []
    for ddp in ({}, {"bucket_cap_mb": 25}):
        for least in (1, departure._HALF):
            with replaced(departure, "_HALF", least):
                setup = Setup(bypass="always", ddp=ddp)
                for step in range(3):
                    setup.judged_uncompressed(step)
                    setup.optimizer.step()
            assert setup.state.bytes_sent == 3 * 2 * setup.residuals().numel()
            found.append(setup.sha256())
    assert len({*found}) == 1
    return found[0]


@case
def resumed_uncompressed() -> Any:
    """Sums of three workers, whose order an all-reduce chooses by place, are the same ones."""
    found = []
    for elements in (1, 300, 1 << 19):
        with replaced(groups, "_ELEMENTS", elements):
            for make in (
                lambda: Setup(bypass="always"),
                lambda: Reduced({}, bypass="always"),
                lambda: Reduced({"0": 2, "2": 4}, bypass="always"),
                lambda: Reduced({}, by="rows:3", bypass="always"),
                lambda: Reduced({}, compresses=False),
                lambda: Reduced({"0": 2, "2": 4}, compresses=False),
            ):
                one, other, third = make(), make(), make()
                one.train(range(8))
                other.train(range(3))
                third.go_on_from(other)
                third.train(range(3, 8))
                assert third.sha256() == one.sha256()
                found.append(third.sha256())
    return found
