#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy 19 on the libraries and the command, with the checks of .clang-tidy. Every finding is an error.
Reads the units of a configured build. Each unit joins several sources, so that clang-tidy reads each header once.
Usage: check_tidy.py BUILD_DIR [PARTS]
With PARTS, checks only two groups of units: those with a source whose code differs from origin/main, and one of
PARTS equal shares of the other units, a different share each day. IWARP_LONG=1 adds the analyzer, which takes
many minutes."""
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Matches a line of a diff that changes code, not only a comment or an include.
CHANGE = re.compile(r"[+-]\s*(?!#\s*include|//)\S")
CHECKED = re.compile(r"(mpa|ddp|rdmap|verbs|offload_model|apps)/.*\.cpp$")


def sources_of(unit):
    """Returns the sources in this unit of the build, relative to the root."""
    path = pathlib.Path(unit)
    found = [unit]
    if path.name.startswith("unity_"):
        found = re.findall(r'#include "([^"]+)"', path.read_text())
    return [os.path.relpath(name, ROOT) for name in found]


def changed(base="origin/main"):
    """Returns the files that differ from `base` in more than their names, includes and comments. Returns None if
    the repository does not have `base`."""
    done = subprocess.run(["git", "diff", "-M", "--unified=0", "--no-color", f"{base}...HEAD"], cwd=ROOT,
                          capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        return None
    names, name = set(), None
    for line in done.stdout.splitlines():
        if line.startswith("diff --git "):
            name = None
        elif line.startswith("+++ b/"):
            name = line.removeprefix("+++ b/")
        elif name and CHANGE.match(line):
            names.add(name)
    return names


def chosen(units, parts):
    if parts == 1:
        return units
    touched = changed() or set()
    today = datetime.date.today().toordinal() % parts
    return [unit for number, unit in enumerate(units) if number % parts == today or touched & set(sources_of(unit))]


def tidy(build, unit):
    # The commands of the build are for GCC. clang-tidy must not report warning options and precompiled headers that
    # only GCC knows.
    command = ["clang-tidy-19", "--quiet", "-p", build, "--extra-arg=-Wno-unknown-warning-option",
               "--extra-arg=-Wno-ignored-gch", "--extra-arg=-Wno-unused-command-line-argument", unit]
    if os.environ.get("IWARP_LONG") != "1":
        command.insert(1, "--checks=-clang-analyzer-*")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout or done.stderr


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    build, parts = pathlib.Path(sys.argv[1]).resolve(), int((sys.argv + ["1"])[2])
    commands = json.loads((build / "compile_commands.json").read_text())
    units = sorted({c["file"] for c in commands if any(map(CHECKED.match, sources_of(c["file"])))
                    and "/conform/faults/" not in c["file"]})
    some = chosen(units, parts)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for status, text in pool.map(lambda unit: tidy(build, unit), some):
            if status != 0:
                bad += 1
                print(text, end="", flush=True)
    print(f"tidy: {len(some)} of {len(units)} units, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
