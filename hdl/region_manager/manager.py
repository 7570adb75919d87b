"""The Region Manager: it takes energies, and decides."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.checks import check_kind
from adagrain.hdl.handler.access import access_layout
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units.region_manager import (
    REGION_MANAGER,
    Decision,
    RegionParameters,
    RegionStep,
    RegionUpdate,
)

from .comparator import Comparator
from .fetch import Fetch
from .layouts import WORD_BITS
from .meter import Meter
from .steps import Steps
from .table import Table
from .updates import Updates
from .words import Words

__all__ = ["RegionManager"]


class RegionManager(wiring.Component):
    """Keeps the region table and decides, one region at a time.

    Twin of :class:`adagrain.models.region_manager.table.RegionTable`, bit for bit. A decision is
    offered at most ``configuration.decision_cycles`` cycles after its update is seen; the update
    is taken in the cycle before. One thing is served at a time; where several wait, parameters
    go first, then accesses, steps, updates. All of them wait while a decision is not taken.
    An update that is refused leaves its record as it was, and says why.

    It does not check that parameters make sense: ``workers`` must be from 1 to 1024.

    Parameters
    ----------
    configuration : Configuration
        Size of the table, and the promised cycles.

    Members
    -------
    i_step : ``In(stream.Signature(RegionStep))``
        Start of a step. Taken when the loss averages and the decision epoch are up to date.
    i : ``In(stream.Signature(RegionUpdate))``
        Energies of a region.
    o : ``Out(stream.Signature(Decision))``
        One decision for each, in order.
    i_parameters : ``In(stream.Signature(RegionParameters))``
        Replaces all parameters.
    parameters : ``Out(RegionParameters)``
        The parameters, with the loss averages and the decision epoch of now.
    i_access : ``In(stream.Signature(access_layout(REGION_MANAGER)))``
        Reads or writes one 64-bit word of the table; eight make a record. ``number`` must be
        inside the table.
    o_access : ``Out(stream.Signature(64))``
        Words that were read.
    decisions : ``Out(32)``
        Updates answered since reset.
    decision_cycles : ``Out(32)``
        Most cycles that one of them took, from the first in which it was seen to the one before
        its decision was offered.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        self._configuration = configuration
        super().__init__(
            {
                "i_step": In(stream.Signature(RegionStep)),
                "i": In(stream.Signature(RegionUpdate)),
                "o": Out(stream.Signature(Decision)),
                "i_parameters": In(stream.Signature(RegionParameters)),
                "parameters": Out(RegionParameters),
                "i_access": In(stream.Signature(access_layout(REGION_MANAGER))),
                "o_access": Out(stream.Signature(WORD_BITS)),
                "decisions": Out(32),
                "decision_cycles": Out(32),
            }
        )

    @property
    def configuration(self) -> Configuration:
        """The configuration that it is built with."""
        return self._configuration

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.table = table = Table(self._configuration.regions)
        m.submodules.fetch = fetch = Fetch()
        m.submodules.words = words = Words()
        m.submodules.comparator = comparator = Comparator()
        m.submodules.steps = steps = Steps()
        m.submodules.updates = updates = Updates(self._configuration.regions)
        m.submodules.meter = meter = Meter(self._configuration.decision_cycles)
        self._arbitrate(m, table, steps, updates)
        self._lend(m, words, steps, updates)
        self._supply(m, words, fetch, table)
        connect(m, table.o_access, flipped(self.o_access))
        connect(m, updates.o, flipped(self.o))
        connect(m, updates.comparator, comparator.asker)
        connect(m, steps.run, updates.run)
        connect(m, updates.o_head, table.i_head)
        connect(m, words.o_arrived, updates.i_arrived)
        for keeper in (table, steps):
            m.d.comb += [
                keeper.i_averaged.valid.eq(words.o_averaged.valid),
                keeper.i_averaged.payload.eq(words.o_averaged.payload),
            ]
        m.d.comb += [
            table.region.eq(updates.region),
            comparator.x.eq(words.x),
            comparator.y.eq(words.y),
            comparator.record.eq(updates.record),
            comparator.parameters.eq(steps.run.parameters),
            meter.busy.eq(updates.busy),
            meter.decided.eq(updates.i.ready),
            self.parameters.eq(steps.run.parameters),
            self.decisions.eq(meter.decisions),
            self.decision_cycles.eq(meter.longest),
        ]
        return m

    def _arbitrate(self, m: Module, table: Table, steps: Steps, updates: Updates) -> None:
        """Serve one thing at a time, to its end; where several wait, in this order."""
        free: Value = ~(table.o_access.valid | steps.busy | updates.busy)
        for port, server, busy in (
            (self.i_parameters, steps.i_parameters, 0),
            (self.i_access, table.i_access, 0),
            (self.i_step, steps.i, steps.busy),
            (self.i, updates.i, updates.busy),
        ):
            served = Signal()
            m.d.comb += [
                served.eq(free | busy),
                server.payload.eq(port.payload),
                server.valid.eq(port.valid & served),
                port.ready.eq(server.ready & served),
            ]
            free = free & ~port.valid

    def _lend(self, m: Module, words: Words, steps: Steps, updates: Updates) -> None:
        """Let the one that is being served use the pipeline."""
        for user in (steps, updates):
            m.d.comb += [
                user.words.sweep.ready.eq(words.i.ready),
                user.words.busy.eq(words.busy),
                user.words.loaded.eq(words.loaded),
                user.words.x.eq(words.x),
                user.words.fall.eq(words.fall),
            ]
            with m.If(user.busy):
                m.d.comb += [
                    words.i.valid.eq(user.words.sweep.valid),
                    words.i.payload.eq(user.words.sweep.payload),
                ]
        m.d.comb += [
            words.update.eq(self.i.payload),
            words.losses.eq(steps.intake),
            words.levels.eq(updates.levels),
            words.sums.eq(updates.sums),
        ]

    def _supply(self, m: Module, words: Words, fetch: Fetch, table: Table) -> None:
        """Bring the pipeline its words."""
        for reader in (table, fetch):
            m.d.comb += [
                reader.i_read.valid.eq(words.o_read.valid),
                reader.i_read.payload.eq(words.o_read.payload),
            ]
        m.d.comb += [
            fetch.stored.eq(table.word),
            fetch.parameters.eq(self.parameters),
            fetch.update.eq(self.i.payload),
            fetch.step.eq(self.i_step.payload),
            words.word.eq(fetch.word),
        ]
