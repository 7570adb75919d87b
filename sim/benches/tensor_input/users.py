"""A tensor input between streams, and units that take as much of a tensor as they are told."""

from amaranth.hdl import Const, Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.handler.call import HandlerSignature
from adagrain.hdl.stream.packet import beat_layout
from adagrain.hdl.tensor_input import Beat, TensorInput
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units.tensor_input import BEAT, TensorBegin

__all__ = ["TensorUsers", "pass_layout"]

#: Cycles from the last beat to the end: no unit is faster, and the port drops padding till then.
_REST = BEAT // 4


def pass_layout() -> data.StructLayout:
    """A pass over a tensor.

    Members
    -------
    user : ``unsigned(1)``
        Whose it is.
    begin : ``TensorBegin``
        What is announced.
    take : ``unsigned(16)``
        Beats that the unit takes before it ends the pass.
    """
    return data.StructLayout({"user": unsigned(1), "begin": TensorBegin, "take": unsigned(16)})


class TensorUsers(wiring.Component):
    """A :class:`TensorInput` with its streams at the top, one pass at a time.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    users : int
        Units that take tensors, 1 or 2.

    Members
    -------
    i_pass : ``In(stream.Signature(pass_layout()))``
        Passes.
    o_end : ``Out(stream.Signature(1))``
        Whose pass has ended; the next one waits till it is taken.
    o_0, ... : ``Out(stream.Signature(beat_layout(lanes)))``
        What each unit takes; lanes without an element are 0.
    i_call, i, o, i_data
        Those of the tensor input and of its handler.
    starved, busy, moves : ``Out(1)``
        What the first unit sees.
    """

    #: Cycles without a beat after which a pass starves.
    STARVATION = 40

    def __init__(self, configuration: Configuration, users: int) -> None:
        self.configuration, self.users = configuration, users
        handler = HandlerSignature().members
        beat = beat_layout(configuration.lanes)
        super().__init__(
            {
                "i_pass": In(stream.Signature(pass_layout())),
                "o_end": Out(stream.Signature(1)),
                "i_data": In(stream.Signature(Beat)),
                **{name: handler[name] for name in ("i_call", "i", "o")},
                **{f"o_{number}": Out(stream.Signature(beat)) for number in range(users)},
                **dict.fromkeys(("starved", "busy", "moves"), Out(1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = TensorInput(
            self.configuration, self.users, starvation=self.STARVATION
        )
        for name in ("i_call", "i"):
            connect(m, flipped(getattr(self, name)), getattr(unit.handler, name))
        connect(m, unit.handler.o, flipped(self.o))
        connect(m, flipped(self.i_data), unit.i_data)
        m.d.comb += [
            getattr(self, name).eq(getattr(unit.user[0], name))
            for name in ("starved", "busy", "moves")
        ]
        owner, left, rest = Signal(), Signal(16), Signal(range(_REST))
        for number in range(self.users):
            self._take(m, unit, number, owner, left)
        m.d.comb += self.o_end.payload.eq(owner)
        with m.FSM():
            with m.State("BEGIN"):
                self._begin(m, unit)
                m.d.sync += [owner.eq(self.i_pass.p.user), left.eq(self.i_pass.p.take)]
                with m.If(self.i_pass.valid & self.i_pass.ready):
                    m.next = "TAKE"
            with m.State("TAKE"):
                with m.If(left == 0):
                    m.d.sync += rest.eq(rest + 1)
                    with m.If(rest == _REST - 1):
                        m.d.sync += rest.eq(0)
                        m.next = "END"
            with m.State("END"):
                for number in range(self.users):
                    m.d.comb += unit.user[number].end.eq(owner == number)
                m.next = "TELL"
            with m.State("TELL"):
                m.d.comb += self.o_end.valid.eq(1)
                with m.If(self.o_end.ready):
                    m.next = "BEGIN"
        return m

    def _begin(self, m: Module, unit: TensorInput) -> None:
        for number, user in enumerate(unit.user):
            with m.If(self.i_pass.p.user == number):
                m.d.comb += [
                    user.begin.payload.eq(self.i_pass.p.begin),
                    user.begin.valid.eq(self.i_pass.valid),
                    self.i_pass.ready.eq(user.begin.ready),
                ]

    def _take(self, m: Module, unit: TensorInput, number: int, owner: Signal, left: Signal) -> None:
        """Let a unit take beats as long as it wants some, and show those that are not its own."""
        x, o = unit.user[number].x, getattr(self, f"o_{number}")
        wants = Signal(name=f"wants_{number}")
        m.d.comb += [
            wants.eq((owner != number) | (left != 0)),
            o.payload.keep.eq(x.payload.keep),
            o.payload.last.eq(x.payload.last),
            o.valid.eq(x.valid & wants),
            x.ready.eq(o.ready & wants),
        ]
        for lane, keep in enumerate(x.payload.keep):
            with m.If(keep):
                m.d.comb += o.payload.data[lane].eq(x.payload.data[lane])
        with m.If((owner == number) & o.valid & o.ready):
            m.d.sync += left.eq(left - Const(1))
