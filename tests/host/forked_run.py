"""The command line where all has been imported already: a run's workers are forked.

With ``--narrow`` as its first argument, networks have one hidden layer of a few neurons; with
``--late`` no update in flight is there before it is waited for.
"""

import functools
import multiprocessing
import os
import sys
from typing import Any

from torch.distributed.launcher.api import LaunchConfig

from adagrain.host.cli.app import app
from adagrain.host.distributed.agreement import Agreeing
from adagrain.host.train import launch, networks, worker

#: Seconds for all workers of a run to be forked.
_SECONDS = 60


def forking(**options: Any) -> LaunchConfig:
    """What the run asks for, but that its workers import nothing anew.

    None of them begins before all are forked: for each that connects, a thread of the launcher asks
    the C library's resolver for a name, and a worker forked meanwhile would wait for the resolver's
    lock for ever.
    """
    forked = multiprocessing.get_context("fork").Barrier(options["nproc_per_node"])
    begin = worker.run

    @functools.wraps(begin)
    def run(*arguments: Any) -> Any:
        forked.wait(_SECONDS)
        return begin(*arguments)

    worker.run = run
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
