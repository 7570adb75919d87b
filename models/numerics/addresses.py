"""Tensors in compiled code by their addresses, so that Python does little for each of many."""

from typing import Any

from numba import carray, njit, types
from numba.extending import intrinsic

__all__ = ["floats_at", "longs_at", "words_at"]


def _pointer_to(element: Any) -> Any:
    """An address as a pointer to elements of a type, for compiled code."""

    @intrinsic
    def pointer(typing_context: Any, address: Any) -> Any:  # pragma: no cover - compiled
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(address), generate

    return pointer


_to_floats, _to_words = _pointer_to(types.float32), _pointer_to(types.uint16)
_to_longs = _pointer_to(types.uint64)


@njit(cache=True, nogil=True)
def floats_at(address, count):  # pragma: no cover - compiled
    """The ``count`` FP32 numbers at an address; the caller keeps them alive."""
    return carray(_to_floats(address), (count,))


@njit(cache=True, nogil=True)
def words_at(address, count):  # pragma: no cover - compiled
    """The ``count`` words of 16 bits at an address; the caller keeps them alive."""
    return carray(_to_words(address), (count,))


@njit(cache=True, nogil=True)
def longs_at(address, count):  # pragma: no cover - compiled
    """The ``count`` words of 64 bits at an address; the caller keeps them alive."""
    return carray(_to_longs(address), (count,))
