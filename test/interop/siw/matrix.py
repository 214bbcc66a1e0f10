#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests every combination of a way to connect to kernel siw, a kind of message and a size, in both directions. Then
tests rping, errors, a bad network and many connections. Prints one line per cell: pass, fail or
known (a defect of siw that is listed below), TAB, where, TAB, what, TAB, why.
Usage: matrix.py stock|fixed [REPORT]     environment: IWARP VERBS_PARTNER SIW_CACHE;
IWARP_LONG=1 for the long form; IWARP_NO_GUEST=1 to skip. Without IWARP_LONG=1, each way to connect tests only a
third of its cells, and the next way tests another third."""
import collections
import dataclasses
import itertools
import os
import re
import sys
import time

from guest import (GUEST_ADDRESS, HOST_SEEN_FROM_GUEST, Guest, Listener, environment_path, need_guest, run_here)

LONG = os.environ.get("IWARP_LONG") == "1"
PARTS = 1 if LONG else 3
KINDS = ("send", "send-se", "send-inv", "send-se-inv", "write", "read", "mixed")
SIZES = (0, 1, 4096, 1 << 20)
RTR_TYPE = {"write": 128, "read": 64}  # siw stores the type in network byte order

# Defects of the driver in Linux 6.1; see rfc-notes/siw.md. A cell that matches one of these patterns may fail.
KNOWN = {
    "stock": [
        (r"ours:(read|mixed):0$",
         "answers a Read of 0 octets with stale octets if the answer was queued"),
        (r"crc-on .*(ours:(send[a-z-]*|write|mixed)|theirs:(read|mixed)):1048576$",
         "reports a wrong CRC if the trailer arrives in two pieces"),
    ],
    "fixed": [],
}


@dataclasses.dataclass(frozen=True)
class Setup:
    """The way in which one connection is set up."""
    we_connect: bool
    revision: int
    crc: bool
    rtr: str  # "none" means client-server mode, which has no RTR

    def __str__(self):
        who = "we-connect" if self.we_connect else "guest-connects"
        mode = "client-server" if self.rtr == "none" else f"p2p-{self.rtr}"
        return f"{who} rev{self.revision} crc-{'on' if self.crc else 'off'} {mode}"

    def our_options(self):
        options = ["--crc", "on" if self.crc else "off"]
        if self.we_connect:
            options += ["--mpa-rev", self.revision, "--rtr", self.rtr]
        return options

    def guest_parameters(self):
        return {"mpa_version": self.revision, "mpa_crc_required": int(self.crc),
                "peer_to_peer": int(self.rtr != "none"), "rtr_type": RTR_TYPE.get(self.rtr, 192)}


DEFAULT = Setup(we_connect=False, revision=2, crc=False, rtr="none")  # siw's default


def setups(variant):
    for we_connect, revision, crc, rtr in itertools.product(
            (True, False), (1, 2), (False, True), ("none", "write", "read", "send")):
        if revision == 1 and rtr != "none":
            continue  # MPA revision 1 (RFC 5044) has no RTR.
        if not we_connect and rtr == "send":
            continue  # siw never offers a Send as RTR.
        if not we_connect and variant == "stock" and (revision, rtr) != (2, "none"):
            continue  # Stock siw has no parameters, so only its default can be tested.
        yield Setup(we_connect, revision, crc, rtr)


class Report:
    def __init__(self, variant, path):
        self.variant = variant
        self.counts = collections.Counter()
        self._file = open(path, "w") if path else None

    def add(self, where, what, problem):
        """Prints the line of one cell. `problem` is empty if the cell passed."""
        known = next((why for pattern, why in KNOWN[self.variant] if re.search(pattern, f"{where} {what}")), None)
        result = ("known" if known else "fail") if problem else "pass"
        note = problem
        if known:
            note = f"{problem or 'passes this time'} [siw {known}]"
        line = "\t".join((result, f"{self.variant} {where}", what, note))
        self.counts[result] += 1
        if self._file:
            print(line, file=self._file, flush=True)
        if result != "pass" or LONG:
            print(line, flush=True)

    def is_known(self, where, what):
        return any(re.search(pattern, f"{where} {what}") for pattern, _ in KNOWN[self.variant])


class Bench:
    """What every test needs: the programs on the host, the guest and the report."""

    def __init__(self, guest, report):
        self.guest, self.report = guest, report
        self.iwarp, self.program = environment_path("IWARP"), environment_path("VERBS_PARTNER")
        # A responder with the stock driver sometimes does not process the first FPDU of a client.
        self.first_fpdu_options = ["--first-fpdu-delay", 100] if guest.variant == "stock" else []
        # rdma_cm chooses ports at random. Connecting from a port in TIME_WAIT would fail.
        guest.run("echo 0 >/proc/sys/net/ipv4/tcp_max_tw_buckets")
        self.partner = guest.start(f"verbs_partner listen {GUEST_ADDRESS} 7600", 3000)
        if not self.partner.output.wait_for("listening"):
            raise RuntimeError(f"verbs_partner does not listen: {self.partner.output.lines}")

    def set_parameters(self, setup):
        if self.guest.variant != "stock":  # The stock driver has no parameters.
            self.guest.set_parameters(**setup.guest_parameters())

    def we_connect(self, *arguments, options=()):
        return run_here(self.iwarp, "run", *self.first_fpdu_options, *options, self.program, "connect", "127.0.0.1",
                        self.guest.ports[7600], *arguments)

    def listener(self, *options):
        return Listener(self.iwarp, "run", *options, self.program, "listen", "127.0.0.1", 0)

    def partner_connects(self, port, *arguments):
        words = " ".join(map(str, arguments))
        status, lines = self.guest.run(
            f"verbs_partner connect {HOST_SEEN_FROM_GUEST} {port} {words}")
        return status, lines, lines[-1] if lines and status else ""


def timed(title, test, *arguments):
    started = time.monotonic()
    test(*arguments)
    print(f"-- {title}: {time.monotonic() - started:.1f} s", flush=True)


# The matrix -----------------------------------------------------------------------------------

def cell_text(setup, mover, kind, size):
    """Returns the cell in the form of the command line. "out" means that the connecting end sends the data."""
    return f"{'out' if (mover == 'ours') == setup.we_connect else 'in'}:{kind}:{size}"


def run_connection(bench, setup, cells, listeners, where):
    """Runs one connection with cells (mover, kind, size), and reports one line for each cell."""
    texts = {cell_text(setup, *cell): cell for cell in cells}
    argument = ",".join(texts)
    if setup.we_connect:
        status, lines, error = bench.we_connect(argument, options=setup.our_options())
    else:
        status, lines, error = bench.partner_connects(listeners[setup.crc].port, argument)
    for line in lines:
        match = re.match(r"cell (\S+) (.*)$", line)
        if match:
            problem = "" if match[2] == "ok" else match[2]
            bench.report.add(where, ":".join(map(str, texts.pop(match[1]))), problem)
    for cell in texts.values():
        bench.report.add(where, ":".join(map(str, cell)), f"not reached: {error or status}")


def matrix(bench, which, cells, prefix=""):
    with bench.listener("--crc", "on") as with_crc, bench.listener("--crc", "off") as without:
        listeners = {True: with_crc, False: without}
        for number, setup in enumerate(which):
            bench.set_parameters(setup)
            # A cell that may end the connection gets its own connection.
            groups = collections.defaultdict(list)
            for cell in cells[number % PARTS::PARTS]:
                what = ":".join(map(str, cell))
                known = bench.report.is_known(str(setup), what)
                groups[what if known else ""].append(cell)
            for group in groups.values():
                run_connection(bench, setup, group, listeners, f"{prefix}{setup}")
    bench.set_parameters(DEFAULT)


# rping ----------------------------------------------------------------------------------------

def rping(bench):
    count = 2000 if LONG else 100
    shown = re.compile("ping data: rdma-ping-")
    for size in (64, 65535):
        server = bench.guest.start(f"rping -s -C {count} -v -S {size}")
        bench.guest.wait_for_listener(7174)
        status, _, error = run_here(
            bench.iwarp, "ping", f"127.0.0.1:{bench.guest.ports[7174]}", *bench.first_fpdu_options, "--count",
            count, "--size", size, "--verify", "-q")
        _, lines = server.result()
        seen = sum(1 for line in lines if shown.search(line))
        problem = error if status else "" if seen == count else f"rping -s saw {seen} of {count}"
        bench.report.add("rping -s", f"{count} pings of {size}", problem)

        with Listener(bench.iwarp, "ping", "--server", "-v", "--listen", "127.0.0.1:0") as ours:
            # The exit status of rping is useless, because it is 0 even if the stream was terminated.
            _, lines = bench.guest.run(f"rping -c -a {HOST_SEEN_FROM_GUEST} -p {ours.port} "
                                       f"-C {count} -S {size} -v -V")
            seen = sum(1 for line in lines if shown.search(line))
            ours.stop()
            here = sum(1 for line in ours.output.lines if shown.search(line))
        problem = "" if seen == here == count else f"rping -c saw {seen}, we {here} of {count}"
        bench.report.add("rping -c", f"{count} pings of {size}", problem)


# Errors ---------------------------------------------------------------------------------------

def terminates(bench):
    """Checks what each end reports when the other end names memory that does not exist."""
    wanted = {"write-unknown": "1/1/00", "write-dead": "1/1/00", "read-unknown": "0/1/00"}
    for ending, code in wanted.items():
        _, _, said = bench.we_connect("out:write:1", 1, ending)
        good = re.search(rf"the peer refused .*\[Terminate {code},", said)
        bench.report.add("siw terminates", ending, "" if good else said)
    swap = bench.guest.variant == "stock"  # Stock siw swaps layer and type when it decodes a Terminate.
    for ending, code in wanted.items():
        bench.guest.run("dmesg -c >/dev/null")
        with bench.listener() as ours:
            bench.partner_connects(ours.port, "out:write:1", 1, ending)
            good = ours.output.wait_for(rf"this end refused .*\[Terminate {code},")
            said = " ".join(ours.output.lines)
        layer, kind, number = code.split("/")
        if swap:
            layer, kind = kind, layer
        _, log = bench.guest.run("dmesg")
        good = good and any(f"got TERMINATE. layer {layer}, type {kind}, code {int(number)}" in line for line in log)
        bench.report.add("we terminate", ending, "" if good else f"{said}; {log[-3:]}")


# Load and loss --------------------------------------------------------------------------------

def many_connections(bench):
    count = 200
    cells = "out:write:64,in:send:64"
    status, lines, error = bench.we_connect(cells, count)
    bench.report.add("we connect", f"{count} times", f"{error} {lines[-1:]}" if status else "")
    with bench.listener() as ours:
        status, lines, error = bench.partner_connects(ours.port, cells, count)
        bench.report.add("guest connects", f"{count} times", f"{error}" if status else "")


def bad_network(bench):
    """Delays the guest's outgoing packets by 20 ms, and drops 1 in 50 of them."""
    sizes = (0, 1, 4096, 1 << 20) if LONG else (1, 65536)
    kinds = KINDS if LONG else ("send-inv", "write", "read", "mixed")
    cells = list(itertools.product(("ours", "theirs"), kinds, sizes))
    status, lines = bench.guest.run("modprobe sch_netem && "
                                    "/usr/bin/tc qdisc add dev eth0 root netem delay 20ms loss 2%")
    bench.report.add("netem", "installed", f"{lines}" if status else "")
    matrix(bench, [Setup(True, 2, True, "none"), Setup(False, 2, True, "none")], cells,
           "netem ")
    bench.guest.run("/usr/bin/tc qdisc del dev eth0 root")


