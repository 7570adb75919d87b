"""Timers around the methods that are a registered model's stages."""

import statistics
import time
from collections import defaultdict
from typing import Any

import adagrain
from adagrain.host.device.coprocessor import Coprocessor

__all__ = ["Stages"]


class Stages:
    """Seconds of each step, by stage; what one does inside another counts for the inner one."""

    def __init__(self) -> None:
        self._steps: list[dict[str, float]] = []
        self._watched: list[int] = []
        self._running: list[float] = []
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def watch(self, state: adagrain.AdagrainState) -> None:
        """Put timers around the stages of a registered model, perhaps one that goes on."""
        self._watched.append(len(self._steps))
        reducer = state.reducer
        self.watch_device(state.device)
        self._time("exchange", reducer._exchange, "begin")
        self._time("exchange", reducer._gather, "wait")
        self._time("agreement", reducer._stages.agreement, "begin", "end")
        self._time("lockstep", reducer, "begin_pass")
        self._time("lockstep", state._lockstep, "post", "look")
        self._time("optimizer", state._steps, "_begin", "_check_step")
        self._time("optimizer", state._steps._optimizers[0], "fill", "keep", "stand_in")
        self._time("accumulators", reducer, "add_together", "averages_together")
        self._time("accumulators", reducer, "write_back")
        self._time("rest", state, "take")
        self._time("rest", reducer, "decide")

    def watch_device(self, device: Coprocessor) -> None:
        """Put timers around what a worker asks of its device in a step."""
        self._time("statistics", device, "statistics_of", "energies_of")
        self._time("differences", device, "differences_of")
        self._time("decisions", device, "update_regions")

    def end_step(self) -> None:
        """Begin to add up anew."""
        self._steps.append(dict(self._seconds))
        self._seconds.clear()

    def shares(self, step: float, *, skip: int) -> dict[str, float]:
        """Mean seconds of each stage, as parts of a step's seconds.

        So many steps do not count of each model that is watched, its first ones.
        """
        cold = {first + n for first in self._watched or [0] for n in range(skip)}
        counted = [found for n, found in enumerate(self._steps) if n not in cold]
        names = dict.fromkeys(name for found in self._steps for name in found)
        return {
            name: statistics.fmean(found.get(name, 0.0) for found in counted) / step
            for name in names
        }

    def last_ms(self, steps: int = 32) -> dict[str, float]:
        """Mean milliseconds of each stage in the last steps."""
        last = self._steps[-steps:]
        names = dict.fromkeys(name for found in last for name in found)
        return {
            name: 1e3 * statistics.fmean(found.get(name, 0.0) for found in last) for name in names
        }

    def _time(self, stage: str, owner: Any, *methods: str) -> None:
        for method in methods:
            setattr(owner, method, self._timed(stage, getattr(owner, method)))

    def _timed(self, stage: str, function: Any) -> Any:
        def run(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            self._running.append(0.0)
            try:
                return function(*arguments, **options)
            finally:
                took = time.perf_counter() - began
                self._seconds[stage] += took - self._running.pop()
                if self._running:
                    self._running[-1] += took

        return run
