"""Amount sent of a region, by a worker."""

from typing import NamedTuple

__all__ = ["Sent"]


class Sent(NamedTuple):
    """Elements and bits of a region in an exchange that leaves some out, on this worker.

    Members
    -------
    elements : int
        Elements that there were, of all backward passes.
    nonzeros : int
        Those that were sent.
    bits : int
        Bits of the frames that had them: those of the region's own blocks, and as large a part of
        headers and tables.
    """

    elements: int
    nonzeros: int
    bits: int

    @property
    def density(self) -> float:
        """Part of the elements that was sent."""
        return self.nonzeros / self.elements

    @property
    def bits_per_nonzero(self) -> float | None:
        """Bits for each element that was sent; ``None`` where none was."""
        return self.bits / self.nonzeros if self.nonzeros else None

    def plus(self, other: "Sent") -> "Sent":
        """This and another one of the same region."""
        return Sent(
            self.elements + other.elements,
            self.nonzeros + other.nonzeros,
            self.bits + other.bits,
        )
