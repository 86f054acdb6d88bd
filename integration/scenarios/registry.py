"""How a scenario becomes a check with a name."""

from dataclasses import dataclass
from typing import Callable

BOTH = ("stock", "heddle")
HEDDLE = ("heddle",)
CHECKS = []


@dataclass(frozen=True)
class Check:
    """One line of the output: its name, where it holds, what it shows, how."""

    name: str
    targets: tuple
    summary: str
    function: Callable


def check(name, targets=BOTH):
    """Registers a function of the bench as a check; its docstring is the summary, a text it returns a detail."""
    def register(function):
        CHECKS.append(Check(name, targets, " ".join(function.__doc__.split()), function))
        return function

    return register
