"""Energies that workers agreed on: integers, the same on every machine that reads them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

__all__ = ["FOLDER", "Recording", "Series"]

#: Where the recordings are: tests use them too.
FOLDER = Path(__file__).parents[1] / "tests" / "models" / "recordings"


@dataclass(frozen=True)
class Series:
    """One region's updates, in their order.

    Parameters
    ----------
    region : str
        Its name.
    step : list of int
        Steps of the run in which it was due.
    exponent, a, n : list of int
        E, biased, and the energies A and N at it.
    """

    region: str
    step: list[int]
    exponent: list[int]
    a: list[int]
    n: list[int]


@dataclass(frozen=True)
class Recording:
    """Everything in a run from which a Region Manager learns; one entry an update, all usable.

    Parameters
    ----------
    name : str
        Of the recording, and of its file.
    workers : int
        W.
    regions : list of str
        Their names.
    loss : list of int
        Of each step, Q16.16; empty where there is none.
    step, region, exponent, a, n : list of int
        Of each update: when, whose, E (biased), A and N.
    """

    name: str
    workers: int
    regions: list[str]
    loss: list[int]
    step: list[int]
    region: list[int]
    exponent: list[int]
    a: list[int]
    n: list[int]

    def series(self) -> Iterator[Series]:
        """Each region's updates."""
        for number, name in enumerate(self.regions):
            own = [at for at, region in enumerate(self.region) if region == number]
            columns = (self.step, self.exponent, self.a, self.n)
            yield Series(name, *([column[at] for at in own] for column in columns))

    def save(self) -> None:
        """Write it to the folder of the recordings."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        columns = {f.name: np.array(getattr(self, f.name)) for f in fields(self)}
        np.savez_compressed(FOLDER / f"{self.name}.npz", **columns)

    @classmethod
    def load(cls, name: str) -> "Recording":
        """Read what was saved under a name."""
        with np.load(FOLDER / f"{name}.npz") as file:
            return cls(**{f.name: file[f.name].tolist() for f in fields(cls)})

    @classmethod
    def of_metrics(cls, name: str, workers: int, path: Path) -> "Recording":
        """The rows that a training run has logged in its ``metrics.jsonl``."""
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        steps = [line for line in lines if "regions" in line]
        rows = [(line["step"], row) for line in steps for row in line["regions"]]
        rows = [(step, row) for step, row in rows if row["update"]["usable"]]
        names = {row["update"]["region"]: row["name"] for _, row in rows}
        return cls(
            name,
            workers,
            regions=[names[number] for number in sorted(names)],
            loss=[round(65536 * line["loss"]) for line in steps],
            step=[step for step, _ in rows],
            **{
                column: [row["update"][column] for _, row in rows]
                for column in ("region", "exponent", "a", "n")
            },
        )
