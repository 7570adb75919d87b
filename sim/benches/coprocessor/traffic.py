"""Random requests for the whole device: those of its units, and any others."""

import random

from adagrain.models.interface.configuration import Configuration
from adagrain.sim.benches.decoder.requests import DecoderRequests
from adagrain.sim.benches.difference.requests import DifferenceRequests
from adagrain.sim.benches.encoder.requests import EncoderRequests
from adagrain.sim.benches.granularity_unit.requests import GranularityRequests
from adagrain.sim.benches.precision_controller.requests import PrecisionRequests
from adagrain.sim.benches.region_manager.requests import RegionRequests
from adagrain.sim.benches.requests import Request, Requests
from adagrain.sim.benches.statistics.requests import StatisticsRequests
from adagrain.sim.benches.system.requests import SystemRequests
from adagrain.sim.benches.tensor_input.requests import PassRequests

__all__ = ["Traffic"]

#: What makes a unit's requests, by its name.
_REQUESTS: dict[str, type[Requests]] = {
    "decoder": DecoderRequests,
    "difference": DifferenceRequests,
    "encoder": EncoderRequests,
    "granularity_unit": GranularityRequests,
    "precision_controller": PrecisionRequests,
    "region_manager": RegionRequests,
    "statistics": StatisticsRequests,
    "system": SystemRequests,
}


class Traffic:
    """Makes request sequences from a seed.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    generator : random.Random
        Source of all choices.
    longest : int
        Most elements of a tensor.
    """

    def __init__(
        self, configuration: Configuration, generator: random.Random, longest: int = 300
    ) -> None:
        self._random = generator
        self._units = [
            _REQUESTS[unit.name](configuration, generator, longest)
            for unit in configuration.built()
            if unit.name in _REQUESTS
        ]
        self._takers = [unit for unit in self._units if isinstance(unit, PassRequests)]
        self._kinds = {kind: often for unit in self._units for kind, often in unit.kinds().items()}
        self._kinds[self._any] = 1
        heads = {o.request.head_size for unit in configuration.built() for o in unit.operations}
        self._lengths = [*range(4), 7, 8, 9, 16, 40, max(heads), configuration.payload]

    def prologue(self) -> list[Request]:
        """The requests that a host sends first."""
        return [request for unit in self._units for request in unit.prologue()]

    def long(self) -> list[Request]:
        """Requests that take the device many cycles."""
        return [request for unit in self._units for request in unit.long()]

    def requests(self, count: int) -> list[Request]:
        """That many requests, or a few more: passes are several."""
        kinds, weights = list(self._kinds), list(self._kinds.values())
        made: list[Request] = []
        while len(made) < count:
            (kind,) = self._random.choices(kinds, weights)
            made += kind()
        return made

    def port_pass(self, missing: int) -> list[Request]:
        """Some unit's pass whose data come by the port; it lacks so many beats."""
        return self._random.choice(self._takers).port_pass(missing)

    def link_pass(self) -> list[Request]:
        """Some unit's pass whose data come in requests."""
        return self._random.choice(self._takers).link_pass()

    def wild(self) -> Request:
        """Records and commands whose fields hold anything, and tensors longer than a run."""
        return self._random.choice([request for unit in self._units for request in unit.wild()])

    def _any(self) -> list[Request]:
        """Any opcode with any payload, but for those that would run for longer than a test."""
        opcode = self._random.choice([*range(0x01, 0x80), 0xD0, 0xD1, 0xFF])
        payload = self._random.randbytes(self._random.choice(self._lengths))
        for unit in self._units:
            payload = unit.tamed(opcode, payload)
        return [Request(opcode, payload)]
