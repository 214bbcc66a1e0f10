# SPDX-License-Identifier: Apache-2.0
"""Runs unmodified programs written for rdma-core under `iwarp run`: a single program, or a server with its clients.
Every wait has a timeout, and every process is killed at the end. Nothing waits for a fixed time: a client is
started when the kernel reports that the server listens on its port."""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

IWARP = os.environ.get("IWARP", "build/release/apps/iwarp")
SANITIZER = os.environ.get("IWARP_SANITIZE", "")
LONG = os.environ.get("IWARP_LONG") == "1"
TIMEOUT = 240 * (3 if SANITIZER else 1)  # seconds for one program

PACKAGES = {
    "rdmacm-utils": ("rping", "ucmatose", "cmtime", "rdma_client", "rdma_server", "rdma_xclient",
                     "rdma_xserver", "udaddy", "mckey", "rstream", "riostream", "rcopy", "udpong"),
    "ibverbs-utils": ("ibv_devices", "ibv_devinfo", "ibv_rc_pingpong", "ibv_srq_pingpong",
                      "ibv_ud_pingpong", "ibv_uc_pingpong", "ibv_xsrq_pingpong"),
    "perftest": ("ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat", "ib_send_bw",
                 "ib_send_lat", "ib_atomic_bw", "ib_atomic_lat", "raw_ethernet_bw"),
    "qperf": ("qperf",),
    "fio": ("fio",),
    "libfabric-bin": ("fi_info", "fi_pingpong"),
    "openmpi-bin": ("mpirun", "ompi_info"),
    "tgt": ("tgtd", "tgtadm"),
    "libiscsi-bin": ("iscsi-inq", "iscsi-readcapacity16"),
    "qemu-utils": ("qemu-img", "qemu-io"),
    "qemu-system-x86": ("qemu-system-x86_64",),
    "ucx-utils": ("ucx_info", "ucx_perftest"),
    "iproute2": ("ip", "rdma"),
    "curl": ("curl",),
    "openssl": ("openssl",),
    "util-linux": ("setpriv", "prlimit", "unshare"),
}
PROGRAMS = pathlib.Path(os.environ.get("IWARP_PROGRAMS", "build/release/test/rdma_core/programs"))
# Matches what a sanitizer prints, which may be in the middle of a program's output.
FINDINGS = re.compile(r"(ERROR|WARNING): \w*Sanitizer|runtime error: ")


def main(*programs):
    """Runs the tests of a file that needs `programs`. If one of them is missing, skips all tests and prints why."""
    owner = {program: package for package, names in PACKAGES.items() for program in names}
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        packages = sorted({owner[program] for program in missing})
        skip_all(f"not installed: {' '.join(missing)}; apt-get install {' '.join(packages)}")
    unittest.main(verbosity=2)


def skip_all(reason):
    print("SKIPPED:", reason)
    sys.exit(77)


def environment(extra=None):
    """Returns the environment for the programs. Makes sanitizers ignore leaks and races within the programs
    themselves."""
    out = dict(os.environ, LC_ALL="C", **(extra or {}))
    if "address" in SANITIZER:
        out["ASAN_OPTIONS"] = out.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    if "thread" in SANITIZER:
        out["TSAN_OPTIONS"] = out.get("TSAN_OPTIONS", "") + ":ignore_noninstrumented_modules=1"
    return out


_reserved = []


def free_port():
    """Returns a port on which nothing listens and which no other test on this machine has been given."""
    for port in range(20000 + os.getpid() * 7 % 10000, 32700):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0iwarp-test-port-{port}")  # The kernel releases this name when this process ends.
            for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
                with socket.socket(family) as probe:
                    probe.bind((host, port))
        except OSError:
            claim.close()
            continue
        _reserved.append(claim)
        return port
    raise AssertionError("no free port")


class Result:
    def __init__(self, words, status, out, err):
        self.words, self.status, self.out, self.err = words, status, out, err

    def __str__(self):
        return (f"{' '.join(self.words)}: status {self.status}\n"
                f"--- standard output\n{self.out[-4000:]}\n"
                f"--- standard error\n{self.err[-4000:]}\n---")


def die_with_parent():
    """Runs in the child. Makes the kernel send it SIGKILL when the parent ends in any way."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Program:
    """A program that runs under `iwarp run` until the end of the with block. `prefix` is put before the whole
    command."""

    def __init__(self, *words, options=(), prefix=(), env=None, cwd=None, plain=False):
        self.words = [str(word) for word in words]
        run = [] if plain else [IWARP, "run", *map(str, options)]
        self._out = tempfile.TemporaryFile()
        self._err = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*prefix, *run, *self.words], stdin=subprocess.DEVNULL, stdout=self._out,
            stderr=self._err, env=environment(env), cwd=cwd, start_new_session=True,
            preexec_fn=die_with_parent)

    def _text(self, file):
        # Does not use seek(), because the program writes at the same file offset.
        return os.pread(file.fileno(), 1 << 24, 0).decode(errors="replace")

    def result(self):
        return Result(self.words, self.process.poll(), self._text(self._out), self._text(self._err))

    def wait(self, timeout=TIMEOUT):
        """Waits until the program ends. On a timeout, raises an AssertionError that contains its output."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            threads = self._threads()
            self.kill()
            raise AssertionError(f"still running after {timeout} s ({threads}): "
                                 f"{self.result()}") from None
        return self.result()

    def _threads(self):
        """Returns the kernel functions in which the threads of the program wait."""
        places = []
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                places.append(f"{(task / 'comm').read_text().strip()}: "
                              f"{(task / 'wchan').read_text().strip()}")
        return ", ".join(places)

    def wait_until(self, condition, what, timeout=TIMEOUT):
        end = time.monotonic() + timeout
        while not condition():
            if self.process.poll() is not None:
                raise AssertionError(f"ended before {what}: {self.result()}")
            if time.monotonic() > end:
                raise AssertionError(f"{timeout} s without {what}: {self.result()}")
            time.sleep(0.002)
        return self

    def listens(self, port):
        """Waits until the program listens on the port, in its network namespace."""
        return self.wait_until(lambda: is_listening(self.process.pid, port), f"listening on {port}")

    def says(self, pattern):
        return self.wait_until(lambda: re.search(pattern, self._text(self._out) + self._text(self._err)), pattern)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # the process group of the program's own session
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        note_careful(self.result())
        self._out.close()
        self._err.close()


