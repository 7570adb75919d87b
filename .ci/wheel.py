"""Builds the wheel, installs it alone and with each extra, and runs commands there.

Run it with: .venv/bin/python .ci/wheel.py

To install PyTorch for each extra anew would take minutes. Here an environment gets hard links to
those packages of this one that the wheel's metadata asks for, with their own requirements, and
nothing else: what an extra does not bring is really missing. Then pip installs the wheel without
an index, which fails where a requirement is not met.
"""

import importlib.metadata
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]

#: Seconds of a processor that ``adagrain --help`` may take, and how often it is tried. It should
#: take half of them; machines of CI are slow, and what loads PyTorch takes more than these.
HELP_SECONDS, TRIALS = 1.0, 7

#: Folders that are packages, by the name that they are imported by.
PACKAGES = {f"adagrain/{name}": name for name in ("hdl", "host", "models", "sim")}


class Command(NamedTuple):
    """A command, how it must end, and what it must say."""

    line: str
    status: int = 0
    says: str = ""


#: What must work with which extras, and what must be said where one is missing.
COMMANDS = {
    "": (
        Command("adagrain --version", says="adagrain"),
        Command("adagrain devices", says="pip install 'adagrain"),
        Command("adagrain info golden:", says="golden model"),
        Command("adagrain selftest golden:", says="passed"),
        Command("python -c 'import adagrain; adagrain.register, adagrain.granular.convert'"),
        Command("adagrain info sim:", 1, r"pip install 'adagrain\[sim\]'"),
        Command("adagrain virtual-board", 1, r"pip install 'adagrain\[sim\]'"),
        Command("adagrain sim queue", 1, r"pip install 'adagrain\[sim\]'"),
        Command("adagrain synth queue", 1, r"pip install 'adagrain\[synth\]'"),
        Command("adagrain bitstream", 1, r"pip install 'adagrain\[synth\]'"),
        Command("adagrain train --device golden:", 1, r"pip install 'adagrain\[train\]'"),
    ),
    "sim": (
        Command("adagrain info sim: --preset tiny", says="compiled by Verilator"),
        Command("adagrain sim queue --variant single", says="tests passed"),
        Command("adagrain selftest sim: --netlist ecp5", 1, r"pip install 'adagrain\[synth\]'"),
    ),
    "synth": (
        Command("adagrain synth queue --board icebreaker", says="LUT"),
        Command("adagrain program --dry-run", 2, "there must be a bitstream"),
        Command("adagrain info sim:", 1, r"pip install 'adagrain\[sim\]'"),
    ),
    "formal": (
        Command("python -m adagrain.sim.formal skid --no-mutants", says="holds"),
        Command("adagrain train --device golden:", 1, r"pip install 'adagrain\[train\]'"),
    ),
    "train": (
        Command("adagrain train --device golden: --workers 1 --steps 3", says="accuracy"),
        Command("adagrain train --steps 3", 1, r"pip install 'adagrain\[sim\]'"),
    ),
}


def main() -> None:
    """Do all that; the status is 1 where something is not as it must be."""
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build", prefix="wheel-") as name:
        folder = Path(name)
        wheel = build(folder)
        environments = {extra: folder / f"env-{extra or 'alone'}" for extra in COMMANDS}
        for extra, environment in environments.items():
            install(wheel, extra, environment)
        failures = [f"wheel: {what}" for what in wrong_content(wheel)]
        failures += help_is_slow(environments[""])
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for found in pool.map(attempts, environments.values(), COMMANDS):
                failures += found
    print("\n".join(failures) or "wheel: all commands are as they must be")
    sys.exit(1 if failures else 0)


def build(folder: Path) -> Path:
    """The wheel, made of a copy of the files that belong to the project."""
    source = folder / "source"
    for path in project_files():
        copy = source / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, copy, follow_symlinks=False)
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(source)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def project_files() -> list[str]:
    listed = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"])
    return [path for path in listed.splitlines() if (ROOT / path).exists()]


def wrong_content(wheel: Path) -> Iterator[str]:
    """Files of the packages that the wheel lacks, and others that it has."""
    wanted = {path for path in project_files() if path.startswith("adagrain/")} - {*PACKAGES}
    for inside, outside in PACKAGES.items():
        mine = [path for path in project_files() if path.startswith(f"{outside}/")]
        wanted |= {path.replace(outside, inside, 1) for path in mine if not path.endswith(".md")}
    found = {path for path in zipfile.ZipFile(wheel).namelist() if path.startswith("adagrain/")}
    yield from (f"lacks {path}" for path in sorted(wanted - found))
    yield from (f"has {path}, which is not in the project" for path in sorted(found - wanted))


