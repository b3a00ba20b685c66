"""Run another program in this process."""

from __future__ import annotations

import runpy
import sys


def become(module: str, *words: str) -> None:
    """Run a module with arguments as ``python -m`` does, until it ends.

    A process of its own would import most of the same modules again, which takes a second of a CPU.
    """
    sys.argv[1:] = words
    runpy.run_module(module, run_name="__main__", alter_sys=True)
