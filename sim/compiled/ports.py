"""The ports of a component as a compiled unit sees them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from amaranth.hdl import Shape
from amaranth.lib import stream, wiring

from adagrain.sim.simulators.payload import form_of
from adagrain.sim.simulators.stimulus import Columns, Elements

__all__ = ["Port", "Ports", "StreamPort", "ports_of"]


@dataclass(frozen=True)
class Port:
    """A port that is not part of a stream.

    Parameters
    ----------
    name : str
        Path in the signature, joined by two underscores, as in the Verilog.
    shape : ShapeLike
        Shape of its value.
    is_input : bool
        Whether it can be set.
    """

    name: str
    shape: Any
    is_input: bool = False

    @cached_property
    def width(self) -> int:
        return Shape.cast(self.shape).width


@dataclass(frozen=True)
class StreamPort(Port):
    """A stream. Its elements lie in buffers one after the other, each of them the smallest
    unsigned integer of 8, 16, 32 or 64 bits that holds the payload, or as many 32-bit words as it
    takes, the least significant one first."""

    @cached_property
    def dtype(self) -> np.dtype:
        """Type of a buffer's numbers."""
        for bits in (8, 16, 32, 64):
            if self.width <= bits:
                return np.dtype(f"uint{bits}")
        return np.dtype("uint32")

    @cached_property
    def words(self) -> int:
        """Numbers per element; more than one where the payload is wider than 64 bits."""
        return -(-self.width // (8 * self.dtype.itemsize))

    @cached_property
    def nbytes(self) -> int:
        """Bytes per element."""
        return self.words * self.dtype.itemsize

    def encode(self, elements: Elements) -> np.ndarray:
        """Elements as they lie in a buffer: a number for each, or a row of them."""
        if not isinstance(elements, Columns):
            form, width = form_of(self.shape), self.nbytes
            raw = [form.encode(one).to_bytes(width, "little") for one in elements]
            return self._rows(np.frombuffer(b"".join(raw), self.dtype))
        bits = elements.encode(self.shape)
        if self.words == 1:
            return bits[:, 0].astype(self.dtype)
        return np.ascontiguousarray(bits.view("<u4")[:, : self.words])

    def decode(self, numbers: np.ndarray) -> list[Any]:
        """The elements that lie in a buffer."""
        rows = self._rows(numbers.reshape(-1))
        form = form_of(self.shape)
        return [form.decode(int.from_bytes(row.tobytes(), "little")) for row in rows]

    def _rows(self, numbers: np.ndarray) -> np.ndarray:
        return numbers if self.words == 1 else numbers.reshape(-1, self.words)


@dataclass(frozen=True)
class Ports:
    """All ports of a component: streams in, streams out, and what is not a stream."""

    inputs: tuple[StreamPort, ...]
    outputs: tuple[StreamPort, ...]
    others: tuple[Port, ...]


def ports_of(component: wiring.Component) -> Ports:
    """Sort a component's ports.

    Raises
    ------
    ValueError
        If a stream has a constant ``valid`` or ``ready``, or there is an array of streams.
    """
    inputs: list[StreamPort] = []
    outputs: list[StreamPort] = []
    for name, member in component.signature.members.items():
        if member.is_signature and isinstance(member.signature, stream.Signature):
            if member.signature.always_valid or member.signature.always_ready:
                raise ValueError(f"stream {name} must have both valid and ready")
            if member.dimensions:
                raise ValueError(f"stream {name} must be one, not an array of {member.dimensions}")
            is_input = member.flow is wiring.In
            side = inputs if is_input else outputs
            shape = member.signature.members["payload"].shape
            side.append(StreamPort(name, shape, is_input))
    streams = {port.name for port in (*inputs, *outputs)}
    others = tuple(
        Port("__".join(map(str, path)), member.shape, member.flow is wiring.In)
        for path, member, _ in component.signature.flatten(component)
        if path[0] not in streams
    )
    return Ports(tuple(inputs), tuple(outputs), others)
