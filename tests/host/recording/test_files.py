"""Files of recordings: what they hold, what a crash leaves, and what is none."""

import re
from pathlib import Path

import pytest
from recordings import Runs, first, found, write

from adagrain.models.interface.recording import (
    FIELDS,
    Kind,
    RecordingError,
    file_of,
    read_entries,
)


def test_a_file_has_the_course_of_its_worker(recorded: Path) -> None:
    for rank in (0, 1):
        entries = [*read_entries(file_of(recorded, rank))]
        assert {entry["kind"] for entry in entries} == {*Kind} - {Kind.PLANNED}
        assert [entry["kind"] for entry in entries[:2]] == [Kind.HEADER, Kind.STATE]
        assert entries[0]["worker"] == rank and entries[-1]["kind"] == Kind.END
        committed = [entry for entry in entries if entry["kind"] == Kind.COMMITTED]
        decided = [entry for entry in entries if entry["kind"] == Kind.DECIDED]
        assert [entry["step"] for entry in committed] == [*range(12)]
        assert [entry["step"] for entry in decided] == [*range(12)]
        assert all(entry.keys() == {"kind", *FIELDS[Kind(entry["kind"])]} for entry in entries)
    zero, one = ([*read_entries(file_of(recorded, rank))] for rank in (0, 1))
    for kind in (Kind.DECIDED, Kind.END, Kind.STATE):
        assert [e for e in zero if e["kind"] == kind] == [e for e in one if e["kind"] == kind]


def test_a_file_has_the_chosen_buckets(planned: Path) -> None:
    zero, one = ([*read_entries(file_of(planned, rank))] for rank in (0, 1))
    for entries in (zero, one):
        chosen = first(entries, Kind.PLANNED)
        assert chosen["step"] == 3
        assert [name for own in chosen["buckets"] for name in own] == ["6", "4", "1", "0"]
        before = entries[: entries.index(chosen)]
        assert sum(entry["kind"] == Kind.COMMITTED for entry in before) == 3
        decided = [entry for entry in entries if entry["kind"] == Kind.DECIDED]
        assert [entry["step"] for entry in decided] == [*range(12)]
    assert first(zero, Kind.PLANNED) == first(one, Kind.PLANNED)


def test_a_recording_is_never_overwritten(recorded: Path, workers: Runs) -> None:
    before = file_of(recorded, 0).read_text()
    said = "FileExistsError: record must be a folder without a recording, but there is"
    for worker in workers({"record": str(recorded)}):
        assert worker.returncode == 1 and said in worker.error, worker.stderr[-3000:]
    assert file_of(recorded, 0).read_text() == before


def test_a_crash_loses_nothing(workers: Runs, tmp_path: Path) -> None:
    """What was recorded before a worker was killed is there, and is replayed as far as it goes."""
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    killed = workers({"record": str(cut), "killed": 7})
    assert all(worker.returncode for worker in killed)
    found(workers({"record": str(whole)}))
    for rank in (0, 1):
        entries, all_of_them = ([*read_entries(file_of(f, rank))] for f in (cut, whole))
        kinds = [(e["kind"], e.get("step")) for e in entries]
        assert (Kind.COMMITTED, 6) in kinds
        assert kinds == [(e["kind"], e.get("step")) for e in all_of_them][: len(kinds)]
    for worker in workers({"replay": str(cut)}):
        assert re.search(
            "step 7: the run must end as its recording does, but goes on", worker.error
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must be a recording, but has no header of one"),
        ('{"step": 0}\n', "must be a recording, but has no header of one"),
        ('{"kind": "header"', "must be a recording, but its header is cut off at byte 17"),
        ('{"steps": 3}', "must be a recording, but has no header of one"),
        ("1\n", "must be a recording, but has no header of one"),
        ('{"format": "adagrain recording", "version": 2}\n', "recording of version 1, not 2"),
        ('{"format": "adagrain recording", "version": 1}\n', "must have the fields format, ver"),
        ("{header}[]\n", r"line 2 of .* must be a JSON object with the fields of its kind, not"),
        ('{header}{"kind": "none"}\n', "line 2 of"),
        ('{header}{"kind": "end", "step": 0}\n', "line 2 of"),
        ('{header}{"kind": "arrived", "step": 0, "look": 0, "regions": 7}\n', "line 2 of"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(
    text: str, said: str, recorded: Path, tmp_path: Path
) -> None:
    header = file_of(recorded, 0).read_text().splitlines(keepends=True)[0]
    path = tmp_path / "file"
    path.write_text(text.replace("{header}", header))
    with pytest.raises(RecordingError, match=said):
        [*read_entries(path)]


@pytest.mark.parametrize("part", ["update", "decision"])
@pytest.mark.parametrize("value", [{}, None, {"region": "none"}])
def test_a_decided_line_without_its_integers_is_refused(
    part: str, value: object, recorded: Path, tmp_path: Path
) -> None:
    entries = [*read_entries(file_of(recorded, 0))]
    decided = first(entries, Kind.DECIDED)
    decided["regions"]["4"][part] = value
    path = write(tmp_path / "file", entries)
    said = f"line {entries.index(decided) + 1} of {path} must have the integers region, "
    with pytest.raises(RecordingError, match=f"{said}.*, in the {part} of region '4'"):
        [*read_entries(path)]


def test_a_line_that_was_cut_short_is_left_out(recorded: Path, tmp_path: Path) -> None:
    text = file_of(recorded, 0).read_text()
    path = tmp_path / "file"
    path.write_text(text[:-10])
    assert [*read_entries(path)] == [*read_entries(file_of(recorded, 0))][:-1]
