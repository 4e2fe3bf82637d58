"""Compares the results of two commits: benches/experiments/same_figures.py BEFORE NOW

Both are directories of `longspan simulate`. Every file must have the same bytes, except for these: a summary may have new keys,
and its digest of the settings changes with them; the report page draws the same figures, and may look different. Prints
what differs, and the new keys. Ends with status 1 if anything differs.
"""

import json
import pathlib
import sys

PAGE = "report.html"
SUMMARY = "summary.json"
# The digest of the settings.
DIGEST = "inputs"


def files(directory):
    return {path.relative_to(directory) for path in directory.rglob("*") if path.is_file() and path.name != PAGE}


def differences(before, now, place, new_keys):
    """The places at which two values differ. Keys that only the new one has go to `new_keys`."""
    if isinstance(before, dict) and isinstance(now, dict):
        new_keys |= now.keys() - before.keys()
        for key in before:
            if key in now:
                yield from differences(before[key], now[key], f"{place}.{key}", new_keys)
            else:
                yield f"{place}.{key} is gone"
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, pair in enumerate(zip(before, now)):
            yield from differences(*pair, f"{place}[{index}]", new_keys)
    elif before != now:
        yield f"{place}: {before}, now {now}"


def compare(before, now, new_keys):
    if not files(before) or not files(now):
        sys.exit("nothing to compare")
    for name in sorted(files(before) | files(now)):
        if not (before / name).exists() or not (now / name).exists():
            yield f"only one of them has {name}"
            continue
        contents = [(directory / name).read_bytes() for directory in (before, now)]
        if name.name == SUMMARY:
            summaries = list(map(json.loads, contents))
            for summary in summaries:
                summary.pop(DIGEST, None)
            yield from differences(*summaries, str(name), new_keys)
        elif contents[0] != contents[1]:
            yield f"{name} differs"


def main():
    before, now = map(pathlib.Path, sys.argv[1:])
    new_keys = set()
    found = list(compare(before, now, new_keys))
    print(*found, *(f"new: {key}" for key in sorted(new_keys)), sep="\n", end="\n" if found or new_keys else "")
    sys.exit(bool(found))


main()
