"""Options of benchmarks that run in a network lab."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from _lab import Lab, lab
from _lab_check import VoidError
from _link import Link, reason_against
from _options import from_zero, record_name
from _relay import RelayError

from adagrain.sim.simulators.cache import CacheError

__all__ = ["add_link_options", "add_pass_options", "add_record_option", "lab_of", "link_of"]


def add_link_options(parser: argparse.ArgumentParser) -> None:
    """Let a benchmark be told of a link: ``--rate``, ``--delay``, ``--jitter``, ``--workers``."""
    for name, kind, usual, meaning in (
        ("--rate", float, 100.0, "Mbit/s, each way"),
        ("--delay", float, 20.0, "ms, one way"),
        ("--jitter", float, 0.0, "ms by which the delay is more or less"),
        ("--workers", int, 2, "how many are joined"),
    ):
        text = f"{meaning}; usually {usual:g}"
        parser.add_argument(name, type=kind, default=usual, metavar=kind.__name__, help=text)


def add_pass_options(parser: argparse.ArgumentParser) -> None:
    """Let a benchmark be told what passes are padded to: ``--forward``, ``--backward``."""
    for name, usual in (("--forward", 20.0), ("--backward", 40.0)):
        text = f"usually {usual:g}"
        parser.add_argument(name, type=from_zero, default=usual, metavar="MS", help=text)


def add_record_option(parser: argparse.ArgumentParser) -> None:
    """Let a benchmark keep its figures, all of one run: ``--record``, or ``--record NAME``."""
    parser.add_argument(
        "--record",
        type=record_name,
        nargs="?",
        const="",
        metavar="NAME",
        help="keep the figures, in place of those that there are, unless these are of more ways or "
        "runs; usually named after the other options",
    )


def link_of(options: argparse.Namespace) -> Link:
    """The link that was asked for; where there can be none the program ends."""
    try:
        return Link(options.rate, options.delay, options.workers, options.jitter)
    except ValueError as error:
        sys.exit(str(error))


@contextmanager
def lab_of(options: argparse.Namespace) -> Iterator[Lab]:
    """A lab with the link that was asked for, measured; says what was found.

    Where there can be none the program ends: well, if the machine does not allow it.
    """
    link = link_of(options)
    if reason := reason_against():
        print(f"left out: {reason}")
        sys.exit()
    try:
        with lab(link, checked=False) as made:
            print(f"link of {link}; measured: {made.check()}", flush=True)
            yield made
    except (CacheError, RelayError, VoidError) as error:
        sys.exit(str(error))
