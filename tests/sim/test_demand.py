"""Stimuli on compiled units: what is demanded, and what a failure says."""

from collections.abc import Iterator

import numpy as np
import pytest

from adagrain.hdl.stream.packet import Packet
from adagrain.hdl.stream.queue import Queue
from adagrain.sim.compiled import CompiledUnit, DeadlockError, check_silence, demand
from adagrain.sim.simulators import runner
from adagrain.sim.simulators.stimulus import Columns, Stimulus

BYTES = Columns({"data": np.arange(200), "last": np.arange(200) % 2})
LIST = BYTES.elements()


@pytest.fixture
def unit() -> Iterator[CompiledUnit]:
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    with CompiledUnit(Queue(Packet, depth=5), "queue") as unit:
        yield unit


@pytest.mark.parametrize("seed", range(5))
def test_elements_and_columns_are_alike(unit: CompiledUnit, seed: int) -> None:
    given = [Stimulus({"i": BYTES}, {"o": LIST}), Stimulus({"i": LIST}, {"o": BYTES})]
    demand(unit, given, seed=seed)
    check_silence(unit, "o")


def test_what_may_stay_in_the_unit(unit: CompiledUnit) -> None:
    demand(unit, [Stimulus({"i": LIST[:3]}), Stimulus({}, {"o": LIST[:3]})], seed=1)


def test_another_element_is_told_with_the_seed(unit: CompiledUnit) -> None:
    wrong = [*LIST]
    wrong[3] = {"data": 7, "last": 1}
    said = r"o\[3\] must be {'data': 7, 'last': 1}, not {'data': 3, 'last': 1}; 1 of 200 .*seed 9"
    with pytest.raises(AssertionError, match=said):
        demand(unit, [Stimulus({"i": BYTES}, {"o": wrong})], seed=9)


def test_one_too_few_comes_to_no_end(unit: CompiledUnit) -> None:
    with pytest.raises(DeadlockError, match="o delivered 199 of 200"):
        demand(unit, [Stimulus({"i": LIST[1:]}, {"o": BYTES})], seed=1)


@pytest.mark.parametrize("extra", [1, 2])
def test_one_too_many_is_no_silence(unit: CompiledUnit, extra: int) -> None:
    demand(unit, [Stimulus({"i": LIST[:3]}, {"o": LIST[: 3 - extra]})], seed=1)
    with pytest.raises(AssertionError, match="nothing more may come"):
        check_silence(unit, "o")
