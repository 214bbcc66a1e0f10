#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the figures in the Markdown files, and the examples in the comments of headers. A figure is enclosed in
<!-- figure: ... --> and <!-- end -->.

  figures.py            make each figure again and compare; exit 1 if a figure is stale
  figures.py --update   write the figures that are stale

The comment before a figure says how to make the figure. FILE is a capture, or FILE.hex#NAME, which is a
frame of test/vectors:

  iwarp ARGUMENT...               the output of this command
  octets FILE FRAME [brief]       each field of a frame: octets, value, purpose
  hex FILE FRAME                  the octets of a frame
  offsets FILE                    the position of each frame in its sender's stream
  changes FILE [MACHINE]          the edges of the state machines that the frames follow
  machine NAME                    a table of rfc-notes/fsm as a graph and as a list
  source FILE                     lines of a source file of the project
  clinic KIND                     the entries of `iwarp explain-error`; KIND is status, call or event
  devinfo                         the lines of `ibv_devinfo -v`, with what devinfo.tsv says of each
  variables                       the environment variable of each option (verbs/options), grouped by the
                                  commands that accept the option

After "|", a list separated by ";" selects the parts of the output or of the source file to show:

  frames 3-5,7                    these frames in the output of `iwarp explain`
  lines 1-4,9                     these lines; "..." marks omitted lines
  find TEXT -> TEXT               the lines from the first one that begins with the first TEXT to the
                                  next one that begins with the second TEXT; without "->", one line
  block TEXT                      the first line that begins with TEXT, and the block that it opens
  varies                          numbers differ from run to run, so they are not compared

The test apps.cost_page draws the pictures of `iwarp cost report` in Chromium. A picture is preceded by
<!-- picture: PRESET ROWS DIGEST -->; DIGEST is the digest of the rows that the picture shows. If the
rows have changed, --update copies the picture from IWARP_BUILD/.../report-pictures.

