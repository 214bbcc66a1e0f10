# SPDX-License-Identifier: Apache-2.0
"""Tests serve, get and put: the content of files, many clients, and that no failure leaves partial files."""
import contextlib
import filecmp
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

from support import Case, TIMEOUT, Server, finish, main, octets_written, processes, run, start, wait_until

MIB = 1 << 20
LONG_TRANSFER = 512 * MIB  # size of a sparse file, large enough to interrupt its transfer


class Content(Case):
    def test_there_and_back_and_a_new_file_replaces_the_old_one(self):
        with Server("serve", self.dir) as server:
            for size in (9 * MIB + 5, MIB + 1, MIB, MIB - 1, 4096, 1, 0, 1000):
                with self.subTest(size=size):
                    source = self.file("f", size)
                    self.assert_ok(run("put", source, server.url()))
                    self.assert_ok(run("get", server.url("f"), self.out))
                    self.assertTrue(filecmp.cmp(source, self.dir / "f", shallow=False))
                    self.assertTrue(filecmp.cmp(source, self.out / "f", shallow=False))
        self.assertEqual((self.names(self.dir), self.names(self.out)), (["f"], ["f"]))

    def test_connection_options(self):
        source = self.file("f", 3 * MIB + 1)
        with Server("serve", self.dir, "--markers") as server:
            for options in (["--markers"], ["--crc", "off"], ["--mpa-rev", "1"],
                            ["--mpa-rev", "2-only"], ["--rtr", "send"], ["--fpdu", "max"],
                            ["--placement", "direct"], ["--extensions", "off"],
                            ["--first-fpdu-delay", "5"]):
                with self.subTest(options=options):
                    self.assert_ok(run("put", source, server.url(), *options))
                    self.assert_ok(run("get", server.url("f"), self.out, *options))
                    self.assertTrue(filecmp.cmp(source, self.out / "f", shallow=False))

    def test_names(self):
        source = self.file("some file", 10)
        with Server("serve", self.dir) as server:
            self.assert_ok(run("put", source, server.url("other name")))
            self.assert_ok(run("get", server.url("other name"), self.out / "third"))
            self.assertEqual(self.names(self.dir), ["other name"])
            self.assertEqual(self.names(self.out), ["third"])

    def test_what_is_replaced_hands_on_its_permissions_and_links_stay(self):
        source = self.file("f", MIB + 7)
        kept = self.out / "kept"
        with Server("serve", self.dir) as server:
            self.assert_ok(run("put", source, server.url()))
            kept.write_text("old")
            kept.chmod(0o600)
            (self.out / "link").symlink_to("kept")
            (self.out / "dangling").symlink_to("new")
            for name in ("link", "dangling"):
                self.assert_ok(run("get", server.url("f"), self.out / name))
                self.assertTrue((self.out / name).is_symlink())
                self.assertTrue(filecmp.cmp(source, self.out / name, shallow=False))
            self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
            (self.dir / "f").chmod(0o600)
            self.assert_ok(run("put", source, server.url()))
            self.assertEqual((self.dir / "f").stat().st_mode & 0o777, 0o600)

    def test_what_is_no_regular_file_is_written_to(self):
        source = self.file("f", MIB + 7)
        fifo = self.out / "fifo"
        os.mkfifo(fifo)
        with Server("serve", self.dir) as server:
            self.assert_ok(run("put", source, server.url()))
            self.assert_fails(run("get", server.url("f"), fifo), 1, "no process has this FIFO open for reading$")
            with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
                held = os.open(fifo, os.O_RDWR)  # remains open at least until `cat` has opened the FIFO
                result = []
                worker = threading.Thread(target=lambda: result.append(run("get", "-q", server.url("f"), fifo)))
                worker.start()
                read = reader.stdout.read(source.stat().st_size)
                worker.join()
                os.close(held)
                self.assert_ok(result[0])
                self.assertEqual(read, source.read_bytes())
            self.assertTrue(fifo.is_fifo())
            null = self.out / "null"
            null.symlink_to("/dev/null")
            self.assert_ok(run("get", server.url("f"), null))
            self.assertTrue(null.is_symlink() and pathlib.Path("/dev/null").is_char_device())
            os.rename(fifo, self.dir / "pipe")
            self.assert_fails(run("put", source, server.url("pipe")), 1, "not a regular file$")

    def test_eight_clients_at_once(self):
        sources = [self.file(f"f{i}", 5 * MIB + i) for i in range(8)]
        with Server("serve", self.dir) as server:
            for commands in ([("put", s, server.url()) for s in sources],
                             [("get", server.url(s.name), self.out) for s in sources]):
                with processes(commands) as clients:
                    for client in clients:
                        self.assertEqual(client.wait(TIMEOUT), 0, client.stderr.read())
            for source in sources:
                self.assertTrue(filecmp.cmp(source, self.out / source.name, shallow=False))

    def test_ipv6(self):
        try:
            server = Server("serve", self.dir, host="[::1]")
        except AssertionError as error:
            self.skipTest(f"no IPv6 here: {error}")
        with server:
            self.assert_ok(run("put", self.file("f", 10), server.url()))
            self.assert_ok(run("get", server.url("f"), self.out))


