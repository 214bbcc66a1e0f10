#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the same programs at both ends: rdma-core's unmodified programs on the host under `iwarp run`, and the same
programs in the guest over kernel siw. Each end is client once and server once. Some programs on the host use
--completions acked, for which siw has to answer zero-length Reads. Prints one line per cell: pass, fail or known
(a defect of siw), TAB, which program, TAB, what, TAB, why. Usage: programs.py
The guest uses the repaired driver, which can be configured to send an RTR. In some of the programs the server
sends first, which MPA forbids without an RTR.
environment: IWARP SIW_CACHE, PYTHONPATH with test/rdma_core; IWARP_LONG=1 for the long form,
IWARP_NO_GUEST=1 to skip."""
import os
import re
import shutil
import sys

from guest import HOST_SEEN_FROM_GUEST, LIMIT, Guest, need_guest
from support import Program, free_port

LONG = os.environ.get("IWARP_LONG") == "1"
ITERATIONS = 1000 if LONG else 200  # The emulated guest takes up to a second for a ping on a busy machine.
RPING_PORT, OTHER_PORT = 7174, 7600
# Payload sizes of rping. Sizes below 26 are invalid, because rping's text alone is longer. The largest size is 64
# KiB minus one byte.
SIZES = (26, 64, 512, 1024, 1460, 4096, 16384, 65535) if LONG else (64, 65535)
PING = re.compile("ping data: rdma-ping-")
STREAM_SIZES = (64, 65536)
STREAM_LIMIT = 100  # seconds; a run takes less than one second on an idle machine
# siw may lose the end of a stream (defects 15 and 16 of rfc-notes/siw.md). A run in which this happened is known, not
# failed: one end has succeeded, the other has not received the end, and the guest's kernel has reset a connection
# because siw had closed it without reading everything.
RESET = "rrecv: Connection reset by peer"
BANDWIDTH = ("ib_write_bw", "ib_read_bw", "ib_send_bw")
LATENCY = ("ib_write_lat", "ib_read_lat", "ib_send_lat")
PERFTEST = BANDWIDTH + LATENCY if LONG else BANDWIDTH
RTR_BY_WRITE = {"peer_to_peer": 1, "rtr_type": 128}
PERFTEST_OPTIONS = ["-R", "-F", "-n", str(ITERATIONS), "-s", "4096"]
ACKED = ("--completions", "acked")
ACKED_SIZE = 4096


def ended(program):
    """Waits until a program on the host ends. Returns (status, lines), like Remote.result() for a program in the guest.
    After a timeout the status is 137."""
    with program:
        try:
            result = program.wait(LIMIT)
        except AssertionError as late:
            return 137, str(late).splitlines()
    return result.status, (result.out + result.err).splitlines()


class Bench:
    def __init__(self, guest):
        self.guest = guest
        self.passed = self.known = self.failed = 0

    def report(self, where, what, problem, known=False):
        self.passed += not problem
        self.known += bool(problem) and known
        self.failed += bool(problem) and not known
        verdict = "pass" if not problem else "known" if known else "fail"
        print(f"{verdict}\t{where}\t{what}" + (f"\t{problem}" if problem else ""), flush=True)

    def resets_at_close(self):
        """Returns how many connections the guest's kernel has reset because their sockets were closed before all data
        was read: the data had arrived before the close (TCPAbortOnData) or arrived after it (TCPAbortOnClose)."""
        _, lines = self.guest.run("grep ^TcpExt: /proc/net/netstat")
        names, values = (line.split() for line in lines)
        return sum(int(values[names.index(name)]) for name in ("TCPAbortOnData", "TCPAbortOnClose"))


def pings(lines):
    return sum(1 for line in lines if PING.search(line))


def verdict(count, server, client):
    """Returns why the run failed, or "" if it succeeded. Examines the output, because rping exits with 0 even if
    the stream was terminated."""
    seen = [pings(server), pings(client)]
    if seen == [count, count]:
        return ""
    last = [[line[:80] for line in lines[-3:]] for lines in (server, client)]
    return f"server and client saw {seen} of {count} pings: {last}"


def end_here(program, how):
    """Returns the name of the program and its options for the report."""
    return " ".join((program, "here", *how))


def rping(bench, size, count, how=()):
    options = ["-C", count, "-S", size, "-v", "-V"]
    words = " ".join(map(str, options))
    # Without a count, the server ends when its client does. With a count, the server may end before the client's
    # last message has arrived, which is a race within rping.
    server = bench.guest.start(f"rping -s -S {size} -v -V")
    bench.guest.wait_for_listener(RPING_PORT)
    client = Program("rping", "-c", "-a", "127.0.0.1", "-p", bench.guest.ports[RPING_PORT], *options, options=how)
    _, lines = ended(client)
    _, theirs = server.result()
    bench.report(f"{end_here('rping', how)}, rping -s in the guest", f"{count} pings of {size}",
                 verdict(count, theirs, lines))

    port = free_port()
    server = Program("rping", "-s", "-a", "127.0.0.1", "-p", port, *options[2:], options=how)
    server.listens(port)
    _, theirs = bench.guest.run(
        f"rping -c -a {HOST_SEEN_FROM_GUEST} -p {port} {words}")
    _, lines = ended(server)
    bench.report(f"rping in the guest, {end_here('rping -s', how)}", f"{count} pings of {size}",
                 verdict(count, lines, theirs))


def rstream(bench, size):
    """Runs rstream, which verifies the data that it sends over rsockets."""
    options = ["-S", size, "-C", 200, "-T", "v"]
    words = " ".join(map(str, options))
    what = f"200 times {size} octets, verified"
    resets = bench.resets_at_close()
    server = bench.guest.start(f"rstream -p {OTHER_PORT} {words}")
    bench.guest.wait_for_listener(OTHER_PORT)
    client = Program("rstream", "-s", "127.0.0.1", "-p", bench.guest.ports[OTHER_PORT], *options)
    ours, theirs = ended(client), server.result()
    cut_off = stream_ended_well(*theirs) and any(RESET in line for line in ours[1])
    bench.report("rstream here, its server in the guest", what, stream_fault(ours, theirs),
                 known=cut_off and bench.resets_at_close() > resets)

    port = free_port()
    resets = bench.resets_at_close()
    server = Program("rstream", "-b", "127.0.0.1", "-p", port, *options)
    server.listens(port)
    # If the end of the stream is lost, rstream calls rrecv() for ever.
    theirs = bench.guest.run(f"rstream -s {HOST_SEEN_FROM_GUEST} -p {port} {words}", limit=STREAM_LIMIT)
    ours = ended(server)
    cut_off = stream_ended_well(*ours) and theirs[0] == 137
    bench.report("rstream in the guest, its server here", what, stream_fault(ours, theirs),
                 known=cut_off and bench.resets_at_close() > resets)


def stream_ended_well(status, lines):
    return status == 0 and any("custom" in line for line in lines)


def stream_fault(ours, theirs):
    """Returns how both ends of a failed run ended, or "" if the run succeeded."""
    if stream_ended_well(*ours) and stream_ended_well(*theirs):
        return ""
    return "; ".join(f"{name} ended with {status}: {[line for line in lines if line.strip()][-3:]}"
                     for name, (status, lines) in (("ours", ours), ("the guest's", theirs)))


def small(bench, server, client, end, words=""):
    """Runs two small programs, each of which prints `end` if it has succeeded."""
    def report(where, ours, theirs):
        good = all(status == 0 and any(end in line for line in lines) for status, lines in (ours, theirs))
        bench.report(where, words, "" if good else f"here {ours}, in the guest {theirs}")

    remote = bench.guest.start(f"{server} {words} -p {OTHER_PORT}")
    bench.guest.wait_for_listener(OTHER_PORT)
    ours = ended(Program(client, *words.split(), "-s", "127.0.0.1", "-p", bench.guest.ports[OTHER_PORT]))
    report(f"{client} here, {server} in the guest", ours, remote.result())

    port = free_port()
    local = Program(server, *words.split(), "-p", port)
    local.listens(port)
    theirs = bench.guest.run(f"{client} {words} -s {HOST_SEEN_FROM_GUEST} -p {port}")
    report(f"{client} in the guest, {server} here", ended(local), theirs)


def has_figures(lines, size):
    """Returns whether the run has printed its row of figures."""
    return any(re.match(rf"\s*{size}\s+\d+\s+[\d.]+", line) for line in lines)


def closed_too_soon(status, lines, client):
    """Returns whether only siw's end failed, although the client's lines have all figures. If a fast
    peer answers and closes before siw has counted its own Send as sent, siw completes this Send with an error."""
    return status == 1 and has_figures(client, 4096) and any("Bad wc status 2" in l for l in lines)


def fault(client, server):
    """Returns the error of a run. `client` and `server` are pairs: the status of a program and its output lines. Not
    every server prints figures."""
    for name, (status, lines), figures in (("client", client, True), ("server", server, False)):
        if status != 0 or (figures and not has_figures(lines, 4096)):
            return f"{name} ended with {status}: {[line for line in lines if line.strip()][-3:]}"
    return ""


def perftest(bench, program, how=()):
    words = " ".join(PERFTEST_OPTIONS)
    server = bench.guest.start(f"{program} {words} -p {OTHER_PORT}")
    bench.guest.wait_for_listener(OTHER_PORT)
    client = Program(program, *PERFTEST_OPTIONS, "-p", bench.guest.ports[OTHER_PORT], "127.0.0.1", options=how)
    ours = ended(client)
    theirs = server.result()
    bench.report(end_here(program, how), "its server in the guest",
                 fault(client=ours, server=theirs),
                 known=ours[0] == 0 and closed_too_soon(*theirs, client=ours[1]))

    port = free_port()
    server = Program(program, *PERFTEST_OPTIONS, "-p", port, options=how)
    server.listens(port)
    theirs = bench.guest.run(f"{program} {words} -p {port} {HOST_SEEN_FROM_GUEST}")
    ours = ended(server)
    bench.report(f"{program} in the guest", end_here("its server", how),
                 fault(client=theirs, server=ours), known=closed_too_soon(*theirs, client=theirs[1]))


def run():
    # The guest has two processors. With only one, a program that polls would keep the driver from sending.
    with Guest("fixed", cpus=2) as guest:
        guest.set_parameters(**RTR_BY_WRITE)
        bench = Bench(guest)
        for size in SIZES:
            rping(bench, size, ITERATIONS)
        small(bench, "rdma_server", "rdma_client", "end 0")
        small(bench, "ucmatose", "ucmatose", "return status 0", "-C 20 -S 1000")
        for program in PERFTEST:
            perftest(bench, program)
        rping(bench, ACKED_SIZE, ITERATIONS, ACKED)
        perftest(bench, "ib_write_bw", ACKED)
        for size in STREAM_SIZES:
            rstream(bench, size)
        if re.search(r"kernel BUG|Kernel panic|Oops", guest.log()):
            bench.report("guest", "alive", "its kernel has crashed")
    print(f"programs: {bench.passed} passed, {bench.known} known, {bench.failed} failed")
    return 1 if bench.failed else 0


def main():
    if len(sys.argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    need_guest()
    for program in ("rping", "rstream", "rdma_server", "rdma_client", "ucmatose", *PERFTEST):
        if shutil.which(program) is None:
            print(f"fail\t{program} is not installed (rdmacm-utils, perftest); "
                  "IWARP_NO_GUEST=1 skips these tests")
            return 1
    return run()


if __name__ == "__main__":
    sys.exit(main())
