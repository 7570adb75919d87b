"""The whole device as compiled RTL against its golden model, over many random requests."""

import os
import random

import numpy as np
import pytest

from adagrain.models.coprocessor import CoprocessorModel
from adagrain.models.link import encode_frame
from adagrain.models.protocol import Opcode
from adagrain.sim.compiled import CompiledUnit, Stop
from adagrain.sim.coprocessor import VARIANTS
from adagrain.sim.coprocessor.traffic import Request, Traffic

REQUESTS = 10_000 if os.environ.get("ADAGRAIN_FULL") == "1" else 800


@pytest.mark.parametrize("variant", VARIANTS)
def test_compiled_device_equals_the_model(variant: str) -> None:
    seed = random.SystemRandom().getrandbits(32)
    generator = random.Random(seed)
    component = VARIANTS[variant]()
    unit = CompiledUnit(component, "coprocessor")
    model = CoprocessorModel(component.configuration, kernel="reference")
    traffic = Traffic(component.configuration, generator)
    prologue = [*traffic.prologue(), *traffic.longest_sum()]
    requests = [Request(Opcode.HELLO), *prologue, *traffic.requests(REQUESTS)]
    port = np.zeros(0, dtype=np.uint32)
    for sequence, request in enumerate(requests):
        frame = encode_frame(9, sequence & 0xFFFF, request.opcode, request.payload)
        if request.port:
            port = request.words().copy()
            model.load(port)
        wanted = model.receive(frame)
        run = unit.run(
            {"i": frame, "i_data": port},
            {"o": len(wanted) + 64},
            stop=Stop("o", 0),
            max_cycles=200_000,
            idle={"i": generator.choice([0, 128]), "i_data": generator.choice([0, 128])},
            stall=generator.choice([0, 128]),
            seed=generator.getrandbits(32),
        )
        port = port[4 * run.consumed["i_data"] :]
        got = run.outputs["o"].tobytes()
        assert got == wanted, f"request {sequence}, {request}: seed {seed}"
    unit.close()
