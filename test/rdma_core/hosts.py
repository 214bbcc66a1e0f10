# SPDX-License-Identifier: Apache-2.0
"""Two hosts on one machine: network namespaces joined by a virtual cable. Needs root; without it, or
where namespaces cannot be made, the tests that ask are skipped and say so."""
import contextlib
import json
import os
import subprocess

from support import skip_all


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=60)


@contextlib.contextmanager
def namespaces(count):
    """Network namespaces with names of this process alone, each with its lo up."""
    names = [f"iwarp-test-{os.getpid()}-{n}" for n in range(count)]
    with contextlib.ExitStack() as stack:
        for name in names:
            ip("netns", "add", name)
            stack.callback(ip, "netns", "delete", name)
            ip("-n", name, "link", "set", "lo", "up")
        yield names


@contextlib.contextmanager
def joined(addresses):
    """Two namespaces with a cable between them; `addresses` has those of each end, with prefixes."""
    with namespaces(2) as names:
        ip("link", "add", "veth0", "netns", names[0], "type", "veth", "peer", "name", "veth0",
           "netns", names[1])
        for name, own in zip(names, addresses):
            for address in own:
                nodad = ("nodad",) if ":" in address else ()
                ip("-n", name, "address", "add", address, "dev", "veth0", *nodad)
            # A link-local address comes seconds later, and to the front of the table of GIDs.
            ip("-n", name, "link", "set", "veth0", "addrgenmode", "none")
            ip("-n", name, "link", "set", "veth0", "up")
        yield names


def own_address():
    """Of this machine, IPv4. As with the kernel's devices, a loopback address leads to no device as
    long as an interface is up."""
    shown = subprocess.run(["ip", "-j", "-4", "address", "show", "up"], check=True, timeout=60,
                           capture_output=True, text=True).stdout
    found = [address["local"] for link in json.loads(shown) for address in link["addr_info"]]
    return next((each for each in found if not each.startswith("127.")), "127.0.0.1")


def within(name, *words):
    return ("ip", "netns", "exec", name, *words)


def why_no_namespaces():
    """None: they can be made."""
    if os.getuid() != 0:
        return "only root can make network namespaces"
    with contextlib.suppress(FileNotFoundError):
        try:
            with namespaces(1):
                pass
        except subprocess.CalledProcessError as error:
            return f"network namespaces cannot be made here: {error.stderr.strip()}"
        return None
    return "not installed: ip; apt-get install iproute2"


def need_namespaces():
    if reason := why_no_namespaces():
        skip_all(reason)
