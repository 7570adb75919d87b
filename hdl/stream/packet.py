"""The stream payloads that the units exchange: packets, replies, and beats of elements."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.hdl.checks import check_choice

__all__ = ["Packet", "Reply", "beat_layout", "check_lanes"]

#: One byte of a packet; ``last`` marks its final one. There is no empty packet.
Packet = data.StructLayout({"data": unsigned(8), "last": unsigned(1)})

#: One byte of a reply, whose first one is its status. Where ``replaces`` is set, which is at the
#: final byte alone, this one is the status, and there is no payload, whatever went before.
Reply = data.StructLayout({**dict(Packet.members), "replaces": unsigned(1)})


def check_lanes(lanes: int) -> None:
    """Make sure that so many elements can travel in one cycle: 1, 2 or 4.

    Raises
    ------
    TypeError, ValueError
        If they cannot.
    """
    check_choice("lanes", lanes, (1, 2, 4))


def beat_layout(lanes: int) -> data.StructLayout:
    """Elements of a tensor that travel in one cycle.

    Members
    -------
    data : ``ArrayLayout(32, lanes)``
        FP32 words, the first element in lane 0.
    keep : ``unsigned(lanes)``
        Lanes that hold an element; only the last beat may be partial.
    last : ``unsigned(1)``
        The tensor's last beat.
    """
    return data.StructLayout(
        {
            "data": data.ArrayLayout(unsigned(32), lanes),
            "keep": unsigned(lanes),
            "last": unsigned(1),
        }
    )
