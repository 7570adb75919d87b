"""The command line where all has been imported already: a run's workers are forked.

With ``--narrow`` as its first argument, networks have one hidden layer of a few neurons; with
``--late`` no update in flight is there before it is waited for.
"""

import os
import sys
from typing import Any

from torch.distributed.launcher.api import LaunchConfig

from adagrain.host.cli.app import app
from adagrain.host.distributed.agreement import Agreeing
from adagrain.host.train import launch, networks


def forking(**options: Any) -> LaunchConfig:
    """What the run asks for, but that its workers import nothing anew."""
    return LaunchConfig(**options | {"start_method": "fork"})


os.environ["COLUMNS"] = "200"
launch.LaunchConfig = forking  # type: ignore[assignment, misc]
if sys.argv[1] == "--late":
    del sys.argv[1]
    Agreeing.arrived = lambda _: False  # type: ignore[method-assign]
if sys.argv[1] == "--narrow":
    del sys.argv[1]
    networks._HIDDEN = dict.fromkeys(networks._HIDDEN, (8,))
app()
