"""Bench of the link: its bytes and its requests against the golden model's."""

import random
import zlib

import cocotb

from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.link import LinkModel, encode_frame
from adagrain.sim.simulators.bench import Bench, bench

from .traffic import Traffic


class Executor:
    """Answers a request with noise that depends on it and on how many came before it.

    Now and then it takes back what it has begun to answer: ``begun`` is that, or ``None``.
    """

    def __init__(self, longest: int, *, always: bool) -> None:
        self.requests: list[bytes] = []
        self.begun: bytes | None = None
        self._longest, self._always = longest, always

    def execute(self, request: bytes) -> bytes:
        self.requests.append(request)
        noise = random.Random(zlib.crc32(request, len(self.requests)))
        length = noise.choice([0, 1, noise.randrange(self._longest), self._longest])
        length = self._longest if self._always else length
        reply = bytes([noise.randrange(12)]) + noise.randbytes(length)
        self.begun = noise.choice([None, None, None, reply, reply[:-1]])
        return reply if self.begun is None else bytes([noise.randrange(12)])


class Ends:
    """The model with its executor, and an executor at the gateware's ports."""

    def __init__(
        self, b: Bench, *, longest_reply: int | None = None, always_longest: bool = False
    ) -> None:
        configuration = b.component.configuration
        self._bench = b
        longest = longest_reply or configuration.payload
        self._modelled = Executor(longest, always=always_longest)
        self._real = Executor(longest, always=always_longest)
        self.model = LinkModel(configuration, self._modelled.execute)
        cocotb.start_soon(self._serve())

    @property
    def executed(self) -> list[bytes]:
        """Requests that the gateware had executed."""
        return self._real.requests

    async def exchange(self, raw: bytes) -> None:
        """Give bytes to both, and demand the same answers, requests and counts."""
        b = self._bench
        b.source("i").put(*raw)
        await b.sink("o").expect(list(self.model.receive(raw)))
        await b.source("i").drain()
        assert self._real.requests == self._modelled.requests, f"requests differ: {b}"
        counters = b.get("counters")
        assert counters == self.model.counters, f"{counters} must be {self.model.counters}: {b}"

    async def _serve(self) -> None:
        b = self._bench
        requests, replies = b.sink("o_request"), b.source("i_reply")
        while True:
            request = bytearray()
            last = False
            while not last:
                (byte,) = await requests.take()
                request.append(byte["data"])
                last = byte["last"]
            assert int(b.port("request_length").value) == len(request) - 1, f"{request}: {b}"
            reply = self._real.execute(bytes(request))
            begun, replaces = self._real.begun or b"", self._real.begun is not None
            *raw, final = begun + reply
            replies.put(*({"data": byte} for byte in raw))
            replies.put({"data": final, "last": True, "replaces": replaces})


@bench(cycles=10_000_000)
async def answers_as_the_model(b: Bench) -> None:
    """Every mistake of host and pipe; the executor sees each request once, in order."""
    ends = Ends(b)
    traffic = Traffic(b.component.configuration, b.random)
    await ends.exchange(traffic.hello() + b"".join(traffic.frames(b.scaled(150))))


@bench(cycles=2_000_000)
async def executes_once_whatever_is_repeated(b: Bench) -> None:
    """Every request of the window comes again and again, also before its answer has left."""
    ends = Ends(b, longest_reply=20)
    window = b.component.configuration.window
    frames = [encode_frame(1, 0, SystemOpcode.HELLO)]
    frames += [
        encode_frame(1, n, SystemOpcode.ECHO, n.to_bytes(2, "little"))
        for n in range(1, b.scaled(40))
    ]
    raw = b""
    for n in range(len(frames)):
        raw += b"".join(frames[max(0, n - window + 1) : n + 1]) * 2
    await ends.exchange(raw)
    assert ends.model.counters["frames"] > len(frames) * window


@bench(cycles=500_000)
async def keeps_answers_that_nobody_takes(b: Bench) -> None:
    """While the output stands still, those that follow overwrite none of them."""
    ends = Ends(b, always_longest=True)
    frames = [encode_frame(1, 0, SystemOpcode.HELLO)]
    frames += [encode_frame(1, n, SystemOpcode.ECHO, bytes([n])) for n in range(1, 40)]
    b.source("i").put(*b"".join(frames))
    await b.wait(20_000)
    assert len(ends.executed) < len(frames), f"somebody took the answers: {b}"
    await b.sink("o").expect(list(ends.model.receive(b"".join(frames))))


@bench(cycles=50_000)
async def knows_the_longest_payload(b: Bench) -> None:
    """It is taken, and one byte more is refused, without using the number up."""
    longest = b.component.configuration.payload
    ends = Ends(b, longest_reply=20)
    frames = [
        encode_frame(1, 1, SystemOpcode.ECHO, bytes(length)) for length in (longest + 1, longest)
    ]
    await ends.exchange(encode_frame(1, 0, SystemOpcode.HELLO) + b"".join(frames))
    assert ends.model.counters["bad_frame"] == 1


@bench(cycles=50_000)
async def forgets_the_answers_of_another_session(b: Bench) -> None:
    """Numbers before a new session's first are no repeats, though the old one had them."""
    window = b.component.configuration.window
    ends = Ends(b, longest_reply=20)
    old = [encode_frame(1, 0, SystemOpcode.HELLO)]
    old += [encode_frame(1, n, SystemOpcode.ECHO) for n in range(1, window + 2)]
    new = [encode_frame(2, 0, SystemOpcode.HELLO)]
    new += [encode_frame(2, -n & 0xFFFF, SystemOpcode.ECHO) for n in range(1, window + 1)]
    await ends.exchange(b"".join(old + new))
    assert ends.model.counters["out_of_order"] == window


@bench(cycles=20_000)
async def forgets_at_reset(b: Bench) -> None:
    """After a reset there is no session, no half a frame and no count."""
    command = encode_frame(1, 1, SystemOpcode.ECHO, b"abc")
    ends = Ends(b)
    await ends.exchange(encode_frame(1, 0, SystemOpcode.HELLO) + command + command[:9])
    await b.reset()
    ends.model.reset()
    await ends.exchange(command + encode_frame(1, 0, SystemOpcode.HELLO) + command)
    assert ends.model.counters["no_session"] == 1


@bench(cycles=100_000)
async def swallows_what_never_ends(b: Bench) -> None:
    """Bytes without a delimiter go in at one per cycle; it takes a delimiter to be answered."""
    ends = Ends(b)
    source, output = b.source("i", idle=0), b.sink("o")
    garbage = b"\1\xff" * (3 * b.component.configuration.payload)
    start = b.cycle
    source.put(*garbage)
    await source.drain()
    assert b.cycle - start <= len(garbage) + 2, f"{b.cycle - start} cycles: {b}"
    await b.wait(100)
    assert not output.received, f"no answer was due: {b}"
    source.put(0)
    await output.expect(list(ends.model.receive(garbage + b"\0")))
