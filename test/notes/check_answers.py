#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the solutions of the course with the output of the stack. This script contains no results. In
solutions.md, each value is followed by the place where `iwarp explain` prints it:

    `value`<!-- answer: CAPTURE FRAME WHAT -->

CAPTURE is a file in test/vectors/course, or a path from the root of the project. FRAME is the number that explain
gives to the frame, or `close`. Instead of CAPTURE FRAME, there may be the word `fpdu`. It stands for the frame that
exercises.md shows in hexadecimal under the heading that the solution also has. WHAT is a path in the frame's JSON,
`from` for the end that sent the frame, `gap` for the seconds since the previous frame, or `field:NAME` or
`octets:NAME` for a field."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "rfc-notes"))
import sessions  # noqa: E402

COURSE = ROOT / "rfc-notes/course"
ANSWER = re.compile(r"(?:`([^`]+)`)?<!-- answer: (.+?) -->")
ENDS = {"near": "client", "far": "server"}


def sections(path):
    """Returns {heading: text} of the headings of the second level."""
    parts = re.split(r"^## (.+)$", path.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def fpdu_in(text):
    found = re.search(r"^```\n([0-9a-f\s]+)```$", text, re.MULTILINE)
    if not found:
        raise ValueError("the exercise has no frame in hexadecimal")
    return bytes.fromhex(found[1])


def at_path(value, path):
    for step in path.split("."):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def shown(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


class Captures:
    """Runs explain only once for each capture."""

    def __init__(self):
        self.known = {}

    def session(self, name):
        path = name if "/" in name else f"test/vectors/course/{name}"
        if path not in self.known:
            self.known[path] = sessions.session(path)
        return self.known[path]

    def answer(self, question, exercise):
        name, rest = question.split(" ", 1)
        if name == "fpdu":
            session, number = sessions.session_of([fpdu_in(exercise)]), "3"
        else:
            session = self.session(name)
            number, rest = rest.split(" ", 1)
        if number == "close":
            return shown(at_path(session.closed[1], rest))
        frame = session.frame(number)
        kind, _, field = rest.partition(":")
        if kind in ("field", "octets"):
            for column, value, _, octets, _ in session.fields(frame):
                if column["name"] == field:
                    return octets.hex() if kind == "octets" else value
            raise ValueError(f"frame {number} has no field {field}")
        if rest == "from":
            return ENDS[frame["from"]]
        if rest == "gap":
            before = session.frames[frame["connection"], frame["frame"] - 1]
            return f"{(frame['time'] - before['time']) / 1e9:.3f}"
        return shown(at_path(frame, rest))


def main():
    exercises, solutions = sections(COURSE / "exercises.md"), sections(COURSE / "solutions.md")
    captures, checked = Captures(), 0
    problems = [f"no solution: {name}" for name in exercises if name not in solutions]
    for name, text in solutions.items():
        answers = ANSWER.findall(text)
        if name in exercises and not answers:
            problems.append(f"{name}: nothing in the solution is checked")
        for said, question in answers:
            checked += 1
            try:
                right = captures.answer(question, exercises[name])
            except (ValueError, KeyError, IndexError, TypeError) as error:
                problems.append(f"{name}: {question}: {error!r}")
                continue
            if said != right:
                problems.append(f"{name}: {question}: the solution says {said!r}, the stack {right!r}")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(exercises)} exercises, {checked} answers, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
