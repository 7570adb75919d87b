"""The unit's bench: records against the golden model."""

import cocotb
import torch

from adagrain.sim.simulators.bench import Bench, bench

from .twin import large

#: FP32 1.0, and what is drawn around it: zeros, subnormals, NaN, infinities, either sign.
ONE = 0x3F80_0000


@bench(cycles=20_000)
async def test_random_passes(b: Bench) -> None:
    lanes = b.component.lanes
    for _ in range(20):
        words = [b.random.getrandbits(32) for _ in range(b.random.randrange(1, 60))]
        beats = [words[at : at + lanes] for at in range(0, len(words), lanes)]
        b.source("i_begin").put({"threshold": ONE})
        for number, beat in enumerate(beats):
            keep = (1 << len(beat)) - 1
            padded = beat + [0] * (lanes - len(beat))
            b.source("i").put({"data": padded, "keep": keep, "last": number == len(beats) - 1})
        signed = [word - (word >> 31 << 32) for word in words]
        x = torch.tensor(signed, dtype=torch.int32).view(torch.float32)
        (found,) = await b.sink("o").take(1)
        assert found == {"count": len(words), "large": large(x, ONE)}, f"{cocotb.plusargs} {b}"
