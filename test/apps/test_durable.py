# SPDX-License-Identifier: Apache-2.0
"""Tests that a file with its final name is always complete: after kill -9 of either side at any moment, on disks
that are full or fail, and after a power cut at any point. The test kills a process 24 times, or 500 times with
IWARP_LONG=1."""
import contextlib
import errno
import itertools
import os
import random
import signal
import threading
import time

from support import Case, Server, finish, main, run, start

MIB = 1 << 20
SIZE = 6 * MIB + 5
KILLS = 500 if os.environ.get("IWARP_LONG") == "1" else 24
SEED = int(os.environ.get("IWARP_SEED", "1"))


def content(version):
    """Returns the content of a file. Each block contains the version number, so a mixture of versions is detected."""
    block = version.to_bytes(8, "little") * 512
    return (block * (SIZE // len(block) + 1))[:SIZE]


def disk(fail, log):
    """Returns an environment in which calls to the disk fail as `fail` lists them: (call, n, errno) means that the
    n-th call of a function fails with this errno. All other calls are recorded."""
    return dict(os.environ, LD_PRELOAD=os.environ["DISK"], DISK_LOG=str(log),
                DISK_FAIL=",".join(f"{call}:{n}:{code}" for call, n, code in fail),
                ASAN_OPTIONS="verify_asan_link_order=0")


class Watcher:
    """A thread that reads a file by its name again and again. The file must be complete each time."""

    def __init__(self, path, may_be):
        self.path, self.may_be = path, may_be
        self.torn, self.looks, self.over = [], 0, threading.Event()
        self.thread = threading.Thread(target=self.look_until_over)

    def look(self):
        with contextlib.suppress(FileNotFoundError):
            octets = self.path.read_bytes()
            self.looks += 1
            if octets not in self.may_be:
                self.torn.append((len(octets), octets[:8]))

    def look_until_over(self):
        while not self.over.is_set():
            self.look()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.look()


class Kills(Case):
    def transfer(self, verb, server):
        """Starts a transfer. Returns its process and the file that it writes."""
        if verb == "put":
            return start("put", "-q", self.scratch / "new", server.url("f")), self.dir / "f"
        return start("get", "-q", server.url("g"), self.out / "g"), self.out / "g"

    def duration(self, verb, server):
        begun = time.monotonic()
        client, _ = self.transfer(verb, server)
        self.assert_ok(finish(client))
        return time.monotonic() - begun

    def test_a_kill_at_any_moment(self):
        print(f"seed {SEED}")
        chance = random.Random(SEED)
        versions = [content(0), content(1)]
        for path, version in ((self.dir / "f", 0), (self.out / "g", 0), (self.dir / "g", 1)):
            path.write_bytes(versions[version])
        (self.scratch / "new").write_bytes(versions[1])
        done, looks, server = 0, 0, Server("serve", self.dir)
        longest = {verb: self.duration(verb, server) for verb in ("put", "get")}
        for i, (verb, victim) in zip(range(KILLS), itertools.cycle(
                itertools.product(("put", "get"), ("client", "server")))):
            target = (self.dir / "f") if verb == "put" else (self.out / "g")
            target.write_bytes(versions[0])
            with Watcher(target, versions) as watcher:
                client, _ = self.transfer(verb, server)
                with contextlib.suppress(Exception):
                    client.wait(chance.uniform(0, longest[verb]))
                process = client if victim == "client" else server.process
                process.send_signal(signal.SIGKILL)
                ended = finish(client)
                done += ended.returncode == 0
                if victim == "server":
                    server.kill()
                    server = Server("serve", self.dir)
            with self.subTest(kill=i, verb=verb, victim=victim):
                self.assertEqual(watcher.torn, [])
                if ended.returncode == 0:
                    self.assertEqual(target.read_bytes(), versions[1])
                elif victim == "server":
                    self.assert_fails(ended, 1, f"^iwarp {verb}: ")
            looks += watcher.looks
        self.assertEqual([n for n in self.names(self.dir) if not n.startswith(".iwarp-")], ["f", "g"])
        server.stop()
        with Server("serve", self.dir):
            self.assertEqual(self.names(self.dir), ["f", "g"])
        print(f"{KILLS} kills, {KILLS - done} of them before the end; looked {looks} times")


class Disk(Case):
    """Tests failing disks, first at the server and then at the client."""

    def setUp(self):
        super().setUp()
        self.log = self.scratch / "log"
        self.new = self.scratch / "new"
        self.new.write_bytes(content(1))

    def each_side(self, fail, old):
        """Transfers a file twice: first the server writes the file, then the client does. After each transfer, yields
        the result of the command and the file."""
        for folder in (self.dir, self.out):
            for name in self.names(folder):
                (folder / name).unlink()
            if old:
                (folder / "f").write_bytes(content(0))
        environment = disk(fail, self.log)
        with Server("serve", self.dir, env=environment) as server:
            yield run("put", self.new, server.url("f")), self.dir / "f"
        (self.dir / "g").write_bytes(content(1))
        with Server("serve", self.dir) as server:
            yield run("get", server.url("g"), self.out / "f", env=environment), self.out / "f"


class Failures(Disk):
    """Tests that the previous file remains until the new file is complete."""

    def check_refused(self, fail, pattern, after=0):
        for old in (True, False):
            for result, path in self.each_side(fail, old):
                with self.subTest(fail=fail, path=path, old=old):
                    self.assert_fails(result, 1, pattern)
                    if after or old:
                        self.assertEqual(path.read_bytes(), content(after))
                    names = [n for n in self.names(path.parent) if n != "g"]
                    self.assertEqual(names, ["f"] if after or old else [])

    def test_a_full_disk(self):
        for fail in ([("fallocate", 1, errno.ENOSPC)],
                     [("fallocate", 0, errno.EOPNOTSUPP), ("pwrite", 1, errno.ENOSPC)],
                     [("fallocate", 0, errno.EOPNOTSUPP), ("pwrite", 3, errno.ENOSPC)],
                     [("fallocate", 0, errno.EOPNOTSUPP), ("fsync", 1, errno.ENOSPC)],
                     [("linkat", 1, errno.ENOSPC)],
                     [("tmpfile", 0, errno.EOPNOTSUPP), ("fallocate", 1, errno.ENOSPC)],
                     [("tmpfile", 0, errno.EOPNOTSUPP), ("renameat", 1, errno.ENOSPC)]):
            self.check_refused(fail, "cannot (reserve|write|create).*no space left on device$")

    def test_a_disk_that_fails(self):
        for fail in ([("pwrite", 2, errno.EIO)], [("fsync", 1, errno.EIO)],
                     [("tmpfile", 0, errno.EOPNOTSUPP), ("fsync", 1, errno.EIO)]):
            self.check_refused(fail, "cannot write: input/output error$")

    def test_a_folder_that_does_not_sync_is_told_and_the_file_is_whole(self):
        self.check_refused([("fsync", 2, errno.EIO)], "cannot write the target directory: ", after=1)


class PowerCut:
    """Simulates the state of a directory from the calls in a log. Changes that were not synced may be lost."""

    def __init__(self, old, new):
        self.old, self.new = old, new
        self.written = {}  # inode: content that was synced
        self.pending = {}  # inode: [(offset, length)] of the writes since the last sync of the file
        self.names = {"f": "old"} if old is not None else {}
        self.moves = []  # links and renames since the last sync of the directory

    def take(self, line):
        call, subject, *rest = line.split()
        if call == "create":
            self.written[subject], self.pending[subject] = bytearray(), []
            if rest[0] != ".":
                self.moves.append((None, rest[0], subject))
        elif call == "write":
            self.pending[subject].append(tuple(map(int, rest)))
        elif call == "sync" and subject == "folder":
            self.names, self.moves = self.after(len(self.moves)), []
        elif call == "sync":
            for offset, length in self.pending.pop(subject):
                octets = self.written[subject]
                octets.extend(bytes(max(0, offset + length - len(octets))))
                octets[offset:offset + length] = self.new[offset:offset + length]
            self.pending[subject] = []
        elif call == "link":
            self.moves.append((None, rest[0], subject))
        elif call == "rename":
            self.moves.append((rest[0], rest[1], subject))

    def after(self, moves):
        names = dict(self.names)
        for before, name, inode in self.moves[:moves]:
            names.pop(before, None)
            names[name] = inode
        return names

    def states(self):
        """Yields each content that the file may have after a power cut: without the unsynced writes, and with any
        prefix of the unsynced renames."""
        for moves in range(len(self.moves) + 1):
            inode = self.after(moves).get("f")
            if inode is None:
                yield None
            else:
                yield self.old if inode == "old" else bytes(self.written[inode])


class PowerCuts(Disk):
    def states(self, old, lines):
        """Before the first call and after each call, yields this call (or None) with each content that the file could
        have after a power cut at this moment."""
        folder = PowerCut(content(0) if old else None, content(1))
        for line in [None, *lines]:
            if line:
                folder.take(line)
            for state in folder.states():
                yield line, state

    def test_a_cut_at_every_point(self):
        cuts = 0
        for old in (True, False):
            whole = (content(0) if old else None, content(1))
            for fail in ([], [("tmpfile", 0, errno.EOPNOTSUPP)], [("fallocate", 0, errno.EOPNOTSUPP)]):
                for result, path in self.each_side(fail, old):
                    self.assert_ok(result)
                    lines = self.log.read_text().splitlines()
                    self.log.unlink()
                    for line, state in self.states(old, lines):
                        cuts += 1
                        self.assertIn(state, whole, f"power cut after {line} of {lines}")
                    # The command has reported success. After that, no power cut may lose the file.
                    last = [state for line, state in self.states(old, lines) if line == lines[-1]]
                    self.assertEqual(last, [content(1)], path)
                    # Checks that both syncs are needed: if one of them were missing, a power cut could lose the
                    # file.
                    syncs = [line for line in lines if line.startswith("sync")]
                    self.assertEqual([s == "sync folder" for s in syncs], [False, True], lines)
                    worse = [line for line in lines if line != syncs[0]]
                    self.assertFalse(all(s in whole for _, s in self.states(old, worse)))
        print(f"{cuts} states after a cut")


main()
