#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No unit takes long to compile. Prints the ten slowest, from the figures that .cmake/time_unit.sh
left beside the objects, and fails when one passes what 8 s are on the reference machine.

Machines differ, and their neighbours come and go, so nothing is compared with a time: a unit is
compared with reference_unit.cpp, once of the same build and once compiled now, whichever took longer.
LIMIT is 8 s over REFERENCE_SECONDS, what that takes on the reference machine
(GCC 12, both of its cores compiling), and half more, because the units were compiled at other times
and beside other work. What seems too slow is compiled once more now, and the lesser figure counts: others
disturb upwards only. What came from ccache has no figure here and is not judged.
Usage: check_unit_times.py BUILD_DIR COMPILER"""
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REFERENCE_SECONDS = 2.6
MARGIN = 1.5
LIMIT = MARGIN * 8 / REFERENCE_SECONDS
SKIPPED = 77
REFERENCE = "reference_unit.cpp"


def seconds_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def seconds_of(words, folder=None):
    before = seconds_of_children()
    subprocess.run(words, check=True, cwd=folder, env=os.environ | {"CCACHE_DISABLE": "1"})
    return seconds_of_children() - before


def reference(compiler):
    """The lesser of two, since others disturb upwards only."""
    words = [compiler, "-std=c++23", "-O2", "-c", HERE / REFERENCE, "-o", os.devnull]
    return min(seconds_of(words) for _ in range(2))


def compiled_again(command):
    with tempfile.TemporaryDirectory() as folder:
        place = re.sub(r" -(o|MF) \S+", rf" -\1 {folder}/\1", command["command"])
        return seconds_of(shlex.split(place), command["directory"])


def reference_of(found):
    """What the reference took in the build; 0: it came from ccache."""
    return max([seconds for seconds, unit in found if unit["file"].endswith(REFERENCE)], default=0)


def name_of(source, root):
    """The source below the root; of a unit that CMake made of several, these."""
    path = pathlib.Path(source)
    if path.name.startswith("unity_") and path.is_file():
        parts = re.findall(r'#include "([^"]+)"', path.read_text())
        folder = os.path.commonpath([os.path.dirname(part) for part in parts])
        names = [os.path.splitext(os.path.relpath(part, folder))[0] for part in parts]
        return f"{os.path.relpath(folder, root)}: {' '.join(names)}"
    return os.path.relpath(source, root)


def figures(build):
    """(seconds, command) of each unit that has a figure, and how many units there are."""
    commands = json.loads((build / "compile_commands.json").read_text())
    found = []
    for command in commands:
        figure = build / (re.search(r" -o (\S+)", command["command"])[1] + ".seconds")
        if figure.is_file():
            user, system = figure.read_text().split()
            found.append((float(user) + float(system), command))
    return slowest_first(found), len(commands)


def slowest_first(found):
    return sorted(found, key=lambda unit: unit[0], reverse=True)


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    build, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    found, units = figures(build)
    if not found:
        print("SKIPPED: no unit was compiled here, all came from ccache (CCACHE_RECACHE=1 helps)")
        return SKIPPED
    one = max(reference(compiler), reference_of(found))
    found = slowest_first(
        [(min(seconds, compiled_again(unit)) if seconds > LIMIT * one else seconds, unit)
         for seconds, unit in found])
    slow = [seconds for seconds, _ in found if seconds > LIMIT * one]
    print(f"{len(found)} of {units} units compiled here: {sum(s for s, _ in found):.0f} s of "
          f"processor time; the reference unit {one:.2f} s, so the limit is {LIMIT * one:.1f} s")
    for seconds, unit in found[:max(10, len(slow))]:
        mark = "  TOO SLOW" if seconds > LIMIT * one else ""
        print(f"  {seconds:5.1f} s  {name_of(unit['file'], HERE.parents[1])}{mark}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
