# SPDX-License-Identifier: Apache-2.0
"""Tests serve, get and put: the content of files, many clients, and that no failure leaves partial files."""
import contextlib
import filecmp
import os
import pathlib
import resource
import signal
import socket
import subprocess
import threading
import time

from support import (Case, TIMEOUT, Server, main, octets_written, processes, run, start,
                     wait_until)

MIB = 1 << 20
LONG_TRANSFER = 512 * MIB  # size of a sparse file, large enough to interrupt its transfer


class Content(Case):
    def test_there_and_back(self):
        with Server("serve", self.dir) as server:
            for size in (0, 1, 4096, MIB - 1, MIB, MIB + 1, 9 * MIB + 5):
                with self.subTest(size=size):
                    source = self.file(f"f{size}", size)
                    self.assert_ok(run("put", source, server.url()))
                    self.assert_ok(run("get", server.url(source.name), self.out))
                    self.assertTrue(filecmp.cmp(source, self.dir / source.name, shallow=False))
                    self.assertTrue(filecmp.cmp(source, self.out / source.name, shallow=False))
            self.assertEqual(self.names(self.dir), self.names(self.out))

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

    def test_put_and_get_replace(self):
        with Server("serve", self.dir) as server:
            for size in (1000, 10):
                source = self.file("f", size)
                self.assert_ok(run("put", source, server.url()))
                self.assert_ok(run("get", server.url("f"), self.out))
                self.assertTrue(filecmp.cmp(source, self.out / "f", shallow=False))

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
                worker = threading.Thread(target=lambda: result.append(
                    run("get", "-q", server.url("f"), fifo)))
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
                              "^iwarp get: nope: no such file or directory$")
            self.assert_fails(run("get", server.url("sub"), self.out), 1, "not a regular file$")
            self.assert_fails(run("get", server.url("link"), self.out), 1, "^iwarp get: link: ")
        self.assertEqual(self.names(self.out), [])

    def test_read_only(self):
        with Server("serve", self.dir, "--read-only") as server:
            self.assert_fails(run("put", self.file("f", 1), server.url()), 1,
                              "this server is read-only$")
        self.assertEqual(self.names(self.dir), [])

    def test_a_full_disk_at_the_server(self):
        limit = (8 * MIB, 8 * MIB)  # limits the size of a file, so that a write fails as on a full disk
        with Server("serve", self.dir,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)) as server:
            self.assert_fails(run("put", self.file("f", 9 * MIB), server.url()), 1,
                              r"^iwarp put: cannot reserve 9437184 bytes: ")
            self.assertEqual(self.names(self.dir), [])
            self.assert_ok(run("put", self.file("g", 7 * MIB), server.url()))
        self.assertEqual(self.names(self.dir), ["g"])

    def test_a_full_disk_at_the_client(self):
        (self.dir / "f").write_bytes(os.urandom(9 * MIB))
        limit = (8 * MIB, 8 * MIB)
        with Server("serve", self.dir) as server:
            result = run("get", server.url("f"), self.out,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
            self.assert_fails(result, 1, r"^iwarp get: cannot reserve 9437184 bytes: ")
        self.assertEqual(self.names(self.out), [])

    def test_a_really_full_disk(self):
        script = f'mount -t tmpfs -o size=4m none "{self.dir}" && exec "$0" "$@"'
        probe = subprocess.run(["unshare", "--mount", "sh", "-c", script, "true"],
                               capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest("mounting a small file system is not allowed here")
        wrapper = self.scratch / "served"
        wrapper.write_text(f"#!/bin/sh\nexec unshare --mount sh -c '{script}' {start_path()} \"$@\"\n")
        wrapper.chmod(0o755)
        server = Server("serve", self.dir, executable=str(wrapper))
        with server:
            view = os.path.join("/proc", str(server.pid), "root")
            inside = view + str(self.dir)
            self.assert_fails(run("put", self.file("f", 5 * MIB), server.url()), 1,
                              "cannot reserve 5242880 bytes: no space left on device$")
            self.assertEqual(self.names(inside), [])
            self.assert_ok(run("put", self.file("g", 3 * MIB), server.url()))
            self.assertEqual(self.names(inside), ["g"])


def start_path():
    from support import IWARP
    return os.path.abspath(IWARP)


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

    def in_the_middle(self, writer, other):
        """Waits until `writer` has written data to the disk, and checks that the transfer is still in progress."""
        wait_until(lambda: octets_written(writer.pid) > 2 * MIB, "octets on disk")
        self.assertIsNone(other.poll(), "the transfer ended too early")

    def test_the_client_of_a_put_is_killed(self):
        with Server("serve", self.dir) as server, SlowRoad(server) as road:
            client = start("put", self.big, road.url())
            self.in_the_middle(server.process, client)
            self.assertEqual([n for n in self.names(self.dir) if not n.startswith(".")], [])
            client.kill()
            client.communicate()
            wait_until(lambda: self.names(self.dir) == [], "the debris to go")
            self.assert_ok(run("put", self.file("small", 10), server.url()))
        self.assertEqual(self.names(self.dir), ["small"])

    def test_the_server_of_a_put_is_killed(self):
        with Server("serve", self.dir) as server, SlowRoad(server) as road:
            client = start("put", self.big, road.url())
            self.in_the_middle(server.process, client)
            server.kill()
            _, err = client.communicate(timeout=TIMEOUT)
        self.assertEqual(client.returncode, 1)
        self.assertRegex(err, r"^iwarp put: .*\n$")
        # The server removes partial files when it starts. There are such files only if O_TMPFILE does not work here.
        with Server("serve", self.dir):
            self.assertEqual(self.names(self.dir), [])

    def test_the_client_of_a_get_is_killed(self):
        os.link(self.big, self.dir / "big")
        with Server("serve", self.dir) as server, SlowRoad(server) as road:
            client = start("get", road.url("big"), self.out)
            self.in_the_middle(client, client)
            client.kill()
            client.communicate()
            self.assert_ok(run("put", self.file("small", 10), server.url()))
        self.assertEqual([n for n in self.names(self.out) if not n.startswith(".")], [])
        self.assertEqual(self.names(self.dir), ["big", "small"])

    def test_the_server_of_a_get_is_killed(self):
        os.link(self.big, self.dir / "big")
        with Server("serve", self.dir) as server, SlowRoad(server) as road:
            client = start("get", road.url("big"), self.out)
            self.in_the_middle(client, client)
            server.kill()
            _, err = client.communicate(timeout=TIMEOUT)
        self.assertEqual(client.returncode, 1)
        self.assertRegex(err, r"^iwarp get: .*\n$")
        self.assertEqual(self.names(self.out), [])

    def test_signals_clean_up(self):
        with Server("serve", self.dir) as server, SlowRoad(server) as road:
            client = start("put", self.big, road.url())
            self.in_the_middle(server.process, client)
            client.send_signal(signal.SIGINT)
            _, err = client.communicate(timeout=TIMEOUT)
            self.assertEqual((client.returncode, err), (1, "iwarp put: interrupted\n"))
            wait_until(lambda: self.names(self.dir) == [], "the debris to go")

            written = octets_written(server.pid)
            client = start("put", self.big, road.url())
            wait_until(lambda: octets_written(server.pid) > written + 32 * MIB, "octets on disk")
            status, _ = server.stop()
            self.assertEqual(status, 0)
            _, err = client.communicate(timeout=TIMEOUT)
            self.assertEqual((client.returncode, err),
                             (1, "iwarp put: the server is shutting down\n"))
        self.assertEqual(self.names(self.dir), [])

    def test_an_interrupted_get_is_told_to_the_server(self):
        os.link(self.big, self.dir / "big")
        with Server("serve", self.dir) as server, SlowRoad(server) as road:
            client = start("get", road.url("big"), self.out)
            self.in_the_middle(client, client)
            client.send_signal(signal.SIGINT)
            _, err = client.communicate(timeout=TIMEOUT)
            self.assertEqual((client.returncode, err), (1, "iwarp get: interrupted\n"))
            line = server.process.stdout.readline()
            self.assertRegex(line, r"^127.0.0.1:\d+: get big: the client was interrupted$")
        self.assertEqual(self.names(self.out), [])

    def test_a_source_that_shrinks(self):
        with Server("serve", self.dir) as server, SlowRoad(server) as road:
            client = start("put", self.big, road.url())
            self.in_the_middle(server.process, client)
            os.truncate(self.big, 0)
            _, err = client.communicate(timeout=TIMEOUT)
            self.assertEqual(client.returncode, 1)
            self.assertRegex(err, r"^iwarp put: .*\n$")
            wait_until(lambda: self.names(self.dir) == [], "the debris to go")


main()
