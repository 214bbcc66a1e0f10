#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the checks of sources and notes: each must accept a small tree, and report each bad file or commit in it. A
check that can also write (--update, --promote) must first find its tree stale."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES, RULES = "test/architecture/check_sources.py", (ROOT / "test/architecture/check_sources.py").read_text()
HEAD = "// SPDX-License-Identifier: Apache-2.0\n// A file for a test.\n"
NET, VERBS, HPP, PAGE = "verbs/net/src/", "verbs/include/iwarp/verbs/", "mpa/include/iwarp/mpa/a.hpp", "rfc-notes/a.md"
A, B, CALLS, BITE, PY = "mpa/src/a.cpp", "verbs/b.cpp", "test/rdma_core/a.cpp", "test/net/a.cpp", "test/a.py"
ROOMS, TOYS, SOLUTIONS = "verbs/net/README.md", "rfc-notes/requirements/toys.md", "rfc-notes/course/solutions.md"
PING, ABI, CODE = "apps/ping/CMakeLists.txt", "test/rdma_core/abi/test_abi.py", '#include "{}"\n'.format
JUDGE, LAYOUT = "apps/judge/a.cpp", "CONTRIBUTING.md"
TABLE, IWARP, COMMIT = "test/architecture/lines.txt", "build/release/apps/iwarp", ".git/message"
ROW, FIGURE = "T\n| TOY-1 | 1 | MUST | x | y | {} |\n".format, "<!-- figure: {} -->\n```{}\n```\n<!-- end -->\n".format
ANSWER, PICTURE = "## 1. One\n\n`{}`<!-- answer: x 1 {} -->\n".format, "<!-- picture: 2007 bars 0 -->\n![a](a.png)\n"
DRAWN = "```\n{}[metrics] {}[channels] [datagrams] [statistics]\n```\n\n| `rnic` | | `device` |\n".format
SHARED, NAMED = "verbs/net/internal/iwarp/net/high.hpp", {"sockets": "`low`", "driver": "`high`"}
ROOM_ROWS, LAYER_ROWS = ("".join(
    f"| `{name}` | {' '.join(f'`{other}`' for other in others)} | {NAMED.get(name, '')} |\n"
    for name, others in table.items()) for table in (check_sources.ROOMS["verbs/net/src"], check_sources.LAYERS))
