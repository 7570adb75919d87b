"""Price of sending: the dual variable of the number of elements that are wanted."""

import math

__all__ = ["Price"]

#: What a pass may be found to have sent at most, as a multiple of what was wanted.
_MOST = 4.0


class Price:
    """Grows where more is sent than is wanted, and falls where less is: dual ascent.

    Steps are of its logarithm, in proportion to the excess; a pass counts as four times too many at
    most.

    Parameters
    ----------
    rate : float
        Of these steps.

    Members
    -------
    value : float or None
        The price; ``None`` as long as nothing was masked.
    """

    def __init__(self, rate: float) -> None:
        self.value: float | None = None
        self._rate = rate

    def sent(self, elements: float, wanted: float) -> None:
        """Say what a pass has sent, and what was wanted, once there is a price."""
        if self.value is not None and wanted > 0:
            self.value *= math.exp(self._rate * (min(elements / wanted, _MOST) - 1.0))