class Refusals(Case):
    def test_what_is_not_served(self):
        (self.dir / "sub").mkdir()
        (self.dir / ".hidden").write_text("x")
        (self.dir / "link").symlink_to("/etc/passwd")
        with Server("serve", self.dir) as server:
            self.assert_fails(run("get", server.url("nope"), self.out), 1,
                              "^iwarp get: the peer reports: nope: no such file or directory$")
            self.assert_fails(run("get", server.url("sub"), self.out), 1, "not a regular file$")
            self.assert_fails(run("get", server.url("link"), self.out), 1, "^iwarp get: the peer reports: link: ")
        self.assertEqual(self.names(self.out), [])

    def test_read_only(self):
        with Server("serve", self.dir, "--read-only") as server:
            self.assert_fails(run("put", self.file("f", 1), server.url()), 1,
                              "this server is read-only$")
        self.assertEqual(self.names(self.dir), [])


class SlowRoad:
    """Relays TCP connections to a server, at 32 MiB per second. It stalls whenever this process does not run."""
    STEP = 1 << 16

    def __init__(self, server):
        self.server = server
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def url(self, name=""):
        return f"iwarp://{self.address}/{name}"

    def serve(self):
        with contextlib.suppress(OSError):  # accept() fails at the end of the with block
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        with client, socket.create_connection(("127.0.0.1", self.server.port), TIMEOUT) as server:
            server.settimeout(None)
            back = threading.Thread(target=self.carry, args=(server, client), daemon=True)
            back.start()
            self.carry(client, server)
            back.join()

    def carry(self, source, target):
        with contextlib.suppress(OSError):
            while octets := source.recv(self.STEP):
                with contextlib.suppress(OSError):  # If the receiver is gone, the data is discarded.
                    target.sendall(octets)
                time.sleep(len(octets) / (32 * MIB))
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()


class Killed(Case):
    """Kills either side in the middle of a transfer."""

    def setUp(self):
        super().setUp()
        self.big = self.scratch / "big"
        with open(self.big, "wb") as file:
            file.truncate(LONG_TRANSFER)

    @contextlib.contextmanager
    def in_the_middle(self, verb):
        """Yields a server, and the client of a transfer that has written data to the disk but has not ended."""
        if verb == "get":
            os.link(self.big, self.dir / "big")
        with Server("serve", self.dir) as server, SlowRoad(server) as road:
            words = (self.big, road.url()) if verb == "put" else (road.url("big"), self.out)
            client = start(verb, *words)
            writer = server if verb == "put" else client
            wait_until(lambda: octets_written(writer.pid) > 2 * MIB, "octets on disk")
            self.assertIsNone(client.poll(), "the transfer ended too early")
            yield server, client

    def check_client(self, client, pattern):
        self.assert_fails(finish(client), 1, rf"^iwarp (put|get): {pattern}$")

    def whole(self, folder):
        return [name for name in self.names(folder) if not name.startswith(".")]

    def test_the_client_is_killed(self):
        for verb, others in (("put", []), ("get", ["big"])):
            with self.subTest(verb=verb), self.in_the_middle(verb) as (server, client):
                self.assertEqual(self.whole(self.dir), others)
                client.kill()
                client.communicate()
                wait_until(lambda: self.names(self.dir) == others, "the debris to go")
                self.assert_ok(run("put", self.file("small", 10), server.url()))
                self.assertEqual(self.names(self.dir), [*others, "small"])
            (self.dir / "small").unlink()
        self.assertEqual(self.whole(self.out), [])

    def test_an_interrupt_cleans_up_and_is_told_to_the_server(self):
        for verb, others in (("put", []), ("get", ["big"])):
            with self.subTest(verb=verb), self.in_the_middle(verb) as (server, client):
                client.send_signal(signal.SIGINT)
                self.check_client(client, "interrupted")
                self.assertRegex(server.process.stdout.readline(),
                                 rf"^127.0.0.1:\d+: {verb} big: the peer reports: the client was interrupted$")
                wait_until(lambda: self.names(self.dir) == others, "the debris to go")
        self.assertEqual(self.names(self.out), [])

    def test_a_server_that_is_stopped_cleans_up_and_tells_its_client(self):
        with self.in_the_middle("put") as (server, client):
            self.assertEqual(server.stop()[0], 0)
            self.check_client(client, "the peer reports: the server is shutting down")
        self.assertEqual(self.names(self.dir), [])

    def test_a_source_that_shrinks(self):
        with self.in_the_middle("put") as (_, client):
            os.truncate(self.big, 0)
            self.check_client(client, ".*")
            wait_until(lambda: self.names(self.dir) == [], "the debris to go")


main()
