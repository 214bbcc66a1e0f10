# SPDX-License-Identifier: Apache-2.0
"""Runs one measurement with this stack or with another stack, with both ends on loopback. Returns
{bytes_per_second, messages_per_second, latency (us), cpu (s per GB, both ends)}, without the figures that the program
does not report. When a call returns, all its processes have ended."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "test/rdma_core"), str(ROOT / "test/rdma_core/foreign")]
from support import is_listening  # noqa: E402

IWARP = os.environ.get("IWARP", str(ROOT / "build/release/apps/iwarp"))
AS_ROCE = (IWARP, "run", "--quiet", "--as", "roce")
TIMEOUT = 120  # seconds


class Missing(Exception):
    """Raised if a program is not installed or cannot run here."""


def output(*command, env=None):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              timeout=TIMEOUT, env=os.environ | (env or {}))
    except subprocess.TimeoutExpired as error:
        raise Missing(f"{command[0]} has not ended") from error
    if done.returncode != 0:
        raise Missing(f"{command[0]} failed: {(done.stderr or done.stdout).strip()[-200:]}")
    return done.stdout


def built(name):
    """Returns the path of a program that is built from this folder."""
    path = pathlib.Path(IWARP).parents[1] / "test/bench" / name
    if not os.access(path, os.X_OK):
        raise Missing(f"{path} is not built")
    return path


def raw_tls(size, seconds):
    """Measures OpenSSL over its own TCP socket, without this stack."""
    return json.loads(output(built("bench_tls_stream"), size, seconds))


def own_address():
    """Returns the address of the interface with the default route, because that address is in the GID table. Sends
    no packet."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return probe.getsockname()[0]


def raw_udp(test, size, seconds):
    """Measures the kernel's UDP without this stack. `test` is "pingpong" or "rate"."""
    return json.loads(output(built("bench_udp"), test, own_address(), size, seconds))


def need(program):
    if shutil.which(program) is None:
        raise Missing(f"{program} is not installed")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def server(port, *command, env=None):
    """Runs a server during the with block. The block begins when the server listens on `port`."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env=os.environ | (env or {}))
    try:
        end = time.monotonic() + 10
        # Does not connect, because some servers would treat the connection as their client.
        while not is_listening(process.pid, port):
            if process.poll() is not None or time.monotonic() > end:
                raise Missing(f"{command[0]} does not listen")
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.wait()


def iwarp_over_tls(test, *options, seconds):
    with tempfile.NamedTemporaryFile("w") as keys:
        print("lab:" + "5a" * 32, file=keys, flush=True)
        return iwarp(test, *options, "--tls-psk", keys.name, seconds=seconds)


def iwarp(test, *options, seconds, server="--self", prefix=()):
    """Runs a test of `iwarp perf`. `server` is the server's address. `prefix` is a command with which the client is
    started."""
    if not os.access(IWARP, os.X_OK):
        raise SystemExit(f"{IWARP} is missing: build it, or set IWARP to its path")
    report = json.loads(output(*prefix, IWARP, "perf", server, test, *options, "--json",
                               "--duration", seconds, "--warm-up", min(0.2, seconds)))
    return report | {"latency": report["latency_us"]["p50"], "cpu": sum(report["cpu_seconds_per_gb"].values())}


def at_a_time(count, test, seconds):
    """Runs a test `count` times at the same time, each between two processes of its own. Returns the sum."""
    with concurrent.futures.ThreadPoolExecutor(count) as all_of_them:
        runs = all_of_them.map(lambda _: iwarp(test, seconds=seconds)["bytes_per_second"], range(count))
        return {"bytes_per_second": sum(runs)}


def beside_streams(test, stream, seconds):
    """Runs a ping-pong while 63 connections between two other processes stream. Returns the latency that 99 % of the
    messages do not exceed."""
    words = (IWARP, "perf", "--self", stream, "--qps", "63", "--duration", "60", "--interval", "0.1")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as streams:
        try:
            if not any("messages/s" in line for line in streams.stdout):  # the first interval has ended
                raise Missing(f"{stream} with 63 connections failed")
            return {"latency": iwarp(test, seconds=seconds)["latency_us"]["p99"]}
        finally:
            streams.terminate()


def iperf3(seconds):
    need("iperf3")
    port = free_port()
    with server(port, "iperf3", "-s", "-1", "-p", port):
        report = json.loads(output("iperf3", "-c", "127.0.0.1", "-p", port, "-t",
                                   max(1, round(seconds)), "-l", "64K", "-J"))
    return {"bytes_per_second": report["end"]["sum_received"]["bits_per_second"] / 8}


def in_time(measure, size, seconds):
    """Repeats `measure(iterations)` until a run takes about `seconds`. Returns its result, which includes the
    duration."""
    iterations = max(20, min(1000, (4 << 20) // size))
    for _ in range(6):
        out = measure(iterations)
        if out["seconds"] > seconds / 2:
            break
        iterations = int(iterations * min(20, 1.2 * seconds / max(out["seconds"], 1e-4)))
    return out


UCX_TCP = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "lo", "UCX_WARN_UNUSED_ENV_VARS": "n"}


def ucx_perftest(words, test, size, seconds, env=None):
    """Runs a test of ucx_perftest. `words` is the command, with the options that all tests have in common."""
    need("ucx_perftest")

    def measure(iterations):
        port = free_port()
        with server(port, *words, "-p", port, env=env):
            text = output(*words, "127.0.0.1", "-p", port, "-t", test, "-s", size, "-n", iterations,
                          "-w", iterations // 10, env=env)
        final = re.search(r"^Final:(.*)$", text, re.MULTILINE)
        if not final:
            raise Missing("ucx_perftest prints no result")
        columns = final[1].split()  # iterations, 50 %, average, overall; MB/s twice; msg/s twice
        rate = float(columns[7])
        return {"bytes_per_second": rate * size, "messages_per_second": rate,
                "latency": float(columns[1]), "seconds": iterations / rate}

    return in_time(measure, size, seconds)


def ucx(test, size, seconds):
    """Runs a test of UCP over UCX's tcp transport."""
    return ucx_perftest(("ucx_perftest",), test, size, seconds, UCX_TCP)