In README.md and rfc-notes, all other output must be marked: by ```text if it is written by hand, and by
a preceding <!-- measured: where from --> if no run can repeat it."""
import argparse
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import sys
import tempfile
import textwrap

import sessions
from sessions import ROOT

FIGURE = re.compile(r"^(?P<begin>(?P<mark>(?:// )?)<!-- figure: (?P<recipe>.+?) -->\n)(?P<body>.*?)"
                    r"(?P<end>^(?:// )?<!-- end -->$)", re.MULTILINE | re.DOTALL)
VARIES = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8}\b|\d+\.\d+|\".*\"")
PICTURE = re.compile(r"<!-- picture: (?P<preset>\S+) (?P<rows>\S+) (?P<digest>\w+) -->\n!\[.*?\]\((?P<path>.+?)\)")
BUILD = pathlib.Path(os.environ.get("IWARP_BUILD", ROOT / "build/release"))
GENERATED = ("build", "node_modules", ".git")


def with_figures():
    """Returns the paths of all Markdown files of the project, and of all headers for other layers."""
    return sorted(path for name in ("*.md", "include/iwarp/**/*.hpp", "internal/iwarp/**/*.hpp")
                  for path in ROOT.rglob(name) if not set(path.relative_to(ROOT).parts) & set(GENERATED))


def fenced(lines, language=""):
    return "\n".join([f"```{language}", *lines, "```"]) + "\n"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def cell(text):
    return text.replace("|", "\\|")


def numbers(text):
    out = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        out |= set(range(int(first), int(last or first) + 1))
    return out


# Making figures --------------------------------------------------------------------------------------

def show_lines(lines, wanted):
    out, left_out = [], False
    for number, line in enumerate(lines, 1):
        if number in wanted:
            out += ["..."] * (left_out and bool(out)) + [line]
        left_out = number not in wanted
    return out


def find(lines, ends):
    begin = 0
    places = []
    for text in (part.strip() for part in ends.split("->")):
        begin = next((i for i in range(begin, len(lines)) if lines[i].strip().startswith(text)), None)
        if begin is None:
            raise ValueError(f"no line there begins with {text!r}")
        places.append(begin)
    return lines[places[0]:places[-1] + 1]


def block(lines, text):
    """Returns the line that begins with `text`, the deeper-indented lines after it, and the closing bracket."""
    begin = end = lines.index(find(lines, text)[0])
    depth = len(lines[begin]) - len(lines[begin].lstrip())
    for end in range(begin + 1, len(lines) + 1):
        if end == len(lines) or (lines[end].strip() and not lines[end][:depth + 1].isspace()):
            break
    closes = lines[end:end + 1] if lines[end:] and lines[end].strip()[0] in ")]}" else []
    while not lines[end - 1].strip():
        end -= 1
    return textwrap.dedent("\n".join(lines[begin:end] + closes)).splitlines()


def command(arguments, options):
    text = sessions.iwarp(*arguments)
    return fenced(shown(text, options))


def source(arguments, options):
    path = (ROOT / "".join(arguments)).resolve()
    if len(arguments) != 1 or not path.is_relative_to(ROOT):
        raise ValueError("`source` takes one file of the project")
    language = {".py": "python"}.get(path.suffix, "cpp")
    return fenced(shown(path.read_text(), options), language)


def shown(text, options):
    """Returns the lines of `text` that the options select. Each `find`, `block`, `lines` or `frames` adds a part."""
    lines, parts = text.splitlines(), []
    for option in options:
        kind, _, what = option.partition(" ")
        if kind == "frames":
            parts.append(sessions.lines_of_frames(text, numbers(what)))
        elif kind == "lines":
            parts.append(show_lines(lines, numbers(what)))
        elif kind == "find":
            parts.append(find(lines, what))
        elif kind == "block":
            parts.append(block(lines, what))
        elif kind != "varies":
            raise ValueError(f"unknown option {option!r}")
    out = list(parts[0]) if parts else lines
    for part in parts[1:]:
        out += ["...", *part]
    return [line.rstrip() for line in out]


def bits_of(octets, first, count):
    digits = "".join(f"{octet:08b}" for octet in octets)
    return "." * first + digits[first:first + count] + "." * (len(digits) - first - count)


def shown_octets(octets, bits):
    if bits:
        return bits_of(octets, *bits)
    text = octets[:8].hex(" ", 4) if len(octets) > 4 else octets.hex(" ")
    return text + (" ..." if len(octets) > 8 else "")


def octets(arguments):
    source, frame, *brief = arguments
    session = sessions.session(source)
    rows = []
    for column, value, at, what, bits in session.fields(session.frame(frame)):
        row = [str(at), f"`{shown_octets(what, bits)}`", column["layer"].upper(),
               cell(column["name"]), cell(value)]
        rows.append(row if brief else [*row, cell(column["why"])])
    head = ["At", "Octets, or bits", "Layer", "Field", "Value"]
    return "\n" + table(head if brief else [*head, "What it is for"], rows) + "\n"


def hex_lines(arguments):
    source, frame = arguments
    text = sessions.session(source).frame(frame)["octets"]
    words = [text[at:at + 8] for at in range(0, len(text), 8)]
    return fenced([" ".join(words[at:at + 8]) for at in range(0, len(words), 8)])


def offsets(arguments):
    rows = []
    for (_, number), frame in sessions.session(*arguments).frames.items():
        end = "client" if frame["from"] == "near" else "server"
        rows.append([str(number), end, str(frame["offset"]), str(frame["size"]),
                     cell(frame["text"].split(",")[0])])
    return "\n" + table(["Frame", "From", "Begins at octet", "Octets", "What"], rows) + "\n"


def changes(arguments):
    source, *machine = arguments
    session = sessions.session(source)
    moments = [(str(number), frame) for (_, number), frame in session.frames.items()]
    rows = []
    for number, moment in [*moments, *(("close", end) for end in session.closed.values())]:
        for change in moment.get("changes", ()):
            if machine and change["machine"] != " ".join(machine):
                continue
            end = "client" if change["end"] == "near" else "server"
            rows.append([number, end, *([] if machine else [change["machine"]]),
                         change["from"], change["event"], change["to"], change["rule"]])
    head = ["Frame", "End", *([] if machine else ["Machine"]), "From", "Event", "To", "Rule"]
    return "\n" + table(head, rows) + "\n"


def machine(arguments):
    """Draws a state machine. Edges are in the order of the table; edges with the same ends share an arrow."""
    lines = (ROOT / f"rfc-notes/fsm/{arguments[0]}.txt").read_text().splitlines()
    head = (ROOT / f"rfc-notes/fsm/{arguments[0]}.dot").read_text()
    rows, arrows = [], {}
    for state, target, event in re.findall(r'^ +(\w+) -> (\w+) \[label="(.*)"\];$', head, re.MULTILINE):
        line = next(line for line in lines if line.startswith(f"{state} {event} {target}  "))
        rows.append([state, event, target, line[len(f"{state} {event} {target}  "):]])
        arrows.setdefault((state, target), []).append(event)
    graph = ["stateDiagram-v2", f"  [*] --> {rows[0][0]}"]
    graph += [f"  {state} --> {target}: {', '.join(events)}"
              for (state, target), events in arrows.items()]
    return fenced(graph, "mermaid") + "\n" + table(["State", "Event", "Next state", "Rule"], rows) + "\n"


OPTIONS = "verbs/options/src/table.cpp"
GROUPS = {"kConnection": "`iwarp run` and each command that opens a connection",
          "kTls": "`iwarp run` and each command that connects with TLS", "kProgram": "`iwarp run`"}


def variables(_):
    found = re.findall(r'^    Option\{\s*"([^"]*)",\s+"(\w+)",\s+Group::(\w+)', (ROOT / OPTIONS).read_text(), re.MULTILINE)
    rows = [[title, " ".join(f"`{name}`" for option, name, of in found if of == group and option)]
            for group, title in GROUPS.items()]
    return "\n" + table(["Taken by", "Variables"], rows) + "\n"


CLINIC = {"status": "IBV_WC_", "call": ("ibv_", "rdma_"), "event": "RDMA_CM_"}


def paragraph(text, width=118, **indents):
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False, **indents)


def clinic(arguments):
    """Returns the entries of `iwarp explain-error` as sections, those that users ask about most often first."""
    out, never = [], []
    entries = [entry for entry in json.loads(sessions.iwarp("explain-error", "--json"))
               if entry["title"].startswith(CLINIC[arguments[0]])]
    for entry in sorted(entries, key=lambda entry: -entry["asked"]):
        if not entry["advice"]:
            never += [f"`{entry['title'].split()[0]}`"] * ("never" in entry["meaning"])
            continue
        meaning = entry["meaning"][0].upper() + entry["meaning"][1:]
        asked = f" (asked in {entry['asked']} threads)" if entry["asked"] > 1 else ""
        out += [f"### {entry['title']}", "", *paragraph(f"{meaning}{asked}."), ""]
        for cause in entry["causes"]:
            out += paragraph(cause, initial_indent="- ", subsequent_indent="  ")
        out += [*[""] * bool(entry["causes"]), *paragraph(f"What to do: {entry['advice']}."), ""]
        if entry["command"]:
            out += ["```sh", entry["command"], "```", "", "```text", entry["prints"], "```", ""]
    if never:
        out += [*paragraph(f"This device never reports {', '.join(never)}."), ""]
    return "\n".join(["", *out])


def devinfo(_):
    """Returns the lines of `ibv_devinfo -v`, each with its text in devinfo.tsv. There, * after a name means that the
    value differs between machines; the figure leaves such values out."""
    if shutil.which("ibv_devinfo") is None:
        return None
    known = dict(line.split("\t") for line in (ROOT / "rfc-notes/devinfo.tsv").read_text().splitlines())
    rows, wrong = {}, []
    for line in sessions.iwarp("run", "ibv_devinfo", "-v").splitlines():
        name, _, value = re.sub(r"\[ *\d+\]", "", line.strip()).replace(" not supported", ": not supported").partition(":")
        if f"{name}*" in known:
            rows[f"{name}*"] = ""
        elif name in known:
            rows[name] = cell(" ".join(value.split()))
        elif name:
            wrong.append(name)
    wrong += [f"{name} (no line has this name)" for name in known if name not in rows]
    if wrong:
        raise ValueError(f"rfc-notes/devinfo.tsv does not annotate each line: {', '.join(wrong)}")
    return "\n" + table(["Line", "Value", "Meaning"],
                        [[f"`{name.rstrip('*')}`", value, known[name]] for name, value in rows.items()]) + "\n"


KINDS = {"clinic": clinic, "devinfo": devinfo, "octets": octets, "hex": hex_lines, "offsets": offsets, "changes": changes, "machine": machine,
         "variables": variables}


def made(recipe):
    what, _, options = recipe.partition(" | ")
    kind, *arguments = shlex.split(what)
    options = [option.strip() for option in options.split(";") if option.strip()]
    if kind in ("iwarp", "source"):
        return {"iwarp": command, "source": source}[kind](arguments, options)
    if kind not in KINDS or options:
        raise ValueError(f"no such figure: {recipe}")
    return KINDS[kind](arguments)


def rounded(value):
    """Rounds all numbers to three digits, because compilers differ in the last digits."""
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return {key: rounded(item) for key, item in value.items()} if isinstance(value, dict) else value


def digest_of_rows(preset, rows):
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, "report.html")
        sessions.iwarp("cost", "report", "--preset", preset, "--html", str(page))
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(),
                         re.DOTALL)[1]
    text = json.dumps(rounded(json.loads(data)[rows]))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def take_picture(path, preset):
    """Copies the picture from the build tree, where a test has written it. Raises ValueError if it is missing."""
    made = next(iter(BUILD.rglob(f"report-pictures/{preset}/{path.name}")), None)
    if made is None:
        raise ValueError(f"{path.name}: first run ctest -R cost_page")
    shutil.copyfile(made, path)


# Checking the files ---------------------------------------------------------------------------------

def same(recipe, new, old):
    if recipe.endswith("varies"):
        new, old = (VARIES.sub("#", text) for text in (new, old))
    return new == old


def unmade_output(path, text):
    """Yields a problem for each picture, and for each code block without a language, whose origin is not marked."""
    if path.parent != ROOT and "rfc-notes" not in path.relative_to(ROOT).parts:
        return
    text = FIGURE.sub(lambda found: "\n" * found[0].count("\n"), text)
    opened, before = None, ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r" *```(.*)", line)
        if fence and opened is None:
            opened = number
            if not fence[1] and not before.startswith("<!-- measured: "):
                yield f"{path.relative_to(ROOT)}:{number}: output without a figure that makes it"
        elif fence:
            opened = None
        elif opened is None and re.match(r"!\[.*\]\(", line):
            if not re.match(r"<!-- (picture|measured): ", before):
                yield f"{path.relative_to(ROOT)}:{number}: a picture that does not say where it is from"
        before = line


