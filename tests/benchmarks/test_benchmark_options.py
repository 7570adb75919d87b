"""What the benchmarks refuse of their options, before anything is trained."""

import re
from collections.abc import Callable
from functools import partial

import codec
import compression
import earlier
import granular
import learned_mask
import presets
import pytest
import speculation
import speculation_faults
import speculation_loss
import speculation_thresholds
import typer

WHOLE = "must be a whole number from 1 on, not"
NAME = "must be a plain name of at most 100 letters, digits, _, %, . or -, not"
FROM_ZERO = "must be a number from 0 on, not"
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
        (compression.main, "--record /no/where", f"--record: {NAME} '/no/where'"),
        (compression.main, "--record ..", f"--record: {NAME} '..'"),
        (codec.main, "--rounds 0", f"--rounds: {WHOLE} 0"),
        (learned_mask.main, "--record a/b", f"--record: {NAME} 'a/b'"),
        (learned_mask.main, "--ways threshold_3kB fp16", "ways must be of threshold_5%, threshold"),
        (learned_mask.main, "--ways top_3kB top_3kB", "ways must differ, but top_3kB is given"),
        (learned_mask.main, "--seeds many", f"--seeds: {WHOLE} many"),
        (learned_mask.main, "--steps=-5", f"--steps: {WHOLE} -5"),
        (speculation.main, "--repeats 0", f"--repeats: {WHOLE} 0"),
        (speculation.main, f"--record {'x' * 101}", f"--record: {NAME} 'xxx"),
        (speculation.main, "--steps 0", f"--steps: {WHOLE} 0"),
        (speculation.main, "--tau nan", f"--tau: {FROM_ZERO} nan"),
        (speculation.main, "--forward=-20", f"--forward: {FROM_ZERO} -20"),
        (speculation.main, "--ways ddp ddp", "ways must differ, but ddp is given twice"),
        (speculation_loss.main, "--seeds 0", f"--seeds: {WHOLE} 0"),
        (speculation_loss.main, "--steps 0", f"--steps: {WHOLE} 0"),
        (speculation_loss.main, "--tau=-1", f"--tau: {FROM_ZERO} -1"),
        (speculation_loss.main, "--ways ddp fast", "ways must be of ddp, ddp 1, "),
        (speculation_faults.main, "--steps 0", f"--steps: {WHOLE} 0"),
        (speculation_faults.main, "--checkpoint-every 0", f"--checkpoint-every: {WHOLE} 0"),
        (speculation_faults.main, "--interval 0", f"--interval: {ABOVE_ZERO} 0"),
        (speculation_faults.main, "--time-out=-8", f"--time-out: {ABOVE_ZERO} -8"),
        (speculation_thresholds.main, "--seeds 0", f"--seeds: {WHOLE} 0"),
        (speculation_thresholds.main, "--workers 2 1", "workers must be 2 to 8, not 1"),
        (speculation_thresholds.main, "--workers 2 2", "workers must differ, but 2 is given twice"),
        (partial(typer.run, presets.main), "--seeds 0", f"'--seeds': {WHOLE} 0"),
        (partial(typer.run, granular.main), "--seeds=-1", f"'--seeds': {WHOLE} -1"),
        (partial(typer.run, earlier.main), "--seeds 0", f"'--seeds': {WHOLE} 0"),
        (partial(typer.run, earlier.main), "--steps 0", f"'--steps': {WHOLE} 0"),
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


@pytest.mark.parametrize(
    ("main", "line", "message"),
    [
        (
            compression.main,
            "--steps 240 --tasks conv_0.3M --ways fp16 --record",
            "record compression_240_steps_conv_0.3M must have conv_0.3M_dense_nesterov, ",
        ),
        (
            learned_mask.main,
            "--seeds 4 --record",
            "learned_mask must have 5 runs of a way or more, not 4",
        ),
        (speculation.main, "--ways ddp --record", "speculation_100_20 must have ddp 1, "),
        (speculation_loss.main, "--seeds 9 --record", "_100_20 must have 10 runs of a way or more"),
        (partial(typer.run, presets.main), "--seeds 1 --record", "presets must have 10 runs of a"),
    ],
)
def test_records_that_are_not_replaced_by_less(
    main: Callable[[], None], line: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmark.py", *line.split()])
    with pytest.raises(SystemExit, match=re.escape(message)):
        main()
