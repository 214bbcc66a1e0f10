#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that everything that states the version agrees with project(VERSION) in CMakeLists.txt: the command,
pkg-config, the newest entry of CHANGELOG.md, which must have a date, and the
file names in the notes. test_source.sh, test_archive.sh and test_container.sh check the version of what they install.
usage: check_version.py SOURCE_DIR BUILD_DIR"""
import datetime
import pathlib
import re
import subprocess
import sys

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:3])


def found(pattern, path):
    match = re.search(pattern, path.read_text(), re.MULTILINE)
    return match[1] if match else "not found"


def stated():
    """Yields each place that states the version, and the version there."""
    command = BUILD / "apps/iwarp"
    if command.exists():
        said = subprocess.run([command, "--version"], check=True, text=True, capture_output=True).stdout
        yield "iwarp --version", said.removeprefix("iwarp ").strip()
    yield "iwarp.pc", found(r"^Version: (.*)$", BUILD / "iwarp.pc")
    yield "CHANGELOG.md", found(r"^## \[(.*?)\]", SOURCE / "CHANGELOG.md")
    for page in (SOURCE / "README.md", SOURCE / "Containerfile", *(SOURCE / "rfc-notes").rglob("*.md")):
        for version in re.findall(r"\biwarp[-_](\d+\.\d+\.\d+)", page.read_text()):
            yield str(page.relative_to(SOURCE)), version


def main():
    version = found(r"^project\(iwarp VERSION ([\d.]+)", SOURCE / "CMakeLists.txt")
    wrong = [f"{place}: {there}, but CMakeLists.txt defines {version}" for place, there in stated() if there != version]
    date = found(r"^## \[.*?\] - (.*)$", SOURCE / "CHANGELOG.md")
    try:
        datetime.date.fromisoformat(date)
    except ValueError:
        wrong.append(f"CHANGELOG.md: the date of {version} is {date}, not YYYY-MM-DD")
    print("\n".join(wrong) or f"all state {version}, released on {date}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
