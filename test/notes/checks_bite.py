#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the checks in this folder and rfc-notes/figures.py. Each check gets a small tree that breaks its rule, and
must report this. A small script replaces the iwarp command."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ("test/notes/check_links.py", "test/notes/check_answers.py", "rfc-notes/figures.py",
           "rfc-notes/sessions.py", "rfc-notes/messages.py", "test/notes/check_prose.py")
FRAME = ('{"type":"frame","connection":1,"frame":1,"from":"far","time":0,"octets":"00ff",'
         '"fields":[[0,"255",[1,1]]],"ddp":{"payload":21}}')
COMMAND = f"""#!/bin/sh
case "$*" in
*--json*) echo '{{"type":"fields","fields":[{{"layer":"ddp","name":"TO","why":"why"}}]}}'
          echo '{FRAME}' ;;
cost*) echo '<script type="application/json" id="data">{{"bars":[1.5]}}</script>' >"$6" ;;
*) echo "0x$$ one"; echo two; echo three ;;
esac
"""


class Tree(unittest.TestCase):
    """A repository with its own copies of the scripts, in a temporary directory."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        for script in SCRIPTS:
            self.write(script, (REPOSITORY / script).read_text())
        self.write("iwarp", COMMAND)
        (self.root / "iwarp").chmod(0o755)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run_script(self, script, *arguments):
        done = subprocess.run([sys.executable, self.root / script, *arguments], check=False,
                              capture_output=True, text=True,
                              env={**os.environ, "IWARP": str(self.root / "iwarp"),
                                   "IWARP_BUILD": str(self.root / "build/release")})
        return done.returncode, done.stdout + done.stderr

    def assert_passes(self, script, *arguments):
        status, output = self.run_script(script, *arguments)
        self.assertEqual(status, 0, output)

    def assert_says(self, script, message):
        status, output = self.run_script(script)
        self.assertEqual(status, 1, output)
        self.assertIn(message, output)


class Links(Tree):
    CHECK = "test/notes/check_links.py"

    def test_what_is_right_passes(self):
        self.write("b.md", "# A `code` title, twice\n\n# A `code` title, twice\n")
        self.write("a.md", "# Top\n\n[b](b.md#a-code-title-twice-1) [here](#top) [out](https://x.org/y)\n"
                           "`[not](a link)`\n\n| a | `b\\|c` |\n|---|--:|\n| 1 | [2](b.md) |\n\n"
                           "```\n| no table\n[no](link.md)\n```\n")
        self.assert_passes(self.CHECK)

    def test_what_is_wrong_is_told(self):
        for text, message in (
                ("# Top\n\n[b](c.md)\n", "a.md:3: no file c.md"),
                ("# Top\n\n[b](#bottom)\n", "a.md:3: no heading #bottom"),
                ("[b](../../etc/passwd)\n", "a.md:1: no file"),
                ("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n", "a.md:3: 3 cells in a table of 2"),
                ("| a | b |\n|---|---|\n| 1 | 2\n", "a.md:3: a row of a table that does not end with |"),
                ("| a | b |\n|---|---|\n| 1 | 2 |\n\n| 3 | 4 |\n", "a.md:5: a table without a head"),
                ("| a | b |\n|---|---|\n| 1 | 2 |\nand 3 |\n",
                 "a.md:4: text right behind a table becomes a row of it"),
                ("```sh\nls\n", "a.md:1: a fence that is never closed")):
            self.write("a.md", text)
            self.assert_says(self.CHECK, message)

    def test_a_variable_that_no_source_reads(self):
        self.write("verbs/a.cpp", 'const char* kName = "IWARP_HERE";\n')
        self.write("a.md", "`IWARP_HERE=1` and `IWARP_GONE=1`\n")
        self.assert_says(self.CHECK, "a.md:1: no source knows IWARP_GONE")


class Figures(Tree):
    CHECK = "rfc-notes/figures.py"

    def figure(self, recipe, body):
        self.write("README.md", f"<!-- figure: {recipe} -->\n```\n{body}\n```\n<!-- end -->\n")

    def test_a_stale_figure_is_found_and_made_again(self):
        self.figure("iwarp x | lines 1,3; varies", "0x1 one")
        self.assert_says(self.CHECK, "README.md:1: stale: iwarp x | lines 1,3; varies")
        self.assert_passes(self.CHECK, "--update")
        self.assertIn("one\n...\nthree\n```", (self.root / "README.md").read_text())
        self.assert_passes(self.CHECK)  # passes although the process id in the output has changed

    def test_numbers_count_where_nothing_varies(self):
        self.figure("iwarp x | lines 1", "0x0 one")
        self.assert_says(self.CHECK, "stale")

    def test_a_figure_that_cannot_be_made(self):
        self.figure("iwarp x | find four", "four")
        self.assert_says(self.CHECK, "no line there begins with 'four'")

    def test_a_variable_that_is_new_makes_the_list_stale(self):
        self.write("verbs/options/src/table.cpp", '    Option{"--crc", "IWARP_CRC", Group::kConnection, x,\n')
        self.write("README.md", "<!-- figure: variables -->\n<!-- end -->\n")
        self.assert_says(self.CHECK, "README.md:1: stale: variables")
        self.assert_passes(self.CHECK, "--update")
        self.assertIn("`IWARP_CRC` |", (self.root / "README.md").read_text())

    def test_a_part_of_a_source(self):
        self.write("test/a.cpp", "int a;\nTEST_CASE(one) {\n  if (a) {\n    b();\n  }\n}\n\nTEST_CASE(two) {\n}\n")
        self.write("test/a.py", "class A:\n    def f(self):\n        g()\n\n    def h(self):\n        pass\n")
        for recipe, body in (("source test/a.cpp | block TEST_CASE(one)",
                              "cpp\nTEST_CASE(one) {\n  if (a) {\n    b();\n  }\n}\n"),
                             ("source test/a.cpp | find int a; block TEST_CASE(two)",
                              "cpp\nint a;\n...\nTEST_CASE(two) {\n}\n"),
                             ("source test/a.py | block def f(", "python\ndef f(self):\n    g()\n")):
            self.write("README.md", f"<!-- figure: {recipe} -->\n```{body}```\n<!-- end -->\n")
            self.assert_passes(self.CHECK)
        self.write("test/a.py", "class A:\n    def f(self):\n        changed()\n")
        self.assert_says(self.CHECK, "README.md:1: stale: source test/a.py | block def f(")

    def test_a_part_that_a_source_does_not_have(self):
        self.write("test/a.cpp", "int a;\n")
        self.figure("source test/a.cpp | block int b", "int b;")
        self.assert_says(self.CHECK, "no line there begins with 'int b'")
        self.figure("source ../a.cpp", "int b;")
        self.assert_says(self.CHECK, "`source` takes one file of the project")

    def test_a_figure_without_an_end(self):
        self.write("README.md", "<!-- figure: iwarp x -->\n```\none\n```\n")
        self.assert_says(self.CHECK, "a figure without an end")

    def test_output_that_nobody_makes(self):
        self.write("rfc-notes/a.md", "```\nout\n```\n")
        self.assert_says(self.CHECK, "rfc-notes/a.md:1: output without a figure")

    def test_output_that_says_where_it_is_from(self):
        self.write("rfc-notes/a.md", "<!-- measured: iwarp perf -->\n```\nout\n```\n\n```text\nx\n```\n")
        self.assert_passes(self.CHECK)


    def test_a_picture_whose_rows_have_changed(self):
        self.write("rfc-notes/a.md", "<!-- picture: 2007 bars 0 -->\n![bars](bars.png)\n")
        self.assert_says(self.CHECK, "rfc-notes/a.md: stale: bars.png")
        _, output = self.run_script(self.CHECK, "--update")
        self.assertIn("bars.png: first run ctest -R cost_page", output)
        self.write("build/release/test/report-pictures/2007/bars.png", "drawn")
        self.assert_passes(self.CHECK, "--update")
        self.assertEqual((self.root / "rfc-notes/bars.png").read_text(), "drawn")
        self.assert_passes(self.CHECK)

    def test_a_picture_from_nowhere(self):
        self.write("README.md", "![bars](bars.png)\n")
        self.assert_says(self.CHECK, "README.md:1: a picture that does not say where it is from")


class Answers(Tree):
    CHECK = "test/notes/check_answers.py"

    def course(self, solution):
        self.write("rfc-notes/course/exercises.md", "# E\n\n## 1. One\n\nWhat?\n")
        self.write("rfc-notes/course/solutions.md", f"# S\n\n{solution}\n")

    def test_a_right_answer(self):
        self.course("## 1. One\n\n`21`<!-- answer: x.pcap 1 ddp.payload --> "
                    "`255`<!-- answer: x.pcap 1 field:TO --> `server`<!-- answer: x.pcap 1 from -->")
        self.assert_passes(self.CHECK)

    def test_what_is_wrong_is_told(self):
        for solution, message in (
                ("## 1. One\n\n`22`<!-- answer: x.pcap 1 ddp.payload -->",
                 "the solution says '22', the stack '21'"),
                ("## 1. One\n\n`22`<!-- answer: x.pcap 1 mpa.pad -->", "KeyError('mpa')"),
                ("## 2. Two\n\n`21`<!-- answer: x.pcap 1 ddp.payload -->", "no solution: 1. One"),
                ("## 1. One\n\n`21`", "nothing in the solution is checked")):
            self.course(solution)
            self.assert_says(self.CHECK, message)


class Prose(Tree):
    CHECK = "test/notes/check_prose.py"

    def assert_finds(self, rule, path, text):
        self.write(path, text)
        self.assert_says(self.CHECK, f"{path}:1: {rule}: ")
        (self.root / path).unlink()

    def test_plain_sentences(self):
        self.write("net/a.hpp", "/// Returns whether the peer has closed.\nbool closed(); // nobody_ is a name\n")
        self.write("a.md", "The worker waits for `nobody`.\n\n```sh\necho somebody\n```\n")
        self.write("build/a.md", "somebody\n")
        self.assert_passes(self.CHECK)

    def test_an_actor_that_is_a_pronoun(self):
        for text in ("// Whoever posts sends.\n", "int a;  // somebody waits\n", "// Read. Who posts sends.\n"):
            self.assert_finds("actor", "net/a.cpp", text)
        self.assert_finds("actor", "a.md", "The worker goes on when nobody polls.\n")
        self.assert_finds("actor", "test/a.py", "# Those who poll.\n")
        self.assert_finds("actor", "apps/a.cpp", 'throw Error("nobody listens there");\n')

    def test_words_that_point_instead_of_naming(self):
        self.assert_finds("pointer", "net/a.cpp", "// So many are asked for.\n")
        self.assert_finds("pointer", "a.md", "It stays as it is.\n")
        self.assert_finds("ours", "net/a.cpp", "// A socket of ours.\n")

    def test_contracts(self):
        self.assert_finds("truth", "net/a.cpp", "// Sends. True: all of it.\n")
        self.assert_finds("verbless", "net/a.hpp", "/// All or none.\n")

    def test_an_exception_is_for_one_text_of_one_file(self):
        self.write("test/notes/prose_exceptions.txt", "# The name of a user.\na.md: user nobody\n")
        self.write("a.md", "It runs as the user nobody.\n")
        self.assert_passes(self.CHECK)
        self.assert_finds("actor", "b.md", "It runs as the user nobody.\n")

    def test_commits_since_the_rule_exists(self):
        def git(*words):
            subprocess.run(["git", "-C", self.root, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True,
                           capture_output=True)
        git("init", "-q")
        git("commit", "-q", "--allow-empty", "-m", "Before")
        git("add", "-A")
        git("commit", "-q", "-m", "test: add the rule", "-m", "It is new.")
        git("commit", "-q", "--allow-empty", "-m", "net: close sockets", "-m", "They were open.")
        self.assert_passes(self.CHECK)
        git("commit", "-q", "--allow-empty", "-m", "net: close more")
        self.assert_says(self.CHECK, "no body that says why: net: close more")
        git("commit", "-q", "--allow-empty", "--amend", "-m", "Closed sockets", "-m", "They were open.")
        self.assert_says(self.CHECK, "not `area: imperative summary` in 72 characters: Closed sockets")


class Messages(Tree):
    CHECK = "rfc-notes/messages.py"

    def test_a_stale_list_is_found_and_made_again(self):
        self.write("apps/a.cpp", '#include "a b c.hpp"\n// "in a comment only"\n'
                   'throw Error("the peer "\n  "has closed");\nstatic_assert(a, "what must be true");\n')
        self.assert_says(self.CHECK, "messages.md is stale")
        self.assert_passes(self.CHECK, "--update")
        self.assert_passes(self.CHECK)
        said = (self.root / "rfc-notes/messages.md").read_text()
        self.assertIn("## apps\n\n- `the peer has closed`\n", said)
        for other in ("a b c", "in a comment", "must be true"):
            self.assertNotIn(other, said)


if __name__ == "__main__":
    unittest.main()
