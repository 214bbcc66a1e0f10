#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks traceability: compares rfc-notes/requirements/ with the ids that code and tests mention.

  trace.py            check; exit 1 if a mark, a row or the table in README.md is wrong
  trace.py --update   rewrite the status table in README.md
  trace.py --promote  set to done every row whose id both the code and a test mention, if it is deferred, or partial
                      only because no test cited it
  trace.py --missing  list what each open row lacks

requirements/README.md has the rules for marks and rows.
"""
import argparse
import pathlib
import re
import signal
import sys

CODE = ("mpa", "ddp", "rdmap", "verbs", "apps")
TESTS = ("test", "apps/judge")
CASES = ("apps/conform", "apps/judge")  # their tables cite rows without brackets: "MPA-15 MPA-16"
SUFFIXES = {".cpp", ".hpp", ".c", ".h", ".py", ".sh", ".def"}
STATUSES = ("done", "partial", "documented", "deferred", "not-applicable")
LEVELS_NEEDING_BOTH = ("MUST", "MUST NOT", "(page)", "(rule)")
UNTESTED = "no test cites it yet"  # the note of a row that only lacks a test
BEGIN, END = "<!-- status:begin -->", "<!-- status:end -->"


class Row:
    """One row of a requirements table. str() returns the row in the form in which it was read."""

    def __init__(self, path, line_number, cells):
        self.path, self.line_number = path, line_number
        self.id, self.section, self.level, self.text, self.observe, self.status, self.note = cells

    def __str__(self):
        cells = (self.id, self.section, self.level, self.text, self.observe, self.status, self.note)
        return ("| " + " | ".join(cells) + " |").replace("|  |", "| |")


def read_rows(root, problems):
    rows = {}
    for path in sorted((root / "rfc-notes/requirements").glob("*.md")):
        if path.name == "README.md":
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not re.match(r"\| [A-Z]+-\d+ \|", line):
                continue
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            where = f"{path.relative_to(root)}:{number}"
            if len(cells) != 7:
                problems.append(f"{where}: {len(cells)} columns instead of 7")
            elif cells[0] in rows:
                problems.append(f"{where}: {cells[0]} is already in {rows[cells[0]].path.name}")
            else:
                rows[cells[0]] = Row(path, number, cells)
    return rows


def texts(root, folders, suffixes):
    """Yields path and text of each file below the folders with one of the suffixes. The judge is no part of `apps`: its
    cases test."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            is_case = folder == "apps" and "judge" in path.relative_to(root).parts
            if path.suffix in suffixes and path.is_file() and not is_case:
                yield path, path.read_text(errors="replace")


def id_pattern(rows):
    return r"(?:%s)-\d" % "|".join(sorted({row_id.split("-")[0] for row_id in rows}))


def read_marks(root, folders, suffixes, rows, problems):
    """Returns {id: first place} for all marks below the folders. Adds a problem for each wrong mark."""
    mark = re.compile(r"\[(%s[^\]]*)\]" % id_pattern(rows))
    marks = {}
    for path, text in texts(root, folders, suffixes):
        for found in mark.finditer(text):
            where = f"{path.relative_to(root)}:{text.count(chr(10), 0, found.start()) + 1}"
            # A list of ids may continue on the next comment line or in the next string literal.
            for token in (part.strip(" \t\n/*#\"") for part in found[1].split(",")):
                if token in rows:
                    marks.setdefault(token, where)
                elif re.fullmatch(r"[A-Z]+-\d+", token):
                    problems.append(f"{where}: [{token}] is no requirement")
                else:
                    problems.append(f"{where}: [{found[1]}] is not a list of ids")
    return marks


def read_cases(root, rows, problems):
    """Returns {id: first place} for the columns of tables of cases, for example "MPA-15 MPA-16"."""
    column = re.compile(r'"(%s\d*(?: %s\d*)*)"' % (id_pattern(rows), id_pattern(rows)))
    cited = {}
    for path, text in texts(root, CASES, SUFFIXES):
        text = re.sub(r"(?m)^\s*//.*", "", text)  # examples in comments are no cases
        for found in column.finditer(text):
            where = f"{path.relative_to(root)}:{text.count(chr(10), 0, found.start()) + 1}"
            for row_id in found[1].split():
                if row_id in rows:
                    cited.setdefault(row_id, where)
                else:
                    problems.append(f"{where}: {row_id} is no requirement")
    return cited


