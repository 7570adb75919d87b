"""Random requests in random frames, sound and broken ones, for devices of random configurations."""

import random
from collections import deque
from dataclasses import replace

from adagrain.hdl.device.coprocessor import Coprocessor
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import STREAMED, FormatCode
from adagrain.models.interface.precision import INTEGERS, Precision
from adagrain.sim.benches.link.traffic import Traffic as Frames
from adagrain.sim.benches.requests import Request

from . import STARVATION
from .pair import Pair
from .traffic import Traffic

__all__ = ["Fuzzer", "draw"]

#: Most requests whose frames go out at once.
_BURST = 4

#: Chances of wild requests, and of pauses that are longer than the watchdog's patience.
_WILD, _PAUSES = 0.1, 0.02


def draw(generator: random.Random) -> Coprocessor:
    """A device of a random configuration, small enough to be compiled in a minute."""
    pick = generator.choice
    formats = (FormatCode.FP32, *(code for code in STREAMED[1:] if pick((True, False))))
    more = ("region_manager", "granularity_unit", "precision_controller")
    others = ("difference", "decoder", *(["encoder"] if FormatCode.BF16 in formats else []))
    chosen = (name for name in others if pick((True, False)))
    units = ("statistics", *more[: pick((0, 1, 1, 2, 3, 3))], *chosen)
    built = configuration(
        "tiny",
        lanes=pick((1, 2, 4)),
        powers=pick((2, 4)),
        formats=formats,
        units=units,
        histogram=pick((True, True, False)),
        regions=pick((1, 2, 4, 64)),
        payload=pick((256, 512, 4096)),
        window=pick((1, 2, 4, 16)),
        decision_cycles=pick((64, 4096)),
        slices=pick((1, 2, 3)) if "granularity_unit" in units else 0,
        operands=pick((64, 128)),
        precisions=pick((INTEGERS, tuple(Precision))),
    )
    built = replace(built, watchdog=pick((2 * built.longest_silence, 1 << 14)))
    return Coprocessor(built, starvation=STARVATION)


class Fuzzer:
    """Sends requests in frames, and demands the golden model's answers, byte for byte.

    Frames are repeated, out of order, foreign and damaged as those of the link's bench; several go
    out at once, cut anywhere. Neither a host that is silent in the middle of a frame nor one that
    takes no answers may wake the watchdog.

    Parameters
    ----------
    pair : Pair
        The device and its model.
    generator : random.Random
        Source of all choices.
    """

    def __init__(self, pair: Pair, generator: random.Random) -> None:
        built = pair.model.configuration
        self._pair = pair
        self._random = generator
        self._requests = Traffic(built, generator)
        self._waiting = deque(self._requests.prologue())
        self._frames = Frames(built, generator, self._take)
        self._pause = built.watchdog + 100

    def run(self, bursts: int) -> None:
        """That many bursts of frames.

        Raises
        ------
        DifferenceError
            If the device answers other than its model.
        """
        self._pair.exchange(self._frames.hello())
        for _ in range(bursts):
            self._burst()
        self._pair.check_silence()

    def _burst(self) -> None:
        port = self._next().port
        if port:
            self._pair.exchange(self._frames.command(), port)
            return
        if self._pair.model.commands.tensor_input.beats:  # what follows a pass must find it over
            self._pair.exchange(*self._frames.frames(1))
            return
        raw = b"".join(self._frames.frames(self._random.randrange(1, _BURST + 1)))
        cut = self._random.choice([0, self._random.randrange(len(raw))])
        self._pair.exchange(raw[:cut])
        if cut and self._random.random() < _PAUSES:
            self._pair.check_silence(self._pause)
        self._pair.exchange(raw[cut:], pause=self._pause * (self._random.random() < _PAUSES))

    def _next(self) -> Request:
        if not self._waiting and self._random.random() < _WILD:
            self._waiting.append(self._requests.wild())
        elif not self._waiting:
            self._waiting.extend(self._requests.requests(1))
        return self._waiting[0]

    def _take(self) -> tuple[int, bytes]:
        self._next()
        request = self._waiting.popleft()
        return request.opcode, request.payload
