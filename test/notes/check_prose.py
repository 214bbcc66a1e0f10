#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds wording that a reader has to decipher, in comments, documents and messages.

  check_prose.py [--count] [PATH...]    exits with 1 if a rule is broken; --count prints totals by rule

Without a PATH it also checks the commits made since this file exists: each needs an `area: imperative summary`
of at most 72 characters, and a body that says why.

It reads the comments of all sources and scripts, Markdown outside of code, and string literals of C++ and
TypeScript outside of test/. For the rule "dialect" it reads the messages that rfc-notes/messages.py finds in a C++
source. A rule is a pattern with a suggestion. A line that needs such words for a good
reason is listed in prose_exceptions.txt, as PATH: TEXT, with the reason in a comment above it."""
import argparse
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "rfc-notes"))
import messages  # noqa: E402

GENERATED = {"build", "node_modules", ".git", ".cache", "__pycache__"}
# The check skips texts of other projects, and files that are generated from sources which are
# checked themselves.
NOT_OURS = ("LICENSE", "rfc-notes/messages.md", "test/vectors/", "test/fuzz/regressions/")
EXCEPTIONS = pathlib.Path(__file__).with_name("prose_exceptions.txt")
SLASHES = {".cpp", ".hpp", ".h", ".c", ".ts", ".tsx", ".js", ".css"}
HASHES = {".py", ".sh", ".cmake", ".yml", ".yaml"}
HASH_NAMES = {"CMakeLists.txt", "run", "package", "Containerfile"}

RULES = {
    "actor": (r"(?i:\b(somebody|nobody|whoever|anybody|everybody|someone|anyone|everyone)\b|\bno one\b)"
              r"|(?i:(?:^|[.;:]\s+|\bby |\bto )who(?: \w+)? \w+s\b|\b(?:those|he|the one) who\b)",
              "name the actor: the peer, the caller, the application, the worker"),
    "ours": (r"(?i:\bof (?:ours|theirs|its own making)\b|\bone of ours\b)", "name whose it is, and what"),
    "pointer": (r"(?i:\b(?:so many|so long|so often|so much)\b(?! (?:as|that))|\bmanieth\b|\bwhose turn\b|\ba word of\b"
                r"|\bas (?:it|they) (?:is|are|stands?)\b(?! (?:written|defined))|\bfor people\b)",
                "name the number, the state or the event"),
    "truth": (r"(?:^|[.;]\s+)(?:True|False)(?: also)?(?::|\s(?:if|when|where)\b)",
              "write \"Returns ... if\", or return an enum"),
}
DIALECT = (r"(?i:\bbehind\b|\b(?:is|there is) no\b(?! longer)|\basked for\b|\btold\b|\bcame\b|\bof which\b|\b(?:reports?|says?) so\b"
           r"|\bhands? (?:it |them )?to\b|\blearns? that\b|\bassigns? none\b|\buntil here\b|\bthe own\b)",
           "say after, is not, requested, reported, arrived, passes to, or name the whole or the flag")
VERBLESS = (r"^(?:All or none|From now on|The same|More than once|Null: none|Any time|Once|Some of them|Mostly)\b[^.]*\.?$",
            "a contract needs a verb")
SUBJECT = re.compile(r"^[a-z0-9_./-]+(?:, [a-z0-9_./-]+)*: [a-z].{2,}$")


def sources():
    for folder, below, names in os.walk(ROOT):
        below[:] = sorted(set(below) - GENERATED)
        for name in sorted(names):
            yield str(pathlib.Path(folder, name).relative_to(ROOT))


def blocks(path, text):
    """Yields (line, kind, words) of each comment, paragraph or literal. The kind is doc, comment, text or literal."""
    suffix, name = pathlib.PurePath(path).suffix, pathlib.PurePath(path).name
    if suffix == ".md":
        yield from paragraphs(text)
    elif suffix in SLASHES:
        yield from comments(text, "//")
        if not path.startswith("test/"):
            yield from literals(text)
    elif suffix in HASHES or name in HASH_NAMES:
        yield from comments(text, "#")
        for found in re.finditer(r'"""(.*?)"""', text, re.DOTALL) if suffix == ".py" else ():
            yield text.count("\n", 0, found.start()) + 1, "comment", " ".join(found[1].split())


def comments(text, mark):
    """Yields comments. Successive comments without code between them are treated as one."""
    first, kind, words, last = 0, "", [], 0
    for number, line in enumerate(text.splitlines(), 1):
        found = re.search(rf"(?:^|\s){mark}(/?!?<?)\s(.*)$" if mark == "//" else r"(?:^|\s)#()\s(.*)$", line)
        is_alone = found and not line[:found.start()].strip()
        if found and words and is_alone and last == number - 1:
            words.append(found[2])
        else:
            if words:
                yield first, kind, " ".join(words)
            first, words = number, [found[2]] if found else []
            kind = "doc" if found and "/" in found[1] else "comment"
        last = number
    if words:
        yield first, kind, " ".join(words)


def literals(text):
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("//", "#include")):
            continue
        for found in re.finditer(r'"((?:[^"\\]|\\.){12,})"', line):
            yield number, "literal", found[1]


def paragraphs(text):
    first, words, fenced, hidden = 0, [], False, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if re.match(r"\s*```", line):
            fenced = not fenced
            line = ""
        hidden = hidden and "-->" not in line
        if fenced or line.lstrip().startswith("<!--") or not line.strip():
            if words:
                yield first, "text", " ".join(words)
            words = []
        else:
            if not words:
                first = number
            words.append(re.sub(r"`[^`]*`", "`x`", line.strip().strip("|")))


def exceptions():
    """Returns the exceptions as {path: [text]}."""
    out = collections.defaultdict(list)
    if EXCEPTIONS.is_file():
        for line in EXCEPTIONS.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                path, _, words = line.partition(": ")
                out[path].append(words)
    return out


def findings(path, allowed):
    pure = pathlib.PurePath(path)
    if pure.suffix not in SLASHES | HASHES | {".md"} and pure.name not in HASH_NAMES:
        return
    text = (ROOT / path).read_text(errors="replace")
    shown = messages.messages_of(ROOT / path) if messages.is_source(ROOT / path) else ()
    for line, kind, words in (*blocks(path, text), *((line, "message", words) for line, words in shown)):
        rules = {"dialect": DIALECT} if kind == "message" else dict(RULES)
        if kind == "doc":
            rules["verbless"] = VERBLESS
        for name, (pattern, advice) in rules.items():
            for found in re.finditer(pattern, words):
                around = words[max(0, found.start() - 40):found.end() + 40].strip()
                if not any(text_of in words for text_of in allowed):
                    yield name, f"{path}:{line}: {name}: \"{around}\": {advice}"


def git(*words):
    """Returns the output of a git command, or an empty text if this is not a checkout."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def commit_findings():
    since = git("log", "--diff-filter=A", "--format=%h", "--", str(pathlib.Path(__file__).resolve())).split()
    log = git("log", "--no-merges", "--format=%h%x1f%s%x1f%b%x1e", f"{since[-1]}..HEAD") if since else ""
    for record in filter(str.strip, log.split("\x1e")):
        commit, subject, body = record.strip("\n").split("\x1f")
        if not SUBJECT.match(subject) or len(subject) > 72:
            yield f"{commit}: not `area: imperative summary` in 72 characters: {subject}"
        if not body.strip():
            yield f"{commit}: no body that says why: {subject}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", action="store_true")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    allowed = exceptions()
    totals, said = collections.Counter(), []
    for path in sources():
        if options.paths and not any(path.startswith(part.rstrip("/")) for part in options.paths):
            continue
        if path.startswith(NOT_OURS) or path == str(pathlib.Path(__file__).resolve().relative_to(ROOT)):
            continue
        for name, line in findings(path, allowed[path]):
            totals[name] += 1
            said.append(line)
    if not options.paths:
        for line in commit_findings():
            totals["commit"] += 1
            said.append(line)
    if not options.count:
        print("\n".join(said))
    print(f"prose: {len(said)} findings" + "".join(f", {n} {name}" for name, n in sorted(totals.items())))
    return 1 if said else 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
