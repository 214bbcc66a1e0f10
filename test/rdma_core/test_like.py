# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp run --like`, `--device` and `--devices`: compares the device line by line with the kernel's rxe and siw,
whose output was recorded (recorded/), and checks the GID tables of cards, several devices, and errors."""
import contextlib
import ipaddress
import pathlib
import re
import sys
import tempfile
import time
import unittest

from hosts import apart, await_link_local, ip, joined, namespaces, needs_namespaces, within, without_detection
from perftest import PerftestCase
from support import SANITIZER, Case, Program, main

RECORDED = pathlib.Path(__file__).resolve().parent / "recorded"
OURS = "this stack has a lower limit, and enforces it"
# Prints the device to which rdma_cm binds an id with a source address, and the device to which it resolves this address
# as a destination. An rdma_cm_id begins with its ibv_context, which begins with its device.
DEVICES_OF = """
import ctypes, socket, struct, sys
cm, verbs = ctypes.CDLL("librdmacm.so.1"), ctypes.CDLL("libibverbs.so.1")
verbs.ibv_get_device_name.restype = ctypes.c_char_p
address = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(7471), socket.inet_aton(sys.argv[1]))
for call, arguments in ((cm.rdma_bind_addr, (address,)), (cm.rdma_resolve_addr, (None, address, 1000))):
    id = ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))()
    assert cm.rdma_create_id(None, ctypes.byref(id), None, 0x106) == 0  # RDMA_PS_TCP
    assert call(id, *arguments) == 0
    print(verbs.ibv_get_device_name(ctypes.c_void_p(id[0][0])).decode())
