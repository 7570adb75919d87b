"""Weights that only updates may change while some of theirs are in flight."""

from collections.abc import Iterable, Mapping

from torch import nn

__all__ = ["Unchanged"]


class Unchanged:
    """Notices weights that somebody else has changed, by their versions.

    What is written through ``.data``, or NumPy's views, has no version of its own: it goes
    unnoticed.

    Parameters
    ----------
    names : mapping
        Names of the parameters of regions. Others, which controllers change, are not looked at.
    """

    def __init__(self, names: Mapping[nn.Parameter, str]) -> None:
        self._names = names
        self._versions: dict[nn.Parameter, int] = {}

    def begin(self) -> None:
        """From now on an update is in flight."""
        self.updated(self._names)

    def updated(self, parameters: Iterable[nn.Parameter]) -> None:
        """Parameters may have been changed till now."""
        self._versions.update((own, own._version) for own in parameters if own in self._names)

    def check(self, parameters: Iterable[nn.Parameter]) -> None:
        """See to it that nobody has changed parameters since.

        Raises
        ------
        RuntimeError
            If somebody has; the first one is named.
        """
        for parameter in parameters:
            if parameter in self._names and parameter._version != self._versions[parameter]:
                raise RuntimeError(
                    f"parameter {self._names[parameter]!r} must not be changed while an update of "
                    "it is in flight: call settle() before"
                )
