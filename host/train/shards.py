"""The samples that each worker takes in each step."""

from typing import Any

import torch

__all__ = ["Shards"]


class Shards:
    """Disjoint shards of a permutation; each pass over the data draws it anew, from the seed.

    In each step the next ``workers × batch`` samples of the permutation are cut into one batch
    per worker, in rank order; what is left at the end is left out of the pass.

    Parameters
    ----------
    samples : int
        Size of the training part.
    batch : int
        Samples per worker and step.
    workers, rank : int
        How many shards there are, and which is this worker's.
    seed : int
        Of the permutations; all workers must use the same.

    Raises
    ------
    ValueError
        If one step of all workers takes more samples than there are.
    """

    def __init__(self, samples: int, *, batch: int, workers: int, rank: int, seed: int) -> None:
        if workers > samples:
            raise ValueError(f"workers must be at most {samples}, one a sample, not {workers}")
        if workers * batch > samples:
            raise ValueError(
                f"batch must be at most {samples // workers} for {workers} workers and "
                f"{samples} samples, not {batch}"
            )
        self._samples = samples
        self._batch = batch
        self._workers = workers
        self._rank = rank
        self._seed = seed
        self.epoch = 0
        self._next = 0
        self._permutation = self._draw()

    @property
    def steps_per_epoch(self) -> int:
        """Steps until the permutation is used up."""
        return self._samples // (self._workers * self._batch)

    def next(self) -> torch.Tensor:
        """Indices of this worker's next batch, int64 of shape ``(batch,)``."""
        if self._next == self.steps_per_epoch:
            self.epoch += 1
            self._next = 0
            self._permutation = self._draw()
        start = (self._next * self._workers + self._rank) * self._batch
        self._next += 1
        return self._permutation[start : start + self._batch]

    def state_dict(self) -> dict[str, Any]:
        """Place of the cursor; the same on all workers."""
        return {"epoch": self.epoch, "next": self._next}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from where :meth:`state_dict` was taken."""
        self.epoch, self._next = state["epoch"], state["next"]
        self._permutation = self._draw()

    def _draw(self) -> torch.Tensor:
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + self.epoch)
        return torch.randperm(self._samples, generator=generator)
