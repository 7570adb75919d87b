"""The comparison with an earlier commit: of values, and of runs of a tree of its own."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import earlier
import pytest
import typer
from _report import recorded
from typer.testing import CliRunner

ROOT = Path(earlier.__file__).parents[1]


def has_commits() -> bool:
    """True if git knows this tree: it was cloned, not unpacked, and git may read it."""
    if not shutil.which("git"):
        return False
    asked = ["git", "-C", str(ROOT), "rev-parse", "-q", "--verify", "HEAD"]
    return not subprocess.run(asked, capture_output=True, check=False).returncode


needs_repository = pytest.mark.skipif(not has_commits(), reason="there is no commit to read")


def test_values_are_compared_by_their_names() -> None:
    found = earlier.Comparison()
    found.add(
        {"loss": 1.0, "old": 1, "regions": [{"name": "a", "cadence": 1}]},
        {"loss": 1.0, "new": 1, "regions": [{"name": "a", "cadence": 2}]},
    )
    assert found.compared == 3
    assert found.differing == {".regions.cadence"}
    assert (found.earlier, found.now) == ({".old"}, {".new"})


def test_renamed_values_are_compared() -> None:
    found = earlier.Comparison()
    found.add({"units": {"a": 1, "b": 2}}, {"channel_groups": {"a": 1, "b": 3}})
    assert (found.compared, found.differing) == (2, {".channel_groups.b"})
    assert not found.earlier | found.now


@pytest.mark.parametrize(("one", "other"), [([1, 2], [1]), ([1], [1, None, 2]), ({}, [])])
def test_what_one_side_alone_has_differs(one: object, other: object) -> None:
    found = earlier.Comparison()
    found.add({"log": one}, {"log": other})
    assert found.differing == {".log"}


def test_without_a_commit_it_is_the_recorded_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `make bench` calls it."""
    asked = []

    def checked_out(commit: str, folder: Path) -> Path:
        asked.append(commit)
        return folder

    def trained(tree: Path, runs: Path, *options: str) -> dict[str, Any]:
        return {"accuracy": 1.0}

    monkeypatch.setattr(earlier, "checked_out", checked_out)
    monkeypatch.setattr(earlier, "trained", trained)
    app = typer.Typer()
    app.command()(earlier.main)
    done = CliRunner().invoke(app)
    assert done.exit_code == 0, done.output
    assert asked == [recorded("earlier")["commit"]] and "--record keeps it" in done.output


@needs_repository
def test_a_commit_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="must be one of this repository, not 'nosuch'"):
        earlier.checked_out("nosuch", tmp_path / "tree")


@needs_repository
@pytest.mark.full
def test_a_run_of_a_changed_tree_differs(tmp_path: Path) -> None:
    """The tree's own code runs, not today's: a run with another momentum ends elsewhere."""
    tree = earlier.checked_out("HEAD", tmp_path / "tree")
    options = ("--preset", "sync", "--steps", "3", "--workers", "1")
    now = earlier.trained(tree, tmp_path / "now", *options)
    options_of_runs = tree / "host" / "train" / "options.py"
    text = options_of_runs.read_text()
    assert text.count("momentum: float = option(0.9,") == 1
    options_of_runs.write_text(text.replace("option(0.9,", "option(0.8,"))
    found = earlier.Comparison()
    found.add(now, now)
    assert not found.differing and found.compared > 20
    found.add(now, earlier.trained(tree, tmp_path / "changed", *options))
    assert {".weights_sha256", ".log.regions.update.n"} <= found.differing
