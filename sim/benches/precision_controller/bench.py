"""Bench of the precision controller: decisions and records, as the model has them."""

from adagrain.models.interface.records import unpack
from adagrain.models.interface.units.precision_controller import PrecisionRecord
from adagrain.models.precision_controller import PrecisionTable
from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.payload import decode

from .traffic import record, update


async def write(b: Bench, model: PrecisionTable, unit: int, raw: bytes) -> None:
    model.write(unit, raw)
    bits = int.from_bytes(raw, "little")
    access = {"write": 1, "number": unit, "item": decode(PrecisionRecord, bits)}
    b.source("i_access").put(access)
    await b.source("i_access").drain()


async def demand(b: Bench, model: PrecisionTable, unit: int) -> None:
    """The record in the unit is the model's."""
    b.source("i_access").put({"write": 0, "number": unit})
    (found,) = await b.sink("o_access").take()
    wanted = unpack(PrecisionRecord, model.read(unit))
    assert {name: found[name] for name in wanted} == wanted, b


@bench(cycles=300_000)
async def equals_the_model(b: Bench) -> None:
    """Random records and updates, at any idling and any back-pressure."""
    model = PrecisionTable(b.component.units)
    for _ in range(b.scaled(60)):
        unit = b.random.randrange(b.component.units)
        await write(b, model, unit, record(b.random))
        for _ in range(b.random.randrange(1, 9)):
            told = update(b.random, unit, model.read(unit))
            if b.random.random() < 0.1:
                told["unit"] += b.component.units
            b.source("i").put(told)
            (found,) = await b.sink("o").take()
            wanted = model.update(told)
            assert {name: found[name] for name in wanted} == wanted, f"{told}: {b}"
        await demand(b, model, unit)


@bench(cycles=2_000)
async def decides_in_time(b: Bench) -> None:
    """An update takes no more cycles than it says."""
    b.sink("o", stall=0)
    for _ in range(10):
        b.source("i", idle=0).put(
            {"unit": 1, "variance": b.random.getrandbits(16), "square": 1 << 17}
        )
        await b.source("i").drain()
        start = b.cycle
        await b.sink("o").take()
        assert b.sink("o").cycles[-1] - start <= b.component.CYCLES
