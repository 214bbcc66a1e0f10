# SPDX-License-Identifier: Apache-2.0
"""The rows of the comparison: which program runs on either side of a pair, in which condition, and
the ratio that is the goal."""
import dataclasses
from collections.abc import Callable

import ethernet
import peers
import programs
from peers import iwarp

BW, RATE, LAT, CPU = "bytes_per_second", "messages_per_second", "latency", "cpu"
# The condition of a row: what the processors do beside its processes.
AWAKE, HALTING, BUSY = "awake", "halting", "busy"
CONDITIONS = {AWAKE: "", HALTING: ", processors may halt", BUSY: ", beside a busy process"}
# Why a row misses its target. rfc-notes/performance.md has the measurements.
COST = "CRC and two copies take 4.7 us for 64 KiB, beside the 12.6 us of all else; plain TCP takes 15.7 us"
READ = "the responder copies the source, and a request has to arrive before each answer is sent"
CACHE = "16 buffers of 1 MiB do not fit the L2 cache; two passes, CRC and copy, are additional accesses to them"
ONE_PROCESSOR = "both ends share one processor, so CRC and copy (4.7 us for 64 KiB) reduce the throughput"
CALLS = "a message needs one more system call: poll() and then recv(), instead of a blocking recv()"
STEPS = "1,250 cycles of this stack in each direction, beside 9,600 cycles of TCP"
ACKNOWLEDGED = "0.35 empty Reads for each Write take 0.9 of the initiator's 14.4 us"
PUT = "a put completes when the peer has placed it; over tcp, when the local kernel has its octets"
TAGGED = "the rendezvous of a message needs an answer more than over tcp"
DATAGRAM = "sender, TTL and TOS are read for each datagram, and 4,000 instructions are in user space"
MPI = "libfabric reads each large message after an announcement, and the responder copies the source"
ETHERNET = "each segment carries an FPDU with its own header and CRC, and the payload is copied twice more"
QUEUE_PAIRS = "CRC and copies, and full socket buffers whose octets have left the cache"


@dataclasses.dataclass(frozen=True)
class Row:
    what: str
    ours: Callable  # takes the duration in seconds, returns {measure: figure}
    theirs: Callable
    measure: str
    target: float | None = None  # minimum of the ratio for BW and RATE, maximum for LAT and CPU
    condition: str = AWAKE
    why: str = ""  # the reason why the row misses its target


def perf(test, *options):
    return lambda seconds: iwarp(test, *options, seconds=seconds)


def streams():
    """Yields the rows that compare an iWARP stream with plain TCP."""
    tcp = perf("tcp-stream")
    for condition, addition in CONDITIONS.items():
        for what, options, why in (("RDMA Write 64 KiB", ("write-bw",), COST),
                                   ("RDMA Read 64 KiB", ("read-bw",), READ),
                                   ("RDMA Write 1 MiB", ("write-bw", "--size", "1M"), CACHE)):
            size = options[1:]
            yield Row(f"{what}{addition} : tcp-stream", perf(*options), perf("tcp-stream", *size), BW,
                      0.95, condition, ONE_PROCESSOR if condition == BUSY else why)
    for condition in (AWAKE, BUSY):
        for what, test in (("RDMA Write", "write-bw"), ("RDMA Read", "read-bw")):
            yield Row(f"{what} 64 KiB, both spinning{CONDITIONS[condition]} : tcp-stream",
                      perf(test, "--poll"), perf("tcp-stream", "--poll"), BW, 0.95, condition, COST)
    for what, options, target in (
            ("RDMA Write 64 KiB, CRC off", ("write-bw", "--crc", "off"), 0.98),
            ("RDMA Write 64 KiB, direct placement", ("write-bw", "--placement", "direct"), 0.98),
            ("RDMA Write 64 KiB, markers", ("write-bw", "--markers"), 0.85),
            ("Send 64 KiB", ("send-bw",), 0.95)):
        yield Row(f"{what} : tcp-stream", perf(*options), tcp, BW, target)
    for name, options in (("", ()), (", CRC off", ("--crc", "off"))):
        yield Row(f"RDMA Write 64 KiB over TLS{name} : OpenSSL alone",
                  lambda s, o=options: peers.iwarp_over_tls("write-bw", *o, seconds=s),
                  lambda s: peers.raw_tls(65536, s), BW, 0.85)
    for congestion in ("reno", "cubic", "bbr"):
        for what, size, target, options in (("Write 64 KiB", "64K", 1.0, ("write-bw",)),
                                            ("Write 64 KiB, CRC off", "64K", None, ("write-bw", "--crc", "off")),
                                            ("Read 64 KiB", "64K", 1.0, ("read-bw",)),
                                            ("Write 1 MiB", "1M", 0.95, ("write-bw",))):
            common = ("--size", size, "--congestion", congestion)
            yield Row(f"RDMA {what}, MTU 1500, {congestion} : tcp-stream",
                      lambda s, words=(*options, *common): ethernet.iwarp(*words, seconds=s),
                      lambda s, words=common: ethernet.iwarp("tcp-stream", *words, seconds=s), BW, target,
                      why=ETHERNET)
    yield Row("RDMA Write 64 KiB : iperf3", perf("write-bw"), peers.iperf3, BW)


