"""The request that reads words of a block."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.answer import Answer
from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size
from adagrain.models.interface.units.code_lengths import WORD_BYTES
from adagrain.models.interface.units.ranges import Range

from .block_buffer import WORDS, Word

__all__ = ["ReadCommands"]


class ReadCommands(wiring.Component):
    """Sends words of the block that a unit keeps.

    Refused as ``BAD_VALUE``, where it asks for none, for more than a reply holds, or for words that
    the block does not have.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.

    Members
    -------
    handler : ``Out(HandlerSignature())``
        Requests and replies.
    size : ``In(range(WORDS + 1))``
        Words that can be read.
    o : ``Out(stream.Signature(range(WORDS)))``
        Numbers of words.
    i : ``In(stream.Signature(Word))``
        These.

    Raises
    ------
    TypeError
        If ``configuration`` is none.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._payload = configuration.payload
        super().__init__(
            {
                "handler": Out(HandlerSignature()),
                "size": In(range(WORDS + 1)),
                "o": Out(stream.Signature(range(WORDS))),
                "i": In(stream.Signature(Word)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reader = reader = Deserializer(size(Range))
        m.submodules.word = word = Serializer(WORD_BYTES)
        m.submodules.answer = answer = Answer(1)
        connect(m, flipped(self.handler.i), reader.i)
        connect(m, flipped(self.i), word.i)
        connect(m, word.o, answer.i[0])
        connect(m, answer.o, flipped(self.handler.o))
        wanted = reader.record(Range)
        left = Signal.like(wanted.count)
        m.d.comb += word.last.eq(left == 1)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.handler.i_call.ready.eq(1)
                with m.If(self.handler.i_call.valid):
                    m.next = "RANGE"
            with m.State("RANGE"):
                m.d.comb += reader.take(size(Range))
                m.d.sync += [self.o.payload.eq(wanted.first), left.eq(wanted.count)]
                outside = wanted.first + wanted.count > self.size
                too_many = wanted.count > self._payload // WORD_BYTES
                with m.If(reader.taken):
                    m.d.comb += answer.give(Status.OK, body=1)
                    m.next = "READ"
                    with m.If((wanted.count == 0) | too_many | outside):
                        m.d.comb += answer.give(Status.BAD_VALUE)
                        m.next = "IDLE"
            with m.State("READ"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "SEND"
            with m.State("SEND"):
                with m.If(word.i.valid & word.i.ready):
                    m.d.sync += [self.o.payload.eq(self.o.payload + 1), left.eq(left - 1)]
                    m.next = "READ"
                    with m.If(left == 1):
                        m.next = "IDLE"
        return m
