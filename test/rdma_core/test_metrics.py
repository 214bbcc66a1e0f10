# SPDX-License-Identifier: Apache-2.0
"""Tests metrics and logs of unmodified programs: `iwarp run --metrics`, IWARP_METRICS and --log-format."""
import json
import pathlib
import re
import sys

from support import Case, Program, free_port, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "apps"))
import metrics  # noqa: E402


# This program opens a device, and opens it again in a child of fork(). The parent and the child print which sockets
# exist.
FORKING = """
import ctypes, os, sys
verbs = ctypes.CDLL("libibverbs.so.1")
verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
verbs.ibv_open_device.restype = ctypes.c_void_p
def open_device():
    devices = verbs.ibv_get_device_list(None)
    assert verbs.ibv_open_device(ctypes.c_void_p(devices[0]))
def show(who):
    print(who, os.getpid(), *sorted(map(int, os.listdir(sys.argv[1]))), flush=True)
open_device()
child = os.fork()
open_device()
if child == 0:
    show("child")
    sys.exit()
os.waitpid(child, 0)
show("parent")
"""


class Figures(Case):
    def place(self, program):
        text = program.says(r"metrics at (\S+)").result().err
        return re.search(r"metrics at (\S+)", text)[1]

    def pinging(self, port, options):
        """Starts a persistent server and an endless client."""
        where = ("-a", "127.0.0.1", "-p", port)
        return (lambda: Program("rping", "-s", "-P", *where, options=options),
                lambda: Program("rping", "-c", "-C", 10000000, "-S", 64, *where))

    def test_a_program_shows_its_figures_while_it_works(self):
        port = free_port()
        server, client = self.pinging(port, ("--metrics", f"unix:{self.scratch}/%p", "--log", "info"))
        with server() as server:
            server.listens(port)
            where = self.place(server)
            self.assertEqual(where, f"unix:{self.scratch}/{server.process.pid}")
            before = metrics.Figures(where)
            self.assertEqual(before("iwarp_setups_begun_total", side="passive"), 0)
            with client() as client:
                client.wait_until(lambda: metrics.Figures(where)("iwarp_fpdus_sent_total") > 100, "pings")
                during = metrics.Figures(where)
                self.assertEqual(during("iwarp_connections_open"), 1)
                self.assertEqual(during("iwarp_setups_established_total", side="passive"), 1)
                self.assertGreaterEqual(during("iwarp_objects", kind="qp"), 1)
                self.assertGreater(during("iwarp_registrations_total"), 0)
            server.wait_until(lambda: metrics.Figures(where)("iwarp_connections_open") == 0,
                              "the end of the connection")
            after = metrics.Figures(where)
            self.assertGreaterEqual(after("iwarp_octets_sent_total"), during("iwarp_octets_sent_total"))

    def test_figures_of_each_device(self):
        """The server listens at an address of both devices, of which the first serves the connections."""
        port = free_port()
        server, client = self.pinging(port, ("--device", "left,right", "--metrics", f"unix:{self.scratch}/%p",
                                             "--log", "info"))
        with server() as server:
            server.listens(port)
            where = self.place(server)
            with client() as client:
                client.wait_until(lambda: metrics.Figures(where)("iwarp_device_fpdus_sent_total", device="left") > 100,
                                  "pings")
                during = metrics.Figures(where)
                self.assertGreater(during("iwarp_connection_fpdus_sent_total", device="left"), 100)
            server.wait_until(lambda: metrics.Figures(where)("iwarp_connections_open") == 0,
                              "the end of the connection")
            after = metrics.Figures(where)
            self.assertGreaterEqual(after("iwarp_device_fpdus_sent_total", device="left"),
                                    during("iwarp_device_fpdus_sent_total", device="left"))
            self.assertEqual(after("iwarp_device_fpdus_sent_total", device="left"), after("iwarp_fpdus_sent_total"))
            self.assertEqual(after("iwarp_device_fpdus_sent_total", device="right"), 0)

    def test_the_path_goes_with_the_program(self):
        path = self.scratch / "socket"
        for _ in range(2):
            self.run_program("ibv_devinfo", options=("--metrics", f"unix:{path}"))
            self.assertFalse(path.exists())

    def test_the_child_of_a_fork_has_a_place_of_its_own(self):
        result = self.run_program(sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING, self.scratch,
                                  options=("--metrics", f"unix:{self.scratch}/%p"))
        self.assertEqual(result.err, "")
        lines = {line.split()[0]: line.split()[1:] for line in result.out.splitlines()}
        parent, child = lines["parent"][0], lines["child"][0]
        self.assertEqual(set(lines["child"][1:]), {parent, child})
        self.assertEqual(lines["parent"][1:], [parent])
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_a_place_that_is_taken_costs_a_line_and_nothing_else(self):
        path = self.scratch / "file"
        path.write_text("somebody's")
        for where in (f"unix:{path}", "192.0.2.1:9", "nonsense"):
            with self.subTest(where=where):
                result = self.run_program("ibv_devinfo", env={"IWARP_METRICS": where})
                self.assertRegex(result.err, rf"^iwarp: IWARP_METRICS={re.escape(where)}: .*\n$")
                self.assertIn("iWARP (1)", result.out)
        self.assertEqual(path.read_text(), "somebody's")

    def test_several_programs_at_one_place(self):
        port, other = free_port(), free_port()
        path = self.scratch / "one"
        options = ("--metrics", f"unix:{path}", "--log", "info")
        first, _ = self.pinging(port, options)
        second, client = self.pinging(other, options)
        with first() as first:
            first.listens(port)
            with second() as second:
                second.listens(other)
                self.assertRegex(second.result().err, r"(?m)^iwarp: IWARP_METRICS=.* in use$")
                with client() as client:
                    client.wait_until(lambda: "connected with" in second.result().err, "pings")
                self.assertEqual(metrics.Figures(f"unix:{path}")("iwarp_setups_begun_total", side="passive"), 0)


class Log(Case):
    def test_events_are_objects_with_figures_at_the_end(self):
        server, client = self.rping("-C", 3, options=("--log", "debug", "--log-format", "json"))
        for result, first in ((server, "listening"), (client, "connected")):
            events = [json.loads(line) for line in result.err.splitlines() if line.startswith("{")]
            self.assertEqual(events[0]["event"], first, str(result))
            self.assertLessEqual({"time", "level", "pid", "event", "msg"}, set(events[0]))
            connected = next(event for event in events if event["event"] == "connected")
            self.assertEqual(connected["level"], "info")
            self.assertRegex(connected["peer"], r"^127\.0\.0\.1:\d+$")
        said = [json.loads(line) for result in (server, client)
                for line in result.err.splitlines() if '"figures"' in line]
        self.assertTrue(said)
        for event in said:
            self.assertEqual(event["level"], "debug")
            self.assertGreater(int(event["octets_sent"]), 0)

    def test_a_refusal_is_a_warning_in_each_format(self):
        for form, pattern in (("logfmt", r'^time=\S+ level=warning pid=\d+ event=bad_setting '
                                         r'msg="IWARP_CRC=\?\? is not one of on, off; the variable is ignored"$'),
                              ("json", r'^\{.*"level": "warning".*"event": "bad_setting".*\}$'),
                              ("text", r"^iwarp: IWARP_CRC=\?\? is not one of on, off; the variable is ignored$")):
            with self.subTest(form=form):
                result = self.run_program("ibv_devices", options=("--log-format", form),
                                          env={"IWARP_CRC": "\x01\x1b"})
                self.assertRegex(result.err.rstrip("\n"), pattern)


main("rping", "ibv_devinfo", "ibv_devices")
