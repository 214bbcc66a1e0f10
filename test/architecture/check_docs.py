#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every public declaration of an installed header has a doc comment, and that a function that can fail
lists its errors. Reads the text of the headers without compiling them.

A doc comment is `///` above a declaration, without a blank line between them, or `///<` on its lines.
- Functions, types, aliases and concepts need a comment. Constants and forward declarations do not.
- Data members need a comment in structs whose name ends in Options, Init, Limits, Timeouts or Bounds.
- An enumerator needs a comment, unless the comment of its enum mentions it (as "kInline", or in words) or
  says that the enumerators are "named as in" some document.
- A comment also covers declarations that follow without a blank line: further overloads of the same name, and
  one-line accessors below a one-line accessor.
- These need no comment: destructors, deleted and defaulted members, overrides, friends, operators == and <=>;
  copy and move constructors, and constructors without parameters or with an empty body; and definitions of
  functions that are declared further up.
- If a function returns std::error_code, Expected or Result, its comment says "Fails with ..." (`Errc::k...`,
  or the fault), "Fails as ..." (the function that lists the errors) or "Never fails"."""
import dataclasses
import re
import sys

from check_sources import ROOT, report

LAYERS = ("mpa", "ddp", "rdmap", "verbs", "offload_model")

OPTION_STRUCT = re.compile(r"(Options|Init|Limits|Timeouts|Bounds)$")
CAN_FAIL = re.compile(r"\b(std::error_code|Expected<|Result<)")
LISTS_ERRORS = re.compile(r"\b([Ff]ails with|[Ff]ails as|[Ff]ails only if|Never fails)\b")
SAYS_NAMES = re.compile(r"\bnamed as in\b")
# Names that the standard library prescribes.
PRESCRIBED = ("value_type", "iterator", "const_iterator", "StateType", "EventType", "make_error_code")

ATTRIBUTES = re.compile(r"\[\[.*?\]\]|\balignas\([^)]*\)", re.DOTALL)
TEMPLATE = re.compile(r"^template\s*<.*?>\s*(?=[\w\[])", re.DOTALL)
TYPE = re.compile(r"(class|struct|union|enum(?:\s+class)?)\b\s*([\w:]+)?")
# A name before "(" that may be a function, a conversion or an operator.
FUNCTION = re.compile(r"(operator\s*(?:\(\)|[^\s(]+|\s\w[\w:<>]*)|[~\w][\w:]*)\s*\(")
ACCESS = re.compile(r"(public|private|protected):(?!:)")


@dataclasses.dataclass
class Declaration:
    """A statement of a header without its comments. If the statement has a body, `text` ends before the body."""
    text: str
    first: int  # line number
    last: int
    comment: str
    body: str | None = None
    name: str = ""

    def is_accessor(self):
        return self.first == self.last and bool(re.search(r"\(\s*\)\s*(const)?$", self.text))

    def covers(self, other):
        """Returns whether the comment of this declaration also covers the next one."""
        both = self.is_accessor() and other.is_accessor()
        return other.first - self.last == 1 and (self.name == other.name or both)


class Header:
    """The code of a header without comments, and its comments by line."""

    def __init__(self, text):
        self.above, self.behind, self.blank = {}, {}, set()
        lines = []
        for number, line in enumerate(text.splitlines(), 1):
            line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
            line = re.sub(r"'(\\.|[^'\\])'", "0", line)
            code, slashes, comment = line.partition("//")
            if not line.strip():
                self.blank.add(number)
            elif comment.startswith("/<"):
                self.behind[number] = comment[2:].strip()
            elif slashes and comment.startswith("/"):
                self.above[number] = comment[1:].strip()
            lines.append("" if code.lstrip().startswith("#") else code)
        self.lines, self.text = lines, "\n".join(lines)

    def line_at(self, position):
        return self.text.count("\n", 0, position) + 1

    def comment_above(self, line):
        """Returns the comment that ends above this line. Other comments, for example for linters, may be in
        between."""
        found = []
        line -= 1
        while line > 0 and line not in self.blank and not self.lines[line - 1].strip():
            found.append(self.above.get(line, ""))
            line -= 1
        return " ".join(reversed(found)).strip()

    def comments_behind(self, first, last):
        return " ".join(self.behind[n] for n in range(first, last + 1) if n in self.behind)

    def behind_brace(self, position):
        """Returns the position after the brace that matches the one at `position`."""
        depth = 0
        while position < len(self.text):
            depth += {"{": 1, "}": -1}.get(self.text[position], 0)
            position += 1
            if depth == 0:
                break
        return position

    def statement(self, start):
        """Returns (end, brace) of the statement that begins at `start`. `brace` is the position of its body, or
        None."""
        position, depth = start, 0
        while position < len(self.text):
            at = self.text[position]
            if at == "{" and (depth != 0 or is_value(self.text[start:position])):
                position = self.behind_brace(position)
                continue
            if at == "{":
                return self.behind_brace(position), position
            if at in ";}" and depth == 0:
                return position + 1, None
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(at, 0)
            position += 1
        return position, None


def is_value(head):
    """Returns whether a brace after this text begins a value, as in `int a{1};` or `A() : a_{1} {}`."""
    head = TEMPLATE.sub("", ATTRIBUTES.sub("", head).strip())
    if re.match(r"(inline )?namespace\b|extern\b", head):
        return False
    if TYPE.match(head) and "(" not in head:
        return "=" in head
    head = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "()", head)
    if "()" not in head and "requires" not in head:
        return True  # The brace begins the value of a variable.
    initialisers = re.search(r"\)\s*(noexcept\s*)?:(?!:)", head)
    return bool(initialisers) and bool(re.search(r"[\w>]\s*$", head[head.rfind("()") + 2:]))


class Scanner:
    def __init__(self, text):
        self.header = Header(text)
        self.declared = set()
        self.problems = set()
        self.scope(0, len(self.header.text), "", True)

    def complain(self, line, what):
        self.problems.add((line, what))

    def scope(self, position, end, owner, is_public):
        """Checks the declarations in a namespace (`owner` is empty) or in a class."""
        text, before = self.header.text, None
        while True:
            while position < end and text[position] in " \n;\t":
                position += 1
            if position >= end:
                return
            access = ACCESS.match(text, position)
            if access:
                is_public, position, before = access[1] == "public", access.end(), None
                continue
            behind, brace = self.header.statement(position)
            head = text[position:brace if brace is not None else behind - 1]
            head = ATTRIBUTES.sub("", head).strip()
            if re.match(r"(inline )?namespace\b|extern \"\"", head) and brace is not None:
                self.scope(brace + 1, behind - 1, "", True)
                before = None
            elif is_public and head:
                before = self.declaration(head, (position, brace, behind), owner, before)
            position = behind

    def declaration(self, head, where, owner, before):
        """Checks one declaration. Returns the declaration if its comment may also cover the next one."""
        start, brace, behind = where
        first, last = self.header.line_at(start), self.header.line_at(behind - 1)
        comment = self.header.comment_above(first)
        plain = TEMPLATE.sub("", head)
        kind = TYPE.match(plain)
        if kind and "(" not in plain:
            if brace is not None:
                self.type(kind, comment, first, (brace + 1, behind - 1))
            return None
        comment = f"{comment} {self.header.comments_behind(first, last)}".strip()
        body = None if brace is None else self.header.text[brace + 1:behind - 1].strip()
        one = Declaration(plain, first, last, comment, body)
        if re.match(r"friend\b|static_assert\b|using [\w:]+$", plain):
            return None
        alias = re.match(r"(?:using|concept)\s+(\w+)", plain)
        if alias:
            if not comment and alias[1] not in PRESCRIBED:
                self.complain(first, f"{alias[1]} has no comment")
            return None
        function = FUNCTION.search(plain)
        if self.is_variable(plain, function, owner):
            member = re.search(r"(\w+)\s*(\{.*\}|=.*)?$", plain, re.DOTALL)
            if OPTION_STRUCT.search(owner) and not comment and not plain.startswith("static"):
                self.complain(first, f"{owner}: no comment on {member[1]}")
            return None
        return self.function(one, re.sub(r"\s+", " ", function[1]).strip(), owner, before)

    @staticmethod
    def is_variable(plain, function, owner):
        if not function or "(*" in plain[:function.end() + 1]:
            return True
        if "operator" in plain:
            return False
        constant = not owner and re.match(r"(inline )?(constexpr|extern|constinit)\s.*=", plain)
        return bool(constant) or "=" in plain[:function.start()]

    def function(self, one, name, owner, before):
        one.name = name
        if self.is_exempt(one, owner):
            return before
        shown = f"{owner}::{name}()" if owner else f"{name}()"
        if not one.comment and before is not None and before.covers(one):
            one.comment = before.comment
        returned = one.text[:FUNCTION.search(one.text).start()]
        if not one.comment:
            self.complain(one.first, f"{shown} has no comment")
        elif CAN_FAIL.search(returned) and not (name in PRESCRIBED or LISTS_ERRORS.search(one.comment)):
            self.complain(one.first, f"{shown} does not list its errors")
        self.declared.add(name)
        return one if one.comment else None

    def is_exempt(self, one, owner):
        name, text = one.name, one.text
        if name.startswith("~") or re.match(r"operator\s*(==|<=>)", name):
            return True
        if re.search(r"=\s*(default|delete)$|\boverride\b|\bfinal$", text):
            return True
        if "::" in name and not name.startswith("operator"):
            return True  # This is a definition of a member outside of its class.
        if one.body is not None and not owner and text.startswith("inline") and name in self.declared:
            return True
        if not owner or name not in (owner, "operator="):
            return False
        own = re.escape(owner)
        parameters = text[text.index("("):]
        trivial = re.match(rf"\(\s*\)|\(\s*(const )?{own}(<[^>]*>)?\s*&", parameters)
        return bool(trivial) or one.body == ""

    def type(self, kind, comment, line, inside):
        name = kind[2] or ""
        if not comment and name and "::" not in name:
            self.complain(line, f"{kind[1]} {name} has no comment")
        if kind[1].startswith("enum"):
            self.enumerators(inside, name, comment, line)
        elif "::" not in name:
            self.scope(*inside, name, kind[1] == "struct")

    def enumerators(self, inside, enum, comment, enum_line):
        if SAYS_NAMES.search(comment):
            return
        values = self.header.text[slice(*inside)].rstrip()
        for found in re.finditer(r"\b(k\w+)\s*(=[^,]*)?(,|$)", values):
            name, line = found[1], self.header.line_at(inside[0] + found.start())
            words = re.sub(r"(?<!^)(?=[A-Z])", " ", name[1:]).lower()
            own = line in self.header.behind or (line != enum_line and self.header.comment_above(line))
            if not own and name not in comment and words not in comment.lower().replace("-", " "):
                self.complain(line, f"{enum}::{name} has no comment")


def headers():
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("include/iwarp/**/*.hpp")):
            yield str(path.relative_to(ROOT)), path.read_text()


def main():
    return report("docs", [f"{path}:{line}: {what}" for path, text in headers()
                           for line, what in sorted(Scanner(text).problems)])


if __name__ == "__main__":
    sys.exit(main())
