#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a target of the build compiles each source: a test that no CMakeLists.txt names does not run.
usage: check_compiled.py BUILD_DIR"""
import pathlib
import re
import sys

from check_sources import ROOT, files, report

# Sources that the build does not compile: for WebAssembly, with clang, or as a user or a test compiles them.
OTHERS = ("apps/lab/", "apps/learn/exercises/", "apps/judge/generated/", "rfc-notes/course/", "test/fuzz/entry.cpp",
          "test/packaging/consumer/", "test/rdma_core/programs/mpich_payload.c")


def main():
    build = pathlib.Path(sys.argv[1])
    units = [build / "compile_commands.json", *build.glob("**/Unity/unity_*.cxx")]
    compiled = {name for unit in units for name in re.findall(r'"([^"]+\.(?:cpp|c))"', unit.read_text())}
    return report("compiled", [f"{path}: no target compiles it" for path, _ in files((".cpp", ".c"))
                               if str(ROOT / path) not in compiled and not path.startswith(OTHERS)])


if __name__ == "__main__":
    sys.exit(main())
