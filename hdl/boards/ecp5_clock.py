"""A faster clock on an ECP5."""

from amaranth.build import Platform
from amaranth.hdl import ClockDomain, Const, Elaboratable, Instance, Module, Signal
from amaranth.lib.cdc import FFSynchronizer

from adagrain.hdl.checks import check_integer, check_kind

from .pins import sensed

__all__ = ["Ecp5Clock"]

#: Range of the oscillator in the PLL, in Hz.
_OSCILLATOR = (400e6, 800e6)

#: The fastest clock that it puts out, in Hz.
_MOST_OUT = 400e6

#: The largest divider behind it.
_MOST = 128

#: Charge pump and loop filter, which nextpnr leaves off where nothing is said of them: what
#: Project Trellis's `ecppll` gives every PLL.
_LOOP = {
    "a_ICP_CURRENT": "12",
    "a_LPF_RESISTOR": "8",
    "a_MFG_ENABLE_FILTEROPAMP": "1",
    "a_MFG_GMCREF_SEL": "2",
}


class Ecp5Clock(Elaboratable):
    """Drives a clock domain from the board's clock by an EHXPLLL.

    The domain has no reset of its own: ``restart`` says when to reset what is in it. Source:
    Lattice, *ECP5 and ECP5-5G sysClock PLL/DLL Design and Usage Guide* (FPGA-TN-02200).

    Parameters
    ----------
    domain : ClockDomain
        Domain of the module that this is a part of.
    source : str
        Name of the board's clock.
    multiple : int
        The domain's cycles per cycle of it, 1 to 128.

    Attributes
    ----------
    restart : Signal, out
        The PLL has not locked, or has just done so.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be; at elaboration, if no divider brings the oscillator
        into its range.
    """

    def __init__(self, domain: ClockDomain, source: str, multiple: int) -> None:
        check_kind("domain", domain, ClockDomain)
        check_kind("source", source, str)
        check_integer("multiple", multiple, 1, 128)
        self._domain = domain
        self._source = source
        self._multiple = multiple
        self.restart = Signal(init=1)

    def elaborate(self, platform: Platform) -> Module:
        m = Module()
        clock = platform.lookup(self._source).clock.frequency * self._multiple
        divider = _divider(clock)
        source = sensed(m, platform.request(self._source, dir="-"))
        locked = Signal()
        m.submodules.pll = Instance(
            "EHXPLLL",
            **_LOOP,
            p_CLKI_DIV=1,
            p_CLKFB_DIV=self._multiple,
            p_CLKOP_DIV=divider,
            p_CLKOP_ENABLE="ENABLED",
            p_CLKOP_CPHASE=divider // 2,
            p_CLKOP_FPHASE=0,
            p_FEEDBK_PATH="CLKOP",
            i_CLKI=source,
            i_CLKFB=self._domain.clk,
            o_CLKOP=self._domain.clk,
            o_LOCK=locked,
            i_RST=Const(0),
            i_STDBY=Const(0),
            i_ENCLKOP=Const(0),
        )
        m.submodules.restart = FFSynchronizer(
            ~locked, self.restart, o_domain=self._domain.name, init=1
        )
        return m


def _divider(clock: float) -> int:
    """The one that brings the oscillator next to the middle of its range."""
    low, high = _OSCILLATOR
    divider = round((low + high) / 2 / clock)
    within = clock <= _MOST_OUT and low <= clock * divider <= high
    if not (1 <= divider <= _MOST and within):
        raise ValueError(f"clock must be within the reach of the PLL, not {clock:.0f} Hz")
    return divider
