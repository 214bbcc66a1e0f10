# SPDX-License-Identifier: Apache-2.0
"""Tests NETLINK_RDMA with iproute2's rdma and with libnl, and commands of set-up scripts: rdma link add, modprobe and
sudo."""
import contextlib
import ctypes
import glob
import json
import os
import pathlib
import re
import shutil
import sys
import unittest.mock

from support import Case, Program, free_port, main

ADD = ("rdma", "link", "add")


class WithSession(Case):
    """All programs of a test belong to one session, and look for files of the session in an empty directory."""

    def setUp(self):
        super().setUp()
        self.path = self.scratch / "session"
        self.enterContext(unittest.mock.patch.dict(os.environ, IWARP_SESSION=str(self.path)))

    def see(self, *words, **how):
        result = self.run_program(*words, **how)
        self.assertEqual(result.err, "")
        return result.out

    def refused(self, *words, why):
        result = self.run_program(*words, statuses=(1,))
        self.assertIn(f"error: {why}\n", result.err)

    def links(self):
        return {link["ifname"]: link for link in json.loads(self.see("rdma", "-j", "link"))}


class Devices(WithSession):
    def test_rdma_dev(self):
        for persona, kind in (("iwarp", "rnic"), ("roce", "ca")):
            how = {"options": ("--as", persona)}
            said = self.see("rdma", "dev", **how)
            guid = re.search(r"node_guid (\S+)", said)[1]
            self.assertRegex(said, rf"^0: iwarp0: node_type {kind} fw \d\S+ node_guid {guid} sys_image_guid {guid} \n$")
            files = "/sys/class/infiniband/iwarp0"
            self.assertEqual(self.see("cat", f"{files}/node_guid", f"{files}/sys_image_guid", **how),
                             f"{guid}\n{guid}\n")
            self.assertIn(self.see("cat", f"{files}/fw_ver", **how).strip(), said)
            self.assertIn("MEM_MGT_EXTENSIONS", self.see("rdma", "-d", "dev", "show", "iwarp0", **how))

    def test_rdma_link(self):
        interface = self.see("ls", "/sys/class/infiniband/iwarp0/device/net").strip()
        self.assertEqual(self.see("rdma", "link"),
                         f"link iwarp0/1 state ACTIVE physical_state LINK_UP netdev {interface} \n")
        index = int(pathlib.Path(f"/sys/class/net/{interface}/ifindex").read_text())
        self.assertEqual(self.links(), {"iwarp0": {
            "ifindex": 0, "ifname": "iwarp0", "port": 1, "state": "ACTIVE", "physical_state": "LINK_UP",
            "netdev": interface, "netdev_index": index}})
        self.assertIn("link iwarp0/1 ", self.see("rdma", "link", "show", "iwarp0/1"))
        self.run_program("rdma", "link", "show", "iwarp0/2", statuses=(1, 22, 234))

    def test_rdma_system(self):
        self.assertRegex(self.see("rdma", "system"), "^netns shared( |$)")
        self.see("rdma", "system", "set", "netns", "shared")
        self.refused("rdma", "system", "set", "netns", "exclusive", why="Operation not supported")

    def test_what_is_not_simulated(self):
        self.refused("rdma", "resource", why="Operation not supported")
        self.refused("rdma", "dev", "set", "iwarp0", "name", "x", why="Operation not supported")

    def test_libnl(self):
        """libnl chooses its own address, and checks the sequence numbers of the answers."""
        if not glob.glob("/usr/lib/*/libnl-3.so.200") + glob.glob("/usr/lib64/libnl-3.so.200"):
            self.skipTest("not installed: libnl-3.so.200; apt-get install libnl-3-200")
        self.assertEqual(self.see(sys.executable, __file__, "libnl"), "0 0 -7\n")

    def test_presence_off(self):
        self.run_program("rdma", "link", options=("--presence", "off"), statuses=(0, 1))
        said = self.run_program("rdma", "link", options=("--presence", "off"), statuses=(0, 1))
        self.assertNotIn("iwarp0", said.out)


def use_libnl():
    """Prints the results of connecting, of a list of all devices, and of a port that does not exist."""
    nl = ctypes.CDLL("libnl-3.so.200")
    nl.nl_socket_alloc.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(nl.nl_socket_alloc())
    connected = nl.nl_connect(handle, 20)
    nl.nl_send_simple(handle, 5 << 10 | 1, 0x300, None, 0)
    listed = nl.nl_recvmsgs_default(handle)
    nl.nl_send_simple(handle, 5 << 10 | 5, 4, None, 0)
    print(connected, listed, nl.nl_recvmsgs_default(handle))


