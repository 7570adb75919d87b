"""Payloads by the errors of a line."""

import pytest

from adagrain.host.link.frame_size import OVERHEAD, FrameSize
from adagrain.models.interface.units.tensor_input import BEAT

LONGEST = 4096

#: Bytes over which errors are averaged, and of which each send is one part.
MEMORY, SEND = 1 << 17, 1 << 8


def on_a_line(distance: int) -> FrameSize:
    """Where an error has come every so many bytes, for long."""
    size = FrameSize(LONGEST)
    for at in range(0, 8 * MEMORY, SEND):
        size.sent(SEND)
        for _ in range((at + SEND) // distance - at // distance):
            size.lost()
    return size


def cost(payload: int, distance: int) -> float:
    """Part of the line that is not payload: overhead, and 1.25 frames for each error."""
    frame = payload + OVERHEAD
    return OVERHEAD / frame + 1.25 * frame / distance


def test_without_errors_payloads_are_the_longest() -> None:
    size = FrameSize(LONGEST)
    assert (size.payload, size.frame) == (LONGEST, LONGEST + OVERHEAD)
    size.sent(MEMORY)
    assert size.payload == LONGEST


@pytest.mark.parametrize("distance", [100, 1000, 5000, 20_000, 100_000])
def test_no_payload_costs_less(distance: int) -> None:
    found = on_a_line(distance).payload
    least = min(range(BEAT, LONGEST + 1, BEAT), key=lambda payload: cost(payload, distance))
    assert found == pytest.approx(least, rel=0.05, abs=BEAT)
    assert found % BEAT == 0


def test_an_error_at_first_counts_by_the_few_bytes_since() -> None:
    """And less and less by the bytes behind it."""
    size = FrameSize(LONGEST)
    size.lost()
    found = [size.payload]
    for _ in range(3):
        size.sent(1 << 14)
        found.append(size.payload)
    assert found[0] == pytest.approx((OVERHEAD * 2048 / 1.25) ** 0.5 - OVERHEAD, abs=BEAT)
    assert found == sorted({*found})


def test_payloads_are_the_longest_again_behind_clean_bytes() -> None:
    size = on_a_line(1000)
    assert size.payload < 200
    for _ in range(2 * MEMORY // SEND):
        size.sent(SEND)
    assert size.payload < LONGEST
    for _ in range(6 * MEMORY // SEND):
        size.sent(SEND)
    assert size.payload == LONGEST
    size.lost()
    size.sent(MEMORY)
    assert size.payload == LONGEST


def test_an_error_that_was_very_long_ago_is_none() -> None:
    """Behind 90 megabytes its rate is so small that numbers end."""
    size = FrameSize(LONGEST)
    size.lost()
    found = set()
    for _ in range(1600):
        size.sent(MEMORY // 2)
        found.add(size.payload)
    assert max(found) == LONGEST == size.payload
