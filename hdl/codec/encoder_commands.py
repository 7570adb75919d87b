"""Requests for the encoder."""

from adagrain.hdl.checks import check_kind
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units.encoder import ENCODER

from .block_commands import BlockCommands
from .encoder_pass import EncoderPass

__all__ = ["EncoderCommands"]


class EncoderCommands(BlockCommands):
    """Handler of group 6, with mask and encoder.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.

    Members
    -------
    handler, tensor, o_data
        As those of :class:`BlockCommands`.
    encoded, encoded_bytes : ``Out(64)``
        Elements of all passes that have ended, and bytes of their blocks.

    Raises
    ------
    TypeError, ValueError
        If ``configuration`` is none, or has no BF16, as which elements of 16 bits come.
    """

    def __init__(self, configuration: Configuration) -> None:
        check_kind("configuration", configuration, Configuration)
        super().__init__(configuration, ENCODER, EncoderPass(configuration.lanes), raw=True)
