"""Regions that are due, step by step."""

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
