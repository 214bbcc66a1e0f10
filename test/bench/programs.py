# SPDX-License-Identifier: Apache-2.0
"""Runs one measurement with a program that supports both RDMA and plain TCP, over this stack or over TCP. Both ends
are on the same machine. peers.py describes the format of the results."""
import contextlib
import os
import pathlib
import re
import socket
import tempfile

from peers import AS_ROCE, TIMEOUT, Missing, free_port, need, output, server
import mpi  # in test/rdma_core/foreign; peers.py has added this folder

MPI_STREAM = pathlib.Path(__file__).with_name("mpi_stream.py")
OVER_VERBS = {"pml": "cm", "mtl": "ofi", "mtl_ofi_provider_include": "verbs;ofi_rxm"}
OVER_TCP = {"pml": "ob1", "btl": "tcp,self"}
TARGET = "iqn.2026-01.test.iwarp:disk"
QEMU = "iqn.2008-11.org.linux-kvm"
DISK = 64 << 20


def open_mpi(size, seconds, verbs):
    """Sends messages of `size` from one rank to another. With `verbs`, uses libfabric over this stack, otherwise
    TCP."""
    need("mpirun")
    python = mpi.python_with_mpi4py()
    if python is None:
        raise Missing("mpi4py is not installed")
    words = ["mpirun", "-np", 2, "--oversubscribe"]
    for name, value in (OVER_VERBS if verbs else OVER_TCP).items():
        words += ["--mca", name, value]
    text = output(*words, *(AS_ROCE if verbs else ()), python, MPI_STREAM, size, seconds, env=mpi.ROOT)
    return {"bytes_per_second": float(text.split()[-1])}


def small_port():
    """Returns a free port below 32768, because tgtd stores its iSER port in a signed 16-bit integer."""
    for port in range(20000 + os.getpid() % 8000, 32768):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise Missing("no port is free")


@contextlib.contextmanager
def iscsi_target(disk, verbs):
    """Runs tgtd with the file `disk` as its LUN. Yields the URL of the LUN."""
    for program in ("tgtd", "tgtadm"):
        need(program)
    if os.getuid() != 0:
        raise Missing("tgtd needs root")
    driver = "iser" if verbs else "iscsi"
    control, port = os.getpid() % 32768, small_port()
    portal = f"portal=127.0.0.1:{free_port() if verbs else port}"
    iser = ("--iser", f"port={port},pool_sz_mb=16") if verbs else ()

    def administer(mode, *words):
        output("tgtadm", "--control-port", control, "--lld", driver, "--mode", mode, "--tid", 1, *words)

    with server(port, *(AS_ROCE if verbs else ()), "tgtd", "-f", "--control-port", control, "--iscsi",
                portal, *iser):
        administer("target", "--op", "new", "--targetname", TARGET)
        administer("logicalunit", "--op", "new", "--lun", 1, "--backing-store", disk)
        administer("target", "--op", "bind", "--initiator-address", "ALL")
        administer("target", "--op", "bind", "--initiator-name", QEMU)
        try:
            yield f"{driver}://127.0.0.1:{port}/{TARGET}/1"
        finally:
            for left in pathlib.Path("/var/run/tgtd").glob(f"socket.{control}*"):
                left.unlink()


def qemu_on_iscsi(size, seconds, verbs, write=False):
    """Reads through QEMU's block layer with 16 requests of `size` in flight. With `verbs`, uses iSER over this
    stack, otherwise iSCSI over TCP."""
    need("qemu-img")
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as disk:
        disk.truncate(DISK)
        with iscsi_target(disk.name, verbs) as url:
            count = 400
            while True:
                text = output(*(AS_ROCE if verbs else ()), "timeout", TIMEOUT, "qemu-img", "bench", "-f",
                              "raw", "-d", 16, "-s", size, "-c", count, *(("-w",) if write else ()), url)
                took = float(re.search(r"completed in ([\d.]+) seconds", text)[1])
                if took > seconds / 2:
                    return {"bytes_per_second": count * size / took}
                count = int(count * min(20, 1.2 * seconds / max(took, 1e-3)))
