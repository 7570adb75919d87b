"""The folder of a run: nothing is overwritten unasked, and two never train in one."""

import errno
import json
import multiprocessing
import shutil
from dataclasses import replace
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from adagrain.host.files import WriteError
from adagrain.host.train import folder
from adagrain.host.train.folder import (
    MARK,
    RunInUseError,
    begun,
    check_new,
    locked,
    read_options,
)
from adagrain.host.train.options import TrainingOptions


@pytest.fixture
def options(tmp_path: Path) -> TrainingOptions:
    return TrainingOptions(name="run", runs=tmp_path)


def test_nothing_is_overwritten_unasked(options: TrainingOptions) -> None:
    with begun(options):
        assert json.loads((options.folder / MARK).read_text())["name"] == "run"
        (options.folder / "precious").touch()
    with (
        pytest.raises(FileExistsError, match="choose another --name, or say --resume"),
        begun(options),
    ):
        pass
    assert (options.folder / "precious").exists()
    with begun(options, overwrite=True):
        assert not (options.folder / "precious").exists()


def test_foreign_folders_are_left_alone(options: TrainingOptions) -> None:
    options.folder.mkdir()
    (options.folder / "chapter").touch()
    with pytest.raises(FileExistsError, match="not the folder of a run"), begun(options):
        pass
    with (
        pytest.raises(FileExistsError, match="not the folder of a run"),
        begun(options, overwrite=True),
    ):
        pass
    assert [path.name for path in options.folder.iterdir()] == ["chapter"]


@pytest.mark.parametrize("name", ["timing", "data", "replay"])
def test_what_a_run_reads_is_not_overwritten_by_it(options: TrainingOptions, name: str) -> None:
    with begun(options):
        path = options.folder / "precious"
        path.touch()
    link = options.runs / "link"
    link.symlink_to(path)
    for found in (path, link):
        reads = replace(options, **{name: f"replay:{found}" if name == "timing" else str(found)})
        said = f"{name} must lie outside of {options.folder}, which is overwritten, not at {found}"
        with pytest.raises(ValueError, match=said), begun(reads, overwrite=True):
            pass
    assert path.exists()


def test_a_config_is_not_overwritten_by_its_run(options: TrainingOptions) -> None:
    with begun(options):
        own = options.folder / "mine.toml"
        own.touch()
    with pytest.raises(ValueError, match=f"config must lie outside of .*, not at {own}"):
        check_new(options, overwrite=True, config=own)
    check_new(options, overwrite=True, config=options.folder / MARK)


def test_a_run_may_have_the_name_of_its_data(
    options: TrainingOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(options.runs)
    digits = replace(options, name="digits", data="digits", timing="fixed")
    for _ in range(2):
        with begun(digits, overwrite=True):
            pass


def test_options_are_read_back_wherever_the_folder_lies(options: TrainingOptions) -> None:
    with begun(options):
        pass
    assert read_options(options.folder) == options
    moved = options.runs / "elsewhere" / "other"
    shutil.copytree(options.folder, moved)
    assert read_options(moved).folder == moved
    with pytest.raises(FileNotFoundError, match=f"there must be a run at {options.runs}/none to"):
        read_options(options.runs / "none")
    (moved / MARK).write_text('{"name": ')
    with pytest.raises(ValueError, match=f"{moved}/{MARK} must hold a run's options: Expecting"):
        read_options(moved)


def _wait(folder: Path, taken: Event, release: Event) -> None:
    with locked(folder):
        taken.set()
        release.wait(60)


def test_a_run_is_locked_until_its_process_ends(options: TrainingOptions) -> None:
    with begun(options):
        pass
    context = multiprocessing.get_context("spawn")
    taken, release = context.Event(), context.Event()
    other = context.Process(target=_wait, args=(options.folder, taken, release))
    other.start()
    assert taken.wait(60)
    message = f"run 'run' must not be under way, but process {other.pid} trains it"
    for _ in range(2):
        with pytest.raises(RunInUseError, match=message), locked(options.folder):
            pass
    with pytest.raises(RunInUseError, match=message), begun(options, overwrite=True):
        pass
    assert (options.folder / MARK).exists()
    other.kill()
    other.join()
    with locked(options.folder):
        pass


def test_a_folder_that_cannot_be_begun_is_not_left(
    options: TrainingOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str) -> None:
        raise WriteError(f"{path} cannot be written: No space left on device")

    monkeypatch.setattr(folder, "replace_text", full)
    with pytest.raises(WriteError, match=r"options\.json cannot be written"), begun(options):
        pass
    assert not options.folder.exists()
    monkeypatch.undo()
    with begun(options):
        (options.folder / "precious").touch()
    monkeypatch.setattr(folder, "replace_text", full)
    with pytest.raises(WriteError), begun(options, overwrite=True):
        pass
    assert read_options(options.folder) == options


def test_a_folder_that_cannot_be_locked_is_not_left(
    options: TrainingOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(WriteError, match="lock cannot be written: No space left"), begun(options):
        pass
    assert not options.folder.exists()


def test_what_links_lead_to_is_not_overwritten(options: TrainingOptions) -> None:
    kept = options.runs / "large disk"
    kept.mkdir()
    (kept / "precious").touch()
    with begun(options):
        (options.folder / "checkpoints").symlink_to(kept)
    with begun(options, overwrite=True):
        assert not (options.folder / "checkpoints").exists()
    assert (kept / "precious").exists()
