"""Results of rows of any number of sums: the unit in several widths, and its traffic."""

from collections.abc import Sequence

import numpy as np
from amaranth.hdl import Module, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.granularity_unit.results import Results, row_layout
from adagrain.models.arithmetic.float import Rounded
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.records import pack
from adagrain.models.interface.units.granularity_unit import ROWS, TileResult, TileRun
from adagrain.models.rescale import packed_rows, rescale
from adagrain.sim.benches.rescale.traffic import random_sums

__all__ = ["Widths", "random_rows"]

#: Bits of flags, of a sum with them, and of a row's number.
_FLAGS, _SUM, _INDEX = 5, 37, 3


class Widths(wiring.Component):
    """:class:`Results` of several widths beside each other, which are compiled together.

    Parameters
    ----------
    widths : sequence of int
        Sums of a row of each.
    precisions : tuple of Precision
        Of all.

    Members
    -------
    i_run_N, i_N, o_N : streams
        Those of the one with N sums.
    exponents : ``In(signed(8)).array(...)``
        Of all.
    """

    def __init__(self, widths: Sequence[int], precisions: tuple[Precision, ...]) -> None:
        self._widths, self._precisions = widths, precisions
        streams = {
            f"{name}_{width}": flow(stream.Signature(shape))
            for width in widths
            for name, flow, shape in (
                ("i_run", In, TileRun),
                ("i", In, row_layout(width)),
                ("o", Out, TileResult),
            )
        }
        super().__init__({**streams, "exponents": In(signed(8)).array(max(widths))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for width in self._widths:
            results = Results(width, self._precisions)
            m.submodules[f"results_{width}"] = results
            for name in ("i_run", "i", "o"):
                connect(m, getattr(results, name), flipped(getattr(self, f"{name}_{width}")))
            for own, exponent in zip(results.exponents, self.exponents, strict=False):
                m.d.comb += own.eq(exponent)
        return m


def random_rows(
    exponents: Sequence[int],
    precisions: Sequence[Precision],
    runs: int,
    rng: np.random.Generator,
) -> tuple[list[bytes], list[int], list[int]]:
    """So many runs, two of three of which are rescaled.

    Parameters
    ----------
    exponents : sequence of int
        Of each sum of a row.

    Returns
    -------
    tuple of list of bytes, list of int and list of int
        Runs as records, rows, and what comes out, as bits.
    """
    given, rows, wanted = [], [], []
    for _ in range(runs):
        mode, to = (Precision(int(rng.choice(precisions))) for _ in range(2))
        shape = int(rng.integers(1, ROWS + 1)), len(exponents)
        scaled = int(rng.integers(0, 3) > 0)
        given.append(pack(TileRun, rows=shape[0], mode=mode, last=1, scaled=scaled, to=to))
        words = random_sums(mode, to, shape[0] * shape[1], rng)[0].reshape(shape)
        flags = rng.integers(0, 1 << _FLAGS, shape) & rng.integers(0, 1 << _FLAGS, shape)
        for index, row in enumerate((words | flags << 32).tolist()):
            bits = sum(number << _SUM * column for column, number in enumerate(row))
            rows.append(index | bits << _INDEX)
        results = Rounded(words, flags)
        if scaled:
            found = rescale(words, mode, np.array(exponents), to)
            results = packed_rows(Rounded(found.words, found.flags | flags), to)
        wanted += (results.words | results.flags << 32).ravel().tolist()
    return given, rows, wanted