def run(variant, report):
    cells = list(itertools.product(("ours", "theirs"), KINDS, SIZES))
    with Guest(variant, files=[environment_path("VERBS_PARTNER")]) as guest:
        bench = Bench(guest, report)
        for test in (terminates, rping):
            timed(test.__name__, test, bench)
        timed("matrix", matrix, bench, setups(variant), cells)
        timed("many_connections", many_connections, bench)
        if variant == "fixed":
            timed("bad_network", bad_network, bench)
        if re.search(r"kernel BUG|Kernel panic|Oops", guest.log()):
            report.add("guest", "alive", "its kernel has crashed")


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in KNOWN:
        print(__doc__, file=sys.stderr)
        return 2
    need_guest(sys.argv[1])
    if not os.environ.get("VERBS_PARTNER"):
        print("fail\tverbs_partner was not built: libibverbs-dev and librdmacm-dev are missing; "
              "IWARP_NO_GUEST=1 skips these tests")
        return 1
    report = Report(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None)
    run(sys.argv[1], report)
    counts = report.counts
    print(f"{sys.argv[1]}: {counts['pass']} passed, {counts['known']} known, "
          f"{counts['fail']} failed")
    return 1 if counts["fail"] else 0


if __name__ == "__main__":
    sys.exit(main())
