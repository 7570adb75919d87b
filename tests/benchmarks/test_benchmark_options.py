"""What the benchmarks refuse of their options, before anything is trained."""

from collections.abc import Callable

import compression
import learned_mask
import pytest

WHOLE = "must be a whole number from 1 on, not"
ABOVE_ZERO = "must be a number above 0, not"


@pytest.mark.parametrize(
    ("main", "line", "message"),
    [
        (compression.main, "--ways fp16 fast", "ways must be of dense, dense_nesterov, "),
        (compression.main, "--ways dense fp16 fp16", "ways must differ, but fp16 is given twice"),
        (compression.main, "--tasks mlp_0.1M mlp_0.1M", "tasks must differ, but mlp_0.1M is given"),
        (compression.main, "--seeds 0", f"--seeds: {WHOLE} 0"),
        (compression.main, "--steps 1.5", f"--steps: {WHOLE} 1.5"),
        (compression.main, "--link 0", f"--link: {ABOVE_ZERO} 0"),
        (compression.main, "--link=-5", f"--link: {ABOVE_ZERO} -5"),
        (compression.main, "--link inf", f"--link: {ABOVE_ZERO} inf"),
        (learned_mask.main, "--ways threshold_3kB fp16", "ways must be of threshold_5%, threshold"),
        (learned_mask.main, "--ways top_3kB top_3kB", "ways must differ, but top_3kB is given"),
        (learned_mask.main, "--seeds many", f"--seeds: {WHOLE} many"),
        (learned_mask.main, "--steps=-5", f"--steps: {WHOLE} -5"),
    ],
)
def test_options_that_are_refused(
    main: Callable[[], None],
    line: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmark.py", *line.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2 and message in capsys.readouterr().err
