#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that libiwarp.so exports exactly the names that .cmake/iwarp.symbols lists: no name of a bundled library,
and no name of this project that is not in a public header. usage: check_shared.py LIBRARY LIST"""
import re
import subprocess
import sys


def exported(library):
    """Returns the demangled names that the library exports. Leaves out weak copies of inline functions, because
    they differ between compilers."""
    lines = subprocess.run(["nm", "-DC", "--defined-only", library], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    for line in lines:
        kind, name = line.split(maxsplit=2)[1:]
        of = re.sub(r"^(typeinfo name for|typeinfo for|vtable for|(non-)?virtual thunk to) ", "",
                    name)
        yield kind, of


def main():
    library, listed = sys.argv[1:]
    with open(listed, encoding="utf-8") as file:
        entries = {line.strip(): 0 for line in file if not line.startswith("#")}
    problems = []
    for kind, name in exported(library):
        plain = re.split(r"[(\[]", name)[0]
        entry = next((e for e in entries if plain == e or
                      (e.endswith("::*") and (plain + "::").startswith(e[:-1]))), None)
        if entry:
            entries[entry] += 1
        elif kind not in "A":
            problems.append(f"exported, but not in the list: {name}")
    problems += [f"in the list, but not exported: {e}" for e, count in entries.items() if not count]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{sum(entries.values())} symbols of {len(entries)} names, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
