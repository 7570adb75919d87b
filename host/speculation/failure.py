"""Failure of a worker: nothing goes on with what may be half updated."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Failure"]


class Failure:
    """Remembers the first error that went through :meth:`watched`.

    Members
    -------
    error : BaseException or None
        That error.
    """

    error: BaseException | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Remember an error that is raised inside.

        Raises
        ------
        RuntimeError
            If there has been one before: a part of the weights may have an update that others,
            or other workers, have not.
        """
        if self.error is not None:
            raise RuntimeError(
                "speculation must not go on after it has failed, begin again from a checkpoint "
                f"({type(self.error).__name__}: {self.error})"
            ) from self.error
        try:
            yield
        except BaseException as error:
            self.error = self.error or error
            raise
