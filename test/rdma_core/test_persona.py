# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp run --as roce`: compares the output of ibv_devinfo -v line by line with the output for rxe, and
checks that programs work in this persona with rdma_cm and without it. persona/rxe_devinfo.txt was recorded on
Linux 6.1.192 with rdma-core 44: rxe on an interface of 10 Gbit/s with two IPv4 and two IPv6 addresses."""
import contextlib
import pathlib
import re
import subprocess
import time

from hosts import apart, connect, ip, namespaces, needs_namespaces, within
from perftest import TOOLS, PerftestCase
from support import TIMEOUT, Case, Program, free_port, main
from tried import tried

ROCE = ("--as", "roce")
LISTING = pathlib.Path(__file__).resolve().parent / "persona/rxe_devinfo.txt"

# Lines that differ on purpose: the name, this stack's value, and the reason. With a value of None, only rxe has the
# line.
OURS = "this stack has its own limit, and grants every request within it"
DIFFERENCES = {
    "hca_id": ("iwarp0", "the device's name is the same in both personas"),
    "fw_ver": (r"\d+\.\d+\.\d+", "the version of this stack"),
    "max_qp": ("16384", OURS),
    "max_qp_wr": ("32768", OURS),
    "max_cq": ("16384", OURS),
    "max_cqe": ("4194304", OURS),
    "max_mr": ("1048576", OURS),
    "max_mw": ("1048576", OURS),
    "max_pd": ("4096", OURS),
    "max_srq": ("4096", OURS),
    "max_srq_wr": ("32768", OURS),
    "max_sge": ("16", OURS),
    "max_sge_rd": ("16", OURS),
    "max_srq_sge": ("16", OURS),
    "max_res_rd_atom": ("2097152", OURS),
    "max_msg_sz": ("0x80000000", "RDMAP limits messages by a 32-bit length"),
    "SRQ_RESIZE": (None, "a shared receive queue cannot be resized"),
    "device_cap_flags": ("0x01221c76", "without SRQ_RESIZE"),
    "device_cap_flags_ex": ("0x1221C76", "without SRQ_RESIZE"),
    "gid_tbl_len": (r"\d+", "the table has no empty entries"),
}


def fields(text):
    """Returns [(name, value)] of each line."""
    out = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, value = line.partition(":\t")
        out.append((name.rstrip(":").replace(" ", ""), value.strip() if colon else ""))
    return out


@needs_namespaces
class Listing(Case):
    def test_it_is_what_rxe_says(self):
        """On the same interfaces, the output must have every line of rxe's output, in the same order, and no other."""
        with interfaces() as name:
            result = self.run_program("ibv_devinfo", "-v", options=ROCE, prefix=within(name))
        self.assert_silent(result)
        second = r"(?m)^\s*GID\[  [45]\]:\s+(.*), RoCE v2\n"
        self.assertEqual(re.findall(second, result.out),
                         ["fe80::5054:ff:fe51:7702", "::ffff:10.0.3.15"], "the next interface")
        ours = fields(re.sub(second, "", result.out))
        for name, value in fields(LISTING.read_text()):
            expected, _ = DIFFERENCES.get(name, (re.escape(value), ""))
            if expected is None:
                continue
            found, text = ours.pop(0)
            self.assertEqual(found, name, result)
            self.assertRegex(text, f"^{expected}$", f"{name}: {result}")
        self.assertEqual(ours, [], result)


@contextlib.contextmanager
def interfaces():
    """Makes a network namespace with the two interfaces of the machine on which the listing was recorded."""
    with namespaces(1) as (name,):
        without_detection(name)
        for number in (0, 1):
            end, mac = f"eth{number}", f"52:54:00:51:77:0{number + 1}"
            ip("link", "add", end, "address", mac, "netns", name, "type", "veth", "peer", "name",
               f"peer{number}", "netns", name)
            ip("-n", name, "link", "set", f"peer{number}", "addrgenmode", "none")
        for address in ("10.0.2.15/24", "10.0.2.16/24", "fd00::15/64"):
            ip("-n", name, "address", "add", address, "dev", "eth0")
        ip("-n", name, "address", "add", "10.0.3.15/24", "dev", "eth1")
        for number in (0, 1):
            ip("-n", name, "link", "set", f"peer{number}", "up")
            ip("-n", name, "link", "set", f"eth{number}", "up")
        for number in (0, 1):
            await_link_local(name, f"eth{number}")
        yield name


@tried("perftest, rping, ibv_rc_pingpong", "perftest rdmacm-utils ibverbs-utils", "the eight "
       "tools with rdma_cm and without it, by GID; rping between an end shown as iWARP and one "
       "shown as RoCE", personas=("roce",))
