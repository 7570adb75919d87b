"""Regions that are due, step by step."""

import random

from adagrain.host.distributed.clock import Clock


def test_regions_are_due_where_their_cadence_divides_the_steps() -> None:
    clock = Clock([1, 2, 1, 4], 4)
    changes = {3: {0: 2, 2: 4, 3: 1}, 7: {0: 1, 1: 1, 2: 1, 3: 1}, 11: {2: 2}}
    cadences = [1, 2, 1, 4]
    for step in range(16):
        assert (clock.step, clock.cadences) == (step, cadences)
        assert clock.due == [r for r, cadence in enumerate(cadences) if (step + 1) % cadence == 0]
        assert clock.due == [r for r in range(4) if clock.is_due(r)]
        assert clock.slow == {r for r, cadence in enumerate(cadences) if cadence > 1}
        assert clock.closes_epoch == (step % 4 == 3)
        change = changes.get(step, {})
        clock.advance(change)
        cadences = [change.get(r, cadence) for r, cadence in enumerate(cadences)]


def test_a_clock_is_set_to_any_step() -> None:
    clock = Clock([1, 1], 4)
    clock.restore(5, [1, 4])
    assert (clock.step, clock.cadences, clock.due, clock.slow) == (5, [1, 4], [0], {1})
    clock.advance({})
    clock.advance({})
    assert (clock.step, clock.due) == (7, [0, 1])


def test_another_cadence_waits_until_a_period_of_both_begins() -> None:
    clock = Clock([4, 2, 1], 4)
    clock.restore(1, [4, 2, 1])
    clock.change({0: 1, 1: 4, 2: 2})
    assert (clock.cadences, clock.coming) == ([4, 2, 1], {0: 1, 1: 4, 2: 2})
    clock.advance({})
    assert (clock.cadences, clock.coming) == ([4, 2, 2], {0: 1, 1: 4})
    resumed = Clock([1, 1, 1], 4)
    resumed.restore(clock.step, clock.cadences, clock.coming)
    for own in (clock, resumed):
        own.change({1: 2})
        assert (own.cadences, own.coming) == ([4, 2, 2], {0: 1})
        own.advance({})
        own.advance({})
        assert (own.step, own.cadences, own.coming) == (4, [1, 2, 2], {})


def test_a_region_is_due_with_as_many_steps_as_its_cadence_has() -> None:
    """Whenever others are decided on."""
    chosen = random.Random(3)
    for _ in range(50):
        clock, gathered = Clock([chosen.choice((1, 2, 4, 8))], 8), 0
        for _ in range(100):
            gathered = 1 if clock.begins(0) else gathered + 1
            if clock.is_due(0):
                assert gathered == clock.cadences[0]
                gathered = 0
            cadences = {0: chosen.choice((1, 2, 4, 8))} if chosen.random() < 0.2 else {}
            clock.advance(cadences)
            assert not gathered or not clock.begins(0)
