# SPDX-License-Identifier: Apache-2.0
"""Manages the guest for matrix.py: starts the guest with siw-guest.sh, sends commands over its control channel, and
always stops the guest at the end. Also runs the programs on the host that communicate with the guest."""
import base64
import os
import pathlib
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
HOST_SEEN_FROM_GUEST = "10.0.2.2"
GUEST_ADDRESS = "10.0.2.15"

# Limits in seconds. The guest ends shortly before ctest's timeout. LIMIT is so long that only a defect reaches it, even on
# a busy machine.
LIFE = 1750
LIMIT = 300

SKIPPED = 77


def need_guest(variant="fixed"):
    """If there cannot be a guest, ends this program with a message, as skipped or as failed. Debian's unmodified
    driver is tested only in long runs."""
    if os.environ.get("IWARP_NO_GUEST") == "1":
        print("SKIPPED: IWARP_NO_GUEST=1, so nothing was tried against kernel siw")
        sys.exit(SKIPPED)
    if variant == "stock" and os.environ.get("IWARP_LONG") != "1":
        print("SKIPPED: long: set IWARP_LONG=1 to try siw as Debian has it, too")
        sys.exit(SKIPPED)
    # On a timeout, ctest ends this program with SIGTERM. The guest must also end then.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    built = subprocess.run([HERE / "build-guest.sh"], stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode != 0:
        print(built.stdout or "fail\tthe guest cannot be built; IWARP_NO_GUEST=1 skips these tests")
        sys.exit(SKIPPED if built.returncode == SKIPPED else 1)


class Output:
    """Collects the output lines of a running process."""

    def __init__(self, stream):
        self.lines = []
        self._new = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._reader.start()

    def _read(self, stream):
        for line in stream:
            self.lines.append(line.rstrip("\n"))
            self._new.put(self.lines[-1])
        self._new.put(None)

    def wait_for(self, pattern, timeout=60):
        """Returns the match in the first new line that matches. Returns None if the process ends, or on a timeout."""
        end = time.monotonic() + timeout
        while True:
            try:
                line = self._new.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return None
            if line is None:
                return None
            match = re.search(pattern, line)
            if match:
                return match

    def wait_end(self, timeout):
        self._reader.join(timeout)
        return not self._reader.is_alive()


class Remote:
    """A command that runs in the guest. The guest kills it after `limit` seconds."""

    def __init__(self, port, command, limit):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._socket.settimeout(None)
        coded = base64.b64encode(command.encode()).decode()
        self._socket.sendall(f"{limit} {coded}\n".encode())
        self._limit = limit
        self.output = Output(self._socket.makefile("r", errors="replace"))

    def result(self):
        """Waits until the command ends. Returns (status, lines). After a timeout the status is 137."""
        ended = self.output.wait_end(self._limit + 15)
        lines = list(self.output.lines)
        status = 125  # the status if the connection to the guest is lost
        if lines and lines[-1].startswith("\036SIW-RC "):
            status = int(lines.pop().split()[1])
        return (status if ended else 137), lines


class Guest:
    def __init__(self, variant, life=LIFE, files=(), cpus=1, megabytes=512):
        self.variant = variant
        self.state = tempfile.mkdtemp(prefix="siw-guest-")
        command = [HERE / "siw-guest.sh", "start", "-v", variant, "-l", str(life), "-s", self.state,
                   "-c", str(cpus), "-m", str(megabytes)]
        for port in (7174, 7471, 7600):
            command += ["-p", f"0:{port}"]
        for file in files:
            command += ["-f", str(file)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
        self._control = int(pathlib.Path(self.state, "ctl").read_text())
        ports = pathlib.Path(self.state, "ports").read_text().split()
        self.ports = {int(guest): int(host) for guest, host in zip(ports[::2], ports[1::2])}

    def start(self, command, limit=LIMIT):
        return Remote(self._control, command, limit)

    def run(self, command, limit=LIMIT):
        return self.start(command, limit).result()

    def wait_for_listener(self, port):
        """Waits until the guest's kernel tables show the listener, because programs do not report when they listen."""
        self.run(f"until grep -q ':{port:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done")

    def set_parameters(self, **values):
        """Sets parameters of the kernel module. The stock module has none."""
        self.run("; ".join(f"echo {value} >/sys/module/siw/parameters/{name}" for name, value in values.items()))

    def log(self):
        return pathlib.Path(self.state, "console.log").read_text(errors="replace")

    def stop(self):
        subprocess.run([HERE / "siw-guest.sh", "stop", "-s", self.state], timeout=60, check=False)
        shutil.rmtree(self.state, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Listener:
    """A server of this project on a free loopback port. It is interrupted at the end of the with block."""

    def __init__(self, *command):
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        self.output = Output(self.process.stdout)
        match = self.output.wait_for(r"listening on .*:(\d+)$")
        if not match:
            self.process.kill()
            raise RuntimeError(f"{command[0]} does not listen: {self.output.lines}")
        self.port = int(match[1])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return 137

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()


def run_here(*command, limit=LIMIT):
    """Runs a program on the host. Returns (status, lines of standard output, last line of standard error)."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as late:
        return 137, (late.stdout or b"").decode().splitlines(), f"nothing for {limit} s"
    return done.returncode, done.stdout.splitlines(), done.stderr.strip().rpartition("\n")[2]


def environment_path(name):
    path = os.environ.get(name, "")
    if not path or not os.access(path, os.X_OK):
        raise RuntimeError(f"{name} names no program: {path!r}")
    return path
