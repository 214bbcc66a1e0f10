# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp perf`: every test must transfer and check its payload and report its results, and invalid options must
be refused. No check depends on the speed of the machine."""
import functools
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

import metrics
from support import Case, TIMEOUT, SANITIZER, Server, finish, main, run, start, wait_until

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "rdma_core"))
from hosts import HOSTS, enter, needs_namespaces, two_hosts, within  # noqa: E402

RDMA = ("write-bw", "read-bw", "send-bw", "write-rate", "send-rate", "write-lat", "read-lat", "send-lat")
TCP = ("tcp-stream", "tcp-pingpong")
WATCHED_RACES = "thread" in SANITIZER
SHORT = ("--duration", 0.04, "--warm-up", 0.01)  # Even the shortest run moves at least one message.
SYSTEM_CONGESTION = pathlib.Path("/proc/sys/net/ipv4/tcp_congestion_control")
FIELDS = ["test", "size", "bytes_per_second", "messages_per_second", "latency_us",
          "cpu_seconds_per_gb", "counters", "bits_per_second", "seconds", "messages", "slowest_share",
          "interrupted", "intervals", "options", "crc_kernel", "congestion_in_effect", "version", "date", "machine", "command"]


class Perf(Case):
    def measure(self, *arguments):
        """Returns the report of one measurement after checking its format."""
        report = json.loads(self.assert_ok(run("perf", *arguments, *SHORT, "--json")))
        self.assertEqual(list(report), FIELDS)
        self.assertEqual(list(report["latency_us"]), ["min", "p50", "p99", "p999", "max"])
        self.assertFalse(report["interrupted"])
        for field in ("cpu_seconds_per_gb", "counters"):
            self.assertEqual(list(report[field]), ["client", "server"])
        self.assertGreater(report["messages_per_second"], 0)
        self.assertAlmostEqual(report["bytes_per_second"], report["messages_per_second"] * report["size"], delta=1)
        self.assertAlmostEqual(report["bits_per_second"], 8 * report["bytes_per_second"], delta=8)
        latency = report["latency_us"]
        self.assertLessEqual(0, latency["min"])
        self.assertLessEqual(latency["min"], latency["p50"])
        self.assertLessEqual(latency["p999"], latency["max"])
        self.assertLessEqual(latency["p50"], latency["p99"])
        self.assertLessEqual(latency["p99"], latency["p999"])
        return report

    def test_every_test_however_it_waits_checks_its_payload(self):
        for test in RDMA + TCP:
            for mode in ("--event", "--poll", "--busy-poll", "--epoll"):
                if test in TCP and mode == "--busy-poll":
                    continue
                with self.subTest(test=test, mode=mode):
                    if WATCHED_RACES and test == "write-lat":
                        self.skipTest("ThreadSanitizer reports polling of memory as a race")
                    report = self.measure("--self", test, "--check", mode)
                    self.assertEqual(report["test"], test)
                    self.assertEqual(report["options"]["waiting"], mode[2:])
                    client, server = (report["counters"][end] for end in ("client", "server"))
                    self.assertGreater(client["send_calls"], 0)
                    self.assertGreater(server["receive_calls"], 0)
                    self.assertEqual(client["octets_crced"] > 0, test in RDMA)

    def test_sizes_depths_and_lists(self):
        for test, options in (("write-bw", ("--size", "1M", "--depth", 4)),
                              ("write-bw", ("--size", 1, "--depth", 7)),
                              ("write-bw", ("--size", 100, "--depth", 30, "--list", 7)),
                              ("read-bw", ("--size", "300K", "--depth", 3)),
                              ("send-bw", ("--size", 65535, "--depth", 5)),
                              ("send-rate", ("--size", 1, "--depth", 3)),
                              ("send-lat", ("--size", "1M")),
                              ("write-lat", ("--size", 1)),
                              ("read-lat", ("--size", 4097)),
                              ("tcp-stream", ("--size", 1, "--depth", 3)),
                              ("tcp-stream", ("--size", "1M")),
                              ("tcp-pingpong", ("--size", "200K"))):
            with self.subTest(test=test, options=options):
                self.measure("--self", test, "--check", *options)

    def test_several_queue_pairs(self):
        for test in ("write-bw", "read-bw", "send-rate", "tcp-stream"):
            for options in (("--qps", 2), ("--qps", 20), ("--qps", 20, "--active", 3)):
                with self.subTest(test=test, options=options):
                    report = self.measure("--self", test, "--check", "--depth", 4, *options)
                    if test != "tcp-stream":  # a slow machine may not reach every socket in time
                        self.assertGreater(report["slowest_share"], 0)

    def test_kinds_of_connection(self):
        for options in (("--crc", "off"), ("--markers",), ("--fpdu", "128"), ("--fpdu", "max"),
                        ("--placement", "direct"), ("--crc", "off", "--markers"),
                        ("--mpa-rev", 1), ("--rtr", "read")):
            for test in ("write-bw", "send-bw", "read-bw"):
                with self.subTest(test=test, options=options):
                    report = self.measure("--self", test, "--check", *options)
                    ends = report["counters"].values()
                    self.assertEqual(any(end["markers_sent"] for end in ends), "--markers" in options)
                    self.assertEqual(all(end["octets_crced"] for end in ends), "off" not in options)

    def test_ends_that_sleep_in_an_epoll_of_their_own(self):
        with Server("perf", "--server") as server:
            for test in ("send-lat", "tcp-pingpong"):
                report = self.measure(server.address, test, "--epoll")
                for end, counters in report["counters"].items():
                    with self.subTest(test=test, end=end):
                        self.assertGreater(counters["wait_calls"], 0)
        for options in (("--qps", 3), ("--size", "1M"), ("--crc", "off")):
            with self.subTest(options=options):
                self.measure("--self", "write-bw", "--check", "--epoll", *options)
        text = self.assert_ok(run("perf", "--self", "send-lat", "--epoll", *SHORT))
        self.assertRegex(text, "^send-lat: 64 B, epoll, CRC on")

    def test_a_server_for_one_test(self):
        with Server("perf", "--server", "write-bw") as server:
            self.measure(server.address, "write-bw")
            self.assert_fails(run("perf", server.address, "read-bw", *SHORT), 1,
                              "the peer reports: this server allows only the test write-bw, not read-bw$")

    def test_the_text_has_everything(self):
        text = self.assert_ok(run("perf", "--self", "write-bw", *SHORT))
        for word in (r"^write-bw: 64.0 KiB, depth 16, event, CRC on", r"\n  throughput +\d", "p50 .*p99 .*p99.9",
                     r"\n  CPU s per GB +[\d.]+ +[\d.]+\n", r"\n  calls/message +[\d.]+ +[\d.]+\n",
                     r"\n  send_calls +\d+ +\d+\n", r"\n  < +[\d.]+ [mu]s +\d+ #+\n"):
            self.assertRegex(text, word)

    def test_latency_comes_first_where_it_is_what_is_measured(self):
        duration = r"[\d.]+ [mu]?s"
        three = f"min {duration}, median {duration}, p99 {duration}"
        for test, name in (("send-lat", "one-way latency"), ("read-lat", "latency"),
                           ("tcp-pingpong", "one-way latency")):
            with self.subTest(test=test):
                text = self.assert_ok(run("perf", "--self", test, *SHORT))
                self.assertNotIn("GB/s", text)
                lines = text.splitlines()
                self.assertRegex(lines[1], rf"^ +0.00-[\d.]+ +s {three} +\d+ messages/s")
                self.assertRegex(lines[2], rf"^  {name} +{three}, p99.9 {duration}, max {duration}$")
                self.assertEqual("half of the round-trip time" in text, test != "read-lat")
                self.assertRegex(text, r"\n  rate +\d+ messages/s\n  moved +[\d.]+ MB in [\d.]+ s\n")

    def test_a_line_for_each_interval(self):
        bandwidth = r"[\d.]+ [MG]B +[\d.]+ Gb/s +[\d.]+ GB/s"
        latency = r"min .*, median .*, p99 .*s"
        for test, first in (("write-bw", bandwidth), ("tcp-stream", bandwidth), ("send-rate", bandwidth),
                            ("send-lat", latency), ("tcp-pingpong", latency), ("read-lat", latency)):
            with self.subTest(test=test):
                text = self.assert_ok(run("perf", "--self", test, "--duration", 0.5, "--warm-up", 0,
                                          "--interval", 0.1))
                lines = re.findall(r"(?m)^ +([\d.]+)-([\d.]+) +s +%s +\d+ messages/s(?:  \(partial\))?$" % first, text)
                self.assertGreater(len(lines), 0)
                self.assertEqual(lines[0][0], "0.00")
                for one, following in zip(lines, lines[1:]):
                    self.assertEqual(one[1], following[0])
                self.assertTrue(text.startswith(test + ": "))
                self.assertGreaterEqual(float(lines[-1][1]), 0.5)
        text = self.assert_ok(run("perf", "--self", "write-bw", *SHORT, "--interval", 0))
        self.assertNotRegex(text, r"(?m)^ +[\d.]+-[\d.]+ +s ")

    def test_json_says_how_to_do_it_again(self):
        report = self.measure("--self", "send-rate", "--poll", "--crc", "off", "--interval", 0.1)
        self.assertEqual(report["options"], {
            "depth": 128, "qps": 1, "active": 1, "list": 16, "duration": SHORT[1], "warm_up": SHORT[3], "interval": 0.1,
            "waiting": "poll", "check": False, "mpa_rev": "2", "crc": "off", "markers": False,
            "rtr": "none", "fpdu": "emss", "placement": "verified", "extensions": "auto",
            "completions": "sent",
            "first_fpdu_delay_ms": 0, "gather_delay_us": 50, "congestion": "", "trace": "", "server": "self"})
        self.assertEqual(sum(one["messages"] for one in report["intervals"]), report["messages"])
        self.assertEqual(list(report["intervals"][0]),
                         ["from", "to", "octets", "messages", "bytes_per_second", "bits_per_second",
                          "messages_per_second", "latency_us", "partial"])
        self.assertRegex(report["date"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        name = os.uname()
        machine = report["machine"]
        self.assertEqual((machine["system"], machine["node"], machine["kernel"],
                          machine["build"], machine["architecture"]), tuple(name))
        self.assertEqual(machine["processors"], os.cpu_count())
        self.assertEqual(report["command"][1:5], ["perf", "--self", "send-rate", "--poll"])
        self.assertRegex(report["version"], r"^\d+\.\d+")

    def test_json_says_which_congestion_control_is_in_effect(self):
        system = SYSTEM_CONGESTION.read_text().strip()
        for test, options, expected in (("write-bw", (), "reno"), ("tcp-stream", (), system),
                                        ("write-bw", ("--congestion", system), system),
                                        ("tcp-stream", ("--congestion", "reno"), "reno")):
            with self.subTest(test=test, options=options):
                self.assertEqual(self.measure("--self", test, *options)["congestion_in_effect"], expected)

    @needs_namespaces
    def test_two_hosts_use_the_congestion_control_of_the_system(self):
        system = SYSTEM_CONGESTION.read_text().strip()  # a new namespace has the same
        known = set(SYSTEM_CONGESTION.with_name("tcp_available_congestion_control").read_text().split())
        with two_hosts() as names:
            inside = [functools.partial(enter, name) for name in names]
            with Server("perf", "--server", host=HOSTS[0], preexec_fn=inside[0]) as server:
                self.started("perf", server.address, "write-bw", "--duration", TIMEOUT, preexec_fn=inside[1])
                show = "ss", "--tcp", "--info", "--numeric", "--no-header", "state", "established"
                for name in names:
                    in_use = functools.partial(subprocess.check_output, within(name, *show), text=True, timeout=TIMEOUT)
                    wait_until(lambda: "bytes_acked" in in_use(), "connected")
                    self.assertEqual(known.intersection(in_use().split()), {system})

    def test_nonsense_is_refused(self):
        for words, pattern in (
                ((), "HOST and TEST are required"),
                (("write-bw",), "HOST and TEST are required"),
                (("--self",), "--self requires exactly one argument, TEST"),
                (("--self", "127.0.0.1", "write-bw"), "--self requires exactly one argument, TEST"),
                (("--self", "--server"), "--server cannot be combined with --self"),
                (("--server", "127.0.0.1", "write-bw"), "--server accepts no HOST"),
                (("--self", "write-wb"), 'unknown test "write-wb"; did you mean write-bw'),
                (("--self", "write-bw", "--size", "0x"), "not a size"),
                (("--self", "write-bw", "--size", "1G"), '--size: "1G" is not in the range from 1 to 64M'),
                (("--self", "write-bw", "--size", 0), '--size: "0" is not in the range from 1 to 64M'),
                (("--self", "write-bw", "--interval", 0.05), "--interval: 0.05 is neither 0"),
                (("--self", "write-bw", "--interval", -1), "--interval"),
                (("--self", "write-bw", "--size", "64M"), "of buffers; at most"),
                (("--self", "write-bw", "--depth", 0), "--depth"),
                (("--self", "write-bw", "--depth", 5000), '--depth: "5000" is not an integer from 1 to 4096'),
                (("--self", "write-bw", "--qps", 4, "--active", 5), "--active: 5 is not in the range from 1 to 4"),
                (("--self", "write-bw", "--list", 17), "--list: 17 is not in the range from 1 to 16"),
                (("--self", "write-bw", "--duration", 0), "--duration"),
                (("--self", "write-bw", "--duration", "soon"), "--duration"),
                (("--self", "write-bw", "--poll", "--event"), "excludes"),
                (("--self", "send-lat", "--epoll", "--poll"), "--poll excludes --epoll"),
                (("--self", "send-lat", "--epoll", "--event"), "--event excludes --epoll"),
                (("--self", "send-lat", "--epoll", "--busy-poll"), "--busy-poll excludes --epoll"),
                (("--self", "write-lat", "--epoll", "--extensions", "off"), "write-lat without --poll requires --extensions auto"),
                (("--self", "send-lat", "--qps", 2), "--qps 2: send-lat uses only one connection"),
                (("--self", "send-lat", "--depth", 2), "send-lat keeps only one message in flight"),
                (("--self", "tcp-stream", "--list", 2), "tcp-stream does not post lists"),
                (("--self", "tcp-stream", "--busy-poll"), "tcp-stream has no worker threads"),
                (("--self", "write-lat", "--extensions", "off"), "write-lat without --poll requires --extensions auto"),
                (("--self", "write-bw", "--congestion", "nope"), "not an allowed TCP congestion control algorithm"),
                (("127.0.0.1:port", "write-bw"), 'invalid address "127.0.0.1:port"')):
            with self.subTest(words=words):
                self.assert_fails(run("perf", *words), 2, pattern)

    def test_a_server_that_ends_is_noticed(self):
        for test in ("write-bw", "read-bw", "send-lat", "tcp-stream"):
            for number, error in ((signal.SIGKILL, ".*"),
                                  (signal.SIGINT, "the peer reports: this server was interrupted")):
                with self.subTest(test=test, signal=number), Server("perf", "--server") as server:
                    client = self.working_client(server.address, test)
                    server.process.send_signal(number)
                    self.assert_fails(finish(client), 1, f"^iwarp perf: {error}$")

    def test_a_client_that_ends_costs_the_server_nothing(self):
        for number, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 0)):
            with self.subTest(signal=number), Server("perf", "--server") as server:
                for test in ("write-bw", "send-lat", "tcp-stream"):
                    client = self.working_client(server.address, test)
                    self.assertEqual(finish(client, number).returncode, status)
                    self.measure(server.address, test)
                if number == signal.SIGTERM:  # An interrupted client is no fault, so the server says nothing.
                    self.assertEqual(server.stop(), (0, ""))

    def working_client(self, *arguments):
        """Starts a client in its own process group, as a shell does, and waits until its first interval is
        complete."""
        client = self.started("perf", *arguments, "--duration", 60, "--interval", 0.1, process_group=0)
        line = ""
        while "messages/s" not in line:
            line = client.stdout.readline()
            self.assertNotEqual(line, "")
        return client

    def silent_client(self, *arguments):
        """Starts a client that prints nothing during the run, and waits until it transfers data."""
        client = self.started("perf", *arguments, "--metrics", 0, process_group=0)
        where = metrics.place_of(client)
        wait_until(lambda: metrics.Figures(where)("iwarp_fpdus_sent_total") > 100, "traffic")
        return client

    def test_ctrl_c_ends_a_measurement_with_its_summary(self):
        for test, mode in (("write-bw", "--event"), ("send-rate", "--poll"), ("read-bw", "--epoll"),
                           ("send-lat", "--event"), ("send-lat", "--poll"), ("send-lat", "--epoll"),
                           ("tcp-stream", "--event"), ("tcp-pingpong", "--epoll")):
            with self.subTest(test=test, mode=mode):
                client = self.working_client("--self", test, mode)
                os.killpg(client.pid, signal.SIGINT)  # The signal also goes to the server, as if it came from a terminal.
                ended = finish(client)
                self.assert_fails(ended, 0, r"^iwarp perf: interrupted after [\d.]+ of 60 seconds$")
                out = ended.stdout
                self.assertRegex(out, r"(?m)^  (throughput|one-way latency) +\S")
                self.assertRegex(out, r"\n  CPU s per GB +[\d.]+ +[\d.]+\n")
                # If no interval is complete yet, the client prints only the summary.
                for end in re.findall(r"(?m)^ +[\d.]+-([\d.]+) +s .*messages/s", out):
                    self.assertLess(float(end), 60)

    def test_silent_clients_delay_no_other(self):
        with Server("perf", "--server") as server:
            silent = [socket.create_connection(("127.0.0.1", server.port), TIMEOUT) for _ in range(70)]
            silent[-1].sendall(b'{"iwarp_perf":')  # not yet a line
            self.measure(server.address, "write-bw")
            # More than 64 clients cannot wait. The first ones were evicted, the last ones still wait.
            self.assertEqual(silent[0].recv(1), b"")
            silent[-1].sendall(b"1}\n")
            self.assertRegex(silent[-1].makefile().readline(), "different versions")
            for client in silent:
                client.close()
            self.measure(server.address, "tcp-stream")

    def test_an_interrupted_report_in_json_says_so(self):
        client = self.silent_client("--self", "write-bw", "--json", "--duration", 60, "--warm-up", 0)
        os.killpg(client.pid, signal.SIGINT)
        report = json.loads(finish(client).stdout)
        self.assertTrue(report["interrupted"])
        self.assertLess(report["seconds"], 60)
        self.assertEqual(sum(one["messages"] for one in report["intervals"]), report["messages"])
        self.assertGreater(report["messages"], 0)
        self.assertGreater(report["counters"]["server"]["octets_received"], 0)

    def test_while_the_server_is_silent_lines_come_and_ctrl_c_reports_what_the_client_knows(self):
        for test, mode in (("send-lat", "--event"), ("send-lat", "--poll"), ("send-lat", "--epoll"),
                           ("write-lat", "--poll"), ("write-bw", "--event"), ("tcp-stream", "--event"),
                           ("tcp-pingpong", "--epoll"), ("tcp-pingpong", "--poll")):
            if WATCHED_RACES and test == "write-lat":
                continue
            with self.subTest(test=test, mode=mode), Server("perf", "--server") as server:
                client = self.working_client(server.address, test, mode)
                server.process.send_signal(signal.SIGSTOP)
                silent = 0
                while silent < 3:
                    line = client.stdout.readline()
                    self.assertIn("messages/s", line)
                    silent += " 0 messages/s" in line
                ended = finish(client, signal.SIGINT)
                self.assert_fails(ended, 0, "interrupted after [0-9.]+ of 60 seconds; the server did not answer$")
                self.assertRegex(ended.stdout, r"\n  CPU s per GB +[\d.]+ +unknown\n")

    def test_nothing_was_measured_during_the_warm_up(self):
        with Server("perf", "--server") as server:
            client = self.silent_client(server.address, "send-lat", "--warm-up", 60)
            ended = finish(client, signal.SIGINT)
            self.assert_fails(ended, 1, "^iwarp perf: interrupted$")
            self.assertEqual(ended.stdout, "")

    def plan_of_a_client(self):
        """Returns the first message that a client sends."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            client = start("perf", f"127.0.0.1:{server.getsockname()[1]}", "write-bw", "--duration", 0.1, "--warm-up", 0)
            peer, _ = server.accept()
            with peer, peer.makefile() as lines:
                plan = json.loads(lines.readline())
            finish(client)
        return plan

    def test_a_hostile_client_is_told_and_forgotten(self):
        fields = self.plan_of_a_client()
        fields["size"], fields["connection"]["crc"], fields["counted"]["messages"] = "SIZE", "CRC", "COUNT"
        right = json.dumps(fields) + "\n"

        def plan(size, crc, messages):
            return right.replace('"SIZE"', size).replace("CRC", crc).replace('"COUNT"', str(messages))

        with Server("perf", "--server") as server:
            for line, answer in (("GET / HTTP/1.1\r\n", "does not speak the protocol of iwarp perf"),
                                 ("[" * 100000 + "\n", "does not speak the protocol of iwarp perf"),
                                 ("{}\n", "does not speak the protocol of iwarp perf"),
                                 ('{"iwarp_perf":1}\n', "different versions"),
                                 ('{"iwarp_perf":4,"test":"x"}\n', "unknown test"),
                                 (plan("99999999999", "on", 0), "--size: 99999999999"),
                                 (plan("-1", "on", 0), "size: not an integer, or out of range"),
                                 (plan("1e300", "on", 0), "size: not an integer"),
                                 (plan("0", "on", 0), "--size: 0 is not in the range from 1 to 64M"),
                                 (plan("64", "on", 5), "needs a server process of its own"),
                                 (plan("1073741824", "on", 5), "needs a server process of its own"),
                                 (plan("64", "on", -1), "messages"),
                                 (plan("64", "on", 0).replace("event", "nap"), "unknown waiting mode: .*nap"),
                                 (plan('"a"', "on", 0), "size: not an integer"),
                                 (plan("null,\"qps\":[]", "on", 0), "size: not an integer"),
                                 (plan("64", "\\u0001", 0), r'--crc: .{1,2}\?.{1,2} is not one of on, off')):
                with self.subTest(line=line[:80]), socket.create_connection(
                        ("127.0.0.1", server.port), timeout=TIMEOUT) as client:
                    client.sendall(line.encode())
                    self.assertRegex(client.makefile().readline(), answer)
            self.measure(server.address, "write-bw")


main()
