"""Ports of what makes one block in each pass, whichever way."""

from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Member, Out

from adagrain.hdl.stream.packet import beat_layout, check_lanes
from adagrain.hdl.tensor_input import Beat
from adagrain.models.interface.codec import SLOTS
from adagrain.models.interface.protocol import Status

from .block_buffer import WORDS, Word
from .encoder_layouts import CodeWrite

__all__ = ["block_ports"]


def block_ports(
    lanes: int, begin: data.StructLayout, record: data.StructLayout
) -> dict[str, Member]:
    """Members of :class:`~.encoder_pass.EncoderPass` and of :class:`~.decoder_pass.DecoderPass`.

    Parameters
    ----------
    lanes : int
        Elements, or words, in a beat: 1, 2 or 4.
    begin, record : StructLayout
        What begins a pass, and what has become of its block.

    Raises
    ------
    TypeError, ValueError
        If ``lanes`` is not what it must be.
    """
    check_lanes(lanes)
    return {
        "i_code": In(stream.Signature(CodeWrite)),
        "slots": In(SLOTS),
        "i_begin": In(stream.Signature(begin)),
        "refusal": Out(Status),
        "i": In(stream.Signature(beat_layout(lanes))),
        "ends": In(1),
        "given_up": In(1),
        "o": Out(stream.Signature(record)),
        "size": Out(range(WORDS + 1)),
        "i_read": In(stream.Signature(range(WORDS))),
        "o_read": Out(stream.Signature(Word)),
        "o_data": Out(stream.Signature(Beat)),
    }