def connections():
    """Yields the rows that compare many connections with as many sockets, or with one connection."""
    for count, target in ((16, 0.95), (64, 0.95), (256, 0.90)):
        for depth in (1, 2, 8):
            options = ("--qps", str(count), "--depth", str(depth))
            yield Row(f"RDMA Write 64 KiB, {count} connections, {depth} in flight on each : {count} tcp-streams",
                      perf("write-bw", *options), perf("tcp-stream", *options), BW, target, why=QUEUE_PAIRS)
    options = ("--qps", "1000", "--active", "64", "--depth", "2")
    yield Row("RDMA Write 64 KiB, 64 of 1,000 connections active, 2 in flight on each : the same over TCP",
              perf("write-bw", *options), perf("tcp-stream", *options), BW, 0.90, why=QUEUE_PAIRS)
    yield Row("processor time per GB of RDMA Writes of 64 KiB, 4,096 connections : 1",
              perf("write-bw", "--qps", "4096", "--depth", "1"), perf("write-bw"), CPU, 1.3, why=QUEUE_PAIRS)


def round_trips():
    for how, options, target, why in (
            ("spinning", "--poll", 1.08, STEPS), ("sleeping", "--event", 1.25, CALLS),
            ("asleep in epoll on the channel's descriptor", "--epoll", 1.30, CALLS)):
        yield Row(f"Send 64 B there and back, {how} : tcp-pingpong", perf("send-lat", options),
                  perf("tcp-pingpong", options), LAT, target, why=why)
    yield Row("p99 of Send 64 B there and back, beside 63 connections that stream : the same over TCP",
              lambda s: peers.beside_streams("send-lat", "write-bw", s),
              lambda s: peers.beside_streams("tcp-pingpong", "tcp-stream", s), LAT, 1.2, why=QUEUE_PAIRS)


def against_itself():
    # Uses the same number of buffers on both sides. With more buffers, the row would measure the cache.
    yield Row("64 queue pairs : 1, 128 messages under way",
              perf("write-bw", "--qps", "64", "--depth", "2"), perf("write-bw", "--depth", "128"), BW,
              0.95, why=QUEUE_PAIRS)
    yield Row("ib_write_bw, 256 queue pairs : 1", lambda s: peers.ib_write_bw(s, qps=256),
              peers.ib_write_bw, BW, 0.85, why=QUEUE_PAIRS)
    # Compares two with two, and not two with one: the throughput of one connection depends on whether the scheduler
    # has put both of its ends on the same processor.
    yield Row("RDMA Write 64 KiB, 2 connections with their own workers : 2 tcp-streams",
              lambda s: peers.at_a_time(2, "write-bw", s), lambda s: peers.at_a_time(2, "tcp-stream", s), BW,
              0.95, why=COST)
    for name, wait in (("", ()), (", both spinning", ("--poll",))):
        yield Row(f"RDMA Write 64 KiB{name}, acknowledged : not",
                  perf("write-bw", *wait, "--completions", "acked"), perf("write-bw", *wait), BW, 0.95,
                  why=ACKNOWLEDGED)
    yield Row("ib_write_bw -R under iwarp run : iwarp perf write-bw", peers.ib_write_bw,
              perf("write-bw"), BW, 0.90)