class Adding(WithSession):
    def test_added_devices_are_listed_by_all_processes(self):
        for name, kind, node_type in (("rxe0", "rxe", "ca"), ("siw_lo", "siw", "rnic")):
            with self.subTest(kind=kind):
                self.assertEqual(self.see(*ADD, name, "type", kind, "netdev", "lo"), "")
                self.assertEqual(self.links(), {name: {
                    "ifindex": 0, "ifname": name, "port": 1, "state": "ACTIVE", "physical_state": "LINK_UP",
                    "netdev": "lo", "netdev_index": 1}})
                self.assertIn(f"node_type {node_type} ", self.see("rdma", "dev", "show", name))
                self.assertEqual(self.see("ls", "/sys/class/infiniband"), f"{name}\n")
                self.see("rdma", "link", "delete", name)
                self.assertEqual(list(self.links()), ["iwarp0"])

    def test_devices_beside_those_of_the_user(self):
        how = {"options": ("--like", "rxe", "--device", "a=lo,b")}
        self.see(*ADD, "rxe0", "type", "rxe", "netdev", "lo", **how)
        self.assertRegex(self.see("rdma", "link", **how), r"^link a/1 .*\nlink b/1 .*\nlink rxe0/1 .*\n$")
        self.see("rdma", "link", "delete", "rxe0", **how)
        self.assertNotIn("rxe0", self.see("rdma", "link", **how))

    def test_a_script_may_add_the_device_that_the_user_has_chosen(self):
        how = {"options": ("--like", "rxe", "--device", "rxe0")}
        before = self.see("rdma", "link", **how)
        self.see(*ADD, "rxe0", "type", "rxe", "netdev", "lo", **how)
        self.assertEqual(self.see("rdma", "link", **how), before)
        result = self.run_program(*ADD, "rxe0", "type", "siw", "netdev", "lo", statuses=(1,), **how)
        self.assertIn("File exists", result.err)

    def test_programs_use_the_added_device(self):
        self.see(*ADD, "rxe0", "type", "rxe", "netdev", "lo")
        listing = self.see("ibv_devinfo", "-d", "rxe0")
        self.assertRegex(listing, r"hca_id:\s+rxe0\n\s+transport:\s+InfiniBand \(0\)")
        self.with_client("ibv_rc_pingpong", "-c", "-d", "rxe0", "-g", 1)

    def test_what_is_refused(self):
        self.refused("rdma", "link", "delete", "iwarp0", why="Invalid argument")
        self.see(*ADD, "rxe0", "type", "rxe", "netdev", "lo")
        for words, why in ((("rxe0", "type", "rxe", "netdev", "lo"), "File exists"),
                           (("rxe0", "type", "siw", "netdev", "lo"), "File exists"),
                           (("rxe1", "type", "rxe", "netdev", "lo"), "File exists"),
                           (("siw0", "type", "siw", "netdev", "lo"), "Operation not supported"),
                           (("x", "type", "siw", "netdev", "nowhere0"), "No such device"),
                           (("x", "type", "irdma", "netdev", "lo"), "Invalid argument"),
                           (("a/b", "type", "siw", "netdev", "lo"), "Invalid argument"),
                           (("x%d", "type", "siw", "netdev", "lo"), "Invalid argument")):
            with self.subTest(words=words):
                self.refused(*ADD, *words, why=why)
        self.assertEqual(list(self.links()), ["rxe0"])

    def test_two_processes_that_add_one_name(self):
        with contextlib.ExitStack() as stack:
            programs = [stack.enter_context(Program(*ADD, "rxe0", "type", "rxe", "netdev", "lo")) for _ in range(6)]
            results = [program.wait() for program in programs]
        self.assertEqual(sorted(result.status for result in results), [0, 1, 1, 1, 1, 1])
        self.assertEqual(list(self.links()), ["rxe0"])

    def test_the_file_of_a_session_goes_with_its_first_process(self):
        folder = self.scratch / "files"
        folder.mkdir()
        script = ("rdma link add rxe0 type rxe netdev lo; (rdma link | wc -l); ls $TMPDIR | grep -c session; "
                  "(exit 0); sh -c 'exit 0'; ls $TMPDIR | grep -c session")
        with unittest.mock.patch.dict(os.environ, TMPDIR=str(folder)):
            del os.environ["IWARP_SESSION"]
            for end in ("", "; exit 0", "; exec true"):
                self.assertEqual(self.see("sh", "-c", script + end), "1\n1\n1\n", end)
                self.assertEqual(list(folder.iterdir()), [], end)


