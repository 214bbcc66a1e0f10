#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists in messages.md every sentence that the commands and libraries show to a user, so that a reader
can review all of them in one sitting.

  messages.py             check; exit 1 if messages.md differs from the sources
  messages.py --update    write messages.md
  messages.py --sample 40 --seed 1
                          print 40 messages, chosen at random; a reader can judge them in five minutes

A message is a string literal of at least three words in a C++ source of the commands or libraries:
errors, refusals, log lines, explanations and help. Adjacent literals count as one. `{}` stands for a
value. The texts of web pages are not listed, and of the judge's cases only the titles: their other texts
name calls."""
import argparse
import collections
import pathlib
import random
import re
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "rfc-notes/messages.md"
FOLDERS = ("mpa", "ddp", "rdmap", "verbs", "offload_model", "apps")
NOT_SENTENCES = ("apps/command_line/completion.cpp",)  # contains shell scripts
HEAD = """# What the program says

Every sentence that the commands and the libraries show to a user, by the folder of its source: errors, refusals, log
lines, explanations and help. `{}` stands for a value. [messages.py](messages.py) makes this page from the sources, and
a test fails when it is stale. The form of an error is `iwarp: what failed: why (what to do)`.
"""
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\((?P<raw>.*?)\)\1"|"(?P<text>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)\'|'
                   r"#\s*include[^\n]*|static_assert\s*\(|assert\s*\(|\s+|.", re.DOTALL)
WORD = re.compile(r"[A-Za-z][a-z']+")
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "0": "\0", "'": "'"}


def unescaped(text):
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[0]), text)


def literals(text):
    """Yields each string literal as (line, text). Joins adjacent literals, which only white space or comments
    separate; the line is that of the first one."""
    joined, first, in_assert, depth = None, 0, False, 0
    for token in TOKEN.finditer(text):
        words = token[0]
        literal = token["raw"] if token["raw"] is not None else token["text"]
        if literal is not None and words.startswith(('"', 'R"')):
            if token["raw"] is None:
                literal = unescaped(literal)
            if joined is None:
                joined, first = "", token.start()
            joined += "" if in_assert else literal
            continue
        if words.isspace() or words.startswith(("//", "/*")):
            continue
        if joined:
            yield text.count("\n", 0, first) + 1, joined
        joined = None
        if words.replace(" ", "").endswith("assert("):
            in_assert, depth = True, 1
        elif in_assert:
            depth += (words == "(") - (words == ")")
            in_assert = depth > 0
    if joined:
        yield text.count("\n", 0, first) + 1, joined


def is_message(text):
    return len(WORD.findall(text)) >= 3 and " " in text.strip()


def is_source(path):
    inside = path.relative_to(ROOT)
    return (inside.parts[0] in FOLDERS and path.suffix in (".cpp", ".hpp", ".in")
            and "node_modules" not in inside.parts and str(inside) not in NOT_SENTENCES)


def without_calls(path):
    """Returns the text of a source; of one with cases of the judge, only the rows of its tables, in their lines."""
    text = path.read_text()
    rows = re.search(r"Case kCases\[\]|#define JUDGE_" if ROOT / "apps/judge/cases" in path.parents else "", text)
    return "\n" * text.count("\n", 0, rows.start()) + text[rows.start():] if rows else ""


def messages_of(path):
    """Yields the messages of a source as (line, text)."""
    for line, text in literals(without_calls(path)):
        for paragraph in re.split(r"\n\s*\n", text):
            said = " ".join(paragraph.split())
            if is_message(said):
                yield line, said


def messages():
    """Returns {folder: messages}; the messages are in the order of the files."""
    out = collections.defaultdict(dict)
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")):
        if is_source(path):
            for _, said in messages_of(path):
                out[str(path.relative_to(ROOT).parent)].setdefault(said)
    return out


def page():
    parts = [HEAD]
    for folder, texts in sorted(messages().items()):
        parts.append(f"\n## {folder}\n\n" + "".join(f"- {quoted(text)}\n" for text in texts))
    return "".join(parts)


def quoted(text):
    fence = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--sample", type=int, metavar="COUNT", help="only print COUNT messages")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.sample:
        listed = [f"{folder}: {text}" for folder, texts in sorted(messages().items()) for text in texts]
        print(*random.Random(options.seed).sample(listed, min(options.sample, len(listed))), sep="\n")
        return 0
    wanted = page()
    if options.update:
        PAGE.write_text(wanted)
    is_stale = not PAGE.is_file() or PAGE.read_text() != wanted
    if is_stale:
        print("messages.md is stale: rfc-notes/messages.py --update writes it", file=sys.stderr)
    print(f"{sum(map(len, messages().values()))} messages")
    return 1 if is_stale else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
