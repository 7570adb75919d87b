"""The course that the options ask for."""

from collections.abc import Sequence
from pathlib import Path

import torch.distributed as dist

from .course import Course
from .options import SpeculationOptions
from .recorded_course import RecordedCourse
from .replayed_course import ReplayedCourse

__all__ = ["chosen_course"]


def chosen_course(
    options: SpeculationOptions, names: Sequence[str], group: dist.ProcessGroup
) -> Course:
    """Live, recorded, or that of a recording.

    Parameters
    ----------
    names : sequence of str
        Of the regions.
    group : ProcessGroup
        The workers.

    Raises
    ------
    FileExistsError, RecordingError
        If the folder has a recording already, or has none.
    """
    who = dist.get_rank(group), dist.get_world_size(group), names
    if options.record is not None:
        return RecordedCourse(Path(options.record), *who)
    if options.replay is not None:
        return ReplayedCourse(Path(options.replay), *who)
    return Course()
