"""Tiles of matrix products."""

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from adagrain.hdl.dot_product import DotProduct, IntegerDotProduct
from adagrain.hdl.dot_product.dot_product import terms_layout
from adagrain.hdl.stream.queue import Queue
from adagrain.hdl.stream.skid import Skid
from adagrain.hdl.stream.spill_register import SpillRegister
from adagrain.hdl.tensor_input import Beat
from adagrain.models.interface.precision import INTEGERS, WORD_BITS, Precision, check_precisions
from adagrain.models.interface.units.granularity_unit import ROWS, TileResult, TileRun

from .delivery import Delivery
from .operands import Operands, check_slices, check_words, write_layout
from .results import Results, row_layout, row_results
from .sequencer import Sequencer

__all__ = ["GranularityUnit"]


class GranularityUnit(wiring.Component):
    """Multiplies up to eight rows by as many columns as there are slices.

    Results as :class:`adagrain.models.granularity_unit.TileModel` has them. A run takes a cycle
    for each row and word, whatever the precision (FP32 with fewer than seven rows: seven for each
    word but the first). Results of its first row begin to leave :attr:`DotProduct.LATENCY` cycles
    and three behind its last pair of words; where they are rescaled, :attr:`Rescale.LATENCY` and
    one for each number of a word after these. The other rows queue behind it, each ``slices``
    cycles and one more after the one before; the next run may be given before, and goes on while
    the results of this one leave. With integers alone a run goes row by row, whose results begin to
    leave :attr:`IntegerDotProduct.LATENCY` cycles and one behind its last pair, rescaled as above
    with :attr:`IntegerRescale.LATENCY`, and waits where a row's results leave.

    Parameters
    ----------
    slices : int
        Columns of a tile, at least 1.
    words : int
        Words of each operand memory: a power of two, at most 65536.
    precisions : tuple of Precision
        Of operands and results: all four, or those of integers.

    Members
    -------
    i_words : ``In(stream.Signature(write_layout(slices, words)))``
        Operands. Words of a slice wait for a run that reads them, and for results that are written
        in their cycle; words of ``a`` for any run, and until results are kept that shall be.
    i : ``In(stream.Signature(TileRun))``
        Runs; they must be sound: the unit does not check them. One whose operands lie where results
        are still to be kept waits for these.
    exponents : ``In(signed(8)).array(slices)``
        Of the power of two with which each slice's sums are multiplied in runs that are
        ``scaled``; stable from such a run to its last result.
    o : ``Out(stream.Signature(TileResult))``
        Elements of tiles whose sums have ended, row by row; of runs that are ``scaled``, words of
        them: those for the link.
    o_data : ``Out(stream.Signature(Beat))``
        Those for the data port, as :class:`Delivery` has them; others become operands.
    settled, kept, forget
        As those of :class:`Delivery`.
    busy : ``Out(1)``
        Words are still read, or wait for the slices.
    multiplies : ``Out(1)``
        Each slice takes a pair of words.

    Raises
    ------
    TypeError, ValueError
        If there are no slices, no memories of so many words, or no dot products of these
        precisions.
    """

    def __init__(
        self, slices: int, words: int, precisions: tuple[Precision, ...] = tuple(Precision)
    ) -> None:
        check_slices(slices)
        check_words(words)
        check_precisions(precisions)
        self._slices, self._words, self._precisions = slices, words, precisions
        super().__init__(
            {
                "i_words": In(stream.Signature(write_layout(slices, words))),
                "i": In(stream.Signature(TileRun)),
                "exponents": In(signed(8)).array(slices),
                "o_data": Out(stream.Signature(Beat)),
                "settled": Out(1, init=1),
                "kept": Out(8),
                "forget": In(1),
                "o": Out(stream.Signature(TileResult)),
                "busy": Out(1),
                "multiplies": Out(1),
            }
        )

    @property
    def slices(self) -> int:
        """Columns of a tile."""
        return self._slices

    @property
    def words(self) -> int:
        """Words of each operand memory."""
        return self._words

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """Of operands and results."""
        return self._precisions

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.operands = operands = Operands(self._slices, self._words)
        integers = self._precisions == INTEGERS
        m.submodules.sequencer = sequencer = Sequencer(self._words, by_rows=integers)
        m.submodules.results = results = Results(self._slices, self._precisions)
        m.submodules.delivery = delivery = Delivery(self._slices, self._words)
        self._take(m, sequencer, results, delivery)
        m.d.comb += [
            operands.en.eq(sequencer.en),
            operands.a_address.eq(sequencer.a_address),
            operands.b_address.eq(sequencer.b_address),
        ]
        self._write(m, operands, sequencer, delivery)

        # All slices get the same terms in the same cycle, so that they are ready together.
        terms, row = self._words_to_slices(m, sequencer, operands), []
        for number in range(self._slices):
            unit = IntegerDotProduct(ROWS) if integers else DotProduct(ROWS)
            m.submodules[f"slice_{number}"] = unit
            m.d.comb += [
                unit.i.payload.eq(terms.p.common),
                unit.i.p.b.eq(terms.p.b[number]),
                unit.i.valid.eq(terms.valid),
            ]
            row.append(unit)
        m.d.comb += [
            terms.ready.eq(row[0].i.ready),
            self.multiplies.eq(terms.valid & terms.ready),
        ]
        self._collect(m, results, [unit.o for unit in row])
        self._deliver(m, results, delivery)
        return m

    def _write(
        self, m: Module, operands: Operands, sequencer: Sequencer, delivery: Delivery
    ) -> None:
        """Results that are kept, or operands that come."""
        bits = exact_log2(self._words)
        place, bank = self.i_words.p.address[:bits], self.i_words.p.address[bits:]
        is_read = sequencer.active & (place >= sequencer.b_first) & (place < sequencer.b_end)
        result = delivery.o_words
        m.d.comb += [
            self.i_words.ready.eq(
                Mux(bank == 0, ~self.busy & ~delivery.keeps, ~is_read & ~result.valid)
            ),
            operands.en_write.eq(self.i_words.valid & self.i_words.ready | result.valid),
            operands.write.eq(Mux(result.valid, result.payload, self.i_words.payload)),
            result.ready.eq(1),
        ]

    def _take(self, m: Module, sequencer: Sequencer, results: Results, delivery: Delivery) -> None:
        """A run; those that end sums are known until their results have left."""
        room = results.i_run.ready & delivery.i_run.ready | ~self.i.p.last
        begins = Signal()
        may = self._has_operands(m, delivery)
        m.d.comb += [
            sequencer.i.payload.eq(self.i.payload),
            results.i_run.payload.eq(self.i.payload),
            *[
                delivery.i_run.p[name].eq(self.i.p[name])
                for name in ("rows", "destination", "to_first")
            ],
            delivery.i_run.p.row_results.eq(row_results(self.i.p, self._slices)),
            self.i.ready.eq(sequencer.i.ready & room & may),
            begins.eq(self.i.valid & room & may),
            sequencer.i.valid.eq(begins),
            results.i_run.valid.eq(begins & sequencer.i.ready & self.i.p.last),
            delivery.i_run.valid.eq(begins & sequencer.i.ready & self.i.p.last),
        ]

    def _has_operands(self, m: Module, delivery: Delivery) -> Value:
        """The run on ``i`` may read its rows.

        Where results are to be kept, that is known two cycles after the run was offered. What the
        rows take is a sum of shifted numbers: DSP blocks are for the slices.
        """
        run, end, apart = self.i.p, Signal(range(2 * self._words)), Signal()
        offered, known = Signal(), Signal()
        shifted = [Mux(bit, run.words << place, 0) for place, bit in enumerate(run.rows)]
        m.d.sync += [
            offered.eq(self.i.valid & ~self.i.ready),
            known.eq(offered & ~self.i.ready),
            end.eq(run.a_first + sum(shifted)),
            apart.eq((end <= delivery.low) | (delivery.high <= run.a_first)),
        ]
        return ~delivery.keeps | known & apart

    def _words_to_slices(
        self, m: Module, sequencer: Sequencer, operands: Operands
    ) -> stream.Interface:
        """Terms of all slices, from a register: memories are slow, and far from most slices.

        Nor can a slice that waits tell the memories in the same cycle. Slices of all precisions
        fill an FPGA: there is nothing between them and the register.
        """
        layout = data.StructLayout(
            {"common": terms_layout(ROWS), "b": data.ArrayLayout(WORD_BITS, self._slices)}
        )
        large = self._precisions != INTEGERS
        m.submodules.register = register = SpillRegister(layout, registered=large)
        m.d.comb += [
            register.i.valid.eq(sequencer.o.valid),
            sequencer.o.ready.eq(register.i.ready),
            register.i.p.common.eq(sequencer.o.payload),
            register.i.p.common.a.eq(operands.a),
            *[register.i.p.b[number].eq(word) for number, word in enumerate(operands.b)],
            self.busy.eq(~sequencer.i.ready | sequencer.o.valid | register.o.valid),
        ]
        return register.o

    def _collect(self, m: Module, results: Results, sums: list[stream.Interface]) -> None:
        """A row of sums, and what becomes of it."""
        if self._precisions == INTEGERS:  # whose rows come one after the other
            rows = results.i
        else:  # all rows of a run come at its end; the next one need not wait for them
            m.submodules.rows = queue = Queue(row_layout(self._slices), ROWS)
            connect(m, queue.o, results.i)
            rows = queue.i
        for number, port in enumerate(sums):
            m.d.comb += [
                rows.p.sums[number].word.eq(port.p.word),
                rows.p.sums[number].flags.eq(port.p.flags),
                results.exponents[number].eq(self.exponents[number]),
                port.ready.eq(rows.ready),
            ]
        m.d.comb += [rows.valid.eq(sums[0].valid), rows.p.index.eq(sums[0].p.index)]

    def _deliver(self, m: Module, results: Results, delivery: Delivery) -> None:
        """The ways of results to the port, the link and the memory.

        Those that wait for one of them do not make the packing of others wait in the same cycle.
        """
        m.submodules.results_skid = skid = Skid(TileResult)
        connect(m, results.o, skid.i)
        connect(m, skid.o, delivery.i)
        connect(m, delivery.o, flipped(self.o))
        connect(m, delivery.o_data, flipped(self.o_data))
        m.d.comb += [
            self.settled.eq(delivery.settled),
            self.kept.eq(delivery.kept),
            delivery.forget.eq(self.forget),
        ]
