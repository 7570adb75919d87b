"""Speculation that goes wrong where gradients are compressed."""

import sys
from typing import Any

from compression_misuse_cases import Broken, Failing
from speculation_misuse_setup import Setup, case, fail_on_one, on_one


@case
def mask_fails_on_one() -> None:
    Setup(compression={"mask": Broken(), "bypass": "never"}).train(6)


@case
def encoding_fails_on_one(**options: Any) -> None:
    Setup(compression={"coder": Failing("encode"), "bypass": "never"}, **options).train(6)


@case
def encoding_fails_three_deep_on_one() -> None:
    encoding_fails_on_one(depth=3)


@case
def decoding_fails_on_one(**options: Any) -> None:
    Setup(compression={"coder": Failing("decode"), "bypass": "never"}, **options).train(6)


@case
def decoding_fails_three_deep_on_one() -> None:
    decoding_fails_on_one(depth=3, cadences={"a": 2})


@case
def decoding_fails_on_one_that_settles() -> None:
    setup = Setup(compression={"coder": Failing("decode"), "bypass": "never"})
    for _ in range(6):
        setup.train(1)
        if on_one():
            setup.speculation.settle()


@case
def closure_fails_on_one_with_frames(**options: Any) -> None:
    setup = Setup(compression={"bypass": "never"}, **options)
    setup.train()
    fail_on_one(setup)


@case
def closure_fails_three_deep_on_one_with_frames() -> None:
    closure_fails_on_one_with_frames(depth=3, cadences={"a": 2})


@case
def gone_with_frames(**options: Any) -> None:
    setup = Setup(compression={"bypass": "never"}, **options)
    setup.train()
    if on_one():
        sys.exit(3)
    setup.train()


@case
def gone_three_deep_with_frames() -> None:
    gone_with_frames(depth=3)
