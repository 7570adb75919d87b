"""Groups summed together: the same, whatever buckets gradients come in."""

from collections.abc import Iterable, Sequence

from .exchange import Share

__all__ = ["INDIFFERENT", "Groups", "in_order"]

#: Workers whose all-reduce gives the same sums wherever elements lie in it.
INDIFFERENT = 2

#: Elements of a group at least, if there are so many.
_ELEMENTS = 1 << 19


class Groups:
    """Neighbouring regions, whose elements go in one all-reduce.

    Where there are more than two workers, the order in which an all-reduce adds depends on the
    place that an element has in it. DDP's buckets are others in the first pass, of a resumed run
    too, than in those behind it; by buckets, a resumed run would have other sums.

    Parameters
    ----------
    sizes : sequence of int
        Elements of each region, by its number.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._elements = [0]
        self._numbers: dict[int | None, int] = {}
        for region in reversed(range(len(sizes))):  # gradients come from the last to the first
            if self._elements[-1] >= _ELEMENTS:
                self._elements.append(0)
            self._numbers[region] = len(self._elements) - 1
            self._elements[-1] += sizes[region]

    def take(self, waiting: list[Share], *, everything: bool) -> list[list[Share]]:
        """Take shares out that are to go now: by group, in their order.

        Parameters
        ----------
        waiting : list of Share
            All that has not gone, of regions; what is taken is not in it any more.
        everything : bool
            Nothing will follow; otherwise only groups go that are there whole.
        """
        found: dict[int, list[Share]] = {}
        for share in waiting:
            found.setdefault(self._numbers[share.region], []).append(share)
        gone = {
            number: in_order(own)
            for number, own in sorted(found.items())
            if everything or sum(share.mean.numel() for share in own) == self._elements[number]
        }
        waiting[:] = [share for share in waiting if self._numbers[share.region] not in gone]
        return [*gone.values()]


def in_order(shares: Iterable[Share]) -> list[Share]:
    """Shares of regions in the order of their elements."""
    return sorted(shares, key=lambda share: (share.region or 0, share.start))
