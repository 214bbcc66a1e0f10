#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks .ci/calendar: each test that has a long form is there once, and each test that is there exists. A test has a
long form if it is a packaging test, or if its sources name IWARP_LONG, or if it is a Python test that uses LONG of
support.py or `each` of perftest.py.
usage: check_calendar.py BUILD_DIR"""
import re
import subprocess
import sys

from check_sources import ROOT, report

# What does not name a single test. .ci/run itself tries seeds of chaos, and check_tidy.py is not a test.
ELSEWHERE = {"test/chaos/main.cpp", "test/architecture/check_tidy.py", "test/architecture/check_calendar.py",
             "test/rdma_core/support.py", "test/rdma_core/perftest.py"}
TESTS = {"test/net/": ["net"], "test/unit/verbs/": ["verbs"], "test/rdma_core/data/": ["rdma_core.data"],
         "test/rdma_core/interface/": ["rdma_core.interface"], "test/failing/": ["failing"],
         "test/conform/": ["conform.peers"], "test/interop/siw/programs.py": ["siw.programs"],
         "test/litmus/": ["litmus.iwarp", "litmus.roce"],
         "test/rdma_core/sequences.py": ["rdma_core.sequences_iwarp", "rdma_core.sequences_roce"],
         "test/interop/siw/matrix.py": ["siw.fixed"], "test/interop/siw/guest.py": ["siw.stock", "siw.conform.stock"]}


def of_file(path):
    """Returns the names of the tests to which a source with a long form belongs."""
    name = path.relative_to(ROOT).as_posix()
    if name in ELSEWHERE:
        return []
    if match := re.match(r"test/(apps|rdma_core)/(?:foreign/)?test_(\w+)\.py", name):
        return [f"{match[1]}.{match[2]}"]
    return next((tests for prefix, tests in TESTS.items() if name.startswith(prefix)), [f"no test for {name}"])


def wanted(existing):
    out = {name for name in existing
           if re.match(r"packaging\.(debian|archive|aarch64|container|first_ping_pong|programs)", name)}
    for path in ROOT.glob("test/**/*.*"):
        if path.suffix in (".py", ".cpp"):
            text = path.read_text()
            if re.search(r'getenv\("IWARP_LONG"|environ\.get\("IWARP_LONG"|import .*\bLONG\b|support\.LONG|self\.each\(', text):
                out.update(of_file(path))
    return out


def main():
    listed = subprocess.run(["ctest", "--test-dir", sys.argv[1], "-N"], check=True, capture_output=True, text=True).stdout
    existing = set(re.findall(r"(?m)^ *Test +#\d+: (\S+)", listed))
    calendar = [name for line in (ROOT / ".ci/calendar").read_text().splitlines() if not line.startswith("#")
                for name in line.split()[1:]]
    problems = [f"twice: {name}" for name in set(calendar) if calendar.count(name) > 1]
    problems += [f"no such test: {name}" for name in calendar if name not in existing]
    problems += [f"on no day: {name}" for name in sorted(wanted(existing) - set(calendar))]
    return report(f".ci/calendar, {len(calendar)} tests", problems)


if __name__ == "__main__":
    sys.exit(main())
