#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of this folder and rfc-notes/trace.py are code too, so they are tested: each rule gets
a small tree that breaks it and must say so. Uses made-up requirement ids (TOY-n) of its own."""
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


class Tree(unittest.TestCase):
    """A repository in a temporary directory, with its own copies of the scripts."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name)
        for script in ("test/architecture/check_sources.py", "test/architecture/check_docs.py",
                       "test/architecture/check_exports.py", "rfc-notes/trace.py"):
            self.write(script, (REPOSITORY / script).read_text())

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def run_script(self, script, *arguments):
        done = subprocess.run([sys.executable, self.root / script, *arguments], check=False,
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class SourceRules(Tree):
    def assert_breaks(self, rule, path, text, message):
        self.write(path, text)
        status, output = self.run_script("test/architecture/check_sources.py", rule)
        self.assertEqual(status, 1, output)
        self.assertIn(message, output)

    def test_an_empty_tree_keeps_every_rule(self):
        for rule in ("includes", "rooms", "apps", "sizes", "public", "leftovers", "heads", "readmes"):
            status, output = self.run_script("test/architecture/check_sources.py", rule)
            self.assertEqual(status, 0, output)

    def test_ddp_may_not_know_mpa(self):
        self.assert_breaks("includes", "ddp/src/a.cpp", HEAD + '#include "iwarp/mpa/fpdu.hpp"\n',
                           "ddp/src/a.cpp:3: ddp must not include iwarp/mpa/fpdu.hpp")

    def test_the_core_may_not_know_sockets(self):
        self.assert_breaks("includes", "verbs/src/a.cpp", HEAD + "#include <sys/socket.h>\n",
                           "<sys/socket.h> below the driver")

    def test_only_verbs_may_lock(self):
        self.assert_breaks("includes", "rdmap/src/a.cpp", HEAD + "#include <mutex>\n",
                           "<mutex> in a layer that is single-threaded")

    def test_only_the_capture_writer_of_trace_opens_files(self):
        self.write("verbs/trace/src/pcap_writer.cpp", HEAD + "#include <fstream>\n")
        self.assert_breaks("includes", "verbs/trace/src/printer.cpp", HEAD + "#include <fstream>\n",
                           "includes: 1 problems")

    def test_asio_stays_out_of_headers(self):
        self.assert_breaks("includes", "verbs/net/include/iwarp/net/a.hpp",
                           HEAD + "#include <boost/asio.hpp>\n", "Asio stays out of headers")

    def test_a_room_may_not_use_one_above_it(self):
        self.write("verbs/net/src/driver/a.cpp", HEAD + '#include "driver/b.hpp"\n#include "sockets/c.hpp"\n'
                   '#include "iwarp/net/rnic.hpp"\n#include <sys/socket.h>\n')
        self.assertEqual(self.run_script("test/architecture/check_sources.py", "rooms")[0], 0)
        self.assert_breaks("rooms", "verbs/net/src/sockets/a.cpp", HEAD + '#include "driver/worker.hpp"\n',
                           "verbs/net/src/sockets/a.cpp:3: sockets must not include driver/worker.hpp")

    def test_what_is_included_is_in_a_room(self):
        path = "verbs/net/src/driver/a.cpp"
        self.assert_breaks("rooms", path, HEAD + '#include "cellar/worker.hpp"\n',
                           f"{path}:3: cellar/worker.hpp is in no room of verbs/net/src")
        self.assert_breaks("rooms", path, HEAD + '#include "../setup/cm.hpp"\n',
                           f"{path}:3: ../setup/cm.hpp is in no room of verbs/net/src")

    def test_an_include_without_a_folder_means_the_own_one(self):
        self.write("verbs/net/src/driver/worker.hpp", HEAD)
        self.write("verbs/net/src/driver/a.cpp", HEAD + '#include "worker.hpp"\n')
        self.assertEqual(self.run_script("test/architecture/check_sources.py", "rooms")[0], 0)
        path = "verbs/net/src/setup/a.cpp"
        self.assert_breaks("rooms", path, HEAD + '#include "worker.hpp"\n',
                           f"{path}:3: worker.hpp is not in the folder of the file that includes it")

    def test_every_source_is_in_a_room(self):
        for path in ("verbs/net/src/a.cpp", "verbs/net/src/cellar/a.cpp"):
            self.assert_breaks("rooms", path, HEAD, f"{path}: in no room of verbs/net/src")

    def test_the_table_of_rooms_has_no_cycle(self):
        script = (REPOSITORY / "test/architecture/check_sources.py").read_text()
        self.assert_breaks("rooms", "test/architecture/check_sources.py",
                           script.replace('"sockets": ()', '"sockets": ("driver",)'),
                           "ROOMS, verbs/net/src: driver is not below sockets")

    def test_the_readme_of_a_layer_shows_the_rooms_of_the_table(self):
        self.assert_breaks("rooms", "verbs/net/README.md", "| `sockets` | `driver` | files |\n",
                           "verbs/net/README.md: sockets uses no room, says ROOMS")
        self.assert_breaks("rooms", "verbs/net/README.md", "| `sockets` | | files |\n",
                           "verbs/net/README.md: no row for the room statistics")

    def test_an_app_may_not_include_what_is_not_installed(self):
        for name in ("fault_plan.hpp", "rdma_core/faults/book.hpp"):
            self.assert_breaks("apps", "apps/run/a.cpp", HEAD + f'#include "{name}"\n', "run must not include")

    def test_nobody_may_know_conform(self):
        self.write("apps/perf/CMakeLists.txt", "iwarp_app(perf DEPENDS apps::common)\n")
        self.assert_breaks("apps", "apps/perf/a.cpp", HEAD + '#include "conform/link.hpp"\n',
                           "apps/perf/a.cpp:3: perf must not include conform")

    def test_a_target_may_not_depend_on_what_its_sources_may_not_include(self):
        self.assert_breaks("apps", "apps/ping/CMakeLists.txt", "iwarp_app(ping DEPENDS apps::cost)\n",
                           "apps/ping/CMakeLists.txt: ping must not depend on cost")

    def test_what_an_application_includes_its_target_depends_on(self):
        self.write("apps/ping/CMakeLists.txt", "iwarp_app(ping DEPENDS iwarp::net)\n")
        self.assert_breaks("apps", "apps/ping/a.cpp", HEAD + '#include "common/url.hpp"\n',
                           "ping includes common, but its target does not depend on it")

    def test_applications_may_use_what_theirs_depend_on(self):
        self.write("apps/common/CMakeLists.txt", "iwarp_app(common DEPENDS apps::command_line)\n")
        self.write("apps/ping/CMakeLists.txt", "iwarp_app(ping DEPENDS apps::common)\n")
        self.write("apps/ping/a.cpp", HEAD + '#include "command_line/a.hpp"\n'
                   '#include "common/url.hpp"\n#include "ping/ping.hpp"\n#include "commands.hpp"\n')
        status, output = self.run_script("test/architecture/check_sources.py", "apps")
        self.assertEqual(status, 0, output)

    def test_a_sub_folder_uses_those_before_it(self):
        self.write("apps/frames/report/a.cpp", HEAD + '#include "frames/session/a.hpp"\n')
        self.assertEqual(self.run_script("test/architecture/check_sources.py", "apps")[0], 0)
        self.assert_breaks("apps", "apps/frames/session/a.cpp", HEAD + '#include "frames/report/a.hpp"\n',
                           "apps/frames/session/a.cpp:3: frames/session must not include frames/report/a.hpp")
        self.assert_breaks("apps", "apps/frames/a.cpp", HEAD, "apps/frames/a.cpp: apps/frames has no sub-folder")

    def test_headers_for_other_layers_are_short(self):
        for folder in ("include", "internal"):
            path = f"mpa/{folder}/iwarp/mpa/a.hpp"
            self.assert_breaks("sizes", path, "//\n" * 201, "201 lines, the bound is 200")
            self.write(path, "//\n" * 200)
        self.assertEqual(self.run_script("test/architecture/check_sources.py", "sizes")[0], 0)

    def test_few_headers_are_installed(self):
        for i in range(59):  # version.hpp is one as well
            self.write(f"verbs/include/iwarp/verbs/a{i}.hpp", HEAD)
        self.write("verbs/internal/iwarp/verbs/b.hpp", HEAD)
        self.assertEqual(self.run_script("test/architecture/check_sources.py", "public")[0], 0)
        self.assert_breaks("public", "verbs/net/include/iwarp/net/a.hpp", HEAD,
                           "61 headers are installed, the bound is 60")

    def test_the_umbrella_header_includes_few(self):
        for i in range(29):
            self.write(f"verbs/include/iwarp/verbs/a{i}.hpp", HEAD + f'#include "iwarp/verbs/a{i + 1}.hpp"\n')
        self.write("verbs/net/include/iwarp/iwarp.hpp", HEAD + '#include "iwarp/verbs/a0.hpp"\n')
        self.assertEqual(self.run_script("test/architecture/check_sources.py", "public")[0], 0)
        self.assert_breaks("public", "verbs/include/iwarp/verbs/a29.hpp", HEAD,
                           "iwarp/iwarp.hpp includes 31 headers, itself among them; the bound is 30")

    def test_an_installed_header_includes_no_other_of_ours(self):
        self.write("ddp/internal/iwarp/ddp/b.hpp", HEAD)
        path = "ddp/include/iwarp/ddp/a.hpp"
        self.assert_breaks("public", path, HEAD + '#include "iwarp/ddp/b.hpp"\n',
                           f"{path}:3: an installed header must not include iwarp/ddp/b.hpp")

    def test_nothing_is_left_over(self):
        self.assert_breaks("leftovers", "mpa/src/a.cpp", HEAD + "// TO" + "DO(now)\n", "unfinished")
        self.assert_breaks("leftovers", "apps/a.sh", "ls /ho" + "me/me\n", "path of one machine")

    def test_no_test_sleeps(self):
        for folder in ("sim", "net", "rdma_core/interface", "failing", "load", "apps"):
            path = f"test/{folder}/a.cpp"
            self.assert_breaks("leftovers", path, "sleep_for(x);\n", f"{path}:1: sleep in a test")

    def test_no_short_wait_is_used_as_a_sleep(self):
        what = "short wait used as a sleep"
        texts = {"test/sim/a.cpp": "channel->wait(10ms);",
                 "test/net/a.cpp": "cm->wait_for(std::chrono::milliseconds(999));",
                 "test/rdma_core/interface/a.cpp": "is_readable(channel->fd, 100);",
                 "test/failing/a.cpp": "readable(fd, 1us);",
                 "test/load/a.cpp": "poll(&end, 1, 5);",
                 "test/tls/a.cpp": "epoll_wait(fd, &event, 1, 20);",
                 "test/unit/mpa/a.cpp": "done.wait_for(lock,\n  500us);",
                 "test/apps/test_a.py": "client.wait(0.5)",
                 "test/net/channel.cpp": "channel.wait(2ms);"}
        for path, text in texts.items():
            self.write(path, text + "\n")
        status, output = self.run_script("test/architecture/check_sources.py", "leftovers")
        self.assertEqual(status, 1, output)
        for path in texts:
            self.assertIn(f"{path}:1: {what}", output)

    def test_longer_waits_and_looks_are_no_sleeps(self):
        self.write("test/net/a.cpp", "wait(60s); wait(0ms); wait(-1ms); poll(&one, 1, 0); cq->poll(std::span(&wc, 1));\n"
                   "poll(&one, 1, 60000); poll(&one, 1, kTimeoutMs); options.timeout = 20ms; advance(10ms);\n")
        self.write("test/net/channel.cpp", "CHECK_FALSE(channel.wait(1ms));\n")
        self.write("test/bench/a.cpp", "wait(10ms); sleep_for(1ms);\n")
        status, output = self.run_script("test/architecture/check_sources.py", "leftovers")
        self.assertEqual(status, 0, output)

    def test_a_script_sleeps_only_until_a_condition_holds(self):
        what = "sleep outside a loop that waits for a condition"
        loop = "while not condition():\n    if late():\n        fail()\n    time.sleep(0.01)\n"
        self.write("test/apps/a.py", loop)
        self.write("test/a.sh", "until listens; do sleep 0.1; done\nwhile alive; do\n  sleep 0.1\ndone\n")
        self.assertEqual(self.run_script("test/architecture/check_sources.py", "leftovers")[0], 0)
        for path, text, line in (("test/apps/a.py", loop + "time.sleep(1)\n", 5),
                                 ("test/apps/a.py", "def f():\n    for i in x:\n        time.sleep(1)\n", 3),
                                 ("test/a.sh", "iwarp serve & sleep 1\n", 1)):
            self.assert_breaks("leftovers", path, text, f"{path}:{line}: {what}")

    def test_nothing_is_tried_until_it_passes(self):
        for path, text in ((".ci/run", "ctest --repeat until-pass:2\n"),
                           ("test/run.sh", "ctest --repeat until-fail:2\n"),
                           ("test/net/a.cpp", "for (int tries = 0; tries < 20; ++tries) {\n"),
                           ("test/apps/test_a.py", "while not done and attempts < 4:\n")):
            self.assert_breaks("leftovers", path, text, f"{path}:1: tried until it passes")

    def test_a_source_says_what_it_is_for(self):
        self.assert_breaks("heads", "mpa/src/a.cpp", "int a;\n", "no SPDX licence line")
        self.assert_breaks("heads", "mpa/src/b.cpp", HEAD[:HEAD.index("\n")] + "\n\n",
                           "what the file is for")


    def test_a_readme_names_the_sources_of_its_layer(self):
        self.write("ddp/README.md", "The `receiver` and [one](src/two.cpp), `cm_*`, but three.\n")
        for name in ("receiver", "two", "cm_id"):
            self.write(f"ddp/src/{name}.cpp", HEAD)
        self.assertEqual(self.run_script("test/architecture/check_sources.py", "readmes")[0], 0)
        for folder in ("include", "internal"):
            self.assert_breaks("readmes", f"ddp/{folder}/iwarp/ddp/{folder}.hpp", HEAD,
                               f"ddp/README.md: does not name {folder} of ddp")

    def test_a_layer_without_a_readme_is_named_in_the_one_above(self):
        self.write("mpa/README.md", "Built on `view`.\n")
        self.write("mpa/bytes/src/view.cpp", HEAD)
        self.assert_breaks("readmes", "mpa/bytes/src/hex.cpp", HEAD,
                           "mpa/README.md: does not name hex of mpa/bytes")


class DocumentedHeaders(Tree):
    PATH = "mpa/include/iwarp/mpa/a.hpp"

    def check(self, code, path=PATH):
        self.write(path, HEAD + "#pragma once\nnamespace iwarp::mpa {\n" + code + "}\n")
        return self.run_script("test/architecture/check_docs.py")

    def assert_documented(self, code):
        status, output = self.check(code)
        self.assertEqual(status, 0, output)

    def assert_missed(self, code, message):
        status, output = self.check(code)
        self.assertEqual(status, 1, output)
        self.assertIn(message, output)

    def test_an_empty_tree_is_documented(self):
        self.assertEqual(self.run_script("test/architecture/check_docs.py")[0], 0)

    def test_functions_types_and_aliases_have_a_comment(self):
        self.assert_missed("int count();\n", f"{self.PATH}:5: count() has no comment")
        self.assert_missed("class A {\n};\n", "class A has no comment")
        self.assert_missed("using A = int;\n", "A has no comment")
        self.assert_missed("/// A.\nclass A {\n public:\n  int size();\n};\n", "A::size() has no comment")
        self.assert_missed("/// A.\n\nclass A {\n};\n", "class A has no comment")
        self.assert_missed("// A.\nclass A {\n};\n", "class A has no comment")
        self.assert_documented("/// Counts.\nint count();\nint sum();  ///< adds\n/// A.\nusing A = int;\n")

    def test_what_is_not_public_needs_no_comment(self):
        self.assert_documented("/// A.\nclass A {\n public:\n  A();\n  A(const A&) = delete;\n  ~A();\n"
                               "  explicit A(int a) : a_{a} {}\n  void run() override;\n"
                               "  bool operator==(const A&) const = default;\n\n private:\n"
                               "  int size();\n  int a_{};\n};\nclass B;\nusing bytes::View;\n"
                               "inline constexpr int kOne = 1;\n")
        self.assertEqual(self.check("int count();\n", "mpa/src/a.hpp")[0], 0)

    def test_a_constructor_with_work_to_do_has_a_comment(self):
        self.assert_missed("/// A.\nclass A {\n public:\n  explicit A(int size);\n};\n",
                           "A::A() has no comment")

    def test_a_comment_covers_overloads_and_accessors_below_it(self):
        self.assert_documented("/// Encodes.\nvoid encode(int a);\nvoid encode(long a);\n")
        self.assert_missed("/// Encodes.\nvoid encode(int a);\n\nvoid encode(long a);\n", "encode() has no")
        self.assert_missed("/// Encodes.\nvoid encode(int a);\nvoid decode(int a);\n", "decode() has no")
        accessors = "struct A {\n  /// Return both.\n  int one() const;\n  int two() const;\n"
        self.assert_documented(f"/// A.\n{accessors}}};\n")
        self.assert_missed(f"/// A.\n{accessors}  int add(int c);\n}};\n", "A::add() has no comment")

    def test_a_definition_further_down_is_covered(self):
        self.assert_documented("/// A.\nclass A {\n public:\n  /// Counts.\n  int count();\n};\n"
                               "/// Sums.\nint sum();\ninline int A::count() { return 1; }\n"
                               "inline int sum() { return 1; }\n")

    def test_enumerators_have_a_comment_or_are_mentioned(self):
        self.assert_missed("/// A.\nenum class A { kOne, kTwo };\n", "A::kOne has no comment")
        self.assert_missed("/// A.\nenum class A {\n  kOne,  ///< one\n  kTwo,\n};\n", "A::kTwo has no comment")
        self.assert_documented("/// One or kTwoLong.\nenum class A { kOne, kTwoLong };\n")
        self.assert_documented("/// Named as in RFC 1.\nenum class A { kOne };\n".replace("N", "n", 1))

    def test_members_of_options_have_a_comment(self):
        self.assert_missed("/// A.\nstruct AOptions {\n  int size = 1;\n};\n", "AOptions: no comment on size")
        self.assert_documented("/// A.\nstruct AOptions {\n  int size{1};  ///< of it\n};\n"
                               "/// A.\nstruct A {\n  int size = 1;\n};\n")

    def test_a_function_that_fails_lists_its_errors(self):
        for kind in ("std::error_code", "std::expected<int, std::error_code>", "bytes::Result<int>"):
            self.assert_missed(f"/// Opens.\n{kind} open();\n", "open() does not list its errors")
            self.assert_documented(f"/// Opens. Fails with `Errc::kBusy` if open.\n{kind} open();\n")
            self.assert_documented(f"/// Opens. Fails as bind().\n{kind} open();\n")
        self.assert_documented("/// Opens.\nvoid open(std::error_code& error);\n")


class ExportedNames(Tree):
    """One name that is done, one that is refused, and headers with two inline functions."""

    def setUp(self):
        super().setUp()
        self.write("verbs/rdma_core/exports.def",
                   "IBVERBS_1.1 impl ibv_one\nIBVERBS_1.1 errno ibv_two why\n")
        self.write("verbs/rdma_core/README.md",
                   "<!-- exports:begin -->\n<!-- exports:end -->\n")
        self.write("test/rdma_core/abi/test_abi.py", 'self.refused("errno")\n')
        self.write("test/rdma_core/a.cpp", "CHECK(ibv_one() == ibv_three());\nibv_create_wq();\n")
        self.write("headers/infiniband/verbs.h", "static inline int ibv_three(void)\n"
                   "static inline int ibv_post_wq_recv(struct ibv_wq *wq)\n")
        self.write("headers/rdma/rdma_verbs.h", "")

    def check(self, *options):
        return self.run_script("test/architecture/check_exports.py", self.root / "headers", *options)

    def assert_missed(self, path, text, message):
        self.check("--update")
        self.write(path, text)
        status, output = self.check()
        self.assertEqual(status, 1, output)
        self.assertIn(message, output)

    def test_all_are_called(self):
        self.check("--update")
        self.assertEqual(self.check()[0], 0, self.check()[1])
        self.assertIn("| 1 |", (self.root / "verbs/rdma_core/README.md").read_text())

    def test_a_name_in_a_comment_or_a_text_is_not_called(self):
        self.assert_missed("test/rdma_core/a.cpp",
                           '// ibv_one()\nCHECK("ibv_one()");\nibv_three();\nibv_create_wq();\n',
                           "ibv_one is done, but no test calls it")

    def test_a_name_asked_of_the_loader_is_called(self):
        self.check("--update")
        self.write("test/rdma_core/a.cpp", 'dlvsym(RTLD_DEFAULT, "ibv_one", node.c_str());\n'
                   "ibv_three();\nibv_create_wq();\n")
        self.assertEqual(self.check()[0], 0)

    def test_a_kind_of_refusal_without_a_test_is_noticed(self):
        self.assert_missed("test/rdma_core/abi/test_abi.py", "", "ibv_two is of kind errno")

    def test_an_inline_function_is_called_too(self):
        self.assert_missed("test/rdma_core/a.cpp", "ibv_one(); ibv_create_wq();\n",
                           "ibv_three, inline in the headers, is called by no test")

    def test_what_cannot_be_reached_is_refused_at_its_door(self):
        self.assert_missed("test/rdma_core/a.cpp", "ibv_one(); ibv_three();\n",
                           "ibv_post_wq_recv cannot be reached, but no test uses ibv_create_wq")

    def test_a_stale_count_is_noticed(self):
        self.assert_missed("verbs/rdma_core/exports.def", "IBVERBS_1.1 impl ibv_one\n", "is stale")


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
