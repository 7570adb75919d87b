"""The unit's gateware: what takes the tensor."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.packet import beat_layout, check_lanes
from adagrain.models.interface.protocol import Status

from .descriptor import LargeBegin, LargeRecord

__all__ = ["Large"]


class Large(wiring.Component):
    """Counts elements, and those whose magnitude is not below a threshold.

    A beat per cycle; the record is offered in the second cycle after the last beat.

    Parameters
    ----------
    lanes : int
        Elements in a beat: 1, 2 or 4.

    Members
    -------
    i_begin : ``In(stream.Signature(LargeBegin))``
        Starts a pass; only ``threshold`` is used.
    i : ``In(stream.Signature(beat_layout(lanes)))``
        FP32 elements.
    o : ``Out(stream.Signature(LargeRecord))``
        One record per pass.
    refusal : ``Out(Status)``
        ``BAD_VALUE`` where the threshold is negative.
    """

    def __init__(self, lanes: int) -> None:
        check_lanes(lanes)
        self.lanes = lanes
        super().__init__(
            {
                "i_begin": In(stream.Signature(LargeBegin)),
                "i": In(stream.Signature(beat_layout(lanes))),
                "o": Out(stream.Signature(LargeRecord)),
                "refusal": Out(Status),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        threshold, beat = Signal(31), self.i.payload
        with m.If(self.i_begin.payload.threshold[-1]):
            m.d.comb += self.refusal.eq(Status.BAD_VALUE)
        large = [
            beat.keep[lane] & (beat.data[lane][:31] >= threshold) for lane in range(self.lanes)
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.i_begin.ready.eq(1)
                with m.If(self.i_begin.valid):
                    m.d.sync += [
                        threshold.eq(self.i_begin.payload.threshold),
                        self.o.payload.eq(0),
                    ]
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += [
                        self.o.payload.count.eq(self.o.payload.count + _ones(beat.keep)),
                        self.o.payload.large.eq(self.o.payload.large + sum(large)),
                    ]
                    with m.If(beat.last):
                        m.next = "RECORD"
            with m.State("RECORD"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
        return m


def _ones(bits: Value) -> Value:
    return Value.cast(sum(bits[number] for number in range(len(bits))))
