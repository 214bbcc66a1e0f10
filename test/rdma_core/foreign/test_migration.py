# SPDX-License-Identifier: Apache-2.0
"""QEMU's migration by RDMA: a virtual machine whose memory is filled with noise moves from one QEMU to another. The
test then compares the guest's memory on both sides byte by byte. The guest never runs, so its memory does not
change during the migration."""
import contextlib
import json
import random
import socket
import time

from support import LONG, TIMEOUT, Case, Program, free_port, main
from tried import tried

# For a page of zeros QEMU sends no data and only one message in each direction. The test therefore fills most pages
# with noise.
MEGABYTES = 256 if LONG else 16


class Monitor:
    """QEMU's monitor protocol, in which each end sends lines of JSON."""

    def __init__(self, connected):
        self.socket = connected
        self.socket.settimeout(TIMEOUT)
        self.file = self.socket.makefile("rw")
        self.file.readline()
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.file.write(json.dumps({"execute": command, "arguments": arguments}))
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            if "error" in answer:
                raise AssertionError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def close(self):
        self.file.close()
        self.socket.close()


@tried("QEMU", "qemu-system-x86", "migration over `rdma:`, with pinned memory and without; guest "
       "memory compared", personas=("iwarp", "roce"))
class Migration(Case):
    @contextlib.contextmanager
    def machine(self, name, *words):
        path = self.scratch / name
        with Program("qemu-system-x86_64", "-accel", "tcg", "-display", "none", "-nodefaults",
                     "-m", MEGABYTES, "-S", "-qmp", f"unix:{path},server=on,wait=off", *words) as program:
            connected = socket.socket(socket.AF_UNIX)
            # The socket file exists before QEMU listens on it.
            program.wait_until(lambda: connected.connect_ex(str(path)) == 0, path)
            monitor = Monitor(connected)
            try:
                yield program, monitor
            finally:
                monitor.close()

    def memory_of(self, monitor, name):
        path = self.scratch / f"{name}.memory"
        monitor.ask("pmemsave", val=0, size=MEGABYTES << 20, filename=str(path))
        return path.read_bytes()

    def migrate(self, pinned):
        noise = self.scratch / "noise"
        noise.write_bytes(random.Random(3).randbytes((MEGABYTES - 1) << 20))
        port = free_port()
        url = f"rdma:127.0.0.1:{port}"
        load = f"loader,file={noise},addr=0x100000,force-raw=on"
        with (self.machine("source", "-device", load) as (source, ours),
              self.machine("target", "-incoming", "defer") as (target, theirs)):
            for monitor in (ours, theirs):
                monitor.ask("migrate-set-capabilities", capabilities=[
                    {"capability": "rdma-pin-all", "state": pinned}])
            ours.ask("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
            theirs.ask("migrate-incoming", uri=url)
            ours.ask("migrate", uri=url)
            for end in (ours, theirs):
                self.wait_for_the_end(end, source, target)
            before, after = self.memory_of(ours, "source"), self.memory_of(theirs, "target")
            self.assert_silent(source.result(), target.result())
        self.assertTrue(before[1 << 20:] == noise.read_bytes(), "the source's memory contains no noise")
        self.assertTrue(after == before, "the memory differs")

    def wait_for_the_end(self, monitor, *programs):
        end = time.monotonic() + 2 * TIMEOUT
        while (status := monitor.ask("query-migrate").get("status")) != "completed":
            if status == "failed" or time.monotonic() > end:
                said = "\n".join(str(program.result()) for program in programs)
                self.fail(f"{monitor.ask('query-migrate')}\n{said}")
            time.sleep(0.01)

    def test_memory_pinned_as_it_goes_or_all_at_first(self):
        for pinned in (False, True):
            with self.subTest(pinned=pinned):
                self.migrate(pinned)


main("qemu-system-x86_64")
