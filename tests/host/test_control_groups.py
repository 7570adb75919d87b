"""Memory that control groups leave, in files as Linux has them."""

from pathlib import Path

import pytest

from adagrain.host.speculation import memory
from adagrain.host.speculation.control_groups import left_in_groups

#: Entries of the first and the second version.
STAT = "cache 900\nactive_file 20\ninactive_file 30\ntotal_active_file 40\ntotal_inactive_file 50\n"


def group(folder: Path, most: str | int, used: int, *, first: bool = False) -> None:
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if first else ()
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip(names or ("memory.max", "memory.current"), (most, used), strict=True):
        (folder / name).write_text(f"{value}\n")
    (folder / "memory.stat").write_text(STAT)


def left(folder: Path, *own: str) -> int | None:
    (folder / "own").write_text("".join(f"{line}\n" for line in own))
    return left_in_groups(folder, folder / "own")


def test_what_is_left_is_the_limit_less_what_is_used_but_for_files(tmp_path: Path) -> None:
    group(tmp_path / "a", 1000, 600)
    assert left(tmp_path, "0::/a") == 1000 - 600 + 20 + 30


def test_groups_around_it_have_limits_too(tmp_path: Path) -> None:
    group(tmp_path, "max", 9000)
    group(tmp_path / "a", 900, 600)
    group(tmp_path / "a" / "b", "max", 100)
    group(tmp_path / "a" / "b" / "c", 500, 100)
    assert left(tmp_path, "0::/a/b/c") == 900 - 600 + 50
    assert left(tmp_path, "0::/a/b") == 900 - 600 + 50
    assert left(tmp_path, "0::/") is None


def test_groups_of_the_first_version(tmp_path: Path) -> None:
    """A container sees its own as the outermost, and not what its path names."""
    group(tmp_path / "memory", 1000, 600, first=True)
    group(tmp_path / "cpu", 10, 6, first=True)
    assert left(tmp_path, "3:cpu,cpuacct:/a", "2:memory:/docker/f00", "0::/") == 1000 - 600 + 90


def test_no_groups(tmp_path: Path) -> None:
    assert left(tmp_path, "0::/somewhere") is None
    assert left_in_groups(tmp_path, tmp_path / "nothing") is None


@pytest.mark.parametrize(
    ("in_groups", "of_host", "wanted"),
    [(None, 5120, 5120), (99, 5120, 99), (99, None, 99)],
)
def test_the_least_counts(
    in_groups: int | None,
    of_host: int | None,
    wanted: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "left_in_groups", lambda: in_groups)
    monkeypatch.setattr(memory, "_MEMORY", tmp_path / "meminfo")
    if of_host is not None:
        (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 5 kB\n")
    assert memory._available() == wanted
