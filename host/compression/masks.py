"""Masks by their names."""

from .coder import Coder
from .learned.mask import LearnedMask
from .learned.network import NetworkDevice, network_of
from .learned.options import LearnedOptions
from .mask import Mask
from .options import CompressionOptions
from .random_k import RandomK
from .threshold import HardThreshold
from .top import Top

__all__ = ["mask_of"]


def mask_of(options: CompressionOptions, rank: int, coder: Coder) -> Mask:
    """The mask that the options ask for.

    Parameters
    ----------
    options : CompressionOptions
        The options.
    rank : int
        This worker's.
    coder : Coder
        What makes frames; a learned mask may have its network there.

    Raises
    ------
    ValueError
        If it is to, and the coder has not what it takes.
    """
    if not isinstance(options.mask, str):
        return options.mask
    if options.mask in ("threshold", "threshold_before"):
        return HardThreshold(lagging=options.mask == "threshold_before")
    if options.mask == "random":
        return RandomK(options.seed, rank)
    if options.mask == "learned":
        return _learned(LearnedOptions.of(options.learned), options, coder)
    return Top(by_share=options.mask == "top_by_share")


def _learned(learned: LearnedOptions, options: CompressionOptions, coder: Coder) -> Mask:
    network = None
    if options.network == "device":
        if not isinstance(coder, NetworkDevice):
            raise ValueError(f"network must be 'golden' where coder is no device, but {coder!r}")
        network = network_of(coder, learned.hidden)
    return LearnedMask(learned, options.seed, network, mantissa_bits=options.mantissa_bits)
