# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces that are joined by a virtual Ethernet with an MTU of 1500 bytes. An `iwarp perf` server
runs in one namespace and the clients run in the other, so that FPDUs fit into Ethernet's TCP segments. Needs
root. Only this process uses the names of the namespaces. They are removed when it ends."""
import atexit
import functools
import os
import shutil
import subprocess

import peers
from peers import IWARP, Missing

ADDRESSES = ("10.99.8.1", "10.99.8.2")
PORT = 7471


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=60)


@functools.cache
def link():
    """Returns the name of the clients' namespace. The first call creates both namespaces."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        raise Missing("network namespaces need root and iproute2")
    names = [f"iwarp-bench-{os.getpid()}-{n}" for n in range(2)]
    for name in names:
        ip("netns", "add", name)
        atexit.register(ip, "netns", "delete", name)
    ip("link", "add", "veth0", "netns", names[0], "type", "veth", "peer", "name", "veth0", "netns",
       names[1])
    for name, address in zip(names, ADDRESSES):
        ip("-n", name, "address", "add", f"{address}/24", "dev", "veth0")
        ip("-n", name, "link", "set", "veth0", "up")
    server = subprocess.Popen(
        ["ip", "netns", "exec", names[1], IWARP, "perf", "--server", "--listen",
         f"{ADDRESSES[1]}:{PORT}"], stdout=subprocess.PIPE, text=True)
    atexit.register(server.wait)
    atexit.register(server.terminate)
    server.stdout.readline()  # The server prints this line when it listens.
    return names[0]


def iwarp(test, *options, seconds):
    return peers.iwarp(test, *options, seconds=seconds, server=f"{ADDRESSES[1]}:{PORT}",
                       prefix=("ip", "netns", "exec", link()))
