"""Requests for the decoder."""

from adagrain.hdl.checks import check_kind
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units.decoder import DECODER

from .block_commands import BlockCommands
from .decoder_pass import DecoderPass

__all__ = ["DecoderCommands"]


class DecoderCommands(BlockCommands):
    """Handler of group 7, with the decoder.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.

    Members
    -------
    handler, tensor, o_data
        As those of :class:`BlockCommands`.
    decoded : ``Out(64)``
        Elements of all passes that have ended.

    Raises
    ------
    TypeError
        If ``configuration`` is none.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        super().__init__(configuration, DECODER, DecoderPass(configuration.lanes), raw=False)
