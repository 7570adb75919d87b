"""Counts the large elements of a tensor on a device.

Run it with: PYTHONPATH=examples ADAGRAIN_UNITS=own_unit python examples/own_unit/use.py golden:
"""

import sys

import torch

import adagrain
from adagrain.models.interface.configuration import configuration

if len(sys.argv) != 2:
    sys.exit("usage: python examples/own_unit/use.py URL, as in sim: or golden:")
torch.manual_seed(0)
with adagrain.open_device(
    sys.argv[1], configuration("tiny", units=("statistics", "large"))
) as device:
    found = device.run_pass("large", [torch.randn(1000)], threshold=0x3F80_0000)
    print(f"{device.backend}: {found['large']} of {found['count']} elements are 1 or more")
