"""Runs scripts as the workers of a process group; what they import, it has imported once.

A process of its own, forked for each worker: it must not have used more threads than one. It reads
jobs as JSON, one a line, and answers each with a list: exit status, output and errors by rank.
"""

import json
import os
import random
import shutil
import socket
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any


def main(modules: list[str]) -> None:
    for module in modules:
        import_module(module)
    warm_up()
    print("ready", flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        answer = run(job)
        if answer is None:  # in a worker, which need not clean up what it shares with this process
            code = execute(job)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        print(json.dumps(answer), flush=True)


def warm_up() -> None:
    """Import and compile what every worker would import and compile anew."""
    import torch
    import torch._dynamo

    import adagrain

    torch.set_num_threads(1)
    for dtype in (torch.float32, torch.bfloat16):
        adagrain.open_device("golden:").statistics_of([torch.ones(8, dtype=dtype)], [0])


def run(job: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Fork the workers and wait for them; in a worker: nothing, with its environment prepared."""
    port = free_port()
    folder = Path(tempfile.mkdtemp())
    workers = []
    for rank in range(job["count"]):
        worker = os.fork()
        if worker == 0:
            prepare(rank, port, job, folder)
            return None
        workers.append(worker)
    answer = [
        {
            "returncode": code,
            "stdout": (folder / f"{rank}.out").read_text(),
            "stderr": (folder / f"{rank}.err").read_text(),
        }
        for rank, code in enumerate(wait_for(workers, job["timeout"]))
    ]
    shutil.rmtree(folder)
    return answer


def free_port() -> int:
    """Below those that systems give out by themselves: nobody takes it before the first worker."""
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(15_000, 32_000)))
            return probe.getsockname()[1]


def prepare(rank: int, port: int, job: dict[str, Any], folder: Path) -> None:
    """Be a worker: rank, output, input."""
    os.environ |= {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(job["count"]),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(job["count"]),
        "TORCHELASTIC_RUN_ID": "test",
    }
    for kind, number in (("out", 1), ("err", 2)):
        target = os.open(folder / f"{rank}.{kind}", os.O_WRONLY | os.O_CREAT)
        os.dup2(target, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def execute(job: dict[str, Any]) -> int:
    """Run the script as Python would; its exit status."""
    sys.argv = [job["script"], *job["arguments"]]
    path = Path(job["script"])
    sys.path.insert(0, str(path.parent))
    source = job.get("source") or path.read_text()
    try:
        exec(compile(source, str(path), "exec"), {"__name__": "__main__", "__file__": str(path)})
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def wait_for(workers: list[int], seconds: float) -> list[int]:
    """Exit statuses; workers that take longer are killed."""
    codes: dict[int, int] = {}
    deadline = time.monotonic() + seconds
    while len(codes) < len(workers):
        late = time.monotonic() > deadline
        for worker in workers:
            if worker in codes:
                continue
            if late:
                os.kill(worker, 9)
            ended, status = os.waitpid(worker, 0 if late else os.WNOHANG)
            if ended:
                codes[worker] = os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    return [codes[worker] for worker in workers]


if __name__ == "__main__":
    main(sys.argv[1:])
