#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Boots the guest that build-guest.sh has made, sends commands over its control channel, and always stops the guest at
the end. Also runs the programs on the host that communicate with the guest. Does not need root.

  guest.py run [OPTION...] 'command'          boots, runs the command, powers off; see --help
  guest.py exec PORT 'command' [SECONDS]      runs a command in a running guest, whose control port is PORT

The exit status is that of the command, 137 after a timeout, or 125 if the connection to the guest is lost."""
import argparse
import base64
import contextlib
import os
import pathlib
import queue
import random
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
        if lines and "\036SIW-RC " in lines[-1]:
            last, _, status = lines.pop().partition("\036SIW-RC ")
            lines += [last] if last else []
        return (int(status) if ended else 137), lines


class Guest:
    """The guest that build-guest.sh has made. eth0 has GUEST_ADDRESS and serves siw0; HOST_SEEN_FROM_GUEST is the
    loopback of the host. `ports` maps each of FORWARDED to a port of 127.0.0.1. `parameters` are those of the siw
    module, such as "mpa_version=1". If `capture` names a file, the frames of eth0 are written to it (pcap)."""
    FORWARDED = (7174, 7600)

    def __init__(self, variant, life=LIFE, files=(), cpus=1, megabytes=512, mtu=1500, parameters="", capture=None):
        self.variant = variant
        self._scratch = tempfile.TemporaryDirectory(prefix="siw-guest-")
        out = pathlib.Path(subprocess.run([HERE / "build-guest.sh", "--print"], check=True, capture_output=True,
                                          text=True).stdout.strip())
        initrd = pathlib.Path(self._scratch.name, "initrd")
        initrd.write_bytes((out / "initramfs.cpio").read_bytes() + self._archive(files))
        kernel = next(path for path in (out / "vmlinux", out / "vmlinuz") if path.exists())
        for _ in range(3):
            self.ports = {port: free_port() for port in self.FORWARDED}
            self.control = free_port()
            rules = "".join(f",hostfwd=tcp:127.0.0.1:{here}-{GUEST_ADDRESS}:{port}" for port, here in self.ports.items())
            self._process = subprocess.Popen(
                ["timeout", "-k", "5", str(life), "qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi",
                 "-cpu", "max", "-smp", str(cpus), "-m", str(megabytes), "-nodefaults", "-no-user-config",
                 "-display", "none", "-no-reboot", "-monitor", "none", "-serial", "stdio",
                 "-kernel", kernel, "-initrd", initrd, "-append",
                 "console=ttyS0 panic=-1 oops=panic mitigations=off nokaslr quiet loglevel=5 tsc=reliable no_timer_check "
                 f"random.trust_cpu=on siw.variant={variant} siw.mtu={mtu} siw.params={parameters}",
                 "-netdev", f"user,id=n0,net=10.0.2.0/24,ipv6=off{rules}", *self._card(0),
                 "-netdev", f"user,id=n1,net=10.0.3.0/24,ipv6=off,hostfwd=tcp:127.0.0.1:{self.control}-10.0.3.15:2222",
                 *self._card(1),
                 *(["-object", f"filter-dump,id=d0,netdev=n0,file={capture},maxlen=65536"] if capture else [])],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors="replace", start_new_session=True)
            self.console = Output(self._process.stdout)
            if self.console.wait_for("SIW-GUEST .* READY", 90):
                return
            self.stop()
            # Another process may have taken one of the ports.
            if "Could not set up host forwarding" not in self.log():
                break
        raise RuntimeError(f"the guest does not boot: {self.console.lines[-20:]}")

    def _archive(self, files):
        """Returns an archive with `files` in /usr/bin. The kernel unpacks concatenated archives as if they were one."""
        folder = pathlib.Path(self._scratch.name, "usr/bin")
        folder.mkdir(parents=True)
        names = ["usr", "usr/bin", *(f"usr/bin/{pathlib.Path(file).name}" for file in files)]
        for file in files:
            shutil.copy(file, folder)
        return subprocess.run(["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"], cwd=self._scratch.name, check=True,
                              input="\n".join(names).encode(), stdout=subprocess.PIPE).stdout

    @staticmethod
    def _card(number):
        # With event_idx, the emulated network card sometimes loses a notification under load. After that, eth0
        # transfers nothing any more, not even a ping.
        return ["-device", f"virtio-net-pci,netdev=n{number},mac=52:54:00:51:77:0{number + 1},speed=10000,duplex=full,"
                           "event_idx=off,romfile="]

    def start(self, command, limit=LIMIT):
        return Remote(self.control, command, limit)

    def run(self, command, limit=LIMIT):
        return self.start(command, limit).result()

    def wait_for_listener(self, port):
        """Waits until the guest's kernel tables show the listener, because programs do not report when they listen."""
        self.run(f"until grep -q ':{port:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done")

    def set_parameters(self, **values):
        """Sets parameters of the kernel module. The stock module has none."""
        self.run("; ".join(f"echo {value} >/sys/module/siw/parameters/{name}" for name, value in values.items()))

    def log(self):
        return "\n".join(self.console.lines)

    def stop(self):
        self._process.terminate()  # timeout(1) passes SIGTERM on to QEMU.
        self._process.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self._scratch.cleanup()


def free_port():
    """Returns a free port below the ephemeral ports, so that no connection takes it."""
    while True:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", random.randrange(12000, 30000)))
            return probe.getsockname()[1]


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    boot = verbs.add_parser("run")
    boot.add_argument("--variant", default="stock", help="siw module: stock, tunable, or fixed (rfc-notes/siw.md)")
    boot.add_argument("--parameters", default="", help="of the module tunable or fixed, such as a=1,b=2")
    boot.add_argument("--life", type=int, default=300, help="seconds after which the guest is killed")
    boot.add_argument("--mtu", type=int, default=1500)
    boot.add_argument("--capture", help="file for the frames of eth0")
    boot.add_argument("--cpus", type=int, default=1)
    boot.add_argument("--files", nargs="*", default=(), help="to put into the guest's /usr/bin")
    boot.add_argument("command")
    execute = verbs.add_parser("exec")
    execute.add_argument("port", type=int)
    execute.add_argument("command")
    execute.add_argument("seconds", type=int, nargs="?", default=120)
    options = vars(parser.parse_args())
    verb, command = options.pop("verb"), options.pop("command")
    if verb == "exec":
        status, lines = Remote(options["port"], command, options["seconds"]).result()
    else:
        with Guest(**options) as guest:
            print(f"control port {guest.control}, forwarded ports {guest.ports}", file=sys.stderr)
            status, lines = guest.run(command, options["life"])
    print(*lines, sep="\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