class Scripts(WithSession):
    def setUp(self):
        super().setUp()
        commands = self.scratch / "bin"
        commands.mkdir()
        for name, said in (("sudo", "real sudo"), ("modprobe", "real modprobe"), ("rmmod", "real rmmod")):
            (commands / name).write_text(f"#!/bin/sh\necho {said} $*\n")
            (commands / name).chmod(0o755)
        self.path_without_modprobe = f"{self.scratch}/none:/usr/bin:/bin"
        (self.scratch / "none").mkdir()
        shutil.copy(commands / "sudo", self.scratch / "none/sudo")
        self.enterContext(unittest.mock.patch.dict(os.environ, PATH=f"{commands}:{os.environ['PATH']}"))

    def run_script(self, *lines, **how):
        return self.run_program("sh", "-ec", "\n".join(lines), options=("--log", "info"), **how)

    def test_a_set_up_script(self):
        said = self.run_script("sudo modprobe rdma_rxe", "modprobe siw",
                               "sudo -n rdma link add rxe0 type rxe netdev lo", "rdma link show rxe0/1")
        self.assertEqual(said.out, "link rxe0/1 state ACTIVE physical_state LINK_UP netdev lo \n")
        self.assertEqual(said.err, "".join(
            f"iwarp: modprobe {name}: does nothing, because this stack provides the device\n"
            for name in ("rdma_rxe", "siw")))

    def test_a_script_from_the_module_to_the_ping_pong(self):
        port = free_port()
        said = self.run_script(
            "sudo modprobe rdma_rxe", "rdma link add rxe0 type rxe netdev lo", "ibv_devinfo -d rxe0",
            f"ibv_rc_pingpong -d rxe0 -g 1 -p {port} &",
            f"until grep -q ':{port:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6; do kill -0 $!; sleep 0.1; done",
            f"ibv_rc_pingpong -d rxe0 -g 1 -p {port} 127.0.0.1", "wait $!")
        self.assertRegex(said.out, r"hca_id:\s+rxe0\n\s+transport:\s+InfiniBand \(0\)")
        self.assertEqual(said.out.count("8192000 bytes in "), 2, str(said))

    def test_modules(self):
        for command in ("modprobe -q rdma-rxe", "modprobe -v ib_uverbs", "modprobe -a rdma_cm rdma_ucm ib_core",
                        "modprobe -r siw", "modprobe --remove --verbose siw", "modprobe mlx5_ib dbg=1",
                        "rmmod rdma_rxe", "/sbin/modprobe siw", "sudo -E -- modprobe siw"):
            with self.subTest(command=command):
                said = self.run_script(command)
                self.assertEqual((said.out, said.err.count("does nothing")), ("", 1), said.err)
        for command in ("modprobe loop", "modprobe -a siw loop", "modprobe", "modprobe -V", "modprobe -C x siw",
                        "rmmod loop", "sudo modprobe loop", "sudo ls", "sudo -u nobody rdma link", "sudo -i", "sudo"):
            with self.subTest(command=command):
                said = self.run_script(command)
                self.assertEqual((said.out, said.err), (f"real {command}\n", ""))

    def test_the_modprobe_of_the_system(self):
        """A script that uses sudo does not need modprobe. A modprobe that was not started with a replaced exec
        function ends before its main()."""
        with unittest.mock.patch.dict(os.environ, PATH=self.path_without_modprobe):
            said = self.run_script("sudo modprobe siw")
        self.assertEqual((said.out, said.err.count("does nothing")), ("", 1), str(said))
        real = shutil.which("modprobe", path="/usr/sbin:/sbin")
        if real is None:
            self.skipTest("not installed: modprobe; apt-get install kmod")
        said = self.run_program(real, "siw", options=("--log", "info"))
        self.assertEqual(said.err, "iwarp: modprobe siw: does nothing, because this stack provides the device\n")
        self.assertEqual(self.run_program(real, "-V").out.split()[0], "kmod")

    def test_without_presence(self):
        said = self.run_program("sh", "-c", "sudo modprobe siw; modprobe siw", options=("--presence", "off"))
        self.assertEqual(said.out, "real sudo modprobe siw\nreal modprobe siw\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["libnl"]:
        use_libnl()
    else:
        main("rdma", "ibv_devinfo", "ibv_rc_pingpong")