"""
# For each profile, the differences from the recorded device: a pattern for the name of a line of `ibv_devinfo -v` or
# for the path of a file, and the reason.
DIFFERENCES = {
    "rxe": {
        "max_sge|max_sge_rd|max_srq_sge": OURS,
        "SRQ_RESIZE|device_cap_flags|device_cap_flags_ex": "a shared receive queue cannot be resized",
        "AUTO_PATH_MIG": "a connection has no alternate path",
        "ports/1/(cm_.*|hw_counters/.*)": "the counters are not simulated",
        "parent|power/.*": "no program that was tried reads these files",
        "device|modalias": "this device has a parent, where programs look for the network interface",
    },
    "siw": {
        "max_msg_sz": "RDMAP limits messages by a 32-bit length, which this stack halves",
        "ports/1/gid_attrs/ndevs/0": "the file of siw cannot be read",
        "power/.*": "no program that was tried reads these files",
        "device|modalias": "this device has a parent, where programs look for the network interface",
    },
}


def fields(text):
    """Returns [(name, value)] of each line of ibv_devinfo."""
    out = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, value = line.partition(":\t")
        out.append((name.rstrip(":").replace(" ", ""), value.strip() if colon else ""))
    return out


@contextlib.contextmanager
def machine(*addresses):
    """Makes a network namespace with an interface ethN for each address, whose MAC address is 52:54:00:51:77:0N+1."""
    with namespaces(1) as (name,):
        without_detection(name)
        for number, address in enumerate(addresses):
            ip("link", "add", f"eth{number}", "address", f"52:54:00:51:77:0{number + 1}", "netns", name, "type", "veth",
               "peer", "name", f"peer{number}", "netns", name)
            ip("-n", name, "link", "set", f"peer{number}", "addrgenmode", "none")
            ip("-n", name, "address", "add", address, "dev", f"eth{number}")
            ip("-n", name, "link", "set", f"peer{number}", "up")
            ip("-n", name, "link", "set", f"eth{number}", "up")
        for number in range(len(addresses)):
            await_link_local(name, f"eth{number}")
        yield name


@needs_namespaces
class Listing(Case):
    def check_differences(self, like, expected, found):
        """Checks that the differences of two dictionaries are those of DIFFERENCES, each of which occurs."""
        names = {name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name)}
        for name in sorted(names):
            self.assertTrue(any(re.fullmatch(pattern, name) for pattern in DIFFERENCES[like]),
                            f"{like}: {name}: recorded {expected.get(name)!r}, found {found.get(name)!r}")
        return names

    def test_differences_from_the_kernels_devices_are_known(self):
        with machine("10.0.2.15/24") as name:
            for like, patterns in DIFFERENCES.items():
                with self.subTest(like=like):
                    how = {"options": ("--like", like), "prefix": within(name)}
                    result = self.run_program("ibv_devinfo", "-v", **how)
                    self.assert_silent(result)
                    recorded = fields((RECORDED / like / "ibv_devinfo.txt").read_text())
                    names = self.check_differences(like, dict(recorded), dict(fields(result.out)))
                    files = self.run_program(
                        "sh", "-c", "cd /sys/class/infiniband/*0/ && find . ! -type d ! -name subsystem | while read -r f; "
                        "do if test -L $f; then echo $f:; else echo $f:$(cat $f); fi; done", **how)
                    table = {path: text for path, text in re.findall(r"(?m)^\./(\S+?):(.*)$", files.out)
                             if not re.search(r"/[1-9]\d*$", path)}
                    lines = (RECORDED / like / "sysfs.txt").read_text()
                    names |= self.check_differences(like, dict(re.findall(r"(?m)^\./(\S+?):(.*)$", lines)), table)
                    for pattern in patterns:
                        self.assertTrue(any(re.fullmatch(pattern, each) for each in names), f"{pattern}: no difference")
                    self.assertLess(len(patterns), 10)

    def test_names_identifiers_and_gids_of_cards(self):
        with machine("10.0.2.15/24") as name:
            for like, device, vendor, types in (("connectx", "mlx5_0", "0x02c9", ["v1", "v2"]),
                                                ("mana", "mana_0", "0x[0-9a-f]+", None), ("rxe", "rxe0", "0xffffff", ["v2"])):
                with self.subTest(like=like):
                    result = self.run_program("ibv_devinfo", "-v", options=("--like", like), prefix=within(name))
                    self.assertRegex(result.out, rf"(?m)^hca_id:\s+{device}$")
                    self.assertRegex(result.out, rf"(?m)^\s+vendor_id:\s+{vendor}$")
                    gids = re.findall(r"GID\[ *\d+\]:\s+(\S+?)(?:, RoCE (v\d))?\n", result.out)
                    if types:
                        found = [(ipaddress.ip_address(gid), kind) for gid, kind in gids]
                        own = map(ipaddress.ip_address, ("fe80::5054:ff:fe51:7701", "::ffff:10.0.2.15"))
                        self.assertEqual(found, [(gid, kind) for gid in own for kind in types])

    def test_index_1_is_ipv4_without_ipv6(self):
        with namespaces(1) as (name,):
            listing = self.run_program("ibv_devinfo", "-v", options=("--like", "rxe"), prefix=within(name)).out
            self.assertIn("GID[  1]:\t\t::ffff:127.0.0.1, RoCE v2", listing)
            for index in (0, 1):
                self.with_client("ibv_rc_pingpong", "-c", "-g", index, options=("--like", "rxe"), prefix=within(name))


@needs_namespaces
class Cards(PerftestCase):
    def test_perftest_knows_the_card_and_uses_inline(self):
        with machine("10.0.2.15/24") as name:
            for result in self.with_client("ib_send_lat", "-I", 64, "-n", 100, "-x", 3, host="10.0.2.15",
                                           options=("--like", "connectx"), prefix=within(name)):
                self.assertNotIn("not recognized", result.out + result.err)
                self.assertRegex(result.out, r"Max inline data : 64\[B\]")

    def test_each_entry_of_the_table_is_a_target(self):
        with joined([("10.99.7.1/24",), ("10.99.7.2/24",)], link_local=True) as names:
            for index in range(4):
                with self.subTest(index=index):
                    self.with_client("ibv_rc_pingpong", "-c", "-g", index, host="10.99.7.1",
                                     options=("--like", "connectx"), **apart(names))


@needs_namespaces
class Devices(Case):
    TWO = ("--like", "rxe", "--device", "rxe_eth0=eth0,other=10.0.3.15")

    def test_each_has_its_own_name_guid_and_gids(self):
        with machine("10.0.2.15/24", "10.0.3.15/24") as name:
            for options, expected in (
                    (self.TWO, {"rxe_eth0": "10.0.2.15", "other": "10.0.3.15"}),
                    (("--like", "rxe", "--devices", "3"), {"rxe0": "10.0.2.15", "rxe1": "10.0.3.15", "rxe2": "10.0.2.15"})):
                with self.subTest(options=options):
                    listing = self.run_program("ibv_devinfo", "-v", options=options, prefix=within(name)).out
                    parts = re.split(r"(?m)^hca_id:\s+", listing)[1:]
                    self.assertEqual([part.split()[0] for part in parts], list(expected))
                    for part, address in zip(parts, expected.values()):
                        self.assertEqual(re.findall(r"::ffff:([\d.]+)", part), [address])
                    guids = re.findall(r"node_guid:\s+(\S+)", listing)
                    self.assertEqual(len(set(guids)), len(guids))
                    for command in ("ls /sys/class/infiniband", "cat /sys/class/infiniband_verbs/uverbs*/ibdev",
                                    "ibv_devices | awk 'NR > 2 { print $1 }'"):
                        shown = self.run_program("sh", "-c", command, options=options, prefix=within(name)).out
                        self.assertEqual(sorted(shown.split()), sorted(expected))

    @unittest.skipIf(SANITIZER, "Python is not built with the sanitizer")
    def test_rdma_cm_selects_the_device_by_the_address(self):
        with machine("10.0.2.15/24", "10.0.3.15/24") as name:
            for address, device in (("10.0.2.15", "rxe_eth0"), ("10.0.3.15", "other")):
                with self.subTest(address=address):
                    result = self.run_program(sys.executable, "-c", DEVICES_OF, address, options=self.TWO,
                                              prefix=within(name))
                    self.assertEqual(result.out, f"{device}\n{device}\n")

    def test_devices_reach_each_other_by_each_gid(self):
        with machine("10.0.2.15/24", "10.0.3.15/24") as name:
            how = {"options": self.TWO, "prefix": within(name)}
            for index in (0, 1):
                with self.subTest(index=index), \
                        Program("ibv_rc_pingpong", "-c", "-d", "other", "-g", index, **how) as server:
                    server.listens(18515)
                    self.run_program("ibv_rc_pingpong", "-c", "-d", "rxe_eth0", "-g", 1, "10.0.3.15", **how)
                    self.check(server.wait())

    def test_a_port_goes_down_and_up_with_its_interface(self):
        with machine("10.0.2.15/24", "10.0.3.15/24") as name:
            how = {"options": self.TWO, "prefix": within(name)}
            with Program("stdbuf", "-oL", "ibv_asyncwatch", "-d", "other", **how) as watch, \
                    Program("stdbuf", "-oL", "ibv_asyncwatch", "-d", "rxe_eth0", **how) as still:
                for each in (watch, still):
                    each.says("async event FD")
                for state, event in (("down", "IBV_EVENT_PORT_ERR"), ("up", "IBV_EVENT_PORT_ACTIVE")):
                    ip("-n", name, "link", "set", "eth1", state)
                    watch.says(event)
                    end = time.monotonic() + 60
                    while (result := self.run_program("ibv_devinfo", **how).out).count("PORT_ACTIVE") != 1 + (state == "up"):
                        self.assertLess(time.monotonic(), end, result)
                for each in (watch, still):
                    each.kill()
                self.assertNotIn("IBV_EVENT_PORT_ERR", still.result().out)


class Errors(Case):
    def test_one_line_says_what_is_wrong(self):
        for options, error in (
                (("--like", "mlx9"), r'--like: "mlx9" is invalid: mlx9: No such file or directory \(use .*'),
                (("--like", "rxe", "--as", "roce"), "--as cannot be combined with --like, .*"),
                (("--device", "a/b"), r'--device: "a/b" is invalid: "a/b" is not a device name \(.*'),
                (("--device", "a", "--devices", "2"), "--devices cannot be combined with --device, .*"),
                (("--device", ",".join(f"d{n}" for n in range(300))), ".*: 300 devices: the maximum is 32"),
                (("--device", "rxe0=eth99"), "--device rxe0=eth99: eth99 is neither a network interface .*"),
                (("--devices", "300"), '--devices: "300" is not a number from 1 to 32')):
            with self.subTest(options=options):
                result = self.run_program("true", options=options, statuses=(2,))
                self.assertRegex(result.err.splitlines()[0], f"^iwarp run: {error}")

    def test_a_profile_with_an_impossible_value_names_the_value(self):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "card.json"
        path.write_text('{"format": 1, "name": "x", "device": {"name": "x"}}')
        result = self.run_program("true", options=("--like", path), statuses=(2,))
        self.assertIn("card.json: device.node_type is missing", result.err)


main("ibv_devinfo", "ibv_rc_pingpong", "ibv_asyncwatch", "ib_write_bw", "ib_send_lat")