def other_stacks():
    yield Row("RDMA Write 64 KiB : UCX tcp put", perf("write-bw", "--poll"),
              lambda s: peers.ucx("ucp_put_bw", 65536, s), BW, 1.0)
    for size in (64, 256, 1024):
        yield Row(f"RDMA Write {size} B, posted one at a time : UCX tcp put",
                  perf("write-bw", "--poll", "--size", str(size)),
                  lambda s, n=size: peers.ucx("ucp_put_bw", n, s), BW, 1.2)
    yield Row("RDMA Write 64 B rate, lists : UCX tcp put", perf("write-rate", "--poll"),
              lambda s: peers.ucx("ucp_put_bw", 64, s), RATE, 1.5)
    yield Row("Send 64 B there and back : UCX tcp tag", perf("send-lat", "--poll"),
              lambda s: peers.ucx("tag_lat", 64, s), LAT, 1.0)
    for name, size, why in (("64 B", 64, STEPS), ("64 KiB", 65536, COST)):
        yield Row(f"Send {name} there and back : libfabric tcp",
                  perf("send-lat", "--poll", "--size", str(size)),
                  lambda s, n=size: peers.libfabric(n, s), LAT, 1.0, why=why)


def programs_here():
    """Yields the rows of programs under `iwarp run`, compared with the same programs over TCP."""
    for what, test, layout, size, measure, target, why in (
            ("put of 64 KiB", "put_bw", "zcopy", 65536, BW, 1.2, PUT),
            ("active message of 8 KiB", "am_bw", "zcopy", 8000, BW, None, ""),
            ("active message of 8 B there and back", "am_lat", "short", 8, LAT, 1.2, STEPS)):
        yield Row(f"UCX uct over rc_verbs under iwarp run, {what} : over tcp",
                  lambda s, of=(test, layout, size): peers.uct_over_verbs(*of, s),
                  lambda s, of=(test, layout, size): peers.uct_over_tcp(*of, s), measure, target,
                  why=why)
    for what, test, size, measure, target, why in (
            ("8 B there and back", "tag_lat", 8, LAT, 1.2, STEPS),
            ("messages of 64 KiB", "tag_bw", 65536, BW, 1.2, TAGGED),
            ("messages of 1 MiB", "tag_bw", 1 << 20, BW, 1.2, TAGGED)):
        yield Row(f"UCX ucp under iwarp run, tagged {what} : over tcp",
                  lambda s, of=(test, size): peers.ucx_over_verbs(*of, s),
                  lambda s, of=(test, size): peers.ucx(*of, s), measure, target, why=why)
    yield Row("ib_send_lat -c UD, 64 B : UDP there and back", lambda s: peers.ud_latency(64, s),
              lambda s: peers.raw_udp("pingpong", 64, s), LAT, 1.15, why=DATAGRAM)
    yield Row("ib_send_bw -c UD, 64 B in lists of 32 : sendmmsg", lambda s: peers.ud_rate(64, s),
              lambda s: peers.raw_udp("rate", 64, s), RATE, 0.9)
    for name, size in (("64 KiB", 65536), ("1 MiB", 1 << 20)):
        yield Row(f"Open MPI under iwarp run, messages of {name} : over tcp",
                  lambda s, n=size: programs.open_mpi(n, s, True),
                  lambda s, n=size: programs.open_mpi(n, s, False), BW, 1.1, why=MPI)
    for name, write in (("reads", False), ("writes", True)):
        yield Row(f"QEMU on iSER, {name} of 256 KiB : on iSCSI",
                  lambda s, w=write: programs.qemu_on_iscsi(1 << 18, s, True, w),
                  lambda s, w=write: programs.qemu_on_iscsi(1 << 18, s, False, w), BW, 1.0)


def rows():
    for part in (streams, connections, round_trips, against_itself, other_stacks, programs_here):
        yield from part()
