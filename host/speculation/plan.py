"""The plan of buckets: which regions go together, so that the last one arrives soonest."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from .link import Link

__all__ = ["end_of", "planned"]

#: Seconds by which one more bucket must be better: that is what it costs the processor.
_COST = 2e-4


def planned(
    sizes: Sequence[int], ready: Sequence[float], link: Link, breaks: Collection[int] = ()
) -> list[int]:
    """How many regions each bucket has, in the order in which they depart.

    The best of all partitions, as :func:`end_of` predicts their ends; found by going on from the
    ends of buckets that are not worse than others in every way.

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
    count = len(sizes)
    fronts: list[list[_Course]] = [[_Course(0.0, 0.0, 0.0, 0.0, ())], *([] for _ in range(count))]
    for first in range(count):
        front = _undominated(fronts[first])
        size, latest = 0, 0.0
        for end in range(first + 1, count + 1):
            if end - 1 > first and end - 1 in breaks:
                break
            size, latest = size + sizes[end - 1], max(latest, ready[end - 1])
            fronts[end] += [_sent(course, size, latest, end - first, link) for course in front]
    best = min(fronts[count], key=lambda course: (course.last + course.cost, len(course.counts)))
    return [*best.counts]


def end_of(
    counts: Sequence[int], sizes: Sequence[int], ready: Sequence[float], link: Link
) -> float:
    """Seconds after which the last of the buckets has arrived.

    A bucket departs when all of its regions are ready. Two are under way at a time (gloo has two
    threads for a group); one after the other they take the line for the time of their bytes, and
    then arrive after the latency.

    Parameters
    ----------
    counts : sequence of int
        Regions of the buckets.
    sizes, ready, link
        As those of :func:`planned`.
    """
    course, first = _Course(0.0, 0.0, 0.0, 0.0, ()), 0
    for count in counts:
        own = slice(first, first + count)
        course = _sent(course, sum(sizes[own]), max(ready[own]), count, link)
        first += count
    return course.last


class _Course(NamedTuple):
    """How far some buckets have come: ends of the last but one and the last; the line is free."""

    before: float
    last: float
    free: float
    cost: float
    counts: tuple[int, ...]


def _sent(course: _Course, size: int, ready: float, count: int, link: Link) -> _Course:
    """With one more bucket."""
    free = max(ready, course.before, course.free) + size * link.seconds_per_byte
    counts = (*course.counts, count)
    return _Course(course.last, free + link.latency, free, course.cost + _COST, counts)


def _undominated(courses: list[_Course]) -> list[_Course]:
    """Those than which no other is better, or as good, in every way."""
    kept: list[_Course] = []
    for course in sorted(courses):
        ways = course[:4]
        if not any(all(a <= b for a, b in zip(own[:4], ways, strict=True)) for own in kept):
            kept.append(course)
    return kept