def note_careful(result):
    """For test_careful_programs.py: records what careful mode reports about a program."""
    if "CAREFUL_SAID" not in os.environ:
        return
    with open(os.environ["CAREFUL_SAID"], "a") as file:
        for check, what in re.findall(r"(?m)^iwarp: careful: ([\w-]+): (.*)$", result.err):
            print(json.dumps({"words": result.words, "check": check, "what": what}), file=file)


def is_listening(pid, port):
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                _, local, _, state = line.split()[:4]
                if state == "0A" and int(local.rpartition(":")[2], 16) == port:
                    return True
    return False


def has_udp(program, port):
    """Returns whether the program has bound the UDP port. The program's output would show this too late, because it
    stays in a buffer until the program ends."""
    tables = (pathlib.Path(f"/proc/{program.process.pid}/net/{name}") for name in ("udp", "udp6"))
    return any(f":{port:04X} " in table.read_text() for table in tables)


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="iwarp-test-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def use_readable_iwarp(self):
        """Uses a copy of `iwarp` that an unprivileged user can read, wherever the build tree is."""
        global IWARP
        self.scratch.chmod(0o755)
        built = pathlib.Path(IWARP).resolve()
        (self.scratch / "bin").mkdir()
        shutil.copy(built, self.scratch / "bin/iwarp")
        shutil.copytree(built.parent.parent / "lib/iwarp", self.scratch / "lib/iwarp")
        self.addCleanup(globals().update, IWARP=IWARP)
        IWARP = str(self.scratch / "bin/iwarp")

    def check(self, result, statuses=(0,)):
        """Checks the exit status, and that no sanitizer reported anything."""
        said = FINDINGS.search(result.out + result.err)
        self.assertIsNone(said, f"{said and said[0]}\n{result}")
        self.assertIn(result.status, statuses, str(result))
        return result

    def run_program(self, *words, statuses=(0,), timeout=TIMEOUT, **how):
        with Program(*words, **how) as program:
            return self.check(program.wait(timeout), statuses)

    def pair(self, server, client, port, timeout=TIMEOUT, server_how=None, client_how=None, statuses=(0,), **how):
        """Runs a server and a client until both end. Returns their results after checking them."""
        with Program(*server, **how, **(server_how or {})) as one:
            one.listens(port)
            with Program(*client, **how, **(client_how or {})) as two:
                try:
                    second = two.wait(timeout)
                    first = one.wait(timeout)
                except AssertionError as error:
                    raise AssertionError(f"{error}\nThe server: {one.result()}\n"
                                         f"The client: {two.result()}") from None
        both = f"{first}\n{second}"
        for result in (first, second):
            self.assertIsNone(FINDINGS.search(result.out + result.err), both)
            self.assertIn(result.status, statuses, both)
        return first, second

    def with_client(self, program, *words, host="127.0.0.1", **how):
        """Runs a program as a server and, with `host` as an additional argument, as its client, on a free port."""
        port = free_port()
        call = (program, "-p", port, *words)
        return self.pair(call, (*call, host), port, **how)

    def rping(self, *words, address="127.0.0.1", target=None, server=(), client=(), **how):
        """Runs rping as a server and as its client, on a free port. The client connects to `target`, by default the
        server's address."""
        port = free_port()
        return self.pair(("rping", "-s", "-a", address, "-p", port, *words, *server),
                         ("rping", "-c", "-a", target or address, "-p", port, *words, *client), port, **how)

    def assert_silent(self, *results, leaves_early=False, stops_receiving=False):
        """Checks that the libraries printed nothing but expected messages. With `leaves_early`, one end may close
        while requests of the other end are in flight, or while queue pairs that the program did not need still
        look for their peers. With `stops_receiving`, the end may also stop posting receives before it closes."""
        # On a busy machine, a receiver may not run for two seconds.
        may_say = [r": queue pair \w+: a message from the peer has been waiting for two seconds, because no receive is posted"]
        if "CAREFUL_SAID" in os.environ:
            may_say.append(": careful: ")
        ended = r": connection with \S+ ended: "
        if leaves_early or stops_receiving:
            may_say.append(ended + "the peer (closed|reset) the connection")
            may_say.append(r": queue pair \w+ cannot connect to its peer: (MPA startup with \S+ failed: TCP connection "
                           r"closed or lost|connect to \S+: Connection re(set by peer|fused))")
            may_say.append(r": queue pair \w+: a request was posted after the peer")
        if stops_receiving:
            may_say.append(ended + ".*no receive was posted")
        but = f"(?!{'|'.join(may_say)})"
        for result in results:
            self.assertNotRegex(result.err, rf"(?m)^iwarp{but}", str(result))
