"""Results of rows of any number of sums: the unit in several widths, and its traffic."""

from collections.abc import Sequence

import numpy as np
from amaranth.hdl import Module, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from numpy.typing import NDArray

from adagrain.hdl.granularity_unit.results import Results, row_layout
from adagrain.models.arithmetic.float import Rounded
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.units.granularity_unit import ROWS, TileResult, TileRun
from adagrain.models.rescale import packed_rows, rescale
from adagrain.sim.benches.float.traffic import raised
from adagrain.sim.benches.rescale.traffic import random_flags, random_sums
from adagrain.sim.simulators.stimulus import Columns, Elements, Stimulus

__all__ = ["Widths", "stimulus"]

Words = NDArray[np.int64]


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


def stimulus(
    widths: Sequence[int],
    precisions: Sequence[Precision],
    runs: int,
    rng: np.random.Generator,
) -> Stimulus:
    """So many runs for each width, two of three of which are rescaled."""
    exponents = rng.integers(-20, 21, max(widths))
    inputs: dict[str, Elements] = {}
    outputs: dict[str, Elements] = {}
    for width in widths:
        made = [_random_run(exponents[:width], precisions, rng) for _ in range(runs)]
        given, rows, results = zip(*made, strict=True)
        inputs |= {f"i_run_{width}": given, f"i_{width}": _rows(rows)}
        words, flags = np.concatenate(results, axis=1)
        outputs[f"o_{width}"] = Columns({"word": words, "flags": flags})
    ports = {f"exponents__{number}": value for number, value in enumerate(exponents.tolist())}
    return Stimulus(inputs, outputs, ports)


def _random_run(
    exponents: Words, precisions: Sequence[Precision], rng: np.random.Generator
) -> tuple[dict[str, int], Rounded, Words]:
    """A run, the sums of its rows, and words and flags that come of them."""
    mode, to = (Precision(int(rng.choice(precisions))) for _ in range(2))
    shape = int(rng.integers(1, ROWS + 1)), len(exponents)
    scaled = int(rng.integers(0, 3) > 0)
    run = {"rows": shape[0], "mode": mode, "last": 1, "scaled": scaled, "to": to}
    words = random_sums(mode, to, shape[0] * shape[1], rng)[0].reshape(shape)
    rows = results = Rounded(words, random_flags(shape, rng))
    if scaled:
        found = rescale(words, mode, exponents, to)
        results = packed_rows(Rounded(found.words, found.flags | rows.flags), to)
    return run, rows, np.stack(results).reshape(2, -1)


def _rows(runs: Sequence[Rounded]) -> Columns:
    """Rows of sums, as :func:`row_layout` has them."""
    index = np.concatenate([np.arange(len(run.words)) for run in runs])
    words, flags = np.concatenate(runs, axis=1)
    sums = [
        {"word": word, "flags": raised(flag)} for word, flag in zip(words.T, flags.T, strict=True)
    ]
    return Columns({"index": index, "sums": sums})
