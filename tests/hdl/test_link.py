"""Parts of the link in Amaranth's simulator: COBS at its boundaries, the queue."""

import random
from typing import Any

import pytest
from amaranth.lib import wiring
from amaranth.sim import Simulator, SimulatorContext
from cobs import cobs

from adagrain.hdl.link.cobs_decoder import CobsDecoder
from adagrain.hdl.link.cobs_encoder import CobsEncoder
from adagrain.hdl.link.packet_queue import PacketQueue

#: Packets around the longest block, alone and with neighbours.
PACKETS = [
    b"\0",
    b"\1",
    b"\0\0",
    b"\1\0",
    b"\0\1",
    *(b"\1" * n for n in (253, 254, 255, 508, 509)),
    *(b"\1" * n + b"\0" for n in (253, 254, 255, 508)),
    *(b"\0" + b"\1" * n for n in (253, 254, 255)),
    b"\1" * 254 + b"\0" * 3 + b"\1" * 254,
]


def move(
    component: wiring.Component, elements: list[Any], count: int, *, seed: int, idle: float = 0.3
) -> list[Any]:
    """Put elements into ``i`` and take ``count`` from ``o``, both at random times."""
    taken: list[Any] = []
    sender, receiver = random.Random(seed), random.Random(seed + 1)
    ports: Any = component

    async def send(ctx: SimulatorContext) -> None:
        for element in elements:
            while sender.random() < idle:
                await ctx.tick()
            ctx.set(ports.i.payload, element)
            ctx.set(ports.i.valid, 1)
            await ctx.tick().until(ports.i.ready)
            ctx.set(ports.i.valid, 0)

    async def receive(ctx: SimulatorContext) -> None:
        for _ in range(count):
            while receiver.random() < idle:
                await ctx.tick()
            ctx.set(ports.o.ready, 1)
            (element,) = await ctx.tick().sample(ports.o.payload).until(ports.o.valid)
            taken.append(element)
            ctx.set(ports.o.ready, 0)

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(send)
    simulator.add_testbench(receive)
    clock_edges = 2 * (200 + 10 * (len(elements) + count))
    for _ in range(clock_edges):
        if not simulator.advance():
            return taken
    raise TimeoutError(f"{len(taken)} of {count} elements came, seed {seed}")


@pytest.mark.parametrize("seed", [1, 2])
def test_encoder_writes_what_the_cobs_package_does(seed: int) -> None:
    elements = [
        {"data": byte, "last": at == len(packet) - 1}
        for packet in PACKETS
        for at, byte in enumerate(packet)
    ]
    wanted = b"".join(cobs.encode(packet) + b"\0" for packet in PACKETS)
    assert bytes(move(CobsEncoder(), elements, len(wanted), seed=seed)) == wanted


@pytest.mark.parametrize("seed", [1, 2])
def test_decoder_reads_what_the_cobs_package_writes(seed: int) -> None:
    raw = b"\0\0".join(cobs.encode(packet) for packet in PACKETS) + b"\0"
    decoded = move(CobsDecoder(), list(raw), sum(len(p) + 1 for p in PACKETS), seed=seed)
    packets = [bytearray()]
    for element in decoded:
        if element["end"]:
            assert not element["damaged"]
            packets.append(bytearray())
        else:
            packets[-1].append(element["data"])
    assert packets == [*PACKETS, b""]


@pytest.mark.parametrize(
    ("raw", "decoded", "damaged"),
    [
        (b"\x01\0", b"", 0),
        (b"\x02\0", b"", 1),
        (b"\x03a\0", b"a", 1),
        (b"\xff" + b"a" * 253 + b"\0", b"a" * 253, 1),
        (b"\xff" + b"a" * 254 + b"\x01\0", b"a" * 254, 0),
        (b"\x02a\x02b\0", b"a\0b", 0),
        (b"\x02a\xff\0", b"a\0", 1),
    ],
)
def test_decoder_tells_damage(raw: bytes, decoded: bytes, damaged: int) -> None:
    *body, end = move(CobsDecoder(), list(raw), len(decoded) + 1, seed=0)
    assert bytes(element["data"] for element in body) == decoded
    assert (end["end"], end["damaged"]) == (1, damaged)


@pytest.mark.parametrize("idle", [0.0, 0.6])
def test_queue_puts_heads_first_and_drops_the_rest(idle: float) -> None:
    """Packets as long as the queue allows, of which any part is kept."""
    queue = PacketQueue(16)
    generator = random.Random(4)
    elements, wanted = [], bytearray()
    for _ in range(60):
        body = generator.randbytes(generator.choice([0, 3, generator.randrange(15), 14]))
        keep, head = generator.randrange(len(body) + 1), generator.randrange(256)
        elements += [{"data": byte, "end": 0, "keep": 0} for byte in body]
        elements.append({"data": head, "end": 1, "keep": keep})
        wanted += bytes([head]) + body[:keep]
    assert bytes(move(queue, elements, len(wanted), seed=5, idle=idle)) == wanted
