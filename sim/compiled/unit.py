"""A component as compiled RTL in this process."""

import ctypes
import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from amaranth.lib import wiring

from adagrain.hdl.checks import check_integer
from adagrain.sim.simulators.payload import decode, encode
from adagrain.sim.simulators.verilator import version, waves_format

from .binding import End, StopAt, Transfer, declare, fill
from .library import library
from .outcome import DeadlockError, RetractionError, Run, Stop
from .ports import StreamPort, ports_of

__all__ = ["CompiledUnit"]

_Port = TypeVar("_Port")
Buffer = bytes | bytearray | memoryview | np.ndarray
Chances = Mapping[str, int] | int


class CompiledUnit:
    """Any component, compiled by Verilator and driven in batches through its streams.

    The clock loop is compiled too, so that a call costs some microseconds however many cycles it
    takes. The unit's state lasts from call to call. It comes out of reset at construction.
    Instances are independent of each other; one instance serves one thread at a time.

    Parameters
    ----------
    component : wiring.Component
        What to compile. Streams at its top level can be run; other ports, also those of nested
        interfaces, can be read and set by their Verilog names.
    name : str
        Name for messages and files, a plain word.
    waves : Path or None
        File for waves of every signal; its suffix is set to the format, VCD or FST, that this
        machine can write. Where ``WAVES=1`` it is by default ``<name>-<process>`` in the working
        directory.
    made_from : str or None
        All that tells this component from others of the same source code, as the ``repr`` of its
        parameters does. Given that, a component of the project that has not changed is found in
        the cache without being elaborated, which takes seconds for a large one.
    family : str or None
        FPGA, a key of :data:`FAMILIES`: compile what synthesis for it makes of the component.

    Members
    -------
    backend : str
        What was compiled, and by what: for messages.

    Raises
    ------
    ValueError
        As :func:`~adagrain.sim.compiled.ports.ports_of`; from each method after :meth:`close`.
    ToolMissingError, BuildError
        As :func:`adagrain.sim.compiled.library.library`.
    """

    def __init__(
        self,
        component: wiring.Component,
        name: str,
        *,
        waves: Path | str | None = None,
        made_from: str | None = None,
        family: str | None = None,
    ) -> None:
        if waves is None and os.environ.get("WAVES") == "1":
            waves = f"{name}-{os.getpid()}"
        self.name = name
        what = f"netlist for {family}" if family else "RTL"
        self.backend = f"{what}, compiled by Verilator {version()}"
        self.waves = Path(waves).with_suffix(f".{waves_format()}") if waves else None
        ports = ports_of(component)
        self._inputs = {port.name: port for port in ports.inputs}
        self._outputs = {port.name: port for port in ports.outputs}
        self._others = {port.name: (index, port) for index, port in enumerate(ports.others)}
        self._settable = {name: own for name, own in self._others.items() if own[1].is_input}
        self._in_transfers = (Transfer * len(ports.inputs))()
        self._out_transfers = (Transfer * len(ports.outputs))()
        self._in_transfer = dict(zip(self._inputs, self._in_transfers, strict=True))
        self._out_transfer = dict(zip(self._outputs, self._out_transfers, strict=True))
        self._made: ctypes.c_void_p | None = None
        self._process = os.getpid()
        self._library = library(
            component,
            ports,
            name,
            waves=self.waves is not None,
            made_from=made_from,
            family=family,
        )
        declare(self._library)
        self._made = ctypes.c_void_p(self._library.unit_new(str(self.waves or "").encode()))
        if self.waves:
            print(f"waves of {name} go to {self.waves.resolve()}", file=sys.stderr)

    def run(
        self,
        inputs: Mapping[str, Buffer] = {},
        outputs: Mapping[str, int] = {},
        *,
        max_cycles: int,
        stop: Stop | None = None,
        idle: Chances = 0,
        stall: Chances = 0,
        seed: int = 0,
        may_retract: Collection[str] = (),
    ) -> Run:
        """Move elements until all have passed, or until ``stop``.

        Parameters
        ----------
        inputs : dict of str to buffer
            Elements for input streams, contiguous in memory, as :class:`StreamPort` says; they are
            not copied. What was not consumed when the run stops is forgotten.
        outputs : dict of str to int
            How many elements to take from output streams, at most where there is a ``stop``.
            Streams that are not named are not ready.
        max_cycles : int
            Cycles after which it gives up.
        stop : Stop or None
            An earlier end.
        idle, stall : int or dict of str to int
            Chances in 256, cycle by cycle, that an input element is held back, and that an output
            is not ready: for all streams or by stream.
        seed : int
            Seed of the chances, and of the noise on inputs that offer nothing.
        may_retract : collection of str
            Output streams whose unit may be reset meanwhile, which takes back what they offer.

        Raises
        ------
        ValueError
            If there is no such stream, a buffer holds no whole number of elements, cycles do not
            fit 64 bits, a chance is not from 0 to 256, or ``stop`` would never come.
        TypeError
            If a chance, or a number of ``stop``, is no integer.
        DeadlockError
            If ``max_cycles`` pass first.
        RetractionError
            If another output takes back an element, or changes it, before it is accepted.
        """
        if not 0 <= max_cycles < 1 << 64:
            raise ValueError(f"max_cycles must be from 0 to 2**64 - 1, not {max_cycles}")
        _check_chances(self._inputs, idle, "input", "idle")
        _check_chances(self._outputs, stall, "output", "stall")
        for name in may_retract:
            _known(self._outputs, name, "output stream of may_retract")
        given = {name: self._elements(name, buffer) for name, buffer in inputs.items()}
        taken = {name: self._room(name, count) for name, count in outputs.items()}
        fill(self._in_transfer, given, idle)
        fill(self._out_transfer, taken, stall)
        for name, transfer in self._out_transfer.items():
            transfer.may_retract = name in may_retract
        end = End()
        ended = self._library.unit_run(
            self._unit,
            self._in_transfers,
            self._out_transfers,
            self._stop(stop, taken),
            seed,
            max_cycles,
            end,
        )
        if end.retracted >= 0:
            raise RetractionError(self.name, [*self._outputs][end.retracted], end.cycles)
        result = Run(
            {name: array[: self._out_transfer[name].done] for name, array in taken.items()},
            {name: self._in_transfer[name].done for name in given},
            end.cycles,
        )
        if not ended:
            raise DeadlockError(self._complaint(result, given, taken), result)
        return result

    def step(self, cycles: int) -> None:
        """Let clock cycles pass in which no stream moves."""
        self._library.unit_step(self._unit, cycles)

    def reset(self) -> None:
        """Hold the unit's reset for two cycles. Memories keep their contents."""
        self._library.unit_reset(self._unit)

    def set(self, name: str, value: Any) -> None:
        """Set an input port that is not part of a stream.

        Raises
        ------
        ValueError
            If there is none of that name.
        """
        index, port = _known(self._settable, name, "input port")
        raw = encode(port.shape, value).to_bytes(_storage(port.width), "little")
        self._library.unit_set(self._unit, index, raw)

    def get(self, name: str) -> Any:
        """Value of a port that is not part of a stream; errors as those of :meth:`set`."""
        index, port = _known(self._others, name, "port")
        raw = ctypes.create_string_buffer(_storage(port.width))
        self._library.unit_get(self._unit, index, raw)
        return decode(port.shape, int.from_bytes(raw.raw, "little"))

    def stream(self, name: str) -> StreamPort:
        """A stream's port, which encodes and decodes its elements."""
        return _known(self._inputs | self._outputs, name, "stream")

    def close(self) -> None:
        """Free the unit and finish its waves; may be called twice. It cannot be used any more.

        In a process that was forked behind the construction it does neither: the unit is the other
        process's, and so are the threads that freeing it would wait for.
        """
        if self._made is not None:
            if self._process == os.getpid():
                self._library.unit_delete(self._made)
            self._made = None

    def __enter__(self) -> "CompiledUnit":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_made", None) is not None:
            self.close()

    @property
    def _unit(self) -> ctypes.c_void_p:
        if self._made is None:
            raise ValueError(f"{self.name} must not be used after close()")
        return self._made

    def _elements(self, name: str, buffer: Buffer) -> np.ndarray:
        port = _known(self._inputs, name, "input stream")
        array = buffer if isinstance(buffer, np.ndarray) else np.frombuffer(buffer, np.uint8)
        if not array.flags.c_contiguous:
            raise ValueError(f"buffer for {name} must be contiguous")
        if array.nbytes % port.nbytes:
            raise ValueError(
                f"buffer for {name} must hold whole elements of {port.nbytes} bytes, "
                f"not {array.nbytes} bytes"
            )
        return array.reshape(-1).view(np.uint8).reshape(-1, port.nbytes)

    def _room(self, name: str, count: int) -> np.ndarray:
        port = _known(self._outputs, name, "output stream")
        return np.empty(count if port.words == 1 else (count, port.words), port.dtype)

    def _stop(self, stop: Stop | None, taken: dict[str, np.ndarray]) -> StopAt:
        if stop is None:
            return StopAt(-1, 0, 0)
        if stop.stream not in taken:
            raise ValueError(f"stop must be at one of the outputs, not at {stop.stream!r}")
        if self._outputs[stop.stream].words > 1:
            raise ValueError(f"stop must be at a stream of at most 64 bits, not {stop.stream}")
        check_integer("value of stop", stop.value, 0, (1 << self._outputs[stop.stream].width) - 1)
        check_integer("times of stop", stop.times, 1)
        return StopAt(list(self._outputs).index(stop.stream), stop.value, stop.times)

    def _complaint(
        self, result: Run, given: dict[str, np.ndarray], taken: dict[str, np.ndarray]
    ) -> str:
        moved = [
            *(f"{name} consumed {result.consumed[name]} of {len(given[name])}" for name in given),
            *(
                f"{name} delivered {len(result.outputs[name])} of {len(taken[name])}"
                for name in taken
            ),
        ]
        return f"{self.name} came to no end in {result.cycles} cycles: {', '.join(moved)}"


def _known(ports: Mapping[str, _Port], name: str, kind: str) -> _Port:
    if name not in ports:
        raise ValueError(f"{kind} must be one of {', '.join(ports)}, not {name!r}")
    return ports[name]


def _check_chances(ports: Mapping[str, _Port], chances: Chances, side: str, name: str) -> None:
    if isinstance(chances, Mapping):
        for stream, chance in chances.items():
            _known(ports, stream, f"{side} stream of {name}")
            check_integer(f"{name} of {stream}", chance, 0, 256)
    else:
        check_integer(name, chances, 0, 256)


def _storage(width: int) -> int:
    """Bytes in which Verilator keeps a port."""
    return next((raw for raw in (1, 2, 4, 8) if width <= 8 * raw), -(-width // 32) * 4)
