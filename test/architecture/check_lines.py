#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the lines of the files that people write, and compares each area with its number in lines.txt.

  check_lines.py            check; exit 1 if an area has more lines than its number, or 200 fewer
  check_lines.py --update   write the present numbers

lines.txt also says which files count. New files count before they are added to git."""
import argparse
import pathlib
import re
import subprocess
import sys

from check_sources import ROOT, report

TABLE = pathlib.Path(__file__).with_name("lines.txt")
SLACK = 200


def counted(patterns):
    """Returns {path: lines} of the files that match `+PATTERN` and no `-PATTERN` of the table."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    return {path: (ROOT / path).read_bytes().count(b"\n") for path in listed if (ROOT / path).is_file()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    if not (ROOT / ".git").exists():
        print("SKIPPED: this is not a git checkout, so generated files cannot be told from sources")
        return 77
    table = TABLE.read_text()
    lines = counted([f":(exclude,glob){word[1:]}" if word[0] == "-" else f":(glob){word[1:]}"
                     for word in re.findall(r"^([+-]\S+)$", table, re.MULTILINE)])
    problems = [f"lines.txt:{number}: neither a pattern nor an area with its number: {line}"
                for number, line in enumerate(table.splitlines(), 1)
                if not re.fullmatch(r"|#.*|[+-]\S+|[a-z_/-]+ \d+", line)]
    if problems:
        return report("lines.txt", problems)

    def compared(row):
        area, limit = row[1], int(row[2])
        count = sum(number for path, number in lines.items() if path.startswith(area + "/"))
        if not limit - SLACK <= count <= limit:
            problems.append(f"{area} has {count} lines, its number in lines.txt is {limit}: run "
                            "check_lines.py --update in the same commit; if it rises, say in the body what the lines buy")
        return f"{area} {count}"

    updated = re.sub(r"^([a-z_/-]+) (\d+)$", compared, table, flags=re.MULTILINE)
    if options.update:
        TABLE.write_text(updated)
        return 0
    return report(f"{sum(lines.values())} lines", problems)


if __name__ == "__main__":
    sys.exit(main())
