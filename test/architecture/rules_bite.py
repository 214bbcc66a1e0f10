#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the checks in this folder and rfc-notes/trace.py. For each rule, the check must report a small tree that
breaks it, and must accept another tree that breaks no rule. The trees use their own requirement ids (TOY-n)."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
HEAD = "// SPDX-License-Identifier: Apache-2.0\n// A file for a test.\n"
TABLE = ("# Toys\n\n| ID | § | Level | Requirement | Observe | Status | Note |\n"
         "|---|---|---|---|---|---|---|\n")
README = "before\n<!-- status:begin -->\n<!-- status:end -->\nafter\n"
LOOP = "while not condition():\n    if late():\n        fail()\n    time.sleep(0.01)\n"
SHORT = "short wait used as a sleep"
OUTSIDE = "sleep outside a loop that waits for a condition"

# For each rule of check_sources.py, files that break it: a path, its includes or text, and the expected report.
BREAKS = {
    "includes": [
        ("ddp/src/a.cpp", '#include "iwarp/mpa/fpdu.hpp"\n', "ddp/src/a.cpp:3: ddp must not include iwarp/mpa/fpdu.hpp"),
        ("verbs/src/a.cpp", "#include <sys/socket.h>\n", "<sys/socket.h> below the driver"),
        ("rdmap/src/a.cpp", "#include <mutex>\n", "<mutex> in a layer that is single-threaded"),
        ("verbs/trace/src/printer.cpp", "#include <fstream>\n", "verbs/trace/src/printer.cpp:3: "),
        ("verbs/net/include/iwarp/net/a.hpp", "#include <boost/asio.hpp>\n", "Asio stays out of headers")],
    "rooms": [
        ("verbs/net/src/sockets/a.cpp", '#include "driver/worker.hpp"\n',
         "verbs/net/src/sockets/a.cpp:3: sockets must not include driver/worker.hpp"),
        ("verbs/net/src/driver/a.cpp", '#include "cellar/worker.hpp"\n#include "../setup/cm.hpp"\n',
         "verbs/net/src/driver/a.cpp:3: cellar/worker.hpp is in no room of verbs/net/src",
         "verbs/net/src/driver/a.cpp:4: ../setup/cm.hpp is in no room of verbs/net/src"),
        ("verbs/net/src/setup/a.cpp", '#include "worker.hpp"\n',
         "verbs/net/src/setup/a.cpp:3: worker.hpp is not in the folder of the file that includes it"),
        ("verbs/net/src/a.cpp", "", "verbs/net/src/a.cpp: in no room of verbs/net/src"),
        ("verbs/net/src/cellar/a.cpp", "", "verbs/net/src/cellar/a.cpp: in no room of verbs/net/src")],
    "apps": [
        ("apps/run/a.cpp", '#include "fault_plan.hpp"\n', "run must not include"),
        ("apps/perf/a.cpp", '#include "conform/link.hpp"\n', "apps/perf/a.cpp:3: perf must not include conform"),
        ("apps/ping/a.cpp", '#include "common/url.hpp"\n',
         "ping includes common, but its target does not depend on it"),
        ("apps/frames/session/a.cpp", '#include "frames/report/a.hpp"\n',
         "apps/frames/session/a.cpp:3: frames/session must not include frames/report/a.hpp"),
        ("apps/frames/a.cpp", "", "apps/frames/a.cpp: apps/frames has no sub-folder")],
    "sizes": [
        (f"mpa/{folder}/iwarp/mpa/{folder}.hpp", "//\n" * 199, "201 lines, the bound is 200")
        for folder in ("include", "internal")],
    "public": [
        ("ddp/internal/iwarp/ddp/b.hpp", ""),
        ("ddp/include/iwarp/ddp/a.hpp", '#include "iwarp/ddp/b.hpp"\n',
         "ddp/include/iwarp/ddp/a.hpp:3: an installed header must not include iwarp/ddp/b.hpp"),
        ("verbs/net/include/iwarp/iwarp.hpp", '#include "iwarp/verbs/a0.hpp"\n',
         "iwarp/iwarp.hpp includes 61 headers, itself among them; the bound is 30",
         "65 headers are installed, the bound is 60"),
        *[(f"verbs/include/iwarp/verbs/a{i}.hpp", f'#include "iwarp/verbs/a{i + 1}.hpp"\n') for i in range(60)]],
    "leftovers": [
        ("mpa/src/a.cpp", "// TO" + "DO(now)\n", "unfinished"),
        ("apps/a.sh", "ls /ho" + "me/me\n", "path of one machine"),
        *[(path, text, f"{path}:{line}: {what}") for path, text, line, what in (
            ("test/sim/a.cpp", "sleep_for(x);\n", 3, "sleep in a test"),
            ("test/sim/b.cpp", "channel->wait(10ms);\n", 3, SHORT),
            ("test/net/a.cpp", "cm->wait_for(std::chrono::milliseconds(999));\n", 3, SHORT),
            ("test/rdma_core/interface/a.cpp", "is_readable(channel->fd, 100);\n", 3, SHORT),
            ("test/failing/a.cpp", "readable(fd, 1us);\n", 3, SHORT),
            ("test/load/a.cpp", "poll(&end, 1, 5);\n", 3, SHORT),
            ("test/tls/a.cpp", "epoll_wait(fd, &event, 1, 20);\n", 3, SHORT),
            ("test/unit/mpa/a.cpp", "done.wait_for(lock,\n  500us);\n", 3, SHORT),
            ("test/net/channel.cpp", "channel.wait(2ms);\n", 3, SHORT),
            ("test/net/b.cpp", "for (int tries = 0; tries < 20; ++tries) {\n", 3, "tried until it passes"),
            ("test/apps/test_a.py", "client.wait(0.5)\nwhile not done and attempts < 4:\n    pass\n", 3, SHORT),
            ("test/apps/a.py", LOOP + "time.sleep(1)\n", 7, OUTSIDE),
            ("test/a.sh", "iwarp serve & sleep 1\n", 3, OUTSIDE),
            (".ci/run", "ctest --repeat until-pass:2\n", 3, "tried until it passes"))]],
    "readmes": [
        ("ddp/src/two.cpp", "", "ddp/README.md: does not name two of ddp"),
        ("ddp/internal/iwarp/ddp/three.hpp", "", "ddp/README.md: does not name three of ddp"),
        ("mpa/bytes/src/hex.cpp", "", "mpa/README.md: does not name hex of mpa/bytes")],
}
# Files that break no rule.
KEPT = {
    "verbs/trace/src/pcap_writer.cpp": "#include <fstream>\n",
    "verbs/net/src/sockets/c.hpp": "",
    "verbs/net/src/driver/b.hpp": "",
    "verbs/net/src/driver/a.cpp": '#include "driver/b.hpp"\n#include "b.hpp"\n#include "sockets/c.hpp"\n'
                                  '#include "iwarp/net/rnic.hpp"\n#include <sys/socket.h>\n',
    "apps/common/CMakeLists.txt": "iwarp_app(common DEPENDS apps::command_line)\n",
    "apps/ping/CMakeLists.txt": "iwarp_app(ping DEPENDS apps::common)\n",
    "apps/ping/a.cpp": '#include "command_line/a.hpp"\n#include "common/url.hpp"\n'
                       '#include "ping/ping.hpp"\n#include "commands.hpp"\n',
    "apps/frames/report/a.cpp": '#include "frames/session/a.hpp"\n',
    "mpa/include/iwarp/mpa/a.hpp": "//\n" * 197,
    "verbs/net/include/iwarp/iwarp.hpp": '#include "iwarp/verbs/a0.hpp"\n',
    **{f"verbs/include/iwarp/verbs/a{i}.hpp": f'#include "iwarp/verbs/a{i + 1}.hpp"\n' for i in range(28)},
    "test/net/a.cpp": "wait(60s); wait(0ms); wait(-1ms); poll(&one, 1, 0); cq->poll(std::span(&wc, 1));\n"
                      "poll(&one, 1, 60000); poll(&one, 1, kTimeoutMs); options.timeout = 20ms; advance(10ms);\n",
    "test/net/channel.cpp": "CHECK_FALSE(channel.wait(1ms));\n",
    "test/bench/a.cpp": "wait(10ms); sleep_for(1ms);\n",
    "test/apps/a.py": LOOP,
    "test/a.sh": "until listens; do sleep 0.1; done\nwhile alive; do\n  sleep 0.1\ndone\n",
    "ddp/src/cm_id.cpp": "",
}