LINE, BOX = "[rnic] [setup]-->[driver]----->[sockets]\n", "[memory] "
CROSSED = "            [rnic]-+\n[setup]-->[driver]-|->[sockets]\n                   v\n               [memory]\n"
COMMAND = """#!/bin/sh
case "$*" in *--json*) echo '{"type":"fields","fields":[]}'
            echo '{"type":"frame","connection":1,"frame":1,"from":"far","octets":"00ff","ddp":{"payload":21}}' ;;
cost*) echo '<script type="application/json" id="data">{"bars":[1.5]}</script>' >"$6" ;;
*) echo "0x$$ one"; echo two; echo three ;; esac\n"""
# The check; the files that it accepts; {path of a bad file: {its text: what the check reports}}.
CHECKS = (
    (f"{SOURCES} includes", {"verbs/trace/src/pcap_a.cpp": "#include <fstream>\n", LAYOUT: LAYER_ROWS}, {
        LAYOUT: {LAYER_ROWS.replace("`bytes` `ddp`", "", 1): "rdmap uses bytes, ddp, says", "": "no row for mpa/bytes"},
        A: {CODE("iwarp/ddp/a.hpp"): "a.cpp:1: mpa must not include", "#include <mutex>\n": "single-threaded"},
        B: {"#include <poll.h>\n": "below the driver"}, HPP: {"#include <boost/asio.hpp>\n": "Asio stays out of"}}),
    (f"{SOURCES} rooms", {
        NET + "driver/a.cpp": CODE("sockets/a.hpp") + CODE("driver/b.hpp"), SHARED: CODE("iwarp/net/low.hpp"),
        ROOMS: ROOM_ROWS, SHARED.replace("high", "low"): ""}, {
        SHARED: {CODE("memory/a.hpp"): "driver must not include memory"},
        SHARED.replace("high", "low"): {CODE("iwarp/net/high.hpp"): "sockets must not include iwarp/net/high.hpp"},
        SHARED.replace("high", "lost"): {"": "lost.hpp: in no room"},
        NET + "sockets/a.cpp": {CODE("driver/b.hpp"): "sockets must not include", CODE("b.hpp"): "is not in the",
                                CODE("../setup/a.hpp"): "../setup/a.hpp is in no room"},
        ROOMS: {"| `sockets` | `driver` | |\n": "sockets uses nothing", "": "no row for statistics"},
        SOURCES: {RULES.replace('"sockets": ()', '"sockets": ("driver",)'): "driver is not below sockets"},
        NET + "cellar/a.cpp": {"": "cellar/a.cpp: in no room"}}),
    (f"{SOURCES} apps", {"apps/ping/a.cpp": CODE("common/a.hpp"), PING: "iwarp_app(ping DEPENDS apps::common)\n"}, {
        PING: {"": "its target does not depend on it", "apps::cost": "ping must not depend on cost"},
        "apps/run/a.cpp": {CODE("plan.hpp"): "run must not include"}, "apps/frames/a.cpp": {"": "has no sub-folder"},
        "apps/frames/session/a.cpp": {CODE("frames/report/a.hpp"): "frames/session must not include"},
        "apps/cellar/CMakeLists.txt": {"": "cellar is not in the table APPS"}}),
    (f"{SOURCES} sizes", {HPP: "//\n" * 200}, {HPP: {"//\n" * 201: "bound is 200"}, A: {"//\n" * 501: "bound is 500"}}),
    (f"{SOURCES} public", {
        **{f"{VERBS}a{i}.hpp": CODE(f"iwarp/verbs/a{i+1}.hpp") for i in range(29)}, "ddp/internal/iwarp/ddp/b.hpp": "",
        **{f"{VERBS}b{i}.hpp": "" for i in range(29)}, "verbs/include/iwarp/iwarp.hpp": CODE("iwarp/verbs/a0.hpp")}, {
        VERBS + "a29.hpp": {"": "iwarp.hpp includes 31 headers"}, VERBS + "b29.hpp": {"": "61 headers are installed"},
        HPP: {CODE("iwarp/ddp/b.hpp"): "an installed header must not include"}}),
    (f"{SOURCES} leftovers", {PY: "while a():\n    time.sleep(1)\n", BITE: "wait(60s); wait(0ms); timeout = 20ms;\n"}, {
        A: {"// TO" + "DO\n": "unfinished", "// /ho" + "me/me\n": "path of one"},
        BITE: {"sleep_for(x);\n": "a.cpp:1: sleep in a test", "a->wait(lock,\n  500us);\n": "short wait used",
               "while (tries < 20) {\n": "tried until it passes", "std::random_device{}();\n": "random data"},
        PY: {"while a:\n    b()\ntime.sleep(1)\n": "sleep outside a loop", "a.wait(0.5)\n": "short wait"},
        "test/a.sh": {"sleep 1\n": "sleep outside a loop"}, ".ci/run": {"ctest --repeat until-pass:2\n": "tried"}}),
    (f"{SOURCES} heads", {A: HEAD}, {
        A: {"int a;\n": "no SPDX licence line", HEAD[:39]: "does not say what",
            HEAD[:39] + CODE("b.hpp"): "does not say what"}, HPP: {HEAD: "no #pragma once"}}),
    (f"{SOURCES} readmes", {"ddp/README.md": "`cm_*`, but two\n", "ddp/src/cm_id.cpp": ""}, {
        "ddp/src/two.cpp": {"": "ddp/README.md: does not name two of ddp"}}),
    ("test/architecture/check_compiled.py build", {"build/compile_commands.json": '[{"file": "mpa/src/a.cpp"}]', A: HEAD}, {
        B: {HEAD: "verbs/b.cpp: no target compiles it"}}),
    ("test/architecture/check_lines.py --update", {TABLE: "+mpa/**\n-mpa/b\nmpa 0\n", A: "a\n" * 300, "mpa/b": HEAD}, {
        TABLE: {"+mpa/**\n<<<<<<< HEAD\nmpa 300\n": "lines.txt:2: neither a pattern"},
        A: {"a\n" * 301: "mpa has 301 lines, its number in lines.txt is 300", "a\n" * 99: "mpa has 99 lines"}}),
    ("test/architecture/check_drawings.py", {
        NET + "driver/a.cpp": CODE("sockets/a.hpp"), NET + "setup/a.cpp": CODE("driver/a.hpp"),
        NET + "rnic/a.cpp": CODE("memory/a.hpp"), ROOMS: DRAWN(CROSSED, "")}, {
        ROOMS: {DRAWN(LINE[:-1] + "-->[memory]\n", ""): "an arrow from sockets to memory",
                DRAWN(LINE.replace("----->", " "), BOX): "driver includes sockets, but the drawing has no way",
                DRAWN(LINE, "[cellar] "): "box cellar, which is no room", DRAWN(LINE, ""): "memory is drawn 0 times",
                DRAWN(LINE, "---" + BOX): "line from memory leads to no room", "": "no drawing of the rooms",
                DRAWN(LINE, ">" + BOX): "an arrow to memory comes from no room"}}),
    ("test/architecture/check_docs.py", {HPP: "/// A.\nint a();\nint b();  ///< b\n/// kC.\nenum class C { kC };\n"}, {
        HPP: {"int a();\n": "a.hpp:1: a() has no comment", "/// A.\n\nclass A {\n};\n": "class A has no comment",
              "using A = int;\n": "A has no comment", "/// A.\nenum class A { kOne };\n": "A::kOne has no comment",
              "/// A.\nstruct A {\n  explicit A(int b);\n};\n": "A::A() has no",
              "/// A.\nvoid a(int);\nvoid b(int);\n": "b() has no", "/// A.\nResult<int> a();\n": "not list its errors",
              "/// A.\nstruct AOptions {\n  int b = 1;\n};\n": "AOptions: no comment on b"}}),
    ("test/architecture/check_exports.py headers --update", {
        "verbs/rdma_core/exports.def": "RDMACM_1 impl\n  ibv_one\nRDMACM_1 errno\n  ibv_two\n",
        ABI: 'self.refused("errno")\n',
        "verbs/rdma_core/README.md": "<!-- exports:begin -->\n<!-- exports:end -->\n", "headers/rdma/rdma_verbs.h": "",
        "headers/infiniband/verbs.h": "static inline int ibv_three(void)\nstatic inline int ibv_post_wq_recv(int a)\n",
        CALLS: 'dlvsym(a, "ibv_one", b);\nibv_three();\nibv_create_wq();\n'}, {
        CALLS: {'// ibv_one()\nCHECK("ibv_one()");\n': "ibv_one is done, but", "ibv_one();\n": "ibv_three, inline in",
                "ibv_three();\n": "ibv_post_wq_recv cannot be reached"}, ABI: {"": "ibv_two is of kind errno"}}),
    ("rfc-notes/trace.py --promote", {
        TOYS: ROW("deferred | later") + "| TOY-2 | a(3) | (page) | x | y | partial | no test cites it yet |\n",
        A: "// [TOY-1, TOY-2]\n", BITE: '"[TOY-1]"\n', JUDGE: '"TOY-2"\n',
        "README.md": "<!-- status:begin -->\n<!-- status:end -->\n"}, {
        A: {"": "but no code"}, BITE: {"": "but no test", "[TOY-1..3]": "not a list", "[TOY-1, TOY-3]": "[TOY-3] is"},
        JUDGE: {'  // "TOY-2"\n': "TOY-2 is done, but no test", '"TOY-2 TOY-3"': "TOY-3 is no"},
        TOYS: {ROW("partial | "): "partial without", ROW("done"): "6 column", ROW("finished | x"): "unknown status",
               ROW("done | ") * 2: "already in", ROW("done | ").replace("1 | 1 | MUST", "3 | 1 | MAY"): "but nothing",
               ROW("documented | see b.md"): "names no file", ROW("documented | see README.md"): "does not mention"}}),
    ("test/notes/check_links.py", {PAGE: "# A `c`\n\n[a](#a-c) [out](https://x.org/y) `[no](link)`\n"}, {
        PAGE: {"[b](c.md)\n": "a.md:1: no file c.md", "[b](#b)\n": "no heading #b", "<!--\n": "a comment that is never",
               "| a |\n|---|\n| 1 | 2 |\n": "a.md:3: 2 cells in", "| 3 |\n": "table without", "```\n": "a fence that",
               "| a |\n|---|\n| 1\n": "does not end with |", "| a |\n|---|\nand\n": "text right behind a",
               "`IWARP_NO=1`\n": "no source knows IWARP_NO"}}),
    ("rfc-notes/figures.py --update", {
        "README.md": FIGURE("iwarp x | lines 1,3; varies", "\n0x1 one\n...\nthree") + FIGURE("iwarp x | find two", "")
        + PICTURE, "build/release/report-pictures/2007/a.png": ""}, {
        PAGE: {FIGURE("iwarp x | lines 1", "\n0x0 one"): "a.md:1: stale: iwarp x", "```\na\n```\n": "output without",
               FIGURE("iwarp x | find four", ""): "no line there begins", "![a](a.png)\n": "does not say where it is",
               FIGURE("source ../a.cpp", ""): "`source` takes one file", "<!-- figure: iwarp x -->\n": "without an end",
               PICTURE: "rfc-notes/a.md: stale: a.png"}}),
    ("test/notes/check_answers.py", {
        "rfc-notes/course/exercises.md": "## 1. One\n\nWhat?\n", SOLUTIONS: ANSWER("21", "ddp.payload")}, {
        SOLUTIONS: {ANSWER("22", "ddp.payload"): "'22', the stack '21'", ANSWER("22", "mpa.pad"): "KeyError('mpa')",
                    "": "no solution: 1. One", "## 1. One\n\n`21`": "nothing in the solution is checked"}}),
    ("rfc-notes/messages.py --update", {B: '"the peer "\n "has closed"\n'}, {B: {'"the peer has open"\n': "is stale"}}),
    ("test/notes/check_prose.py", {
        "a.md": "The user nobody waits for `nobody`.\n\n```sh\necho nobody\n```\n", "build/a.md": "nobody\n",
        "test/notes/prose_exceptions.txt": "a.md: user nobody\n", B: 'static_assert(a, "there is no b"); // told\n'}, {
        A: {"// Whoever posts.\n": "a.cpp:1: actor: ", "// It is of ours.\n": "ours: ", "// A. True: all.\n": "truth: ",
            "/// All or none.\n": "verbless", '"nobody listens"\n': "actor: ", '"it is asked "\n"for"\n': "dialect"},
        PY: {"# Those who poll.\n": "actor: "}, PAGE: {"The user nobody stays as it is.\n": "pointer: "},
        COMMIT: {"net: close": "no body that says why", "Closed\n\nIt was.": "not `area: imperative summary` in"}}),
)


