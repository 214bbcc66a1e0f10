#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a target of the build compiles each source: a test that no CMakeLists.txt names does not run.
usage: check_compiled.py BUILD_DIR"""
import json
import pathlib
import sys

from check_sources import files, report
from check_tidy import sources_of

# Sources that the build does not compile: for WebAssembly, with clang, or as a user or a test compiles them.
OTHERS = ("apps/lab/module.cpp", "apps/lab/wasm/", "apps/learn/exercises/", "apps/judge/generated/", "rfc-notes/course/",
          "test/fuzz/entry.cpp", "test/packaging/consumer/", "test/rdma_core/programs/mpich_payload.c")


def main():
    commands = json.loads(pathlib.Path(sys.argv[1], "compile_commands.json").read_text())
    compiled = {name for command in commands for name in sources_of(command["file"])}
    return report("compiled", [f"{path}: no target compiles it" for path, _ in files((".cpp", ".c"))
                               if path not in compiled and not path.startswith(OTHERS)])


if __name__ == "__main__":
    sys.exit(main())
