"""Has the device decide what channel groups compute in."""

from collections.abc import Sequence

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.interface.precision import Precision

from .layer import GranularLayer
from .logs import ChannelGroupLog, logs_of
from .product import of_layer
from .resources import ResourceManager

__all__ = ["Decisions"]


class Decisions:
    """Tells a device what layers have seen, and them what to compute in.

    Parameters
    ----------
    device : Coprocessor
        What decides.
    layers : sequence of GranularLayer
        All that have channel groups in the device's table.
    resources : ResourceManager or None
        What the machine can afford.
    """

    def __init__(
        self,
        device: Coprocessor,
        layers: Sequence[GranularLayer],
        resources: ResourceManager | None,
    ) -> None:
        self._device = device
        self._layers = layers
        self._resources = resources

    def decide(self, layers: Sequence[GranularLayer]) -> list[ChannelGroupLog]:
        """Precisions of the channel groups of layers that have looked, from now on.

        Raises
        ------
        BudgetError
            If a budget cannot be met; the precisions stay as they are.
        ValueError
            If thresholds are not finite.
        """
        if not layers:
            return []
        self._write_records()
        updates = [
            {
                "channel_group": layer.first + number,
                "variance": layer.seen[0],
                "square": layer.seen[1],
            }
            for layer in layers
            if layer.seen
            for number in range(layer.policy.channel_groups)
        ]
        decisions = iter(self._device.precisions.decide(updates))
        records = self._device.precisions.state()
        logs: list[ChannelGroupLog] = []
        for layer in layers:
            count = layer.policy.channel_groups
            mine = [next(decisions) for _ in range(count)]
            layer.controllers.take(
                [Precision(decision["precision"]) for decision in mine],
                records[layer.first : layer.first + count],
            )
            layer.seen = None
            logs += logs_of(layer, mine)
        return logs

    def bounds(self) -> list[tuple[Precision, Precision]]:
        """Floor and ceiling of each channel group, in order.

        Raises
        ------
        BudgetError
            If a budget cannot be met.
        """
        costs = [cost for layer in self._layers for cost in layer.costs()]
        if self._resources:
            return self._resources.bounds(costs)
        return [(cost.floor, cost.ceiling) for cost in costs]

    def _write_records(self) -> None:
        """Have the device know thresholds and bounds of now."""
        bounds = self.bounds()
        asked: list[bytes] = []
        for layer in self._layers:
            with of_layer(layer.name):
                mine = bounds[layer.first : layer.first + layer.policy.channel_groups]
                asked += layer.controllers.asked_records(mine)
        if asked != self._device.precisions.state():
            self._device.precisions.configure(asked)