class Programs(PerftestCase):
    def test_rping(self):
        self.rping("-V", "-C", 10, options=ROCE)
        self.rping("-V", "-C", 10, "-q", options=ROCE)
        port = free_port()
        where = ("-a", "127.0.0.1", "-p", port, "-V", "-C", 10)
        with Program("rping", "-s", "-P", *where, options=ROCE) as server:
            server.listens(port)
            for _ in range(3):
                self.run_program("rping", "-c", *where, options=ROCE)

    def test_between_personas(self):
        """Both personas send the same frames, so each must work with the other."""
        for server, client in (("roce", "iwarp"), ("iwarp", "roce")):
            with self.subTest(server=server):
                self.rping("-V", "-C", 10, server_how={"options": ("--as", server)},
                           client_how={"options": ("--as", client)})

    def test_perftest_over_rdma_cm(self):
        self.each("", "-R", options=ROCE)

    def test_perftest_without_rdma_cm(self):
        self.each("", options=ROCE)

    def test_pingpong_by_gid(self):
        for program in ("ibv_rc_pingpong", "ibv_srq_pingpong"):
            with self.subTest(program=program):
                self.with_client(program, "-c", "-g", 0, options=ROCE)


@contextlib.contextmanager
def two_hosts():
    """Makes two namespaces that are joined by a cable. Their addresses can be used immediately."""
    with namespaces(2) as names:
        for name in names:
            without_detection(name)
        connect((names[0], "veth0"), (names[1], "veth0"))
        for number, name in enumerate(names, 1):
            ip("-n", name, "address", "add", f"10.99.7.{number}/24", "dev", "veth0")
            ip("-n", name, "address", "add", f"fd99:7::{number}/64", "dev", "veth0")
            ip("-n", name, "link", "set", "veth0", "up")
        for name in names:
            await_link_local(name, "veth0")
        yield names


def without_detection(name):
    """Disables duplicate address detection, so that an IPv6 address of a new interface is valid immediately."""
    path = "/proc/sys/net/ipv6/conf/default/accept_dad"
    subprocess.run(["ip", "netns", "exec", name, "sh", "-c", f"echo 0 > {path}"], check=True,
                   timeout=60)


def await_link_local(name, interface):
    """Waits for the link-local address, which the kernel makes some time after the link is up."""
    end = time.monotonic() + TIMEOUT
    while not subprocess.run(["ip", "-n", name, "-6", "address", "show", "dev", interface, "scope",
                              "link"], capture_output=True, check=True, timeout=60).stdout:
        if time.monotonic() > end:
            raise AssertionError(f"{interface} has no link-local address")
        time.sleep(0.01)


@needs_namespaces
class TwoHosts(PerftestCase):
    """Tests queue pairs that programs connect by GID and queue pair number, with no option but the persona."""

    @classmethod
    def setUpClass(cls):
        cls.names = cls.enterClassContext(two_hosts())

    def test_pingpong_by_each_gid(self):
        """Connects by each GID. The first GID is a link-local address, which cannot be routed unless its interface
        is known."""
        gids = self.gids(self.names[0])
        self.assertEqual(len(gids), 3, gids)
        self.assertRegex(gids[0][1], "^fe80::")
        for index, gid in gids:
            for program in ("ibv_rc_pingpong", "ibv_srq_pingpong"):
                for client in reversed(self.names):  # on the other host, then on the server's host
                    with self.subTest(gid=gid, program=program, client=client):
                        self.with_client(program, "-c", "-g", index, host="10.99.7.1", options=ROCE,
                                         **apart((self.names[0], client)))

    def gids(self, host, *options):
        """Returns the index and the address of each GID, as text."""
        listing = self.run_program("ibv_devinfo", "-v", options=(*ROCE, *options),
                                   prefix=within(host))
        return re.findall(r"GID\[ *(\d+)\]:\s+(\S+),", listing.out)

    def test_loopback_has_gids_where_there_are_no_others_or_it_is_asked_for(self):
        loopback = ["::ffff:127.0.0.1", "::1"]
        with namespaces(1) as (alone,):
            self.assertEqual([gid for _, gid in self.gids(alone)], loopback)
        host = self.names[0]
        without = self.gids(host)
        self.assertEqual(self.gids(host, "--loopback", "on"),
                         [*without, ("3", loopback[0]), ("4", loopback[1])])
        self.with_client("ibv_rc_pingpong", "-c", "-g", 3, options=(*ROCE, "--loopback", "on"), prefix=within(host))

    def test_ids_of_loopback_lead_there_although_it_has_no_gid(self):
        for address in ("127.0.0.1", "::1"):
            for words in ((), ("-q",)):
                self.rping("-C", 3, "-V", *words, address=address, options=ROCE, prefix=within(self.names[0]))

    def test_perftest(self):
        for tool in TOOLS:
            with self.subTest(tool=tool):
                self.measure(tool, "-x", 1, host="10.99.7.1", options=ROCE, **apart(self.names))

    def test_it_can_be_kept_to_this_host(self):
        server, client = self.with_client("ibv_rc_pingpong", "-g", 1, host="10.99.7.1", statuses=range(256),
                                          options=(*ROCE, "--oob", "loopback"), **apart(self.names))
        self.assertRegex(client.err + server.err, "(?m)^iwarp: .*IWARP_OOB=on")
        self.assertNotEqual((server.status, client.status), (0, 0))


if __name__ == "__main__":
    main("ibv_devinfo", "rping", "ibv_rc_pingpong", "ibv_srq_pingpong", *TOOLS)
