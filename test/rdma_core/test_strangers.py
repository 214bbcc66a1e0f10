# SPDX-License-Identifier: Apache-2.0
"""Tests servers under a low limit of descriptors while a stranger holds more silent connections than this limit and
replaces those that the server closes. Newcomers must be served, and the program must keep its reserve."""
import contextlib
import os
import resource
import select
import socket
import threading

from hosts import HOSTS, enter, needs_namespaces, two_hosts, within
from support import IWARP, TIMEOUT, Case, Program, free_port, main

LIMITS = (256, 1024, 4096)
NEWCOMERS = 3


def reserve(limit):
    return min(128, limit // 4)  # RnicOptions::reserved_descriptors


class Stranger:
    """Keeps `count` silent connections from a namespace, or from this one if it is None."""

    def __init__(self, namespace, address, count):
        self._namespace, self._address, self._count = namespace, address, count
        self._open, self._poll = {}, select.poll()
        self.renew()

    def renew(self):
        """Replaces the connections that the server has closed."""
        thread = threading.Thread(target=self._renew)
        thread.start()  # Only this thread enters the namespace.
        thread.join()
        assert len(self._open) == self._count

    def _renew(self):
        if self._namespace is not None:
            enter(self._namespace)
        for fd, _ in self._poll.poll(0):
            self._poll.unregister(fd)
            self._open.pop(fd).close()
        while len(self._open) < self._count:
            new = socket.create_connection(self._address, TIMEOUT)
            self._open[new.fileno()] = new
            self._poll.register(new, select.POLLRDHUP)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in self._open.values():
            each.close()


class Strangers(Case):
    @classmethod
    def setUpClass(cls):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        cls.addClassCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        cls.most = hard

    def check_server(self, server, newcomer, apart, options):
        """Each of the two functions returns the command for a host and a port."""
        host = HOSTS[0] if apart else "127.0.0.1"
        with two_hosts() if apart else contextlib.nullcontext((None, None)) as (own, other):
            of_server, of_stranger = (within(name) if apart else () for name in (own, other))
            for limit in LIMITS:
                with self.subTest(limit=limit, apart=apart):
                    if 2 * limit > self.most:
                        self.skipTest(f"the hard limit of descriptors is {self.most}")
                    port = free_port()
                    limited = (*of_server, "prlimit", f"--nofile={limit}:{limit}")
                    with Program(*server(host, port), prefix=limited, **options) as one:
                        one.listens(port)
                        with Stranger(other, (host, port), limit + 100) as stranger:
                            for prefix in NEWCOMERS * (of_server, of_stranger):
                                self.run_program(*newcomer(host, port), prefix=prefix, **options)
                                # One more: the connection that is being accepted. The server may not have closed the
                                # newcomer's connection yet.
                                fds = f"/proc/{one.process.pid}/fd"
                                one.wait_until(lambda: len(os.listdir(fds)) <= limit - reserve(limit) + 1,
                                               f"at most {limit - reserve(limit) + 1} descriptors in use")
                                stranger.renew()

    def check_both(self, apart):
        self.check_server(lambda host, port: (IWARP, "ping", "--server", "--listen", f"{host}:{port}"),
                          lambda host, port: (IWARP, "ping", "--count", 1, f"{host}:{port}"), apart, {"plain": True})
        self.check_server(lambda host, port: ("rping", "-s", "-P", "-a", host, "-p", port),
                          lambda host, port: ("rping", "-c", "-C", 1, "-a", host, "-p", port), apart, {})

    def test_on_one_host(self):
        self.check_both(False)

    @needs_namespaces
    def test_on_two_hosts(self):
        self.check_both(True)

    def test_a_server_without_free_descriptors_says_so(self):
        port = free_port()
        with Program("rping", "-s", "-P", "-a", "127.0.0.1", "-p", port) as server:
            server.listens(port)
            fds = len(os.listdir(f"/proc/{server.process.pid}/fd"))
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (fds + 1, self.most))
            self.run_program("rping", "-c", "-C", 1, "-a", "127.0.0.1", "-p", port, statuses=range(1, 256))
            server.says(r"(?m)^iwarp: 127\.0\.0\.1:\d+ is refused: too few file descriptors are free for another "
                        r"connection \(raise ulimit -n\)$")


main("rping", "prlimit")
