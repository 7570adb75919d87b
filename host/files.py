"""Files: written whole or not at all, and named where they cannot be written."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

__all__ = ["WriteError", "closing", "file_sha256", "replace_file", "replace_text", "writing"]


class WriteError(OSError):
    """A file cannot be written; the message names it, and why."""


class _Sink:
    """A file that is written once from its beginning to its end.

    Parameters
    ----------
    file : binary file
        Where the bytes go.

    Members
    -------
    error : OSError or None
        The first error; :func:`torch.save` hides it behind one of its own.
    """

    error: OSError | None = None

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Hash of what was to be written, whatever the disk has made of it."""
        return self._digest.hexdigest()

    def write(self, content: bytes) -> int:
        """Append bytes; their number."""
        self._digest.update(content)
        with self._watched():
            return self._file.write(content)

    def flush(self) -> None:
        """Have everything in the file."""
        with self._watched():
            self._file.flush()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.error = self.error or error
            raise


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name a file in the error where it cannot be written, as on a full disk.

    Raises
    ------
    WriteError
        In place of any other ``OSError``.
    """
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {error.strerror or error}") from error


def closing(path: Path, error: object) -> AbstractContextManager[None]:
    """As :func:`writing`, where a file ends; silent if an error is on its way already."""
    return suppress(OSError) if error else writing(path)


def replace_file(
    path: Path,
    write: Callable[[IO[bytes]], object],
    check: Callable[[Path], None] = lambda _: None,
) -> str:
    """Write a file under another name, have it on the disk, then give it its name.

    Parameters
    ----------
    path : Path
        The file.
    write : callable
        Given where its content goes.
    check : callable
        Given the new file while what was there before is still there; raises what is wrong.

    Returns
    -------
    str
        SHA-256 of its content.

    Raises
    ------
    WriteError
        If that is not possible; what was there before is still there.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        with writing(path):
            with temporary.open("wb") as file:
                sink = _Sink(file)
                try:
                    write(cast(IO[bytes], sink))
                except Exception:
                    if sink.error:
                        raise sink.error from None
                    raise
                file.flush()
                os.fsync(file.fileno())
            check(temporary)
            temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    return sink.sha256


def replace_text(path: Path, text: str) -> None:
    """As :func:`replace_file`, with a text."""
    replace_file(path, lambda file: file.write(text.encode()))


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
