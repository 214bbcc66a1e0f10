# SPDX-License-Identifier: Apache-2.0
"""Tests invalid command lines, help, and info: the exit status and the single line on stderr."""
import json
import re
import shutil
import signal
import socket
import subprocess

from support import IWARP, TIMEOUT, Case, Server, finish, main, run, start


class Usage(Case):
    def test_nonsense_is_refused_with_one_line(self):
        for words, pattern in (
            ((), r"^iwarp: no command given \(see iwarp --help\)"),
            (("frobnicate",), r"^iwarp: unknown command \"frobnicate\""),
            (("get",), r"^iwarp get: .*URL"),
            (("get", "http://host/x"), r"^iwarp get: http://host/x: "),
            (("get", "iwarp://host/"), r"^iwarp get: .*NAME is missing"),
            (("get", "iwarp://host/../x"), r"^iwarp get: "),
            (("put", "x"), r"^iwarp put: .*URL"),
            (("put", "/etc/passwd", "iwarp://host/.x"), r"^iwarp put: "),
            (("ping",), r"^iwarp ping: .*HOST"),
            (("ping", "--server", "host"), r"^iwarp ping: .*no HOST"),
            (("ping", "host", "--size", "5M"), r"^iwarp ping: --size: "),
            (("ping", "host", "--count", "-1"), r"^iwarp ping: .*--count"),
            (("serve",), r"^iwarp serve: .*DIR"),
            (("serve", ".", "--listen", "host:99999"), r"^iwarp serve: .*host:99999"),
            (("demo", "--mpa-rev", "1", "--rtr", "read"), r"^iwarp demo: --rtr read needs"),
            (("demo", "--size", "0"), r"^iwarp demo: --size: "),
            (("demo", "--size", "65M"), r"^iwarp demo: --size: "),
            (("demo", "extra"), r"^iwarp demo: .*extra"),
            (("cost", "predcit"), r"^iwarp cost: .*did you mean predict\?"),
            (("ping", "host", "--count", "9" * 300),
             r"^iwarp ping: --count: \"9{60}\.\.\.\" is not an integer .{1,60} \(see"),
            (("run", "--forever", "true"), r"^iwarp run: unknown option \"--forever\""),
            (("completion", "tcsh"), r"^iwarp completion: .*\"tcsh\" is not bash, zsh or fish"),
            (("serve", "--prot", "7480"), r"^iwarp serve: unknown option \"--prot\""),
            (("--verison",), r"^iwarp: unknown option \"--verison\"; did you mean --version\? \(see iwarp --help\)"),
            (("version",), r"^iwarp: unknown command \"version\"; did you mean --version\?"),
            (("predict",), r"^iwarp: unknown command \"predict\"; did you mean cost predict\?"),
            (("help", "gte"), r"^iwarp help: .*did you mean get\?"),
            (("help", "conection"), r"^iwarp help: .*did you mean connection\?"),
            (("help", "cost", "predcit"), r"^iwarp help: .*did you mean predict\?"),
            (("explain-error", "24"), r"^iwarp explain-error: \"24\" is not a completion status.*\(iwarp explain-error "
             r"without arguments lists them\)$"),
            (("explain-error", "ibv_modify_qp", "EPERM"), r"^iwarp explain-error: \"EPERM\" is not a completion status"),
        ):
            with self.subTest(words=words):
                self.assert_fails(run(*words), 2, pattern)

    def test_help_teaches(self):
        self.assertIn("iwarp demo", self.assert_ok(run("--help")))
        options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", self.assert_ok(run("help", "connection")), re.MULTILINE)
        self.assertLessEqual({"--crc", "--congestion", "--trace"}, set(options))
        for command in ("demo", "serve", "get", "put", "ping"):
            with self.subTest(command=command):
                text = self.assert_ok(run(command, "--help"))
                self.assertIn("Examples:\n  iwarp " + command, text)
                for option in options:
                    self.assertIn(option, text)
                self.assertLessEqual(max(map(len, text.splitlines())), 90)

    def test_help_is_a_command_too(self):
        self.assertEqual(self.assert_ok(run("help")), self.assert_ok(run("--help")))
        self.assertEqual(self.assert_ok(run("help", "cost", "predict")),
                         self.assert_ok(run("cost", "predict", "--help")))

    def test_version(self):
        version = json.loads(self.assert_ok(run("info", "--json")))["iwarp"]
        for option in ("--version", "-V"):
            self.assertEqual(self.assert_ok(run(option)), f"iwarp {version}\n")


