"""One stimulus for all simulators: what goes into a unit and what must come out.

Generators of traffic make a :class:`Stimulus` of elements in Python's form, as
:mod:`.payload` has them, or of :class:`Columns` where there are many. ``Bench.demand`` runs it on
cocotb, :func:`adagrain.sim.compiled.demand` on compiled RTL; both encode through the layouts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from amaranth.hdl import Shape
from numpy.typing import NDArray

from .payload import Form, Number, decode, form_of

__all__ = ["Columns", "Elements", "Stimulus", "as_list", "random_elements"]

_WORD = 64


@dataclass(frozen=True)
class Columns:
    """Many elements of a stream, field by field.

    Parameters
    ----------
    fields : array, dict or list
        An element as :func:`.payload.decode` has it, with an array of all elements' numbers in the
        place of each number. Numbers have at most 64 bits.
    """

    fields: Any

    def __len__(self) -> int:
        first = self.fields
        while not isinstance(first, np.ndarray):
            first = next(iter(first.values() if isinstance(first, dict) else first))
        return len(first)

    def elements(self) -> list[Any]:
        """One by one."""
        return _rows(self.fields)

    def encode(self, shape: Any) -> NDArray[np.uint64]:
        """Bits of each element, in words of 64, the least significant first; fields left out are 0.

        Raises
        ------
        ValueError
            If a field does not exist, a list has the wrong length, or a number does not fit.
        """
        words = np.zeros((len(self), -(-Shape.cast(shape).width // _WORD)), dtype=np.uint64)
        _encode(words, form_of(shape), self.fields, 0)
        return words


Elements = Sequence[Any] | Columns


@dataclass(frozen=True)
class Stimulus:
    """Elements that enter at once, each at its stream's own pace, and what comes of them.

    Parameters
    ----------
    inputs, outputs : dict of str to elements
        By stream.
    ports : dict of str to value
        What ports that are not streams are set to before.
    shown : dict of str to value
        What such ports show then.
    """

    inputs: Mapping[str, Elements]
    outputs: Mapping[str, Elements] = field(default_factory=dict)
    ports: Mapping[str, Any] = field(default_factory=dict)
    shown: Mapping[str, Any] = field(default_factory=dict)


def random_elements(shape: Any, count: int, generator: Random) -> list[Any]:
    """So many elements of any bits."""
    width = Shape.cast(shape).width
    return [decode(shape, generator.getrandbits(width)) for _ in range(count)]


def as_list(elements: Elements) -> list[Any]:
    """Elements one by one."""
    return elements.elements() if isinstance(elements, Columns) else list(elements)


def _rows(fields: Any) -> list[Any]:
    if isinstance(fields, dict):
        return [
            dict(zip(fields, row, strict=True))
            for row in zip(*map(_rows, fields.values()), strict=True)
        ]
    if isinstance(fields, list):
        return [list(row) for row in zip(*map(_rows, fields), strict=True)]
    return fields.tolist()


def _encode(words: NDArray[np.uint64], form: Form, column: Any, offset: int) -> None:
    """Put a field's bits where they belong."""
    if not isinstance(form, Number):
        for part, item in form.pairs(column):
            _encode(words, part.form, item, offset + part.offset)
        return
    for value in (column.min(initial=form.low), column.max(initial=form.low)):
        if not form.low <= value <= form.high:
            raise ValueError(f"value must be from {form.low} to {form.high}, not {value}")
    bits = column.astype(np.uint64) & np.uint64((1 << form.width) - 1)
    at, shift = divmod(offset, _WORD)
    words[:, at] |= bits << np.uint64(shift)
    if shift + form.width > _WORD:
        words[:, at + 1] |= bits >> np.uint64(_WORD - shift)
