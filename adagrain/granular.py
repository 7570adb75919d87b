"""Networks that choose their own precision: the public face of :mod:`adagrain.host.granular`."""

from adagrain.host.granular import *  # noqa: F403
from adagrain.host.granular import __all__ as __all__
