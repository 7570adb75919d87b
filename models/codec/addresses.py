"""Tensors in compiled code by their addresses, so that Python does little for each of many."""

from typing import Any

from numba import carray, njit, types
from numba.extending import intrinsic

__all__ = ["words_at"]


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:  # pragma: no cover - compiled
    """An address as a pointer to words of 16 bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.uint16)(address), generate


@njit(cache=True, nogil=True)
def words_at(address, count):  # pragma: no cover - compiled
    """The ``count`` words at an address; the caller keeps them alive."""
    return carray(_pointer(address), (count,))  # type: ignore[call-arg]
