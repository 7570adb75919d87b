"""A worker of the tests of the compressed exchange: runs cases by name, prints JSON of each."""

import json
import sys
from importlib import import_module

import torch
import torch.distributed as dist
from compression_setup import CASES

from adagrain.host.distributed.process_group import leave_group

if __name__ == "__main__":
    for module in ("hook", "learned", "bypass", "reducer", "passes", "refusal", "settings"):
        import_module(f"compression_{module}_cases")
    for module in ("thrown_away", "misuse", "misuse_states"):
        import_module(f"compression_{module}_cases")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for name in sys.argv[1:]:
        print(json.dumps({name: CASES[name]()}), flush=True)
    leave_group()
