"""Stimuli on compiled units, checked for what they must bring."""

import random
from collections.abc import Iterable

import numpy as np

from adagrain.sim.simulators.stimulus import Stimulus

from .outcome import DeadlockError
from .ports import StreamPort
from .unit import CompiledUnit

__all__ = ["check_silence", "demand"]

Arrays = dict[str, np.ndarray]

#: Chances in 256 of which each stream draws its own: 0, 0.1, 0.5 and 0.9.
_CHANCES = (0, 26, 128, 230)

#: Cycles in which nothing unexpected may come out, and in which any unit begins to answer.
_AFTERMATH, _LATENCY = 20, 1000

#: Cycles for each element, whatever the chances.
_CYCLES = 40


def demand(
    unit: CompiledUnit,
    stimuli: Iterable[Stimulus],
    *,
    seed: int,
    idle: float | None = None,
    stall: float | None = None,
    cycles: int = _CYCLES,
) -> int:
    """Give stimuli, one after the other, and demand what each must bring; the cycles of all.

    Parameters
    ----------
    seed : int
        From it each stream draws its chance of idling or back-pressure, anew for each stimulus.
    idle, stall : float or None
        The chance of idling, and of back-pressure, where it is not to be drawn.
    cycles : int
        After so many for each element a stimulus has come to no end.

    Raises
    ------
    AssertionError
        At the first stream with other elements; the message tells them, and the seed.
    DeadlockError, RetractionError
        As :meth:`CompiledUnit.run`; a stimulus may come to no end.
    """
    generator = random.Random(seed)
    idles, stalls = (
        _CHANCES if chance is None else (round(256 * chance),) for chance in (idle, stall)
    )
    taken = 0
    for stimulus in stimuli:
        given, wanted = _begin(unit, stimulus)
        run = unit.run(
            given,
            {name: len(numbers) for name, numbers in wanted.items()},
            max_cycles=_LATENCY + cycles * sum(map(len, (*given.values(), *wanted.values()))),
            idle={name: generator.choice(idles) for name in given},
            stall={name: generator.choice(stalls) for name in wanted},
            seed=generator.getrandbits(32),
        )
        taken += run.cycles
        for name, numbers in wanted.items():
            _compare(unit.stream(name), numbers, run.outputs[name], seed)
        for name, value in stimulus.shown.items():
            got = unit.get(name)
            assert got == value, f"{name} must be {value}, not {got}: seed {seed}"
    return taken


def _begin(unit: CompiledUnit, stimulus: Stimulus) -> tuple[Arrays, Arrays]:
    """Set ports; what goes in and what must come out, as they lie in memory."""
    for name, value in stimulus.ports.items():
        unit.set(name, value)
    return (
        {name: unit.stream(name).encode(elements) for name, elements in stimulus.inputs.items()},
        {name: unit.stream(name).encode(elements) for name, elements in stimulus.outputs.items()},
    )


def _compare(port: StreamPort, wanted: np.ndarray, got: np.ndarray, seed: int) -> None:
    differs = wanted != got
    wrong = np.flatnonzero(differs if port.words == 1 else differs.any(axis=1))
    report = [
        f"{port.name}[{at}] must be {port.decode(wanted[at])[0]}, not {port.decode(got[at])[0]}"
        for at in wrong[:3]
    ]
    assert not wrong.size, f"{'; '.join(report)}; {wrong.size} of {len(wanted)} differ: seed {seed}"


def check_silence(unit: CompiledUnit, *outputs: str) -> None:
    """Demand that outputs have nothing more to deliver."""
    try:
        run = unit.run({}, dict.fromkeys(outputs, 1), max_cycles=_AFTERMATH)
    except DeadlockError as unfinished:
        run = unfinished.run
    for name, came in run.outputs.items():
        assert not came.size, (
            f"nothing more may come of {name}, not {unit.stream(name).decode(came)}"
        )