class Tree(unittest.TestCase):
    """A repository with its own copies of the scripts, in a temporary directory."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name)
        for script in ("test/architecture/check_sources.py", "test/architecture/check_docs.py",
                       "test/architecture/check_drawings.py", "test/architecture/check_exports.py",
                       "rfc-notes/trace.py"):
            self.write(script, (REPOSITORY / script).read_text())

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run_script(self, script, *arguments):
        done = subprocess.run([sys.executable, self.root / script, *arguments], check=False,
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class SourceRules(Tree):
    CHECK = "test/architecture/check_sources.py"

    def assert_says(self, rule, *messages):
        status, output = self.run_script(self.CHECK, rule)
        self.assertEqual(status, 1, output)
        for message in messages:
            self.assertIn(message, output)

    def write_readmes(self):
        self.write("ddp/README.md", "`receiver`, `cm_*`, but three.\n")
        self.write("mpa/README.md", "`a`\n")

    def test_each_rule_is_kept(self):
        self.write_readmes()
        for path, text in KEPT.items():
            self.write(path, HEAD + ("#pragma once\n" if path.endswith(".hpp") else "") + text)
        for rule in (*BREAKS, "heads"):
            if rule == "readmes":  # The small tree does not have a README for each layer.
                continue
            status, output = self.run_script(self.CHECK, rule)
            self.assertEqual(status, 0, output)

    def test_each_rule_is_broken(self):
        self.write_readmes()
        self.write("apps/perf/CMakeLists.txt", "iwarp_app(perf DEPENDS apps::common)\n")
        self.write("apps/ping/CMakeLists.txt", "iwarp_app(ping DEPENDS iwarp::net)\n")
        for rule, rows in BREAKS.items():
            for path, text, *_ in rows:
                self.write(path, HEAD + text)
            self.assert_says(rule, *(message for row in rows for message in row[2:]))

    def test_the_table_of_rooms_has_no_cycle_and_the_readme_shows_it(self):
        self.write("verbs/net/README.md", "| `sockets` | `driver` | files |\n")
        self.assert_says("rooms", "verbs/net/README.md: sockets uses no room, says ROOMS",
                         "verbs/net/README.md: no row for the room statistics")
        script = (REPOSITORY / self.CHECK).read_text()
        self.write(self.CHECK, script.replace('"sockets": ()', '"sockets": ("driver",)'))
        self.assert_says("rooms", "ROOMS, verbs/net/src: driver is not below sockets")

    def test_a_target_may_not_depend_on_what_its_sources_may_not_include(self):
        self.write("apps/ping/CMakeLists.txt", "iwarp_app(ping DEPENDS apps::cost)\n")
        self.assert_says("apps", "apps/ping/CMakeLists.txt: ping must not depend on cost")

    def test_a_source_says_what_it_is_for(self):
        self.write("mpa/src/a.cpp", "int a;\n")
        self.write("mpa/src/b.cpp", HEAD[:HEAD.index("\n")] + "\n\n")
        self.assert_says("heads", "no SPDX licence line", "what the file is for")


class DocumentedHeaders(Tree):
    PATH = "mpa/include/iwarp/mpa/a.hpp"

    def check(self, code):
        self.write(self.PATH, HEAD + "#pragma once\nnamespace iwarp::mpa {\n" + code + "}\n")
        return self.run_script("test/architecture/check_docs.py")

    def test_what_is_not_documented_is_missed(self):
        accessors = "struct A {\n  /// Return both.\n  int one() const;\n  int two() const;\n"
        for code, message in (
                ("int count();\n", f"{self.PATH}:5: count() has no comment"),
                ("class A {\n};\n", "class A has no comment"),
                ("using A = int;\n", "A has no comment"),
                ("/// A.\nclass A {\n public:\n  int size();\n};\n", "A::size() has no comment"),
                ("/// A.\n\nclass A {\n};\n", "class A has no comment"),
                ("/// A.\nclass A {\n public:\n  explicit A(int size);\n};\n", "A::A() has no comment"),
                ("/// Encodes.\nvoid encode(int a);\n\nvoid encode(long a);\n", "encode() has no"),
                ("/// Encodes.\nvoid encode(int a);\nvoid decode(int a);\n", "decode() has no"),
                (f"/// A.\n{accessors}  int add(int c);\n}};\n", "A::add() has no comment"),
                ("/// A.\nenum class A { kOne, kTwo };\n", "A::kOne has no comment"),
                ("/// A.\nstruct AOptions {\n  int size = 1;\n};\n", "AOptions: no comment on size"),
                *[(f"/// Opens.\n{kind} open();\n", "open() does not list its errors") for kind in
                  ("std::error_code", "std::expected<int, std::error_code>", "bytes::Result<int>")]):
            status, output = self.check(code)
            self.assertEqual(status, 1, output)
            self.assertIn(message, output)

    def test_what_is_documented_passes(self):
        for code in (
                "/// Counts.\nint count();\nint sum();  ///< adds\n/// A.\nusing A = int;\n",
                "/// A.\nclass A {\n public:\n  A();\n  A(const A&) = delete;\n  ~A();\n"
                "  explicit A(int a) : a_{a} {}\n  void run() override;\n"
                "  bool operator==(const A&) const = default;\n\n private:\n"
                "  int size();\n  int a_{};\n};\nclass B;\nusing bytes::View;\n"
                "inline constexpr int kOne = 1;\n",
                "/// Encodes.\nvoid encode(int a);\nvoid encode(long a);\n",
                "/// A.\nclass A {\n public:\n  /// Counts.\n  int count();\n};\n"
                "/// Sums.\nint sum();\ninline int A::count() { return 1; }\n"
                "inline int sum() { return 1; }\n",
                "/// One or kTwoLong.\nenum class A { kOne, kTwoLong };\n",
                "/// A.\nstruct AOptions {\n  int size{1};  ///< of it\n};\n/// A.\nstruct A {\n  int size = 1;\n};\n",
                "/// Opens. Fails with `Errc::kBusy` if open.\nstd::error_code open();\n"):
            status, output = self.check(code)
            self.assertEqual(status, 0, output)


class ExportedNames(Tree):
    """exports.def has one name that is implemented and one that is refused. The headers have two inline functions."""

    def setUp(self):
        super().setUp()
        self.write("verbs/rdma_core/exports.def",
                   "IBVERBS_1.1 impl ibv_one\nIBVERBS_1.1 errno ibv_two why\n")
        self.write("verbs/rdma_core/README.md",
                   "<!-- exports:begin -->\n<!-- exports:end -->\n")
        self.write("test/rdma_core/abi/test_abi.py", 'self.refused("errno")\n')
        self.write("headers/infiniband/verbs.h", "static inline int ibv_three(void)\n"
                   "static inline int ibv_post_wq_recv(struct ibv_wq *wq)\n")
        self.write("headers/rdma/rdma_verbs.h", "")

    def check(self, *options):
        return self.run_script("test/architecture/check_exports.py", self.root / "headers", *options)

    def test_all_are_called(self):
        for one in ("CHECK(ibv_one() == 1);", 'dlvsym(RTLD_DEFAULT, "ibv_one", node.c_str());'):
            self.write("test/rdma_core/a.cpp", one + "\nibv_three();\nibv_create_wq();\n")
            self.check("--update")
            self.assertEqual(self.check()[0], 0, self.check()[1])
        self.assertIn("| 1 |", (self.root / "verbs/rdma_core/README.md").read_text())

    def test_what_is_not_called_is_noticed(self):
        self.write("test/rdma_core/a.cpp", '// ibv_one()\nCHECK("ibv_one()");\n')
        self.check("--update")
        self.write("test/rdma_core/abi/test_abi.py", "")
        self.write("verbs/rdma_core/exports.def",
                   "IBVERBS_1.1 impl ibv_one\nIBVERBS_1.1 errno ibv_two why\nIBVERBS_1.1 impl ibv_four\n")
        status, output = self.check()
        self.assertEqual(status, 1, output)
        for message in ("ibv_one is done, but no test calls it", "ibv_two is of kind errno", "is stale",
                        "ibv_three, inline in the headers, is called by no test",
                        "ibv_post_wq_recv cannot be reached, but no test uses ibv_create_wq"):
            self.assertIn(message, output)


class Traceability(Tree):
    def trace(self, row, code="", test="", *options):
        self.write("rfc-notes/requirements/toys.md", TABLE + f"| TOY-1 | 1 | {row} |\n")
        self.write("mpa/src/a.cpp", code)
        self.write("test/unit/a.cpp", test)
        if not (self.root / "README.md").exists():
            self.write("README.md", README)
        return self.run_script("rfc-notes/trace.py", "--update", *options)

    def assert_wrong(self, message, *arguments):
        status, output = self.trace(*arguments)
        self.assertEqual(status, 1, output)
        self.assertIn(message, output)

    def test_a_row_is_done_with_code_and_test(self):
        self.assertEqual(self.trace("MUST | x | y | done | ", "// [TOY-1]", '"x [TOY-1]"')[0], 0)

    def test_a_must_row_without_test_is_not_done(self):
        self.assert_wrong("TOY-1 is done, but no test", "MUST | x | y | done | ", "// [TOY-1]")

    def test_a_must_not_row_without_code_is_not_done(self):
        self.assert_wrong("is done, but no code", "MUST NOT | x | y | done | ", "", '"[TOY-1]"')

    def test_a_may_row_needs_one_of_them(self):
        self.assertEqual(self.trace("MAY | x | y | done | ", "// [TOY-1]")[0], 0)
        self.assert_wrong("nothing mentions it", "MAY | x | y | done | ")

    def test_marks_must_name_rows(self):
        row = "MUST | x | y | deferred | later"
        self.assert_wrong("[TOY-2] is no requirement", row, "// [TOY-1, TOY-2]")
        self.assert_wrong("is not a list of ids", row, "// [TOY-1..3]")

    def test_every_other_status_has_a_reason(self):
        self.assert_wrong("deferred without a reason", "MUST | x | y | deferred | ")
        self.assert_wrong("unknown status", "MUST | x | y | finished | yes")

    def test_a_documented_row_stands_in_its_document(self):
        row = "MUST | x | y | documented | see rfc-notes/page.md"
        self.assert_wrong("names no file that exists", row)
        self.write("rfc-notes/page.md", "nothing")
        self.assert_wrong("does not mention it", row)
        self.write("rfc-notes/page.md", "so it is [TOY-1]")
        self.assertEqual(self.trace(row)[0], 0)

    def test_a_stale_table_is_noticed(self):
        self.trace("MUST | x | y | deferred | later")
        row = "| TOY-1 | 1 | MUST | x | y | partial | half |\n"
        self.write("rfc-notes/requirements/toys.md", TABLE + row)
        status, output = self.run_script("rfc-notes/trace.py")
        self.assertEqual(status, 1)
        self.assertIn("table is stale", output)

    def test_promote_finishes_rows_with_code_and_test(self):
        row = "MUST | x | y | deferred | later"
        self.trace(row, "// [TOY-1]", '"[TOY-1]"')
        self.assertEqual(self.run_script("rfc-notes/trace.py", "--promote")[0], 0)
        text = (self.root / "rfc-notes/requirements/toys.md").read_text()
        self.assertIn("| TOY-1 | 1 | MUST | x | y | done | |", text)
        self.assertEqual(self.run_script("rfc-notes/trace.py")[0], 0)


if __name__ == "__main__":
    unittest.main()