def check(path, update):
    """Makes the figures of a file again. Returns the number of figures, and a list of problems."""
    text, problems = path.read_text(), []
    where = path.relative_to(ROOT)

    def remake(found):
        line = text.count("\n", 0, found.start()) + 1
        try:
            new = made(found["recipe"])
            if new is None:
                print(f"SKIPPED: {where}:{line}: {found['recipe']}: its program is not installed")
                return found[0]
            body = textwrap.indent(new, found["mark"], lambda line: bool(found["mark"]))
            body = re.sub(r" +$", "", body, flags=re.MULTILINE)
        except (ValueError, KeyError, OSError) as error:
            problems.append(f"{where}:{line}: {error}")
            return found[0]
        if same(found["recipe"], body, found["body"]):
            return found[0]
        if not update:
            problems.append(f"{where}:{line}: stale: {found['recipe']}")
        return found["begin"] + body + found["end"]

    def check_picture(found):
        try:
            digest = digest_of_rows(found["preset"], found["rows"])
        except ValueError as error:  # iwarp was built without Vega, which draws the charts
            print(f"SKIPPED: {found['path']}: {error}")
            return found[0]
        if digest == found["digest"]:
            return found[0]
        try:
            if not update:
                raise ValueError(f"stale: {found['path']}")
            take_picture(path.parent / found["path"], found["preset"])
        except ValueError as error:
            problems.append(f"{where}: {error}")
            return found[0]
        return found[0].replace(f" {found['digest']} -->", f" {digest} -->")

    updated, count = FIGURE.subn(remake, text)
    updated = PICTURE.sub(check_picture, updated)
    if len(re.findall(r"^(?:// )?<!-- figure:", text, re.MULTILINE)) != count:
        problems.append(f"{where}: a figure without an end")
    if update and updated != text:
        path.write_text(updated)
    return count, problems + list(unmade_output(path, text))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    if not pathlib.Path(sessions.IWARP).is_file():
        sys.exit(f"{sessions.IWARP} is not built; IWARP=PATH names another one")
    total, problems = 0, []
    for path in with_figures():
        count, wrong = check(path, options.update)
        total += count
        problems += wrong
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems and not options.update:
        print("rfc-notes/figures.py --update makes what is stale again", file=sys.stderr)
    print(f"{total} figures, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
