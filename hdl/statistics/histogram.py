"""Histogram of magnitudes in half binades, one memory per lane."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer
from adagrain.hdl.stream.packet import check_lanes
from adagrain.models.interface.units.statistics import BINS, RAW_BINS, HistogramBin

__all__ = ["Histogram"]


class Histogram(wiring.Component):
    """Counts finite non-zero elements, and sums their truncated squares, by magnitude.

    A raw bin is the exponent field and the significand's top bit; its energy is the sum of the
    squares of the significands' upper 8 bits. After a pass a sweep adds the lanes up, clears
    their memories, and leaves 64 bins below the largest exponent, as
    :func:`adagrain.models.statistics.statistics` describes them.

    One beat per cycle, whatever the bins: a read sees the write before it. No back-pressure. An
    element is in its memory after :attr:`LATENCY` cycles; the sweep takes 512 cycles and 3 more.
    Memories outlive a reset, so one sweep follows it; the 64 bins are then undefined.

    Parameters
    ----------
    lanes : int
        Elements per cycle: 1, 2 or 4.
    count_bits : int
        Fewer than 2^count_bits elements come in a pass; at most 32.

    Members
    -------
    word : ``In(data.ArrayLayout(32, lanes))``
        FP32 elements.
    present : ``In(lanes)``
        Lanes that hold one.
    sweep : ``In(1)``
        Start the sweep; nothing may be present until ``done``, nor before it after a reset.
    largest_exponent : ``In(8)``
        Of the pass; stable during the sweep.
    done : ``Out(1)``
        High in the last cycle of the sweep.
    i_bin : ``In(stream.Signature(range(64)))``, o_bin : ``Out(stream.Signature(HistogramBin))``
        Bins of the last sweep, one per two cycles.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = 4

    def __init__(self, lanes: int, count_bits: int = 32) -> None:
        check_lanes(lanes)
        check_integer("count_bits", count_bits, 1, 32)
        self._lanes = lanes
        self._bin = data.StructLayout(
            {"count": unsigned(count_bits), "energy": unsigned(count_bits + 16)}
        )
        super().__init__(
            {
                "word": In(data.ArrayLayout(unsigned(32), lanes)),
                "present": In(lanes),
                "sweep": In(1),
                "largest_exponent": In(8),
                "done": Out(1),
                "i_bin": In(stream.Signature(range(BINS))),
                "o_bin": Out(stream.Signature(HistogramBin)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sweeping = Signal(init=1)
        address = Signal(range(RAW_BINS))
        sums = [self._lane(m, lane, sweeping, address) for lane in range(self._lanes)]

        # The sweep's stages: address, memory's output, register, sum over the lanes.
        swept = self._delay(m, sweeping, 3)
        number = self._delay(m, address, 3)
        raw = Signal(self._bin)
        m.d.sync += raw.count.eq(sum(lane.count for lane in sums))
        m.d.sync += raw.energy.eq(sum(lane.energy for lane in sums))
        with m.If(sweeping):
            m.d.sync += address.eq(address + 1)
            with m.If(address == RAW_BINS - 1):
                m.d.sync += sweeping.eq(0)
        with m.Elif(self.sweep):
            m.d.sync += [sweeping.eq(1), address.eq(0)]
        m.d.comb += self.done.eq(swept & (number == RAW_BINS - 1))

        self._rebase(m, swept, number, raw)
        return m

    def _lane(self, m: Module, lane: int, sweeping: Signal, address: Signal) -> data.View:
        """Memory of one lane; its output, two cycles after the address."""
        bins = memory.Memory(shape=self._bin, depth=RAW_BINS, init=[])
        m.submodules[f"bins_{lane}"] = bins
        write = bins.write_port()
        read = bins.read_port(transparent_for=(write,))

        word = self.word[lane]
        significand = Signal(8)
        counted = Signal()
        number = Signal(range(RAW_BINS))
        square = Signal(16)
        m.d.sync += [
            counted.eq(self.present[lane] & (word[23:31] != 255) & (word[:31] != 0)),
            number.eq(word[22:31]),
            significand.eq(Cat(word[16:23], word[23:31] != 0)),
            square.eq(significand * significand),
        ]
        m.d.comb += read.addr.eq(Mux(sweeping, address, number))

        # The bin from a register, or what is being written to it: the memory is slow.
        found, before = self._delay(m, read.addr, 1), Signal(self._bin, reset_less=True)
        cleared = self._delay(m, sweeping, 2)
        m.d.sync += [before.eq(read.data), write.addr.eq(found)]
        with m.If(write.en & (found == write.addr)):
            m.d.sync += before.eq(write.data)
        m.d.comb += write.en.eq(self._delay(m, counted | sweeping, 2))
        with m.If(~cleared):
            m.d.comb += write.data.count.eq(before.count + 1)
            m.d.comb += write.data.energy.eq(before.energy + self._delay(m, square, 1))
        return before

    def _rebase(self, m: Module, swept: Signal, number: Signal, raw: data.View) -> None:
        """Write the 64 bins while raw bins come by from the smallest to the largest."""
        m.submodules.result = result = memory.Memory(shape=HistogramBin, depth=BINS, init=[])
        write, read = result.write_port(), result.read_port()
        top = Cat(1, self.largest_exponent)
        place = Signal(range(RAW_BINS))
        in_rest = Signal()
        rest = Signal(self._bin)
        rest_now = Signal(self._bin)
        grows = ~number[0] & (number > 2)  # the exponent is one more than the raw bin's before
        m.d.comb += [
            place.eq(top - number),
            in_rest.eq(number + (BINS - 1) <= top),
            rest_now.count.eq(rest.count + raw.count),
            rest_now.energy.eq(Mux(grows, rest.energy >> 2, rest.energy) + raw.energy),
            write.addr.eq(place),
            write.en.eq(swept & (place < BINS)),
            write.data.count.eq(Mux(in_rest, rest_now.count, raw.count)),
            write.data.energy.eq(Mux(in_rest, rest_now.energy, raw.energy)),
        ]
        with m.If(self.sweep):
            m.d.sync += rest.eq(0)
        with m.Elif(swept & in_rest):
            m.d.sync += rest.eq(rest_now)

        m.d.comb += [
            self.i_bin.ready.eq(~self.o_bin.valid),
            read.addr.eq(self.i_bin.payload),
            read.en.eq(self.i_bin.valid & self.i_bin.ready),
            self.o_bin.payload.eq(read.data),
        ]
        with m.If(read.en):
            m.d.sync += self.o_bin.valid.eq(1)
        with m.Elif(self.o_bin.ready):
            m.d.sync += self.o_bin.valid.eq(0)

    def _delay(self, m: Module, value: Signal, cycles: int) -> Signal:
        for _ in range(cycles):
            register = Signal.like(value, name="delayed")
            m.d.sync += register.eq(value)
            value = register
        return value
