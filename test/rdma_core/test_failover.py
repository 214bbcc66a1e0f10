# SPDX-License-Identifier: Apache-2.0
"""Tests that a program with four devices goes on over the others when a link, an interface or a device fails. Two
hosts are joined by four cables, and by a fifth for the program's control connection. The program is part of this
project (programs/failover.cpp) and linked to the system's libibverbs."""
import contextlib
import os
import pathlib
import re
import sys
import time

from hosts import bring_up, connect, ip, namespaces, needs_namespaces, within
from support import IWARP, LONG, PROGRAMS, Case, Program, free_port, main, skip_all

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "apps"))
import metrics  # noqa: E402

FAILOVER = PROGRAMS / "failover"
DEVICES = {name: f"eth{n}" for n, name in enumerate("abcd")}
OPTIONS = ("--as", "roce", "--device", ",".join(f"{name}={link}" for name, link in DEVICES.items()))
CONTROL = "10.99.9.1"


@contextlib.contextmanager
def hosts():
    with namespaces(2) as names:
        for n, link in enumerate(("control", *DEVICES.values())):
            connect((names[0], link), (names[1], link))
            for end, name in enumerate(names, 1):
                bring_up(name, link, (f"10.99.{9 + n}.{end}/24",))
        yield names


@needs_namespaces
class FailOver(Case):
    def setUp(self):
        super().setUp()
        self.names = self.enterContext(hosts())
        self.stop = self.scratch / "stop"

    def program(self, end, port, host, options, env):
        links = [f"{name}=10.99.{10 + n}.{1 + end}=10.99.{10 + n}.{2 - end}" for n, name in enumerate(DEVICES)]
        return self.enterContext(Program(FAILOVER, port, host, self.stop, *links, options=options,
                                         prefix=within(self.names[end]), env=env))

    def start(self, options=OPTIONS, envs=({}, {})):
        """Returns the server and the client, which sends over all devices."""
        port = free_port()
        server = self.program(0, port, "-", options, envs[0])
        server.listens(port)
        self.metrics = f"unix:{self.scratch}/metrics"
        client = self.program(1, port, CONTROL, (*options, "--metrics", self.metrics, "--fault-socket",
                                                 self.scratch / "faults"), envs[1])
        client.wait_until(lambda: self.has_metrics(client), "metrics")
        self.goes_on(client, DEVICES)
        return server, client

    def has_metrics(self, program):
        """Returns whether the program listens at the path of its metrics, which exists a little earlier."""
        accepts = "00010000"
        table = pathlib.Path(f"/proc/{program.process.pid}/net/unix").read_text()
        return any(line.split()[3] == accepts and line.endswith(f"{self.scratch}/metrics") for line in table.splitlines())

    def octets(self, device):
        return metrics.Figures(self.metrics)("iwarp_device_octets_sent_total", device=device)

    def goes_on(self, client, devices):
        """Waits until each device has sent another megabyte."""
        before = {device: self.octets(device) for device in devices}
        for device, octets in before.items():
            client.wait_until(lambda: self.octets(device) > octets + (1 << 20), f"traffic of {device}")

    def says_again(self, program, line, count):
        program.wait_until(lambda: len(re.findall(rf"(?m)^{line}$", program.result().out)) >= count, line)

    def finish(self, server, client):
        """Checks that each message has arrived, and no more of them twice than were sent again."""
        self.stop.touch()
        sent, again = map(int, re.search(r"(\d+) sent, (\d+) of them again\n", self.check(client.wait()).out).groups())
        arrived, total, twice = map(int, re.search(r"(\d+) of (\d+) arrived, (\d+) of them twice\n",
                                                   self.check(server.wait()).out).groups())
        self.assertEqual((arrived, total), (sent, sent))
        self.assertLessEqual(twice, again)

    def others(self, device):
        return [other for other in DEVICES if other != device]

    def test_links_go_down_and_up_in_turn(self):
        server, client = self.start()
        end = time.monotonic() + (60 if LONG else 0)
        rounds = 0
        while rounds == 0 or time.monotonic() < end:
            rounds += 1
            for device, link in DEVICES.items():
                ip("-n", self.names[1], "link", "set", link, "down")
                self.says_again(client, f"{device}: port error", rounds)
                self.says_again(server, f"{device}: port error", rounds)
                self.says_again(client, f"{device}: failed", rounds)
                self.goes_on(client, self.others(device))
                ip("-n", self.names[1], "link", "set", link, "up")
                self.says_again(client, f"{device}: port active", rounds)
                self.says_again(client, f"{device}: works again", rounds)
                self.goes_on(client, DEVICES)
        self.finish(server, client)

    def test_ports_go_down_and_up_by_fault_rules(self):
        server, client = self.start()
        for device in DEVICES:
            self.check(self.fault(f"now device {device} port down"))
            self.says_again(client, f"{device}: failed", 1)
            self.goes_on(client, self.others(device))
            self.check(self.fault(f"now device {device} port up"))
            self.says_again(client, f"{device}: works again", 1)
        self.finish(server, client)

    def fault(self, rule):
        with Program(IWARP, "fault", self.scratch / "faults", rule, plain=True) as program:
            return program.wait()

    def test_an_interface_that_disappears(self):
        server, client = self.start()
        ip("-n", self.names[1], "link", "delete", DEVICES["b"])
        for end in (server, client):
            self.says_again(end, "b: port error", 1)
        self.says_again(client, "b: failed", 1)
        self.goes_on(client, self.others("b"))
        self.finish(server, client)
        for end in (server, client):
            self.assertLessEqual(end.result().err.count("\n"), 3, end.result())

    def test_a_device_that_rdma_link_deletes(self):
        """The running program keeps the device, as a program keeps a file that is removed. Other programs do not find
        it."""
        sessions = [{"IWARP_SESSION": str(self.scratch / f"session{end}")} for end in range(2)]
        for name, env in zip(self.names, sessions):
            for device, link in DEVICES.items():
                self.run_program("rdma", "link", "add", device, "type", "rxe", "netdev", link, prefix=within(name),
                                 env=env)
        server, client = self.start((), sessions)
        other = {"prefix": within(self.names[1]), "env": sessions[1]}
        self.run_program("rdma", "link", "delete", "b", **other)
        self.assertEqual(re.findall(r"(?m)^\s+(\S+)\s+[0-9a-f]{16}$", self.run_program("ibv_devices", **other).out),
                         ["a", "c", "d"])
        self.goes_on(client, DEVICES)
        self.finish(server, client)


if __name__ == "__main__":
    if not FAILOVER.exists():
        skip_all(f"{FAILOVER} is not built: libibverbs-dev is missing")
    main("ip", "rdma", "ibv_devices")
