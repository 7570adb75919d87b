"""A mutant, and what must find it."""

from dataclasses import dataclass

__all__ = ["Mutant", "bench", "compiled", "proved", "simulated", "tested"]

_PYTEST = ("pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0")


@dataclass(frozen=True)
class Mutant:
    """A fault in the sources, and what must find it.

    Parameters
    ----------
    name : str
        What is wrong.
    file : str
        Where, below the project.
    text, wrong : str
        What stands there, once, and what is put in its place.
    command : tuple of str
        Python module and arguments that must fail.
    """

    name: str
    file: str
    text: str
    wrong: str
    command: tuple[str, ...]


def bench(unit: str, variant: str) -> tuple[str, ...]:
    """The cocotb bench of a unit."""
    return ("adagrain.sim", unit, "--variant", variant)


def compiled(unit: str, variant: str) -> tuple[str, ...]:
    """The tests of a unit as compiled RTL."""
    test = f"tests/sim/test_{unit}.py"
    return (*_PYTEST, test, "-k", variant)


def proved(proof: str) -> tuple[str, ...]:
    """A proof."""
    return ("adagrain.sim.formal", proof, "--no-mutants")


def simulated(file: str, test: str) -> tuple[str, ...]:
    """A test in ``tests/hdl``, which runs Amaranth's own simulator."""
    return (*_PYTEST, f"tests/hdl/{file}", "-k", test)


def tested(file: str, test: str = "") -> tuple[str, ...]:
    """Tests of a file below ``tests``, or those whose name fits."""
    return (*_PYTEST, f"tests/{file}", *(("-k", test) if test else ()))
