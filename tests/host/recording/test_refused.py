"""Runs that are not those of the recording which they shall replay."""

from pathlib import Path

import pytest
from recordings import Runs

from adagrain.models.interface.recording import file_of

REFUSED = {
    "other_depth": ({"depth": 2}, "ValueError: depth must be 1 as recorded, not 2"),
    "other_cadences": ({"cadences": {"0": 2}}, "ValueError: cadences must be "),
    "other_bucket_bytes": (
        {"bucket_bytes": None},
        "ValueError: bucket_bytes must be 1 as recorded, not None",
    ),
    "bypass": (
        {"compression": {}},
        "ValueError: bypass of compression must be 'never', 'always', or decisions by number",
    ),
    "other_options": ({"tau": 0.25}, "ValueError: tau must be 1.0 as recorded, not 0.25 ("),
    "other_policy": (
        {"policy": "never"},
        "ValueError: policy must be <SpeculationPolicy.ALWAYS: 3> as recorded, not <Spe",
    ),
    "other_rate": (
        {"rate": 0.06},
        "ValueError: lr of group 0 of SGD must be 0.05 as recorded, n",
    ),
    "other_regions": (
        {"network": "residual"},
        "ValueError: number of regions must be 4 as recorded, not 5",
    ),
    "both": ({"record": "x"}, "ValueError: record must be None where a recording is replayed"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_another_run_is_refused(case: str, recorded: Path, workers: Runs) -> None:
    options, said = REFUSED[case]
    for worker in workers({"replay": str(recorded)} | options):
        assert worker.returncode == 1 and said in worker.error, worker.stderr[-3000:]


def test_another_number_of_workers_is_refused(recorded: Path, workers: Runs) -> None:
    ended = workers({"replay": str(recorded)}, count=3)
    for worker in ended[:2]:
        assert "RecordingError: workers must be 2 as recorded, not 3 (" in worker.error
    said = f"RecordingError: there must be a recording at {file_of(recorded, 2)}, but there is no"
    assert said in ended[2].error
