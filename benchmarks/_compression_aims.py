"""What the compressed exchange is to reach, and where figures of a run fall short of it."""

from collections.abc import Iterator, Mapping
from typing import Any

from _figures import mean

__all__ = ["beyond_aims_of_link", "beyond_aims_of_losses", "beyond_aims_of_time"]

#: By the Mbit/s of a link: a way of ours, and how many times as fast as FP16 it is to come to the
#: lowest loss of both.
_LINKS = {
    10: ("nesterov_1%_2_bits", 5.0),
    100: ("nesterov_1%_2_bits", 1.5),
    1000: ("auto_1%", 0.97),
}

#: By the Mbit/s of a link: that way, and what part of FP16's time its steps may take.
_TIMES = {1000: ("auto_1%", 1.03)}

#: Links on which it is to be ahead of all others, too.
_AHEAD = {10}

#: How the others' names begin.
_OTHERS = "powersgd", "local_sgd"

#: How many times fewer bytes than FP16, and the most of its loss that a way may have there.
_LOSSES = {30: 1.005, 100: 1.02}


def beyond_aims_of_link(mbit: float, figures: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Where the run on a link falls short.

    Parameters
    ----------
    mbit : float
        That of the link.
    figures : mapping
        By way, what came of it; no aim is asked where ours is not among them.
    """
    way, least = _LINKS.get(int(mbit), ("", 0.0))
    if way not in figures:
        return
    sooner = {name: mean(own["times_faster_to_common_loss"]) for name, own in figures.items()}
    if sooner[way] < least:
        yield f"{way} must be at least {least:g} times as fast as fp16, not {sooner[way]:.3f}"
    others = {name: fast for name, fast in sooner.items() if name.startswith(_OTHERS)}
    best = max(others, key=others.__getitem__, default=way)
    if int(mbit) in _AHEAD and sooner[best] > sooner[way]:
        yield f"{way} must be faster than {best}, {sooner[best]:.3f}, not {sooner[way]:.3f}"


def beyond_aims_of_time(mbit: float, figures: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Where steps on a link take too long; parameters as :func:`beyond_aims_of_link`."""
    way, most = _TIMES.get(int(mbit), ("", 0.0))
    if way in figures and (found := figures[way]["time_to_first"]) > most:
        yield f"steps of {way} must take at most {most:g} of fp16's time, not {found:.3f}"


def beyond_aims_of_losses(task: str, figures: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Where the losses of a task fall short of what they are to be at so many fewer bytes."""
    for fewer, most in _LOSSES.items():
        found = [own["loss_to_first"] for own in figures.values() if own["bytes_of_first"] >= fewer]
        best = min(found, default=float("inf"))
        if best > most:
            yield f"loss of {task} at 1/{fewer} must be at most {most} of fp16's, not {best:.4f}"
