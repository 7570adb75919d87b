"""The whole device, compiled, gets random requests in random frames; its model is the reference."""

import random

import pytest
from builds import SHARED

from adagrain.hdl.device.coprocessor import Coprocessor
from adagrain.sim.benches.coprocessor.fuzz import Fuzzer, draw
from adagrain.sim.benches.coprocessor.pair import Pair


@pytest.mark.parametrize("variant", ["tiny_whole", "whole"])
def test_random_frames_get_the_models_answers(variant: str, seed: int) -> None:
    generator = random.Random(seed)
    with Pair(Coprocessor(SHARED[variant]), generator) as pair:
        Fuzzer(pair, generator).run(200)


@pytest.mark.full
@pytest.mark.parametrize("number", range(6))
def test_devices_of_random_configurations(number: int, seed: int) -> None:
    generator = random.Random(f"{seed} {number}")
    device = draw(generator)
    print(device.configuration)
    with Pair(device, generator) as pair:
        Fuzzer(pair, generator).run(5000)