def install(wheel: Path, extra: str, environment: Path) -> None:
    """Make an environment with the wheel and one extra, and all that they require."""
    venv.create(environment, symlinks=True)
    metadata = importlib.metadata.PathDistribution(_in(wheel))
    for name in sorted(_closure(metadata, {extra})):
        _link(importlib.metadata.distribution(name), environment)
    target = f"{wheel}[{extra}]" if extra else str(wheel)
    python = str(environment / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", target]
    run(pip, env=os.environ | {"PIP_FIND_LINKS": ""})


def _in(wheel: Path) -> zipfile.Path:
    """The folder of a wheel's metadata."""
    names = (path for path in zipfile.Path(wheel).iterdir() if path.name.endswith(".dist-info"))
    return next(names)


def _closure(distribution: importlib.metadata.Distribution, extras: Iterable[str]) -> set[str]:
    """Names of the packages that one requires, and those that these do."""
    found: set[str] = set()
    todo = [(distribution, frozenset(extras))]
    seen = {*todo}
    while todo:
        distribution, extras = todo.pop()
        for text in distribution.requires or ():
            requirement = Requirement(text)
            name = canonicalize_name(requirement.name)
            if not _applies(requirement, extras):
                continue
            if name == "adagrain":
                more = (distribution, frozenset(requirement.extras))
            else:
                found.add(name)
                more = (importlib.metadata.distribution(name), frozenset(requirement.extras))
            if (name, more[1]) not in seen:
                seen.add((name, more[1]))
                todo.append(more)
    return found


def _applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def _link(distribution: importlib.metadata.Distribution, environment: Path) -> None:
    """Give an environment the files of a package of this one; scripts run with its own Python."""
    (packages,) = environment.glob("lib/python*/site-packages")
    for file in distribution.files or ():
        source = Path(distribution.locate_file(file))
        target = (packages / file).resolve()
        if not source.is_file() or target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.parent == environment.resolve() / "bin":
            script = source.read_bytes()
            target.write_bytes(re.sub(rb"^#!.*python.*", _shebang(environment), script, count=1))
            target.chmod(0o755)
        else:
            os.link(source, target)


def _shebang(environment: Path) -> bytes:
    return f"#!{environment.resolve() / 'bin' / 'python'}".encode()


def attempts(environment: Path, extra: str) -> list[str]:
    """Run the commands of an extra; what is wrong with them."""
    title = f"with [{extra}]" if extra else "alone"
    failures = []
    for command in COMMANDS[extra]:
        with tempfile.TemporaryDirectory(dir=environment) as folder:
            ended = _run_in(environment, command.line, Path(folder))
        said = " ".join((ended.stdout + ended.stderr).split())
        fine = ended.returncode == command.status and re.search(command.says, said)
        print(f"{title}: {command.line}: {'as it must be' if fine else 'WRONG'}", flush=True)
        if not fine or "Traceback" in said:
            failures.append(
                f"{title}: {command.line}: status must be {command.status}, and it must say "
                f"{command.says!r}, but it is {ended.returncode}, and it says:\n{said[-2000:]}"
            )
    return failures


def help_is_slow(environment: Path) -> Iterator[str]:
    """Take the processor's time of ``adagrain --help``."""
    seconds = []
    for _ in range(TRIALS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _run_in(environment, "adagrain --help", environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    print(f"alone: adagrain --help takes {median(seconds):.2f} s of a processor, the median")
    if median(seconds) > HELP_SECONDS:
        yield f"adagrain --help must take at most {HELP_SECONDS} s, not {median(seconds):.2f} s"


def _run_in(environment: Path, line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{environment.resolve() / 'bin'}{os.pathsep}{os.environ['PATH']}"
    surroundings = os.environ | {"PATH": path, "COLUMNS": "200", "NO_COLOR": "1"}
    surroundings.pop("PYTHONPATH", None)
    return subprocess.run(
        line, shell=True, cwd=folder, env=surroundings, capture_output=True, text=True, check=False
    )


def run(command: list[str], env: dict[str, str] | None = None) -> str:
    """A command's output; where it fails, what it said is shown."""
    ended = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


if __name__ == "__main__":
    main()
