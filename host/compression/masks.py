"""Masks by their names."""

from .learned.mask import LearnedMask
from .learned.options import LearnedOptions
from .mask import Mask
from .options import CompressionOptions
from .random_k import RandomK
from .threshold import HardThreshold
from .top import Top

__all__ = ["mask_of"]


def mask_of(options: CompressionOptions, rank: int) -> Mask:
    """The mask that the options ask for, on the worker of this rank."""
    if not isinstance(options.mask, str):
        return options.mask
    if options.mask in ("threshold", "threshold_before"):
        return HardThreshold(lagging=options.mask == "threshold_before")
    if options.mask == "random":
        return RandomK(options.seed, rank)
    if options.mask == "learned":
        return LearnedMask(LearnedOptions.of(options.learned), options.seed)
    return Top(by_share=options.mask == "top_by_share")