class Generated(Case):
    """Tests the man pages and the shell completions, which are made from the same source as --help."""

    def test_man_pages_are_clean(self):
        self.assert_ok(run("help", "--manual", self.out))
        pages = self.names(self.out)
        for page in ("iwarp.1", "iwarp-get.1", "iwarp-cost-predict.1"):
            self.assertIn(page, pages)
        self.assertIn("first\\-fpdu\\-delay", (self.out / "iwarp-get.1").read_text())
        for page, status in (("iwarp-get.1", ".B 2\nthe command line is invalid"), ("iwarp-run.1", ".B 127\n"),
                             ("iwarp-cost-validate.1", ".B 2\nidentical runs differ too much"),
                             ("iwarp-explain.1", ".B 3\nwith \\-\\-strict")):
            self.assertIn(status, (self.out / page).read_text().split('.SH EXIT STATUS')[1])
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        for page in pages:
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", self.out / page],
                                  capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "", page)

    def complete(self, line):
        """Returns the completions that bash offers at the end of `line`."""
        words = line.split(" ")
        script = (f"source <({IWARP} completion bash); COMP_WORDS=({' '.join(map(repr, words))}); "
                  f"COMP_CWORD={len(words) - 1}; _iwarp; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()

    def test_bash_completes(self):
        self.assertIn("ping", self.complete("iwarp p"))
        self.assertEqual(self.complete("iwarp get --cr"), ["--crc"])
        self.assertEqual(self.complete("iwarp get --crc o"), ["on", "off"])
        self.assertIn("predict", self.complete("iwarp cost "))
        self.assertIn("--preset", self.complete("iwarp cost predict --p"))
        self.assertEqual(self.complete("iwarp cost predict --preset "),
                         ["2003", "2005", "2007", "2009", "2013", "100g", "2022", "2026"])
        self.assertEqual(self.complete("iwarp conform --only mpa/crc/empty-w"), ["mpa/crc/empty-write"])
        self.assertEqual(self.complete("iwarp perf --self write-b"), ["write-bw"])
        self.assertEqual(self.complete("iwarp help conn"), ["connection"])
        self.assertEqual(self.complete("iwarp completion z"), ["zsh"])

    def test_scripts_parse(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.scratch / shell
            script.write_text(self.assert_ok(run("completion", shell)))
            with self.subTest(shell=shell):
                if shutil.which(shell) is None:
                    self.skipTest(f"{shell} is not installed")
                done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


class Output(Case):
    def test_what_standard_output_does_not_take_is_a_failure(self):
        perf = ("perf", "--self", "write-bw", "--duration", "0.05")
        for words in (("info", "--json"), ("cost", "predict", "--json"), ("--help",), (*perf, "--json"), perf,
                      (*perf, "--interval", "0")):
            with self.subTest(words=words), open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([IWARP, *words], stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=TIMEOUT, check=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("cannot write to standard output: no space left on device", done.stderr)


class Failures(Case):
    def test_what_cannot_be_reached_fails_with_one_line(self):
        with Server("serve", self.dir) as server:
            port = server.port
            self.assert_fails(run("serve", self.dir, "--listen", f"127.0.0.1:{port}"), 1,
                              rf"^iwarp serve: cannot listen on 127.0.0.1:{port}: address in use "
                              r"\(choose another address or port, or stop the program that uses this one\)$")
        refused = rf"cannot connect to 127.0.0.1:{port}: connection refused " \
                  r"\(no program listens there: start the server first, or correct the address and port\)$"
        self.assert_fails(run("get", f"iwarp://127.0.0.1:{port}/x", self.out), 1, "^iwarp get: " + refused)
        self.assert_fails(run("put", self.file("x", 1), f"iwarp://127.0.0.1:{port}/x"), 1, "^iwarp put: " + refused)
        self.assert_fails(run("ping", f"127.0.0.1:{port}"), 1, "^iwarp ping: " + refused)
        self.assert_fails(run("perf", f"127.0.0.1:{port}", "write-bw"), 1, "^iwarp perf: " + refused)

    def test_what_is_not_there_fails_with_one_line(self):
        nowhere = self.scratch / "nowhere"
        missing = "no such file or directory$"
        self.assert_fails(run("serve", nowhere), 1, rf"^iwarp serve: cannot open .*: {missing}")
        self.assert_fails(run("put", nowhere, "iwarp://127.0.0.1:1/x"), 1, rf"nowhere: {missing}")
        self.assert_fails(run("put", self.dir, "iwarp://127.0.0.1:1/x"), 1, "not a regular file$")
        self.assert_fails(run("get", "iwarp://127.0.0.1:1/x", nowhere / "x"), 1, missing)
        self.assert_fails(run("demo", "--trace", nowhere / "x.pcap", "-q"), 1, "^iwarp demo: ")

    def test_a_silent_server_is_given_up_in_time(self):
        """A client with a timeout of 1 s must give up while a client that started after it, with the default timeout
        of 10 s, still waits."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"iwarp://127.0.0.1:{server.getsockname()[1]}/x"
            hasty = start("get", url, self.out, "--timeout", "1")
            with server.accept()[0]:
                patient = self.started("get", url, self.scratch / "other")
                with server.accept()[0]:
                    self.assert_fails(finish(hasty), 1, "cannot connect to ")
                    self.assertIsNone(patient.poll())

    def test_an_interrupt_is_heard_while_connecting(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            host = f"127.0.0.1:{server.getsockname()[1]}"
            for words in (("ping", host), ("get", f"iwarp://{host}/x", self.out, "--timeout", "3600")):
                with self.subTest(words=words):
                    client = start(*words)
                    with server.accept()[0]:
                        self.assert_fails(finish(client, signal.SIGINT), 1, f"^iwarp {words[0]}: interrupted$")

    def test_a_host_and_a_file_may_be_called_as_a_command(self):
        self.assert_fails(run("ping", "info"), 1, "^iwarp ping: cannot connect to info:7174: ")
        (self.scratch / "get").write_text("x")
        self.assert_fails(run("put", "get", "iwarp://127.0.0.1:1/x", cwd=self.scratch), 1,
                          "^iwarp put: cannot connect to 127.0.0.1:1: ")

    def test_unknown_hosts_and_foreign_addresses(self):
        unknown, foreign = "no-such-host.invalid", "192.0.2.1:7175"
        for words, pattern in (
                (("ping", unknown), f"^iwarp ping: cannot connect to {unknown}:7174: unknown host {unknown}"),
                (("serve", self.scratch, "--listen", f"{unknown}:7480"), f'unknown host "{unknown}"$'),
                (("serve", self.scratch, "--listen", foreign),
                 f"cannot listen on {foreign}: not an address of this machine \\(ip address lists them\\)$")):
            with self.subTest(words=words):
                self.assert_fails(run(*words), 1, pattern)


class ExplainError(Case):
    def test_a_vendor_err_says_what_it_means_and_what_to_do(self):
        self.assertEqual(
            self.assert_ok(run("explain-error", "0x11202")),
            "vendor_err 0x11202: Terminate 1/2/02 no buffer for this MSN, detected by DDP\n"
            "  no receive was posted for the message\n"
            "  What to do: at the receiving end, post enough receives before the other end sends, and repost "
            "each receive that completes\n")

    def test_without_a_code_it_explains_all_of_them(self):
        text = self.assert_ok(run("explain-error"))
        self.assertIn("IBV_WC_RNR_RETRY_EXC_ERR (13)", text)
        self.assertIn("vendor_err 0x20000", text)


class Info(Case):
    def test_gids_are_listed_for_both_personas(self):
        tables = json.loads(self.assert_ok(run("info", "--gids", "--json")))["gids"]
        for persona in ("roce", "iwarp"):
            rows = tables[persona]
            self.assertEqual([row["index"] for row in rows], list(range(len(rows))))
            self.assertIn(rows[0]["gid"], self.assert_ok(run("info", "--gids")))

    def test_info_says_what_runs(self):
        text = self.assert_ok(run("info"))
        info = json.loads(self.assert_ok(run("info", "--json")))
        self.assertIn(info["crc32c"]["in_use"], info["crc32c"]["available"])
        self.assertIn("portable", info["crc32c"]["available"])
        self.assertEqual(info["defaults"]["mpa_revision"], 2)
        self.assertTrue(info["defaults"]["crc"])
        self.assertIn(info["iwarp"], text)
        self.assertIn(info["crc32c"]["in_use"], text)


main()
