"""Description of a board, as the flow needs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from amaranth.build import Platform
from amaranth.hdl import ClockDomain, Elaboratable

__all__ = ["Board"]


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board: its FPGA, its clock, its pins, and what it is loaded with.

    Parameters
    ----------
    name : str
        As people type it.
    title : str
        As people read it.
    family : str
        ``"ecp5"``, ``"ice40"`` or ``"gowin"``: which tools build for it.
    preset : str
        Device preset that it is built with.
    clock : float
        Clock cycles per second of the gateware; place and route must reach it.
    baud : float
        Bits per second of its serial line.
    part : tuple of str
        Which FPGA of the family it is, in nextpnr's options.
    options : tuple of str
        More options for place and route.
    capacity : dict of str to int
        Resources of its FPGA, by the names of the reports.
    clocking : callable or None
        Makes what drives the domain ``sync``, given the domain, and says in ``restart`` when to
        reset what is in it; ``None``: the board's own clock and reset do.
    leds : tuple of (str, int)
        Resources for life, link and error.
    programmer : str
        Board's name for openFPGALoader.
    """

    name: str
    title: str
    family: str
    preset: str
    clock: float
    baud: float
    part: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    capacity: Mapping[str, int]
    clocking: Callable[[ClockDomain], Elaboratable] | None
    leds: tuple[tuple[str, int], tuple[str, int], tuple[str, int]]
    programmer: str

    def platform(self) -> Platform:
        """A new Amaranth platform of the board, which needs the extra ``synth``."""
        from .platforms import PLATFORMS

        return PLATFORMS[self.name]()
