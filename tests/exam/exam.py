"""Runs exams that others wrote, and prints a table of their cases.

A suite is a module in this directory that has CASES and NOT_RUN. Ends with 1 if a case fails that is not known to fail.
"""

import argparse
import csv
import importlib
import pathlib
import sys
import tempfile
import time

from case import Result

HEAD = ["suite", "case", "what", "threshold", "source", "measured", "verdict", "reason"]


def suites():
    """The suites by name."""
    beside = sorted(path.stem for path in pathlib.Path(__file__).parent.glob("*.py"))
    modules = {name: importlib.import_module(name) for name in beside if name != pathlib.Path(__file__).stem}
    return {name: module for name, module in modules.items() if hasattr(module, "CASES")}


def outcome(case, longspan, quick):
    with tempfile.TemporaryDirectory(prefix="exam-") as work:
        try:
            return case.run(longspan, pathlib.Path(work), quick)
        except Exception as error:  # one broken case does not hide the others
            return Result(f"{type(error).__name__}: {error}", False)


def run_cases(name, suite, longspan, quick, only):
    for case in suite.CASES:
        if only and case.id not in only:
            continue
        started = time.monotonic()
        result = outcome(case, longspan, quick)
        verdict = "passes" if result.passed else "FAILS"
        print(f"{name} {case.id}: {verdict} ({time.monotonic() - started:.0f} s)", file=sys.stderr, flush=True)
        told = [case.id, case.what, case.threshold, case.source, result.measured, verdict, case.shortfall]
        yield case, result, [name, *told]


def print_table(head, lines):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for line in lines:
        print("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, and shorter")
    parser.add_argument("--case", action="append", help="only this case; may be repeated")
    parser.add_argument("--csv", type=pathlib.Path, required=True, help="the table, with reasons and sources")
    parser.add_argument("--longspan", type=pathlib.Path, required=True, help="the program to examine")
    parser.add_argument("suites", nargs="*", choices=[[], *suites()], metavar="SUITE")
    arguments = parser.parse_args()
    known = suites()
    table, unexpected = [], 0
    for name in arguments.suites or known:
        for case, result, line in run_cases(name, known[name], arguments.longspan, arguments.quick, arguments.case):
            unexpected += not (result.passed or case.shortfall)
            table.append(line)
        for case in known[name].NOT_RUN:
            table.append([name, case.id, case.what, "", "", "", "not run", case.reason])
    with arguments.csv.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *table])
    was_run = [line for line in table if line[6] != "not run"]
    print_table([*HEAD[:4], "measured", "verdict"], [line[:4] + line[5:7] for line in was_run])
    print()
    print_table(["suite", "not run", "what", "reason"], [line[:3] + line[7:] for line in table if line[6] == "not run"])
    failed = sum(line[6] == "FAILS" for line in was_run)
    print(f"\n{len(was_run)} cases: {len(was_run) - failed} pass, {failed} fail; {len(table) - len(was_run)} not run")
    sys.exit(1 if unexpected else 0)


main()
