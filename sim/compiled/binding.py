"""The functions of a compiled library, as ``wrapper.cc`` has them."""

import ctypes
from collections.abc import Mapping

import numpy as np

__all__ = ["End", "StopAt", "Transfer", "declare", "fill"]


class Transfer(ctypes.Structure):
    """Elements of a stream that a run moves: where they are, how many, how many were moved."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("done", ctypes.c_uint64),
        ("chance", ctypes.c_uint32),
        ("offered", ctypes.c_uint32),
        ("may_retract", ctypes.c_uint32),
    )


class StopAt(ctypes.Structure):
    """Early end of a run: number of the output, or -1, value, and how many times."""

    _fields_ = (
        ("output", ctypes.c_int64),
        ("value", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
    )


class End(ctypes.Structure):
    """End of a run: cycles, and number of the output that took back an element, or -1."""

    _fields_ = (("cycles", ctypes.c_uint64), ("retracted", ctypes.c_int64))


def declare(library: ctypes.CDLL) -> None:
    """Tell ctypes what the functions take and return."""
    unit, size, text, number = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
        ctypes.c_uint64,
    )
    transfers, stop = ctypes.POINTER(Transfer), ctypes.POINTER(StopAt)
    run = (unit, transfers, transfers, stop, number, number, ctypes.POINTER(End))
    for name, result, arguments in (
        ("unit_new", unit, (text,)),
        ("unit_delete", None, (unit,)),
        ("unit_reset", None, (unit,)),
        ("unit_step", None, (unit, number)),
        ("unit_set", None, (unit, size, text)),
        ("unit_get", None, (unit, size, text)),
        ("unit_run", ctypes.c_bool, run),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def fill(
    transfers: Mapping[str, Transfer],
    arrays: Mapping[str, np.ndarray],
    chances: Mapping[str, int] | int,
) -> None:
    """Set transfers, by stream, to move what is in arrays, and the others to move nothing.

    Parameters
    ----------
    chances : int or mapping
        Chances in 256 that an element waits in a cycle, for all streams or by stream.
    """
    for name, transfer in transfers.items():
        transfer.done = transfer.offered = transfer.count = 0
        if name in arrays:
            array = arrays[name]
            transfer.data = array.__array_interface__["data"][0]
            transfer.count = len(array)
            transfer.chance = chances if isinstance(chances, int) else chances.get(name, 0)
