"""Memory that Linux's control groups leave to this process, as those of a container do."""

from pathlib import Path
from typing import NamedTuple

__all__ = ["left_in_groups"]


class _Kind(NamedTuple):
    """Folder and names of the files that a version of control groups has.

    Members
    -------
    folder : str
        Below that of all control groups.
    most, used : str
        Files with bytes.
    cached : tuple of str
        Entries of ``memory.stat``: what the kernel takes back from files that were read, if
        programs need it.
    """

    folder: str
    most: str
    used: str
    cached: tuple[str, ...]


_FIRST = _Kind(
    "memory",
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    ("total_active_file", "total_inactive_file"),
)
_SECOND = _Kind("", "memory.max", "memory.current", ("active_file", "inactive_file"))


def left_in_groups(
    groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> int | None:
    """Bytes that are left in this process's control group, and in those around it.

    Parameters
    ----------
    groups : Path
        Folder of all control groups.
    own : Path
        File that says which of them are this process's.

    Returns
    -------
    int or None
        The least of them; ``None`` where none has a limit.
    """
    if not own.is_file():
        return None
    found = []
    for line in own.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        kind = _FIRST if "memory" in controllers.split(",") else _SECOND
        if kind is _FIRST or not controllers:
            inner = Path(path.lstrip("/"))
            around = [inner, *inner.parents]
            found += [_left(kind, groups / kind.folder / group) for group in around]
    return min((left for left in found if left is not None), default=None)


def _left(kind: _Kind, group: Path) -> int | None:
    """Bytes that are left in a group; ``None`` where it has no limit, or is not seen from here."""
    try:
        most = (group / kind.most).read_text().strip()
        used = int((group / kind.used).read_text())
        rows = [line.split() for line in (group / "memory.stat").read_text().splitlines()]
    except OSError:
        return None
    if not most.isdecimal():  # "max"
        return None
    return int(most) - used + sum(int(size) for name, size in rows if name in kind.cached)
