"""Sweeps of words through the pipeline: requests, and the states that make them."""

from amaranth.hdl import Module, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .layouts import WORD_NUMBER, Word

__all__ = ["Sweep", "WordsSignature", "load", "sweep", "wait"]

#: Which words to send through, in ascending order, and whether as averages that take in values.
Sweep = data.StructLayout({"first": WORD_NUMBER, "last": WORD_NUMBER, "average": unsigned(1)})


class WordsSignature(wiring.Signature):
    """The pipeline, as those see it who have words swept.

    Members
    -------
    sweep : ``Out(stream.Signature(Sweep))``
        Words to go through.
    busy, loaded, x, fall : ``In``
        As in :class:`~adagrain.hdl.region_manager.words.Words`.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "sweep": Out(stream.Signature(Sweep)),
                "busy": In(1),
                "loaded": In(1),
                "x": In(32),
                "fall": In(signed(16)),
            }
        )


def sweep(
    m: Module,
    words: wiring.PureInterface,
    state: str,
    first: int,
    last: int,
    *,
    then: str,
    average: bool = False,
) -> None:
    """A state that has words go through."""
    with m.State(state):
        m.d.comb += [
            words.sweep.valid.eq(1),
            words.sweep.p.first.eq(first),
            words.sweep.p.last.eq(last),
            words.sweep.p.average.eq(average),
        ]
        with m.If(words.sweep.ready):
            m.next = then


def load(m: Module, words: wiring.PureInterface, state: str, even: Word, *, then: str) -> None:
    """A state that has a pair normalised."""
    sweep(m, words, state, even, even + 1, then=then)


def wait(m: Module, state: str, event: Value, *, then: str) -> None:
    """A state that waits."""
    with m.State(state), m.If(event):
        m.next = then
