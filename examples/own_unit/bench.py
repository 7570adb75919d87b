"""The unit's bench: records against the golden model."""

from adagrain.sim.simulators.bench import Bench, bench

from .traffic import random_passes


@bench(cycles=200_000)
async def equals_the_model(b: Bench) -> None:
    """Passes back to back."""
    await b.demand(random_passes(b.component, b.scaled(60), b.random))