class Checks(unittest.TestCase):
    def sh(self, line, status=0, message=""):
        done = subprocess.run(line, shell=True, cwd=self.root, env={"PATH": os.environ["PATH"]}, capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, message in done.stdout + done.stderr), (status, True), (message, done))

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def test_each_check_accepts_a_good_tree_and_reports_each_bad_file(self):
        scripts = {path.relative_to(ROOT): path.read_text() for part in ("test/architecture", "test/notes", "rfc-notes")
                   for path in (ROOT / part).glob("*.py") if path.name != pathlib.Path(__file__).name}
        for command, files, rows in CHECKS:
            check = f"{sys.executable} {command.partition(' --')[0]}"
            with self.subTest(command), tempfile.TemporaryDirectory() as folder:
                self.root = pathlib.Path(folder)
                for path, text in {**scripts, IWARP: COMMAND, **files}.items():
                    self.write(path, text)
                self.sh(f"chmod +x {IWARP} && git init -q && git config user.name a && git config user.email a@b")
                if " --" in command:
                    self.sh(f"! {check} && {sys.executable} {command}")
                self.sh(f"{check} && git add -A && git commit -qm 'test: add a tree' -m 'It is new.' && git tag good")
                for path, text, message in ((path, *row) for path, texts in rows.items() for row in texts.items()):
                    self.write(path, text)
                    self.sh(f"[ {path} != {COMMIT} ] || git commit -q --allow-empty -F {COMMIT}")
                    self.sh(check, 1, message)
                    self.sh("git reset -q --hard good && git clean -fdq")


if __name__ == "__main__":
    unittest.main()
