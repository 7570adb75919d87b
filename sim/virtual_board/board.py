"""A simulated board that a serial driver cannot tell from a real one."""

import os
import select
import threading
import tty
from typing import Self

from adagrain.models.interface.configuration import Configuration
from adagrain.sim.compiled import CompiledUnit, DeadlockError

from .wired import Wired

__all__ = ["BAUD", "BREAK_CYCLES", "CLOCK", "VirtualBoard"]

#: Clock and bit rate of the simulated line: four cycles per bit, the fastest that the UART takes.
CLOCK, BAUD = 48e6, 12e6

#: Clock cycles between two looks at the pseudo-terminal: those of a hundred bytes.
_SLICE = 4000

#: Bytes that are taken from the pseudo-terminal at once.
_CHUNK = 4096

#: What another thread may ask for.
_STOP, _BREAK = b"s", b"b"

#: Clock cycles for which a break holds the line low: 40 bit times, twice as long as is needed.
BREAK_CYCLES = round(40 * CLOCK / BAUD)

#: Slices without a new byte after which the clock stops until one comes, beyond those in which
#: the watchdog ends a command. The longest sound one without a word takes far fewer cycles.
_QUIET_SLICES = 200


#: Seconds between two looks whether the simulation still runs.
_PATIENCE = 0.05


class VirtualBoard:
    """The top level down to its pins, simulated behind a pseudo-terminal.

    The simulation runs in a thread of its own. Its clock stands while nothing is to be done; a
    frame that a driver waits for has always come by then. It stands, too, while nobody reads.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    netlist : str or None
        FPGA family: simulate what synthesis for it makes of the board.

    Members
    -------
    port : str
        Path of the pseudo-terminal, for :class:`serial.Serial`; any bit rate does.
    """

    def __init__(self, configuration: Configuration, *, netlist: str | None = None) -> None:
        self._quiet_slices = _QUIET_SLICES + configuration.watchdog // _SLICE
        board = Wired(configuration, clock=CLOCK, baud=BAUD)
        made_from = repr((configuration, CLOCK, BAUD))
        self._unit = CompiledUnit(board, "virtual-board", made_from=made_from, family=netlist)
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)
        os.set_blocking(self._master, False)
        self._orders, self._give_order = os.pipe()
        self._handles = [self._master, self._slave, self._orders, self._give_order]
        self._was_broken, self._has_ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._simulate, name="virtual-board", daemon=True)
        self._thread.start()

    @property
    def backend(self) -> str:
        """The simulation, in words: what was compiled, and by what."""
        return self._unit.backend

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send_break(self) -> None:
        """Reset the device, whatever it is doing, by a break on its line, and wait for its end.

        What has come till then is not given to the device any more.
        """
        self._was_broken.clear()
        os.write(self._give_order, _BREAK)
        while not self._has_ended.is_set() and not self._was_broken.wait(_PATIENCE):
            pass

    def join(self) -> None:
        """Wait until another thread closes the board."""
        self._has_ended.wait()

    def close(self) -> None:
        """End the simulation and the pseudo-terminal; may be called twice."""
        if self._handles:
            os.write(self._give_order, _STOP)
            self._has_ended.wait()  # Ctrl-C in its join() would have the thread count as ended
            self._thread.join()
        self._unit.close()
        while self._handles:
            os.close(self._handles.pop())

    def _simulate(self) -> None:
        try:
            self._run_slices()
        finally:
            self._has_ended.set()

    def _run_slices(self) -> None:
        to_device = to_host = b""
        quiet = 0
        while True:
            idles = not to_device and quiet >= self._quiet_slices
            hears = not to_host and len(to_device) <= _CHUNK
            readable, writable, _ = select.select(
                [self._orders, self._master] if hears else [self._orders],
                [self._master] if to_host else [],
                [],
                None if to_host or idles else 0,
            )
            if self._orders in readable:
                if os.read(self._orders, 1) == _STOP:
                    return
                self._break()
                to_device = b""
                self._was_broken.set()
            elif self._master in readable:
                to_device += os.read(self._master, _CHUNK)
            if writable:
                to_host = to_host[os.write(self._master, to_host) :]
            if not to_host:
                taken, to_host = self._run(to_device)
                to_device = to_device[taken:]
                quiet = 0 if taken or to_host or to_device else quiet + 1

    def _break(self) -> None:
        self._unit.set("low", 1)
        self._unit.step(BREAK_CYCLES)
        self._unit.set("low", 0)

    def _run(self, to_device: bytes) -> tuple[int, bytes]:
        """Simulate a slice: bytes that the adapter took, and those that it received."""
        try:
            run = self._unit.run({"i": to_device}, {"o": _SLICE}, max_cycles=_SLICE)
        except DeadlockError as unfinished:
            run = unfinished.run
        return run.consumed["i"], run.outputs["o"].tobytes()
