"""Makes what the workers of a run will make, so that a mistake shows before they start."""

from torch import nn

from adagrain.host.compression.coder import coder_of
from adagrain.host.compression.masks import mask_of
from adagrain.host.compression.plan import check_sizes
from adagrain.host.device.open_device import open_device
from adagrain.host.distributed import region_records
from adagrain.host.distributed.cadence_plan import longest_cadences
from adagrain.host.distributed.timing import Timing
from adagrain.host.granular import Granularity, convert
from adagrain.host.regions.regions import regions
from adagrain.host.speculation.check import (
    check_buckets,
    check_compression,
    check_course,
    check_device,
    check_regions,
)

from .data import load
from .networks import build
from .options import TrainingOptions
from .shards import Shards

__all__ = ["rehearse"]


def rehearse(options: TrainingOptions) -> nn.Module:
    """Check a run's options against its data, its network and the first worker's device.

    Returns
    -------
    Module
        The network as it begins.

    Raises
    ------
    TypeError, ValueError, OSError
        If an option does not fit the others, or a file is not what it must be.
    DeviceError, RuntimeError
        If the device cannot be opened.
    """
    Timing.parse(options.timing).check(0, options.steps)
    if options.bypass == "auto" and options.timing != "measured":
        raise ValueError(
            f"bypass must be never or always with timing {options.timing!r}, not 'auto', which "
            "decides by measured times"
        )
    data = load(options.data)
    Shards(len(data.inputs), batch=options.batch, workers=options.workers, rank=0, seed=0)
    network = build(data, options.seed, options.net)
    if options.granular:
        network = convert(network, options.policy)
    divided = regions(network, options.by)
    longest_cadences(divided.names, options.longest_cadence)
    if options.compression:
        sizes = [part.numel for region in divided for part in region.slices]
        check_sizes(sizes, options.compression.budget)
    if options.speculation:
        check_regions(network, divided)
        check_buckets(options.speculation, options.compression)
        check_course(options.compression, noted=options.record_run or bool(options.replay))
    with open_device(options.device_of(0), options.built_with) as device:
        region_records.check_regions(divided, device.configuration)
        if options.granular:
            Granularity(network, device)
        if options.speculation:
            check_device(device)
            check_compression(options.compression, device)
        if options.compression:
            mask_of(options.compression, 0, coder_of(options.compression.coder, device))
    return network
