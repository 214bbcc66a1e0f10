#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks rules for all Markdown files of the project: a link leads to an existing file and to one of its headings,
the rows of a table have as many cells as its head, fences and comments are closed, and some source reads each
variable IWARP_* in the text. Does not follow links out of the project."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATED = ("build", "node_modules", ".git")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]*)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
DELIMITER = re.compile(r"^\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?$")


def blank(found):
    """Replaces each character of the match by an x, except line ends. The result has no Markdown, and as many lines
    and characters as the match."""
    return re.sub(r"[^\n]", "x", found[0])


class Page:
    """A file whose code is blanked instead of removed, so that the Markdown stays on its original lines."""

    def __init__(self, path):
        self.path, self.problems = path, []
        lines, fence = [], None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            mark = re.match(r"\s*(```+|~~~+)(.*)", line)
            if mark and fence is None:
                fence = (mark[1], number)
            elif mark and fence and mark[1].startswith(fence[0]) and not mark[2].strip():
                fence = None
            elif fence is None:
                lines.append(line)
                continue
            lines.append("")
        if fence:
            self.problem(fence[1], "a fence that is never closed")
        self.raw = lines
        self.lines = CODE.sub(blank, "\n".join(lines)).split("\n")
        text = "\n".join(self.lines)
        for found in re.finditer(r"<!--(?!.*?-->)", text, re.DOTALL):
            self.problem(text.count("\n", 0, found.start()) + 1, "a comment that is never closed")
        self.text = re.sub(r"<!--.*?-->", blank, text, flags=re.DOTALL)

    def problem(self, line, text):
        self.problems.append(f"{self.path.relative_to(ROOT)}:{line}: {text}")

    def anchors(self):
        """Returns the anchors that a forge gives to the headings. A second heading with the same name gets the
        suffix -1."""
        out, seen = set(), {}
        for line, masked in zip(self.raw, self.lines):
            heading = re.match(r" {0,3}#{1,6} +(.*?)[# ]*$", line)
            if heading and re.match(r" {0,3}#", masked):
                text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading[1])
                name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
                out.add(f"{name}-{seen[name]}" if name in seen else name)
                seen[name] = seen.get(name, 0) + 1
        out.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", "\n".join(self.raw)))
        return out


def check_links(page, pages):
    for pattern in (LINK, DEFINITION):
        for found in pattern.finditer(page.text):
            line, target = page.text.count("\n", 0, found.start()) + 1, found[1]
            if re.match(r"(https?|mailto):", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.path.parent / path).resolve() if path else page.path
            if path.startswith("/") or not file.is_relative_to(ROOT) or not file.exists():
                page.problem(line, f"no file {path}")
            elif anchor and file.suffix == ".md" and anchor not in pages[file].anchors():
                page.problem(line, f"no heading #{anchor} in {file.relative_to(ROOT)}")


def cells(line):
    inner = line.strip().removeprefix("|")
    if not inner.endswith("\\|"):
        inner = inner.removesuffix("|")
    return len(re.split(r"(?<!\\)\|", inner))


def is_row(line):
    return line.lstrip().startswith("|")


def check_tables(page):
    """Checks the number of cells in each row. Forges treat a bar in code as the end of a cell, too, so this counts
    the cells of the raw lines."""
    number = 0
    while number < len(page.raw):
        if not is_row(page.lines[number]):
            number += 1
            continue
        first = number
        while number < len(page.raw) and is_row(page.lines[number]):
            number += 1
        if number - first < 2 or not DELIMITER.match(page.lines[first + 1].strip()):
            page.problem(first + 1, "a table without a head: its second row has to be of dashes")
            continue
        wanted = cells(page.raw[first])
        for row in range(first, number):
            if not page.raw[row].rstrip().endswith("|"):
                page.problem(row + 1, "a row of a table that does not end with |")
            elif cells(page.raw[row]) != wanted:
                page.problem(row + 1, f"{cells(page.raw[row])} cells in a table of {wanted}")
        if number < len(page.raw) and page.lines[number].strip() and not page.lines[number].startswith("<!--"):
            page.problem(number + 1, "text right behind a table becomes a row of it")


def sources_text():
    """Returns all files that may read a variable, without Markdown files."""
    folders = ("mpa", "verbs", "apps", "test", "rfc-notes", ".cmake", ".ci", ".github", "CMakeLists.txt")
    paths = [path for folder in folders for path in (ROOT / folder, *(ROOT / folder).rglob("*"))]
    return "\n".join(path.read_text(errors="replace") for path in paths
                     if path.is_file() and path.suffix in (".cpp", ".hpp", ".py", ".sh", ".cmake", ".txt", ".yml", ".in"))


def check_variables(page, known):
    for number, line in enumerate(page.raw, 1):
        for name in re.findall(r"\bIWARP_[A-Z][A-Z0-9_]*\b", line):
            if name not in known:
                page.problem(number, f"no source knows {name}")


def main():
    paths = [path for path in sorted(ROOT.rglob("*.md")) if not set(path.relative_to(ROOT).parts) & set(GENERATED)]
    pages = {path: Page(path) for path in paths}
    known = set(re.findall(r"\bIWARP_[A-Z][A-Z0-9_]*\b", sources_text()))
    for page in pages.values():
        check_links(page, pages)
        check_variables(page, known)
        check_tables(page)
    problems = [problem for page in pages.values() for problem in page.problems]
    print(*problems, sep="\n", end="\n" * bool(problems))
    print(f"{len(pages)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
