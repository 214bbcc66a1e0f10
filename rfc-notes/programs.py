#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the table of programs in programs.md from the results of the tests in test/rdma_core.

  programs.py                   check; exit 1 if the table does not list what the tests try
  programs.py --update FOLDER   rewrite the table from the results in FOLDER, such as build/release/programs

Each test class declares with @tried() what it tries (test/rdma_core/tried.py). Each test writes a line
to FOLDER. Sub-folders of FOLDER contain the results of other systems (test/packaging/test_programs.sh).
If a program's tests were skipped on a system, the program's cell for that system does not change.
"""
import argparse
import ast
import json
import pathlib
import re
import signal
import sys

BEGIN, END = "<!-- programs:begin -->", "<!-- programs:end -->"
SHOWN_AS = {"iwarp": "iWARP", "roce": "RoCE"}
SYSTEMS = ("Debian 12", "Debian 13")
HEAD = (f"| Program | Packages | {' | '.join(SYSTEMS)} | What was tried | Shown as |\n"
        f"|---|---|{'---|' * len(SYSTEMS)}---|---|")
NOT_TRIED = "-"


class Found:
    """The results of a row's tests on one system."""

    def __init__(self):
        self.versions = {}
        self.failed = set()

    def take(self, result):
        for line in result["versions"]:
            package, _, version = line.partition(" ")
            self.versions[package] = upstream(version)
        if result["verdict"] == "failed":
            self.failed.add(SHOWN_AS[result["persona"]])

    def cell(self, packages):
        versions = ", ".join(self.versions.get(name, NOT_TRIED) for name in packages)
        return versions + "".join(f", **fails** as {name}" for name in sorted(self.failed))


class Row:
    """A row of the table: one use of a program. The tests try it with the stack shown as iWARP, as RoCE, or both."""

    def __init__(self, program, packages, what, personas):
        self.program, self.packages, self.what = program, packages.split(), what
        self.shown_as = ", ".join(SHOWN_AS[persona] for persona in personas)
        self.found = {}
        self.cells = {}

    def take(self, result):
        self.found.setdefault(result["system"], Found()).take(result)

    def update(self, before):
        """Sets the cells of all systems. A cell without a result keeps its old contents, from `before`."""
        for system in SYSTEMS:
            self.cells[system] = (self.found[system].cell(self.packages) if system in self.found
                                  else before.get(system, NOT_TRIED))

    def fixed_cells(self):
        """Returns the cells that do not depend on the system."""
        return self.program, ", ".join(self.packages), self.what, self.shown_as

    def __str__(self):
        program, packages, what, shown_as = self.fixed_cells()
        cells = (program, packages, *(self.cells[system] for system in SYSTEMS), what, shown_as)
        return f"| {' | '.join(cells)} |"


def upstream(version):
    """Returns the version without Debian's epoch and revision: 7.2 for 1:7.2+dfsg-7+deb12u18."""
    return re.sub(r"^\d+:|[+~](dfsg|ds).*$|-[^-]*$", "", version)


def tried_in(path):
    """Yields a row for each @tried() decorator in the file, in order."""
    for node in ast.parse(path.read_text(), str(path)).body:
        for call in getattr(node, "decorator_list", ()):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "tried":
                words = [ast.literal_eval(word) for word in call.args]
                named = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
                yield Row(*words, named.get("personas", ("iwarp",)))


def rows_of(tests):
    """Returns all rows, sorted by name, with rdma-core's own programs first."""
    rows = [row for path in sorted(tests.rglob("test_*.py"), key=lambda path: path.name) for row in tried_in(path)]
    own = {"rdmacm-utils", "ibverbs-utils"}
    return sorted(rows, key=lambda row: (not set(row.packages) <= own, row.program.lower()))


def read_table(text):
    """Returns {fixed cells: {system: cell}} for the rows between the marks."""
    out = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 4 + len(SYSTEMS) and cells[0] not in ("Program", "---"):
            fixed = (*cells[:2], *cells[-2:])
            out[fixed] = dict(zip(SYSTEMS, cells[2:-2]))
    return out


def read_results(folder):
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text().splitlines():
            yield json.loads(line)


def take_results(rows, results):
    by_entry = {(row.program, " ".join(row.packages), row.what): row for row in rows}
    for result in results:
        row = by_entry.get((result["program"], result["packages"], result["what"]))
        if row is not None and result["verdict"] != "skipped":
            row.take(result)


def problems_of(rows, table):
    wanted = {row.fixed_cells() for row in rows}
    for program, _, what, shown_as in wanted - table.keys():
        yield f"no row for {program}, {what}, shown as {shown_as}"
    for program, _, what, shown_as in table.keys() - wanted:
        yield f"nothing tries {program}, {what}, shown as {shown_as}"
    for cells in wanted & table.keys():
        if all(NOT_TRIED in cell.split(", ") for cell in table[cells].values()):
            yield f"{cells[0]}, {cells[2]}, has never run"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", metavar="FOLDER", type=pathlib.Path)
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    page = root / "rfc-notes/programs.md"
    head, begin, rest = page.read_text().partition(BEGIN)
    body, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{page.name}: no table of programs between {BEGIN} and {END}")
    rows = rows_of(root / "test/rdma_core")
    if options.update is not None:
        take_results(rows, read_results(options.update))
        before = read_table(body)
        for row in rows:
            row.update(before.get(row.fixed_cells(), {}))
        body = "\n" + "\n".join([HEAD, *map(str, rows)]) + "\n"
        page.write_text(f"{head}{begin}{body}{end}{tail}")
    problems = sorted(problems_of(rows, read_table(body)))
    for problem in problems:
        print(f"{page.name}, table of programs: {problem}", file=sys.stderr)
    if problems:
        print("rfc-notes/programs.py --update FOLDER writes it", file=sys.stderr)
    print(f"{len(rows)} rows, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
