# SPDX-License-Identifier: Apache-2.0
"""Records results for the table in rfc-notes/programs.md. A test class declares the program that it tries, the
packages of this program, what the tests cover, and the personas. Each test writes a line of JSON with its result to
the folder IWARP_RESULTS. rfc-notes/programs.py makes the table from these files."""
import functools
import json
import os
import pathlib
import platform
import subprocess
import sys
import unittest

SUFFIXES = {"iwarp": "AsIwarp", "roce": "AsRoce"}


def tried(program, packages, what, personas=("iwarp",)):
    """Makes the test class record its results. `packages` are names of packages. The first one is the package that
    a reader would install. Arguments must be literals, because rfc-notes/programs.py reads them from the source.
    The tests of the class run once for each persona (IWARP_AS)."""
    def with_variants(case):
        def variant(persona, name):
            entry = {"program": program, "packages": packages, "what": what, "persona": persona}
            return type(name, (Recorded, case), {"__module__": case.__module__, "entry": entry, "persona": persona})

        for persona in personas[1:]:
            name = case.__name__ + SUFFIXES[persona]
            setattr(sys.modules[case.__module__], name, variant(persona, name))
        return variant(personas[0], case.__name__)
    return with_variants


class Recorded(unittest.TestCase):
    """Base of the test class of each persona. It sets the persona, and writes the result of each test."""

    def setUp(self):
        before = os.environ.get("IWARP_AS")
        os.environ["IWARP_AS"] = self.persona
        self.addCleanup(restore, "IWARP_AS", before)
        super().setUp()

    def run(self, result=None):
        result = result if result is not None else self.defaultTestResult()
        failed, skipped = bad(result), len(result.skipped)
        super().run(result)
        verdict = ("failed" if bad(result) > failed else
                   "skipped" if len(result.skipped) > skipped else "passed")
        record({**self.entry, "system": system(), "versions": versions_of(self.entry["packages"]),
                "test": self.id(), "verdict": verdict})
        return result


def bad(result):
    return len(result.failures) + len(result.errors)


def restore(name, value):
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


@functools.cache
def system():
    """Returns the name of the distribution, for example Debian 12."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return platform.system()
    return f"{release['ID'].capitalize()} {release.get('VERSION_ID', '')}".strip()


@functools.cache
def versions_of(packages):
    """Returns the names and versions of the packages from the package manager, or an empty list if there is no
    package manager. Debian 13 has added "t64" to the names of some libraries, because time_t now also has 64 bits
    on 32-bit processors."""
    names = [name + suffix for name in packages.split() for suffix in ("", "t64")]
    try:
        said = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Version}\n", *names],
                              capture_output=True, text=True, timeout=60).stdout
    except FileNotFoundError:
        return []
    pairs = [line.split() for line in said.splitlines()]
    return [f"{pair[0].removesuffix('t64')} {pair[1]}" for pair in pairs if len(pair) == 2]


@functools.cache
def results_file():
    """Returns the results file of this script. It is empty when the script starts."""
    folder = pathlib.Path(os.environ["IWARP_RESULTS"])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{pathlib.Path(sys.argv[0]).stem}.jsonl"
    path.write_text("")
    return path


def record(entry):
    if "IWARP_RESULTS" in os.environ:
        with results_file().open("a") as file:
            print(json.dumps(entry), file=file)
