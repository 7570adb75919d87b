"""Panels of a speculative run's picture: guesses in the states of regions, and times of updates."""

from matplotlib.axes import Axes

from .history import History

__all__ = ["draw_times", "mark_guesses"]

_ACCEPTED, _REJECTED = "#15803d", "#dc2626"


def mark_guesses(axes: Axes, history: History) -> None:
    """Mark what became of guesses in a strip of the regions' states.

    A step's marks are of the guesses that its results stand on, or did before they were done
    again: below the middle of a region's band where one was accepted on some worker, above it
    where one was rejected.

    Parameters
    ----------
    axes : Axes
        The strip; its bands are those of the regions, 1 high, the first from 0 on.
    history : History
        The run's.
    """
    for band, region in enumerate(history.regions.values()):
        guesses = list(zip(region.step, region.accepts, region.trials, strict=True))
        accepted = [step + 0.5 for step, accepts, _ in guesses if accepts]
        rejected = [step + 0.5 for step, accepts, trials in guesses if accepts < trials]
        for steps, height, colour in ((rejected, 0.27, _REJECTED), (accepted, 0.73, _ACCEPTED)):
            axes.vlines(steps, band + height - 0.17, band + height + 0.17, colour, linewidth=1.0)
    axes.set_title(
        "state: how the region runs while its update is in flight; guesses accepted (green), "
        "rejected (red)"
    )


def draw_times(axes: Axes, history: History) -> None:
    """Draw the milliseconds that each update was hidden for, and waited for, on this worker."""
    hidden = [1e3 * own.hidden for own in history.flown]
    waited = [1e3 * own.waited for own in history.flown]
    axes.stackplot(
        history.steps,
        [hidden, waited],
        colors=("#99c2a2", _REJECTED),
        labels=("hidden", "waited for"),
        linewidth=0,
    )
    axes.legend(loc="upper right", frameon=False, ncols=2)
    axes.set_ylim(bottom=0)
    axes.set_title("ms of each update in flight: hidden behind something else, and waited for")