def lacking(row, code, tests):
    return [name for name, marks in (("code", code), ("test", tests)) if row.id not in marks]


def check_row(root, row, code, tests):
    """Returns a text that says what is wrong with the row's status, or None if it is right."""
    if row.status not in STATUSES:
        return f"unknown status '{row.status}'"
    if row.status == "done":
        if row.level in LEVELS_NEEDING_BOTH:
            lacks = lacking(row, code, tests)
            return f"done, but no {' and no '.join(lacks)} mentions it" if lacks else None
        return None if row.id in code or row.id in tests else "done, but nothing mentions it"
    if not row.note:
        return f"{row.status} without a reason"
    if row.status == "documented":
        page = re.search(r"[\w./-]+\.(md|hpp|cpp)\b", row.note)
        if not page or not (root / page[0]).is_file():
            return "documented, but the note names no file that exists"
        if not re.search(rf"\b{row.id}\b", (root / page[0]).read_text()):
            return f"documented, but {page[0]} does not mention it"
    return None


def status_table(rows):
    lines = ["| Source | Rules | " + " | ".join(STATUSES) + " | required, not done |",
             "|---|" + "--:|" * (len(STATUSES) + 2)]
    total = [0] * (len(STATUSES) + 2)
    for path in dict.fromkeys(row.path for row in rows.values()):
        own = [row for row in rows.values() if row.path == path]
        title = path.read_text().splitlines()[0].lstrip("# ")
        still_open = [row for row in own if row.status in ("partial", "deferred")]
        counts = [len(own), *(sum(row.status == status for row in own) for status in STATUSES),
                  sum(row.level in LEVELS_NEEDING_BOTH for row in still_open)]
        total = [a + b for a, b in zip(total, counts)]
        link = f"[{title}](rfc-notes/requirements/{path.name})"
        lines.append(f"| {link} | " + " | ".join(map(str, counts)) + " |")
    lines.append("| **all** | " + " | ".join(f"**{n}**" for n in total) + " |")
    return "\n".join(lines)


def with_table(readme, rows):
    head, begin, rest = readme.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        return None
    return f"{head}{BEGIN}\n{status_table(rows)}\n{END}{tail}"


def promote(rows, code, tests):
    promoted = [row for row in rows.values()
                if (row.status == "deferred" or (row.status, row.note) == ("partial", UNTESTED))
                and not lacking(row, code, tests)]
    for path in {row.path for row in promoted}:
        lines = path.read_text().splitlines()
        for row in (r for r in promoted if r.path == path):
            row.status, row.note = "done", ""
            lines[row.line_number - 1] = str(row)
        path.write_text("\n".join(lines) + "\n")
    print(f"{len(promoted)} rows are done now: {', '.join(row.id for row in promoted)}")


def print_missing(rows, code, tests):
    for row in rows.values():
        if row.status in ("deferred", "partial"):
            lacks = " and ".join(lacking(row, code, tests)) or "nothing"
            print(f"{row.id:10} {row.level:10} {row.status:8} lacks {lacks:13} {row.text}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group()
    for name in ("update", "promote", "missing"):
        action.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    root, problems = pathlib.Path(__file__).resolve().parent.parent, []

    rows = read_rows(root, problems)
    code = read_marks(root, CODE, SUFFIXES, rows, problems)
    tests = read_marks(root, TESTS, SUFFIXES, rows, problems) | read_cases(root, rows, problems)
    read_marks(root, ("rfc-notes", *CODE, *TESTS), {".md"}, rows, problems)
    readme_path = root / "README.md"
    readme = readme_path.read_text() if readme_path.is_file() else ""

    if options.missing:
        print_missing(rows, code, tests)
        return 0
    if options.promote:
        promote(rows, code, tests)
    updated = with_table(readme, rows)
    if updated is None:
        problems.append(f"README.md: no status table between {BEGIN} and {END}")
    elif updated != readme:
        if options.update or options.promote:
            readme_path.write_text(updated)
        else:
            problems.append("README.md: the status table is stale; run rfc-notes/trace.py --update")
    for row in rows.values():
        if wrong := check_row(root, row, code, tests):
            problems.append(f"{row.path.relative_to(root)}:{row.line_number}: {row.id} is {wrong}")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(rows)} requirements, {len(code)} marked in code, {len(tests)} in tests, "
          f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # no error message from `trace.py --missing | head`
    sys.exit(main())
