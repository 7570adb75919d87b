"""All channel groups of a network: they are told what they see, and learn what to compute in."""

from collections.abc import Mapping
from functools import partial
from numbers import Integral
from typing import Any, Self

import torch
from torch import nn

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.device.open_device import for_training
from adagrain.host.device.product import check_built
from adagrain.host.distributed.state import check_parts
from adagrain.models.interface.precision import Precision

from .decisions import Decisions
from .kinds import check_is_number
from .layer import GranularLayer
from .logs import ChannelGroupLog, GranularityLog, channel_group_names
from .offload import Offload
from .resources import ResourceManager

__all__ = ["Granularity"]

#: Where wrappers keep the model.
_WRAPPERS = {"DistributedDataParallel": "module", "OptimizedModule": "_orig_mod"}


class Granularity:
    """Chooses the precisions of a converted model, and counts what they save.

    ::

        model = granular.convert(model, granular.Policy(penalty=0.1))
        granularity = granular.Granularity(model, device="sim:")
        ...
        (loss + granularity.penalty()).backward()
        optimizer.step()
        granularity.step()

    Precisions are a worker's own; the weights they lead to are not. An optimizer gets the
    thresholds as a group of their own, without weight decay (:meth:`thresholds`).

    Parameters
    ----------
    model : nn.Module
        What :func:`convert` returned, or what wraps it.
    device : str or Coprocessor
        What measures and decides; when it fails the golden model takes over. Its build must have
        a granularity unit.
    preset : str
        Device preset that it was built with, where it is given by url.
    offload : int
        The device computes the forward passes of every so many steps, and with 1 those in
        evaluation, too; 0: of none.
    resources : ResourceManager or None
        What the machine can afford.

    Members
    -------
    device : Coprocessor
        The device.
    work : dict of Precision to int
        Multiplications of all steps, forward and backward.
    switches, overrides : int
        Changes of what a channel group wants, and looks at which the bounds prevailed.

    Raises
    ------
    TypeError
        If the device is neither, the resource manager is none, or ``offload`` is no integer.
    ValueError
        If ``offload`` is negative, the model has no granular layers or more channel groups than
        the device has records, or the build has no granularity unit, or none of a precision in
        which it may have to compute.
    """

    def __init__(
        self,
        model: nn.Module,
        device: str | Coprocessor = "golden:",
        *,
        preset: str = "granular",
        offload: int = 0,
        resources: ResourceManager | None = None,
    ) -> None:
        if resources is not None and not isinstance(resources, ResourceManager):
            raise TypeError(f"resources must be a ResourceManager, not {resources!r}")
        check_is_number("offload", offload, Integral)
        if offload < 0:
            raise ValueError(f"offload must be at least 0, not {offload}")
        self._layers = _named_layers(model)
        self._opens = isinstance(device, str)
        self.device = for_training(device, preset)
        try:
            self._check_build()
            if offload:
                self._check_precisions()
            self._offload = Offload(self.device, offload) if offload else None
        except BaseException:
            self._let_go()
            raise
        self._resources = resources
        self._decisions = Decisions(self.device, self._layers, resources)
        if resources and resources.slices is None:
            resources.slices = self.device.configuration.slices
        self._steps = 0
        self._followed = set[GranularLayer]()  # in the evaluation pass of now
        self.work = dict.fromkeys(Precision, 0)
        self.switches = self.overrides = 0
        first = 0
        for layer in self._layers:
            self._bind(layer, first)
            first += layer.policy.channel_groups
        self._look_ahead()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def live(self) -> bool:
        """True if precisions follow the input in evaluation, too."""
        return any(layer.decide is not None for layer in self._layers)

    @live.setter
    def live(self, live: bool) -> None:
        for layer in self._layers:
            follows = live and layer.policy.fixed is None
            layer.decide = partial(self._follow, layer) if follows else None

    @property
    def offloaded(self) -> Offload | None:
        """Counts of what the device has computed, if it computes anything."""
        return self._offload

    @property
    def forward_backend(self) -> str:
        """Name of what computes the forward passes, for people."""
        if self._offload is None:
            return "golden model"
        if self._offload.every == 1:
            return self.device.backend
        return f"{self.device.backend} in 1 step of {self._offload.every}, golden model in between"

    @property
    def bit_operations(self) -> int:
        """Of all steps."""
        return GranularityLog(self.work, ()).bit_operations

    def thresholds(self) -> list[nn.Parameter]:
        """Thresholds that get gradients, for an optimizer: logarithms to base 2."""
        found = [layer.controllers.thresholds for layer in self._layers]
        return [thresholds for thresholds in found if thresholds.requires_grad]

    def precisions(self) -> dict[str, Precision]:
        """Precision of each channel group, by name."""
        found: dict[str, Precision] = {}
        for layer in self._layers:
            names = channel_group_names(layer)
            found |= zip(names, layer.controllers.precisions, strict=True)
        return found

    def penalty(self) -> torch.Tensor:
        """λ · Σ multiplications·bits / Σ multiplications·32 of this step's forward passes, so far.

        Its value is that of the precisions in use; its gradient goes to the thresholds of the
        layers that were used.

        Returns
        -------
        Tensor of float32, scalar
        """
        total, most = torch.zeros((), dtype=torch.float32), 0
        for layer in self._layers:
            if layer.samples:
                bits = layer.controllers.bits()
                macs = torch.tensor(layer.macs(), dtype=torch.float32, device=bits.device)
                total = total.to(bits.device) + layer.policy.penalty * (bits * macs).sum()
                most += sum(layer.macs())
        return total / (Precision.FP32.bits * max(most, 1))

    def step(self) -> GranularityLog:
        """End a training step: count its work, and decide where layers have looked.

        Raises
        ------
        BudgetError
            If a budget cannot be met; the precisions stay as they are.
        ValueError
            If thresholds are not finite.
        """
        work = dict.fromkeys(Precision, 0)
        for layer in self._layers:
            for precision, count in layer.work().items():
                work[precision] += count
                self.work[precision] += count
            layer.controllers.hold()
        if self._resources and self._offload and self._offload.reckoned:
            self._resources.overhead = self._offload.busy / self._offload.reckoned
        looked = [layer for layer in self._layers if layer.seen]
        if looked or self._steps == 0:
            self._feel()
        if not looked and self._steps == 0:
            self._decisions.bounds()  # fixed precisions, too, may exceed a budget
        logs = self._decide(looked)
        self._steps += 1
        if self._offload:
            self._offload.step = self._steps
        self._look_ahead()
        return GranularityLog(work, tuple(logs))

    def state_dict(self) -> dict[str, Any]:
        """Counters; records, thresholds and precisions are in the model's own state."""
        return {
            "steps": self._steps,
            "places": [layer.places_before for layer in self._layers],
            "work": {precision.name: count for precision, count in self.work.items()},
            "switches": self.switches,
            "overrides": self.overrides,
            "resources": self._resources.state_dict() if self._resources else None,
            "offload": self._offload.state_dict() if self._offload else None,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave, after the model's state.

        Raises
        ------
        TypeError, ValueError
            If it is no such state, or of another number of layers; then nothing has changed.
        """
        check_parts(state, "steps", "work", "switches", "overrides", "resources")
        before = state.get("places", [layer.places_before for layer in self._layers])
        if len(before) != len(self._layers):
            raise ValueError(f"state must be of {len(self._layers)} layers, not of {len(before)}")
        self._steps = state["steps"]
        for layer, places in zip(self._layers, before, strict=True):
            layer.places_before = places
        self.work = {Precision[name]: count for name, count in state["work"].items()}
        self.switches, self.overrides = state["switches"], state["overrides"]
        if self._resources and state["resources"]:
            self._resources.load_state_dict(state["resources"])
        if self._offload:
            self._offload.step = self._steps
            if state.get("offload"):
                self._offload.load_state_dict(state["offload"])
        self._look_ahead()

    def close(self) -> None:
        """Let go of the device; the layers compute on with the golden model.

        It is closed if it was given by its url; one that was opened before stays open.
        """
        for layer in self._layers:
            if layer.measure == self.device.statistics:
                layer.release()
        self._let_go()

    def _let_go(self) -> None:
        if self._opens:
            self.device.close()

    def _check_build(self) -> None:
        configuration = self.device.configuration
        if not configuration.slices:
            raise ValueError(
                "granular layers need a build with a granularity unit: device preset "
                f"{configuration.preset!r} has no slices"
            )
        wanted = sum(layer.policy.channel_groups for layer in self._layers)
        records = configuration.regions
        if wanted > records:
            raise ValueError(
                f"model must have at most {records} channel groups, as many as the device has "
                f"records, not {wanted}"
            )

    def _check_precisions(self) -> None:
        """The device must compute in all that the layers may ask for."""
        for layer in self._layers:
            for precision in layer.policy.precisions:
                check_built(precision, self.device.configuration)

    def _bind(self, layer: GranularLayer, first: int) -> None:
        layer.release()
        layer.first = first
        layer.measure = self.device.statistics
        if self._offload:
            layer.multiply = self._offload.multiply
            if self._offload.every == 1:
                layer.evaluate = self._offload.multiply

    def _follow(self, layer: GranularLayer) -> None:
        """Decide for a layer in evaluation, at once; a pass has each layer once."""
        if not layer.seen:
            return
        if not self._followed or layer in self._followed:
            self._feel()
        self._followed.add(layer)
        self._decide([layer])

    def _feel(self) -> None:
        self._followed.clear()
        if self._resources:
            self._resources.feel()

    def _look_ahead(self) -> None:
        for layer in self._layers:
            policy = layer.policy
            layer.looking = policy.fixed is None and self._steps % policy.every == 0

    def _decide(self, layers: list[GranularLayer]) -> list[ChannelGroupLog]:
        logs = self._decisions.decide(layers)
        self.switches += sum(log.switched for log in logs)
        self.overrides += sum(log.overridden for log in logs)
        return logs


def _named_layers(model: nn.Module) -> list[GranularLayer]:
    """Granular layers, with the names that they have in the model, however it is wrapped."""
    while wrapped := _WRAPPERS.get(type(model).__name__):
        model = model.get_submodule(wrapped)
    found = [(n, m) for n, m in model.named_modules() if isinstance(m, GranularLayer)]
    if not found:
        raise ValueError("model must have granular layers; granular.convert makes them")
    for name, layer in found:
        layer.name = name or layer.name
    return [layer for _, layer in found]
