"""Holds a switch to the lossless cases, from outside: `python3 -m virtual_switch INTERFACE...`.

Prints a row for each case. Exits with 1 if one did not hold.
"""

import argparse
import sys

from . import cases
from .bench import Bench

# A machine that is busy with other work may keep the switch from its cores in the middle of a case.
TRIES = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("interfaces", nargs=4, help="the testers' ends of ports 1 to 4")
    parser.add_argument(
        "--case", action="append", choices=[name for name, _ in cases.CASES], help="only this case; may be repeated"
    )
    arguments = parser.parse_args()
    bench = Bench(arguments.interfaces)
    failed = 0
    for name, case in cases.CASES:
        if arguments.case and name not in arguments.case:
            continue
        for tries in range(1, TRIES + 1):
            bench.settle()
            try:
                held, measured = case(bench)
            except cases.Broken as broken:
                held, measured = False, str(broken)
                break
            if held:
                break
        failed += not held
        again = "" if tries == 1 else f" (try {tries})"
        print(f"{'ok  ' if held else 'FAIL'} {name:20} {measured}{again}")
        print(f"     {case.__doc__.splitlines()[0]}", flush=True)
    print(f"{len(arguments.case or cases.CASES) - failed} held, {failed} failed")
    sys.exit(1 if failed else 0)


main()
