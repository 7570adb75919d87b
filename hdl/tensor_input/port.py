"""The interface between the tensor input and a unit that takes tensors."""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.packet import beat_layout, check_lanes
from adagrain.models.interface.units.tensor_input import TensorBegin

__all__ = ["TensorPort"]


class TensorPort(wiring.Signature):
    """Ports of a unit that takes tensors, as the unit sees them.

    A pass lasts from the transfer on ``begin`` until ``end``; the unit ends it where a session is
    opened.

    Parameters
    ----------
    lanes : int
        Elements in a beat.

    Members
    -------
    begin : ``Out(stream.Signature(TensorBegin))``
        Announces a tensor, whose count must not be 0, and whose format must be built; to be
        offered only where ``busy`` is low.
    x : ``In(stream.Signature(beat_layout(lanes)))``
        Its elements.
    end : ``Out(1)``
        The pass is over; what was left of the tensor is dropped. It is not to end before
        ``entered``, unless it is given up.
    entered : ``In(1)``
        The tensor's last 16 bytes have entered, up to three cycles behind its last beat.
    busy : ``In(1)``
        A pass is under way, of this unit or of another.
    starved : ``In(1)``
        Elements are missing, and none come: the data port has offered nothing for too long, and
        offers nothing now; or they come from the link, whose requests are executed one after the
        other.
    moves : ``In(1)``
        The data port brings something.

    Raises
    ------
    TypeError, ValueError
        If there are not 1, 2 or 4 lanes.
    """

    def __init__(self, lanes: int) -> None:
        check_lanes(lanes)
        super().__init__(
            {
                "begin": Out(stream.Signature(TensorBegin)),
                "x": In(stream.Signature(beat_layout(lanes))),
                "end": Out(1),
                "entered": In(1),
                "busy": In(1),
                "starved": In(1),
                "moves": In(1),
            }
        )
