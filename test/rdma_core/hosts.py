# SPDX-License-Identifier: Apache-2.0
"""Simulates two hosts on one machine: network namespaces that are joined by a virtual cable. Needs root. Tests that
use it are skipped, with the reason, if they do not run as root or namespaces cannot be created."""
import contextlib
import ctypes
import functools
import itertools
import json
import os
import subprocess
import time
import unittest

from support import TIMEOUT, skip_all

NEW_NETWORK = 0x40000000  # CLONE_NEWNET
numbers = itertools.count()
HOSTS, HOSTS6 = ("10.99.8.1", "10.99.8.2"), ("2001:db8::1", "2001:db8::2")


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=60).stdout


@contextlib.contextmanager
def namespaces(count):
    """Creates network namespaces with names that only this process uses. The lo interface of each is up."""
    names = [f"iwarp-test-{os.getpid()}-{next(numbers)}" for _ in range(count)]
    with contextlib.ExitStack() as stack:
        for name in names:
            ip("netns", "add", name)
            stack.callback(ip, "netns", "delete", name)
            ip("-n", name, "link", "set", "lo", "up")
        yield names


def connect(one, other):
    """Makes a cable between two interfaces. Each interface is given by its namespace and its name."""
    ip("link", "add", one[1], "netns", one[0], "type", "veth", "peer", "name", other[1], "netns", other[0])


def bring_up(name, link, addresses, link_local=False):
    for address in addresses:
        nodad = ("nodad",) if ":" in address else ()
        ip("-n", name, "address", "add", address, "dev", link, *nodad)
    if not link_local:  # The address would appear seconds later and move to the front of the GID table.
        ip("-n", name, "link", "set", link, "addrgenmode", "none")
    ip("-n", name, "link", "set", link, "up")


def until_groups_pass(name, link):
    """Waits for the kernel's IPv6 multicast route, which appears some time after both ends of the cable are up."""
    end = time.monotonic() + 120
    while "ff00::/8" not in ip("-n", name, "-6", "route", "show", "table", "local", "dev", link):
        if time.monotonic() > end:
            raise AssertionError(f"no route for groups on {link} in {name}")
        time.sleep(0.01)


@contextlib.contextmanager
def joined(addresses, link_local=False):
    """Makes two namespaces with a cable between them. `addresses` contains the addresses of each end, with prefix
    lengths. With `link_local`, each end also has a link-local address."""
    with namespaces(2) as names:
        for name in names if link_local else ():
            without_detection(name)
        connect((names[0], "veth0"), (names[1], "veth0"))
        for name, own in zip(names, addresses):
            bring_up(name, "veth0", own, link_local)
        for name in names if link_local else ():
            await_link_local(name, "veth0")
        if any(":" in address for own in addresses for address in own):
            for name in names:  # a neighbour is found by multicast
                until_groups_pass(name, "veth0")
        yield names


def two_hosts(ipv6=False):
    """Joins two namespaces with the addresses HOSTS, and with `ipv6` also HOSTS6."""
    return joined([(f"{v4}/24", f"{v6}/64")[:1 + ipv6] for v4, v6 in zip(HOSTS, HOSTS6)])


def own_address():
    """Returns an IPv4 address of this machine. As long as another interface is up, a loopback address does not
    resolve to a device. This is also the case with the kernel's devices."""
    shown = subprocess.run(["ip", "-j", "-4", "address", "show", "up"], check=True, timeout=60,
                           capture_output=True, text=True).stdout
    found = [address["local"] for link in json.loads(shown) for address in link["addr_info"]]
    return next((each for each in found if not each.startswith("127.")), "127.0.0.1")


def enter(name):
    """Moves the calling thread into a namespace. Its sockets stay there when the thread has ended."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{name}") as place:
        if libc.setns(place.fileno(), NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def within(name, *words):
    return ("ip", "netns", "exec", name, *words)


def apart(names, *words):
    """Returns the arguments with which Case.pair() runs the server and the client on two hosts."""
    return {"server_how": {"prefix": within(names[0], *words)}, "client_how": {"prefix": within(names[1], *words)}}


def without_detection(name):
    """Disables duplicate address detection, so that an IPv6 address of a new interface is valid immediately."""
    path = "/proc/sys/net/ipv6/conf/default/accept_dad"
    subprocess.run(["ip", "netns", "exec", name, "sh", "-c", f"echo 0 > {path}"], check=True,
                   timeout=60)


def await_link_local(name, interface):
    """Waits for the link-local address, which the kernel makes some time after the link is up, and which programs can
    use when it is no longer tentative."""
    end = time.monotonic() + TIMEOUT
    while not ip("-n", name, "-6", "address", "show", "dev", interface, "scope", "link", "-tentative"):
        if time.monotonic() > end:
            raise AssertionError(f"{interface} has no link-local address")
        time.sleep(0.01)


@functools.cache
def why_no_namespaces():
    """Returns the reason why namespaces cannot be created, or None if they can."""
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


def needs_namespaces(test):
    """Decorates a test, or a class of tests, that is skipped if namespaces cannot be created."""
    reason = why_no_namespaces()
    return unittest.skipIf(reason, reason)(test)


def need_namespaces():
    if reason := why_no_namespaces():
        skip_all(reason)
