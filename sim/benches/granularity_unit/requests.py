"""Random requests for the granularity unit: operands, exponents and runs, sound and not."""

from dataclasses import replace

import numpy as np

from adagrain.models.granularity_unit import MAX_SUM, TileModel
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.precision import WORD_BITS, Precision
from adagrain.models.interface.records import pack, size, unpack
from adagrain.models.interface.units.granularity_unit import (
    Destination,
    TileLoad,
    TileOpcode,
    TileRun,
)
from adagrain.models.interface.units.tensor_input import BEAT
from adagrain.sim.benches.requests import Kinds, Request, Requests
from adagrain.sim.benches.tensor_input.requests import data_requests, padded

from .traffic import random_tile

__all__ = ["GranularityRequests", "doubtful"]


class GranularityRequests(Requests):
    """Tiles in one or more runs, now and then with a request that is refused."""

    def kinds(self) -> Kinds:
        return {self._tile: 2}

    def long(self) -> list[Request]:
        """A sum of FP16 as long as one may be, a word too many, and another sum.

        Nothing where the device has no such sums.
        """
        if Precision.FP16 not in self._configuration.precisions:
            return []
        operands = self._configuration.operands
        run = {"mode": int(Precision.FP16), "rows": 1, "words": operands}
        words = [operands] * (MAX_SUM // operands - 1) + [operands - 1, 2, 1]
        runs = [{"words": n, "first": not at, "last": n == 1} for at, n in enumerate(words)]
        runs.append({"first": 1, "last": 1})
        return [Request(TileOpcode.RUN, pack(TileRun, **run | change)) for change in runs]

    def wild(self) -> list[Request]:
        """A run with any fields, but not too long, and a pass with any."""
        run = unpack(TileRun, self._random.randbytes(size(TileRun)))
        words = self._random.randrange(self._configuration.operands + 2)
        run |= {"rows": self._random.randrange(10), "words": words}
        return [
            Request(TileOpcode.RUN, pack(TileRun, **run)),
            Request(TileOpcode.LOAD, self._random.randbytes(size(TileLoad))),
        ]

    def tamed(self, opcode: int, payload: bytes) -> bytes:
        is_run = opcode == TileOpcode.RUN and len(payload) == size(TileRun)
        return bytes(len(payload)) if is_run or opcode == TileOpcode.LOAD else payload

    def _tile(self) -> list[Request]:
        slices, operands = self._configuration.slices, self._configuration.operands
        rng = np.random.default_rng(self._random.getrandbits(32))
        tile = random_tile(TileModel(slices, operands), slices, rng, self._configuration.precisions)
        made = self._scales(np.array(tile.exponents, dtype=np.int8).tobytes())
        for writes, run in zip(tile.writes, tile.runs, strict=True):
            if not run["first"] or self._random.random() < 0.5:
                other = run | self._random.choice(doubtful(run, self._configuration))
                made.append(Request(TileOpcode.RUN, pack(TileRun, **other)))
            for first, raw in _stretches(writes):
                made += self._load(first, raw)
            made.append(Request(TileOpcode.RUN, pack(TileRun, **run)))
            if run["destination"] or self._random.random() < 0.1:
                made.append(Request(TileOpcode.SETTLE))
        return made

    def _scales(self, exponents: bytes) -> list[Request]:
        """Exponents for all slices, now and then for none or one too many."""
        made = [Request(TileOpcode.SCALES, exponents)] if self._random.random() < 0.8 else []
        if self._random.random() < 0.2:
            made.append(Request(TileOpcode.SCALES, self._random.choice([b"", exponents + b"\1"])))
        return made

    def _load(self, address: int, raw: bytes) -> list[Request]:
        """A pass that brings words; beside it one that leaves the memories, or is given up."""
        from_link = self._random.randrange(2)
        count = len(raw) * 8 // WORD_BITS
        words = {"count": count, "format": FormatCode.FP32, "from_link": from_link}
        begin = Request(TileOpcode.LOAD, pack(TileLoad, **words, address=address))
        end = Request(TileOpcode.LOADED)
        step = self._configuration.payload // BEAT * BEAT
        wrong, data = [], data_requests(padded(raw), step)
        if self._random.random() < 0.1:
            strange = words | {"address": address} | self._strange(address)
            wrong.append(Request(TileOpcode.LOAD, pack(TileLoad, **strange)))
        if from_link and self._random.random() < 0.1:
            wrong += [begin, Request(TileOpcode.RUN, bytes(size(TileRun))), end]
        if not from_link:
            return [*wrong, replace(begin, port=padded(raw)), end]
        if self._random.random() < 0.1:  # what had come is cleared, too, for the runs that follow
            return [*wrong, begin, *data, end, begin, *data[:-1], end]
        return [*wrong, begin, *data, end]

    def _strange(self, address: int) -> dict[str, int]:
        """A change that makes a pass unsound."""
        slices, operands = self._configuration.slices, self._configuration.operands
        room = (slices + 1) * operands - address
        return self._random.choice(
            [
                {"count": room + 1},
                {"count": 0},
                {"count": 1 << 31, "address": 0xFFFF},
                {"format": FormatCode.BF16},
                {"format": 0xFF},
            ]
        )


def _stretches(words: list[tuple[int, int]]) -> list[tuple[int, bytes]]:
    """Words that follow each other, with the first one's address."""
    parts: list[tuple[int, bytes]] = []
    expected = -1
    for address, word in words:
        if address != expected:
            parts.append((address, b""))
        parts[-1] = (parts[-1][0], parts[-1][1] + word.to_bytes(WORD_BITS // 8, "little"))
        expected = address + 1
    return parts


def doubtful(run: dict[str, int], configuration: Configuration) -> list[dict[str, int]]:
    """Changes that make a run unsound, or another one than the model expects next."""
    operands = configuration.operands
    missing = [mode for mode in Precision if mode not in configuration.precisions]
    going_on = [
        {"rows": run["rows"] % 8 + 1, "words": 1, "first": 0},
        {"mode": run["mode"] ^ 1, "first": 0},
        *({"to": int(to), "scaled": 1, "last": 1} for to in missing),
    ]
    return [
        *({"mode": int(mode)} for mode in missing),
        *going_on * (1 if run["first"] else 5),
        {"a_first": operands - run["words"] * run["rows"] + 1},
        {"b_first": operands - run["words"] + 1},
        {"words": 0},
        {"words": 0xFFFF},
        {"rows": 0},
        {"rows": 9},
        {"first": 1 - run["first"]},
        {"scaled": 1 - run["scaled"]},
        {"destination": 3},
        {"destination": Destination.MEMORY, "to_first": operands},
        {"destination": Destination.MEMORY, "to_first": run["a_first"]},
    ]
