"""Commands that are answered, on their way, or to be sent again."""

import pytest

from adagrain.host.link.flight import Flight
from adagrain.models.interface.units.system import SystemOpcode
from adagrain.models.link import Frame


def reply(sequence: int) -> Frame:
    return Frame(1, sequence, SystemOpcode.ECHO)


def frame(sequence: int) -> bytes:
    return b"frame %d" % sequence


def flight_of(count: int) -> Flight:
    flight = Flight()
    for sequence in range(count):
        flight.add(sequence, frame(sequence))
    return flight


def test_an_empty_flight() -> None:
    flight = Flight()
    assert len(flight) == flight.repeats == 0
    assert flight.missing() == []


def test_answers_are_given_in_the_order_of_commands() -> None:
    flight = flight_of(3)
    assert flight.answered(reply(2)) == []
    assert len(flight) == 3
    assert [due.sequence for due in flight.answered(reply(0))] == [0]
    assert flight.oldest == 1
    assert flight.frame == frame(1)
    assert [due.sequence for due in flight.answered(reply(1))] == [1, 2]
    assert len(flight) == 0


def test_an_answer_seals_the_fate_of_what_was_sent_before() -> None:
    """And of nothing that was sent behind it."""
    flight = flight_of(4)
    flight.answered(reply(2))
    assert flight.missing() == [frame(0), frame(1)]
    assert flight.missing() == []
    assert flight.repeats == 1


@pytest.mark.parametrize("sequence", [0, 1, 7], ids=["before", "just now", "never sent"])
def test_answers_that_say_nothing_new_are_passed_over(sequence: int) -> None:
    flight = flight_of(4)
    flight.answered(reply(0))
    flight.answered(reply(2))
    flight.missing()  # 1 is sent again, behind 3
    assert [due.sequence for due in flight.answered(reply(1))] == [1, 2]
    assert flight.answered(reply(sequence)) == []
    assert len(flight) == 1
    assert flight.missing() == [frame(3)]


def test_an_answer_to_a_repeat_seals_fates_too() -> None:
    """Also where the command was answered before."""
    flight = flight_of(3)
    assert flight.back_to(0) == [frame(0), frame(1), frame(2)]
    assert flight.answered(reply(1)) == []
    assert flight.missing() == [], "0 is on its way once more"
    assert flight.answered(reply(1)) == []
    assert flight.missing() == [frame(0)]
    assert [due.sequence for due in flight.answered(reply(0))] == [0, 1]
    assert len(flight) == 1


def test_what_was_answered_before_it_was_sent_is_not_answered() -> None:
    flight = flight_of(1)
    assert flight.answered(reply(1)) == []
    flight.add(1, frame(1))
    assert [due.sequence for due in flight.answered(reply(0))] == [0]
    assert flight.oldest == 1


def test_a_refusal_tells_of_the_frame_that_was_sent_first() -> None:
    flight = flight_of(3)
    assert flight.refused(0)
    assert flight.back_to(0) == [frame(0), frame(1), frame(2)]
    assert not flight.refused(0), "the refusal of 1: 0 is on its way again"
    assert not flight.refused(0), "the refusal of 2"
    assert flight.repeats == 1
    assert flight.refused(0), "the repeat was refused too"


def test_a_refusal_that_waits_for_what_was_answered_or_never_sent_is_passed_over() -> None:
    flight = flight_of(2)
    flight.answered(reply(0))
    assert not flight.refused(0)
    assert not flight.refused(7)


def test_going_back_leaves_out_what_was_answered() -> None:
    flight = flight_of(4)
    flight.answered(reply(2))
    assert flight.back_to(1) == [frame(1), frame(3)]
    assert flight.repeats == 0, "the oldest was not sent again"


def test_an_abandoned_wire_holds_one_torn_frame() -> None:
    flight = flight_of(3)
    assert flight.refused(0)
    flight.cut()
    assert flight.back_to(0) == [frame(0), frame(1), frame(2)]
    assert not flight.refused(0), "what the torn frame caused"
    assert flight.refused(0), "of the first repeat"


def test_a_damaged_answer_belongs_to_the_frame_that_was_sent_first() -> None:
    flight = flight_of(2)
    flight.unreadable()
    assert flight.missing() == [frame(0)]
    flight.unreadable()
    flight.unreadable()
    assert flight.missing() == [frame(0), frame(1)]
    assert flight.repeats == 2


def test_damaged_answers_from_an_empty_wire_are_borne() -> None:
    flight = Flight()
    flight.unreadable()
    assert not flight.refused(0)
    assert flight.missing() == []


def test_nothing_is_on_its_way_after_a_deadline() -> None:
    flight = flight_of(3)
    flight.answered(reply(1))
    flight.missing()
    flight.overdue()
    assert flight.missing() == [frame(0), frame(2)]
    assert flight.repeats == 2
