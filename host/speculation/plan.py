"""The plan of buckets: which regions go together, so that the last one arrives soonest."""

import heapq
from collections.abc import Collection, Sequence
from itertools import accumulate, combinations, pairwise

from .link import Link

__all__ = ["end_of", "planned"]

#: Collectives of a group that gloo works on at a time.
_AT_A_TIME = 2

#: Seconds by which one more bucket must be better: that is what it costs the processor.
_COST = 2e-4

#: Regions of which all partitions are tried.
_FEW = 10

#: Most places where it is tried to begin the second bucket, and the third.
_PLACES = 64

#: Most passes over all places where a bucket may begin.
_ROUNDS = 4


def planned(
    sizes: Sequence[int], ready: Sequence[float], link: Link, breaks: Collection[int] = ()
) -> list[int]:
    """Number of regions in each bucket, in the order in which they depart.

    The best of all, for ten regions or less. For more of them the best among three buckets or less,
    divided anywhere, and those of all sizes that buckets may have at most; then a bucket more or
    less is tried at each place, as long as :func:`end_of` gets less.

    Parameters
    ----------
    sizes : sequence of int
        Bytes of the regions, in the order in which they depart.
    ready : sequence of float
        Seconds after which each one's gradients are there.
    link : Link
        What carries them.
    breaks : collection of int
        Regions that must begin a bucket, by their places in the order.
    """
    fixed = frozenset(breaks)

    def price(begins: frozenset[int]) -> float:
        counts = _counts(begins, len(sizes))
        return end_of(counts, sizes, ready, link) + _COST * len(counts)

    capped = [_capped(sizes, cap, fixed) for cap in accumulate(sizes)]
    places = range(1, len(sizes), 1 + len(sizes) // _PLACES)
    most = len(places) if len(sizes) <= _FEW else 2
    few = [fixed.union(own) for count in range(most + 1) for own in combinations(places, count)]
    begins = min((*few, *capped), key=price)
    for _ in range(_ROUNDS):
        before = begins
        for place in range(1, len(sizes)):
            if place not in fixed:
                begins = min(begins, begins ^ {place}, key=price)
        if begins == before:
            break
    return _counts(begins, len(sizes))


def end_of(
    counts: Sequence[int], sizes: Sequence[int], ready: Sequence[float], link: Link
) -> float:
    """Seconds after which the last bucket has arrived.

    A bucket departs when all of its regions are ready and gloo has a thread for it, of which there
    are two. In each of its turns a part of its bytes takes the line, behind whatever came there
    before, and then arrives after a part of the latency.

    Parameters
    ----------
    counts : sequence of int
        Regions of the buckets.
    sizes, ready, link
        As those of :func:`planned`.
    """
    waiting, first = [], 0
    for count in counts:
        own = slice(first, first + count)
        waiting.append((max(ready[own]), sum(sizes[own])))
        first += count
    hop = link.latency / link.turns
    under_way: list[tuple[float, int, int, float]] = []  # when, number, turns left, seconds a turn
    threads, line, begun, end = [0.0] * _AT_A_TIME, 0.0, 0, 0.0
    while begun < len(waiting) or under_way:
        while threads and begun < len(waiting):
            at, size = waiting[begun]
            turns = link.turns_of(size)
            turn = size * link.seconds_per_byte / turns
            heapq.heappush(under_way, (max(at, threads.pop()), begun, turns, turn))
            begun += 1
        now, number, left, turn = heapq.heappop(under_way)
        if not left:
            threads.append(now)
            end = now
            continue
        line = max(line, now) + turn
        heapq.heappush(under_way, (line + hop, number, left - 1, turn))
    return end


def _capped(sizes: Sequence[int], cap: int, fixed: Collection[int]) -> frozenset[int]:
    """Places where buckets begin that have at most so many bytes, or one region."""
    begins, size = set(), 0
    for place, own in enumerate(sizes):
        if place in fixed or (place and size + own > cap):
            begins.add(place)
            size = 0
        size += own
    return frozenset(begins)


def _counts(begins: Collection[int], count: int) -> list[int]:
    """Regions of each bucket, by the places where others than the first begin."""
    places = [0, *sorted(begins), count]
    return [end - first for first, end in pairwise(places)]