def ucx_over_verbs(test, size, seconds):
    """Runs a test of UCP over the transports that UCX selects for this stack's device."""
    return ucx_perftest((*AS_ROCE, "ucx_perftest"), test, size, seconds,
                        {"UCX_TLS": "^sm", "UCX_NET_DEVICES": "iwarp0:1",
                         "UCX_WARN_UNUSED_ENV_VARS": "n"})


def uct_over_tcp(test, layout, size, seconds):
    """Runs a test of uct, UCX's transport layer, over UCX's tcp transport."""
    return ucx_perftest(("ucx_perftest", "-d", "lo", "-x", "tcp", "-D", layout), test, size, seconds)


def uct_over_verbs(test, layout, size, seconds):
    """Runs the same test of uct over rc_verbs and this stack, which UCX sees as a RoCE adapter."""
    return ucx_perftest((*AS_ROCE, "ucx_perftest", "-d", "iwarp0:1", "-x", "rc_verbs", "-D", layout),
                        test, size, seconds)


def libfabric(size, seconds):
    """Runs fi_pingpong over libfabric's tcp provider."""
    need("fi_pingpong")

    def measure(iterations):
        port = free_port()
        words = ("fi_pingpong", "-p", "tcp", "-e", "msg", "-S", size, "-I", iterations)
        with server(port, *words, "-B", port):
            text = output(*words, "-P", port, "127.0.0.1")
        last = text.strip().splitlines()[-1].split()
        if len(last) < 7:
            raise Missing("fi_pingpong prints no result")
        latency = float(last[6])
        return {"latency": latency, "seconds": latency * 2 * iterations / 1e6}

    return in_time(measure, size, seconds)


def perftest_over_ud(program, size, *options):
    """Runs one of perftest's programs over UD queue pairs. Returns the columns of its result line."""
    need(program)
    port = free_port()
    words = (*AS_ROCE, program, "-c", "UD", "-s", size, "-x", 1, "-p", port, *options)
    with server(port, *words):
        text = output(*words, "127.0.0.1")
    line = re.search(rf"^ *{size} +\d+ .*$", text, re.MULTILINE)
    if not line:
        raise Missing(f"{program} prints no result")
    return line[0].split()


def ud_latency(size, seconds):
    """Returns the latency in the result line of perftest. Columns: size, iterations, minimum, maximum, typical,
    average, deviation, 99 %, 99.9 %."""
    words = perftest_over_ud("ib_send_lat", size, "-n", max(1000, int(seconds * 100000)))
    return {"latency": float(words[4])}


def ud_rate(size, seconds):
    """Returns the rates in the result line of perftest. Columns: size, iterations, peak and average of MB/s,
    millions of messages per second. The run is limited by time, because it might never reach a given count when
    datagrams are lost."""
    words = perftest_over_ud("ib_send_bw", size, "-l", 32, "-D", max(2, round(seconds)))
    return {"messages_per_second": float(words[4]) * 1e6}


def ib_write_bw(seconds, qps=1):
    """Runs perftest's program on this stack."""
    need("ib_write_bw")
    port = free_port()
    words = (IWARP, "run", "--quiet", "ib_write_bw", "-R", "-s", 65536, "-t", 16, "-q", qps,
             "-D", max(2, round(seconds)), "-p", port)
    with server(port, *words):
        text = output(*words, "127.0.0.1")
    line = re.search(r"^ *65536 +\d+ +[\d.]+\s+([\d.]+)\s", text, re.MULTILINE)
    if not line:
        raise Missing("ib_write_bw prints no result")
    return {"bytes_per_second": float(line[1]) * (1 << 20)}
