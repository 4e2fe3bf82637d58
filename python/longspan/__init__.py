"""Simulate, replay and plan lossless long links, into pandas data frames.

Each function runs the program `longspan`, which must be installed, and reads the files that it writes:

    run = longspan.simulate("config/scenarios/long-link.toml", quick=True, variants=["pfc", "bifrost"])
    run.summary[["variant", "fct.others.p99_ns"]]

The page docs/python.md is a tutorial.
"""

from longspan._binary import BinaryNotFound, LongspanError, LongspanWarning
from longspan._plan import Plan, plan
from longspan._replay import Replay, replay
from longspan._simulate import Simulation, simulate

__all__ = [
    "BinaryNotFound",
    "LongspanError",
    "LongspanWarning",
    "Plan",
    "Replay",
    "Simulation",
    "plan",
    "replay",
    "simulate",
]
