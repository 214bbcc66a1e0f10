# SPDX-License-Identifier: Apache-2.0
"""Tests the option --metrics of serve, ping and perf: the metrics during the run must agree with the reports. Also
tests places that are refused, and the log of a server in each format."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading

import metrics
from support import Case, TIMEOUT, Server, finish, main, run, start, wait_until


class Shown(Case):
    def test_serve_shows_a_transfer_while_it_runs(self):
        size = 64 << 20
        data = self.file("data", size)
        shutil.copy(data, self.dir / "data")
        with Server("serve", self.dir, "--metrics", "0") as server:
            where = metrics.place_of(server.process)
            before = metrics.Figures(where)
            self.assertEqual(before("iwarp_connections_open"), 0)
            seen = []

            def watch():
                while not seen or seen[-1].all("iwarp_setups_established_total", side="passive") != [3]:
                    seen.append(metrics.Figures(where))

            watcher = threading.Thread(target=watch, daemon=True)
            watcher.start()
            for i in range(3):
                self.assert_ok(run("get", server.url("data"), self.out / str(i)))
            watcher.join(TIMEOUT)
            self.assertFalse(watcher.is_alive())
            sent = [figures("iwarp_octets_sent_total") for figures in seen]
            self.assertEqual(sent, sorted(sent))
            while_open = [f for f in seen if f("iwarp_connections_open") == 1]
            for figures in while_open:
                self.assertEqual(len(figures.all("iwarp_connection_octets_sent_total")), 1)
            wait_until(lambda: metrics.Figures(where)("iwarp_connections_open") == 0, "the end")
            after = metrics.Figures(where)
            self.assertGreater(after("iwarp_octets_sent_total"), 3 * size)
            self.assertEqual(after("iwarp_setups_begun_total", side="passive"), 3)
            self.assertEqual(after("iwarp_setups_pending"), 0)
            self.assertEqual(server.stop()[0], 0)

    def test_ping_at_both_ends_on_a_unix_socket(self):
        with Server("ping", "--server", "--metrics", f"unix:{self.scratch}/server") as server:
            theirs = metrics.place_of(server.process)
            client = start("ping", server.address, "--count", 0, "-q", "--metrics", f"unix:{self.scratch}/%p")
            ours = metrics.place_of(client)
            self.assertEqual(ours, f"unix:{self.scratch}/{client.pid}")
            for where, side in ((ours, "active"), (theirs, "passive")):
                wait_until(lambda: metrics.Figures(where)("iwarp_fpdus_sent_total") > 100, "pings")
                first, second = (metrics.Figures(where) for _ in range(2))
                self.assertEqual(first("iwarp_connections_open"), 1)
                self.assertEqual(first("iwarp_setups_established_total", side=side), 1)
                of_one = first("iwarp_connection_fpdus_sent_total", side=side)
                self.assertEqual(of_one, first("iwarp_fpdus_sent_total"))
                self.assertGreaterEqual(second("iwarp_fpdus_sent_total"), of_one)
            self.assertEqual(finish(client, signal.SIGINT).returncode, 0)
            self.assertFalse(os.path.exists(f"{self.scratch}/{client.pid}"))
            self.assertEqual(server.stop()[0], 0)
            self.assertFalse(os.path.exists(f"{self.scratch}/server"))

    def test_perf_at_both_ends_agrees_with_its_json(self):
        with Server("perf", "--server", "--metrics", "0") as server:
            theirs = metrics.place_of(server.process)
            client = start("perf", server.address, "write-bw", "--duration", "5", "--json",
                           "--metrics", "0", "--interval", "0.1")
            ours = metrics.place_of(client)
            wait_until(lambda: metrics.Figures(ours)("iwarp_connections_open") == 1, "the start")
            during = metrics.Figures(ours)
            report = json.loads(self.assert_ok(finish(client)))
            wait_until(lambda: metrics.Figures(theirs)("iwarp_connections_open") == 0, "the end")
            # The report counts only what happens between the start and the end of the measurement.
            after = metrics.Figures(theirs)
            for name in ("octets_received", "octets_placed", "fpdus_received"):
                counted = report["counters"]["server"][name]
                self.assertGreater(counted, 0)
                self.assertGreaterEqual(after(f"iwarp_{name}_total"), counted)
            # The connection was closed without an error, so all data that was sent has arrived.
            self.assertGreaterEqual(after("iwarp_octets_received_total"), during("iwarp_octets_sent_total"))
            self.assert_ok(run("perf", server.address, "send-lat", "--duration", "0.1"))
            again = metrics.Figures(theirs)  # The next run uses another Rnic, whose counts are added to the same sums.
            self.assertGreater(again("iwarp_octets_received_total"), after("iwarp_octets_received_total"))
            self.assertEqual(again("iwarp_setups_established_total", side="passive"), 2)

    def test_a_peer_that_ends_with_a_terminate_shows_up_by_its_code(self):
        with Server("serve", self.dir, "--crc", "off", "--metrics", "0") as server:
            where = metrics.place_of(server.process)
            with socket.create_connection(("127.0.0.1", server.port), TIMEOUT) as peer:
                peer.settimeout(TIMEOUT)
                # Sends a Request of revision 1 without CRC, and then a Write of 4 octets to an STag that does not
                # exist.
                peer.sendall(b"MPA ID Req Frame" + bytes((0, 1, 0, 0)))
                self.assertEqual(peer.recv(16, socket.MSG_WAITALL), b"MPA ID Rep Frame")
                peer.sendall(bytes((0, 18, 0xC1, 0x40)) + bytes(12 + 4 + 4))
                while peer.recv(4096):
                    pass
            wait_until(lambda: metrics.Figures(where)("iwarp_connections_open") == 0, "the end")
            figures = metrics.Figures(where)
            self.assertEqual(figures("iwarp_terminates_total", direction="sent", code="1/1/00"), 1)
            meanings = [its["meaning"] for name, its, _ in figures.series
                        if name == "iwarp_terminates_total" and its["code"] == "1/1/00"]
            self.assertEqual(set(meanings), {"invalid STag"})

    def test_promtool_has_no_complaint(self):
        promtool = shutil.which("promtool")
        if promtool is None:
            self.skipTest("no promtool; apt-get install prometheus")
        with Server("ping", "--server", "--metrics", "0") as server:
            where = metrics.place_of(server.process)
            self.started("ping", server.address, "--count", 0, "-q")
            wait_until(lambda: metrics.Figures(where)("iwarp_connections_open") == 1, "a client")
            checked = subprocess.run([promtool, "check", "metrics"], text=True,
                                     input=metrics.Figures(where).text, capture_output=True,
                                     timeout=TIMEOUT)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))


class Refused(Case):
    def test_a_place_that_makes_no_sense_is_refused(self):
        for command in (("serve", self.dir), ("ping", "--server"), ("perf", "--server"),
                        ("perf", "--self", "write-bw"), ("ping", "127.0.0.1")):
            with self.subTest(command=command):
                self.assert_fails(run(*command, "--metrics", "0.0.0.0:9000"), 2,
                                  f'^iwarp {command[0]}: --metrics: "0.0.0.0:9000": not a loopback address')

    def test_a_place_that_is_taken_is_refused(self):
        path = self.file("file", 1)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            for where in (str(taken.getsockname()[1]), f"unix:{path}", f"unix:{path}/below"):
                with self.subTest(where=where):
                    self.assert_fails(run("ping", "--server", "--metrics", where), 1,
                                      "^iwarp ping: cannot serve metrics at ")
        self.assertEqual(path.stat().st_size, 1)


class Log(Case):
    def test_each_format_has_one_line_an_event(self):
        (self.dir / "data").write_bytes(b"x" * 1000)
        for form in ("text", "logfmt", "json"):
            with self.subTest(form=form):
                server = start("serve", self.dir, "--listen", "127.0.0.1:0", "--log", "debug", "--log-format", form)
                first = server.stdout.readline()
                address = re.search(r"listening on (127.0.0.1:\d+)", first)[1]
                self.assert_ok(run("get", f"iwarp://{address}/data", self.out / form))
                missing = run("get", f"iwarp://{address}/nosuch", self.out / "none")
                self.assertEqual(missing.returncode, 1, missing.stderr)
                lines = [first.rstrip("\n"), *self.assert_ok(finish(server, signal.SIGTERM)).splitlines()]
                for line in lines:
                    self.assertRegex(line, "^[ -~]+$")
                if form == "text":
                    continue
                events = [json.loads(line) if form == "json" else
                          dict(re.findall(r'(\w+)=(\w[^ ]*|"(?:[^"\\]|\\.)*")', line)) for line in lines]
                names = [event["event"] for event in events]
                self.assertEqual(names[0], "listening")
                self.assertEqual(names.count("served"), 1)
                self.assertEqual(names.count("client_failed"), 1)
                self.assertEqual(names.count("client_begins"), 2)
                for event in events:
                    self.assertEqual(event["pid"], server.pid if form == "json" else str(server.pid))
                    self.assertRegex(event["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
                levels = {event["event"]: event["level"] for event in events}
                self.assertEqual(levels["served"], "info")
                self.assertEqual(levels["client_failed"], "warning")

    def test_levels_leave_out_what_is_below_them(self):
        (self.dir / "data").write_bytes(b"x" * 1000)
        with socket.create_server(("127.0.0.1", 0)) as port:
            number = port.getsockname()[1]
        server = start("serve", self.dir, "--listen", f"127.0.0.1:{number}", "--log", "warning")
        url = f"iwarp://127.0.0.1:{number}"
        wait_until(lambda: run("get", f"{url}/data", self.out / "a").returncode == 0, "the server")
        self.assertEqual(run("get", f"{url}/none", self.out / "b").returncode, 1)
        self.assertRegex(self.assert_ok(finish(server, signal.SIGTERM)), r"^127.0.0.1:\d+: .*none.*\n$")


main()
