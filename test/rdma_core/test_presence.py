# SPDX-License-Identifier: Apache-2.0
"""Tests the device below /sys and /dev, as seen by programs that look there: system tools, a Python program and
UCX. presence/look.cpp tests the same with calls from C. Also checks that no files of the device remain."""
import contextlib
import errno
import glob
import ipaddress
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import sys
import unittest.mock

from hosts import joined, why_no_namespaces, within
from support import Case, Program, main

LOOK = pathlib.Path(__file__).resolve().parent / "presence/look.py"
CONFINED = LOOK.parent / "confined.py"
TRUE_NAME = "/sys/devices/platform/iwarp/infiniband/iwarp0"
# For each persona: the node_type, the type of a GID, and the hca_type, which ibstat(8) calls the type of the CA.
FACTS = {"iwarp": ("4: RNIC", "IB/RoCE v1", "iwarp"), "roce": ("1: CA", "RoCE v2", "roce")}


class Looking(Case):
    def see(self, *words, persona="roce", **how):
        result = self.run_program(*words, options=("--as", persona), **how)
        self.assert_silent(result)
        return result.out

    # [IBV-80]
    def test_usual_commands(self):
        device = "/sys/class/infiniband/iwarp0"
        for persona, (node_type, gid_type, hca_type) in FACTS.items():
            for words, said in ((("ls", "/sys/class/infiniband"), "iwarp0"),
                                (("ls", "/dev/infiniband"), "rdma_cm\nuverbs0"),
                                (("cat", f"{device}/node_type"), node_type),
                                (("cat", f"{device}/hca_type"), hca_type),
                                (("cat", f"{device}/ports/1/gid_attrs/types/0"), gid_type),
                                (("readlink", "-f", device), TRUE_NAME),
                                (("stat", "-c", "%F %t:%T %U", "/dev/infiniband/uverbs0"),
                                 "character special file e7:c0 root")):
                with self.subTest(persona=persona, words=words):
                    self.assertEqual(self.see(*words, persona=persona), f"{said}\n")
            listed = self.see("ls", "-lR", device + "/", persona=persona)
            self.assertRegex(listed, r"(?m)^-r--r--r-- 1 root root 4096 .* node_guid$")
            self.assertRegex(listed, r"(?m)^lrwxrwxrwx .* device -> \.\./\.\./\.\./iwarp$")
            found = self.see("find", "/dev/infiniband", "-type", "c", persona=persona)
            self.assertEqual(len(found.splitlines()), 2, found)

    def test_shells(self):
        said = self.see("sh", "-c", "test -c /dev/infiniband/uverbs0 && cd /sys/class/infiniband "
                        "&& /bin/pwd && ls && cat iwarp0/../iwarp0/fw_ver >/dev/null && "
                        "cd iwarp0/device/net && cat */address && cd ../../.. && /bin/pwd")
        lines = said.splitlines()
        self.assertEqual(lines[:2], ["/sys/class/infiniband", "iwarp0"])
        self.assertRegex(lines[2], "^([0-9a-f]{2}:){5}[0-9a-f]{2}$")
        self.assertEqual(lines[3], "/sys/class/infiniband")
        said = self.run_program("sh", "-c", "echo x > /sys/class/infiniband/x; "
                                "rm /dev/infiniband/uverbs0; mkdir /sys/class/infiniband/y; "
                                "cd /dev/infiniband && touch z; ls", options=("--as", "roce"))
        self.assertEqual(said.out, "rdma_cm\nuverbs0\n")
        self.assertEqual(len(re.findall("(?i)permission denied", said.err)), 4, str(said))

    def test_python(self):
        port = self.see("ibv_devinfo", "-v")
        seen = json.loads(self.see(sys.executable, LOOK))
        self.assertEqual((seen["devices"], seen["nodes"]), (["iwarp0"], ["rdma_cm", "uverbs0"]))
        self.assertRegex(seen["interfaces"][0], r"^/sys/class/infiniband/iwarp0/device/net/\w+$")
        self.assertEqual((seen["real"], seen["link"]), (TRUE_NAME, "../../devices/platform/iwarp/infiniband/iwarp0"))
        self.assertEqual(seen["resolved"], "/sys/devices/platform/iwarp")
        self.assertEqual([seen[what] for what in ("character", "opened", "access")], [True] * 3)
        self.assertEqual((seen["number"], seen["type"]), ([231, 192], "RoCE v2\n"))
        self.assertEqual((seen["create"], seen["mkdir"]), (errno.EACCES, errno.EACCES))
        self.assertGreater(seen["walked"], 15)
        self.assertEqual(seen["within"], [TRUE_NAME + "/ports", ["1"], "4: ACTIVE\n", TRUE_NAME])
        # The GID is the one that the API returns, in the format of sysfs.
        self.assertRegex(seen["gid"], r"^([0-9a-f]{4}:){7}[0-9a-f]{4}$")
        self.assertIn(f"GID[  0]:\t\t{printed(seen['gid'])}, RoCE v2", port)

    def test_the_guid_is_that_of_the_api(self):
        for persona in FACTS:
            guid = self.see("cat", "/sys/class/infiniband/iwarp0/node_guid", persona=persona)
            said = self.see("ibv_devinfo", persona=persona)
            self.assertIn(f"node_guid:\t\t\t{guid}", said)

    # [IBV-91]
    def test_the_rate_is_that_of_the_api(self):
        def check(**how):
            for persona in FACTS:
                with self.subTest(persona=persona, **how):
                    said = self.see("ibv_devinfo", "-v", persona=persona, **how)
                    lanes = int(re.search(r"active_width:\s+(\d+)X ", said)[1])
                    speed = float(re.search(r"active_speed:\s+([\d.]+) Gbps ", said)[1])
                    rate = self.see("cat", "/sys/class/infiniband/iwarp0/ports/1/rate", persona=persona, **how)
                    self.assertRegex(rate, rf"^{speed * lanes:g} Gb/sec \({lanes}X [A-Z]+\d*\)\n$")
        check()
        if why_no_namespaces() is None:
            with joined((["192.0.2.1/24"], ["192.0.2.2/24"])) as (name, _):
                check(prefix=within(name))

    def test_it_can_be_switched_off(self):
        if pathlib.Path("/sys/class/infiniband").exists():
            self.skipTest("this machine has RDMA devices of its own")
        self.run_program("ls", "/sys/class/infiniband", options=("--presence", "off"), statuses=(2,))

    def test_everything_else_is_as_it_was(self):
        script = "ls /sys/class /sys/class/misc /sys/bus; cat /proc/sys/kernel/ostype; pwd; ls -id /"
        self.assertEqual(self.see("sh", "-c", script), self.run_program("sh", "-c", script, plain=True).out)


def printed(gid):
    """Formats a GID as ibv_devinfo does."""
    address = ipaddress.IPv6Address(gid)
    return f"::ffff:{address.ipv4_mapped}" if address.ipv4_mapped else address.compressed


class Staying(Case):
    """Tests that the directory with the device's files exists as long as a process needs it."""

    def setUp(self):
        super().setUp()
        base = self.scratch / "base"
        base.mkdir()
        # This directory has only entries that the programs make.
        self.enterContext(unittest.mock.patch.dict(os.environ, TMPDIR=str(base)))

    def folders(self):
        return sorted(glob.glob(f"{self.scratch}/base/*"))

    def test_nothing_is_made_for_who_does_not_look(self):
        with Program("sh", "-c", "echo started; exec sleep 60") as sleeper:
            sleeper.says("started")
            self.assertEqual(self.folders(), [])

    def test_it_goes_with_the_last_one(self):
        looks = "test -e /dev/infiniband/uverbs0 && echo looked"
        for last in ("cat", "exec cat", "exit"):
            self.run_program("sh", "-c", f"{looks}; {last} </dev/null")
            self.assertEqual(self.folders(), [], last)
        with Program("sh", "-c", f"{looks}; read x < {self.fifo()}") as one:
            one.says("looked")
            self.assertEqual(len(self.folders()), 1)
            self.run_program("ls", "/sys/class/infiniband")
            self.assertEqual(len(self.folders()), 1, "the directory is shared and still in use")
            pathlib.Path(self.fifo()).write_text("go on\n")
            one.wait()
        self.assertEqual(self.folders(), [])

    def test_what_a_killed_process_left_the_next_one_removes(self):
        with Program("sh", "-c", f"cd /dev/infiniband; echo there; read x < {self.fifo()}",
                     options=("--as", "iwarp")) as one:
            one.says("there")
            one.signal(signal.SIGKILL)
            one.process.wait()
        self.assertEqual(len(self.folders()), 1)
        self.run_program("ls", "/dev/infiniband", options=("--as", "roce"))
        self.assertEqual(self.folders(), [])

    def test_what_only_has_a_similar_name_is_left_alone(self):
        """A directory whose name only resembles the name of the library's directory must not be removed. A program
        that runs in it must see its real files, and not the files of the device."""
        folders = [self.scratch / "base" / f"iwarp-{os.getuid()}{end}"
                   for end in ("", "-backup", "-0123456789abcde", "-0123456789abcdef0")]
        for folder in folders:
            (folder / "sys").mkdir(parents=True)
            (folder / "file").write_text("mine\n")
            said = self.run_program("sh", "-c", "ls /dev/infiniband; cat file; cat sys/../file; "
                                    "echo more >made; /bin/pwd", cwd=folder)
            self.assertEqual(said.out, f"rdma_cm\nuverbs0\nmine\nmine\n{folder}\n")
            self.assertEqual((folder / "made").read_text(), "more\n")
        self.assertEqual(self.folders(), sorted(map(str, folders)))

    def test_many_at_once(self):
        with contextlib.ExitStack() as stack:
            programs = [stack.enter_context(
                Program("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do cat "
                        "/sys/class/infiniband/iwarp0/ports/1/state; done")) for _ in range(8)]
            for program in programs:
                self.assertEqual(self.check(program.wait()).out, "4: ACTIVE\n" * 8)
        self.assertEqual(self.folders(), [])

    def test_a_folder_of_somebody_elses_is_not_taken(self):
        """The library must not trust a directory that another user has made in advance."""
        if os.getuid() != 0:
            self.skipTest("only root can create a directory of another user")
        with Program("sh", "-c", f"cd /dev/infiniband; ls; read x < {self.fifo()}") as one:
            one.says("uverbs0")
            planted = pathlib.Path(self.folders()[0])
            pathlib.Path(self.fifo()).write_text("go on\n")
            one.wait()
        (planted / "dev/infiniband").mkdir(parents=True)
        os.chown(planted, 65534, 65534)
        self.assertEqual(self.run_program("ls", "/dev/infiniband").out, "rdma_cm\nuverbs0\n")
        self.assertEqual(self.folders(), [str(planted)])

    def fifo(self):
        path = self.scratch / "fifo"
        if not path.exists():
            os.mkfifo(path)
        return str(path)


class WithoutRights(Case):
    """Runs programs as UID 65534. They cannot gain privileges, become root, or use mounts and namespaces."""

    def test_it_is_there(self):
        if os.getuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("only root can run as UID 65534; other cases test other users")
        self.use_readable_iwarp()
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                  "--bounding-set=-all")
        node = self.run_program("stat", "-c", "%F %a %U", "/dev/infiniband/uverbs0", prefix=nobody, cwd="/")
        self.assertEqual(node.out, "character special file 666 root\n")
        refused = self.run_program("sh", "-c", "cd /sys/class/infiniband; touch x; mkdir x; ls",
                                   prefix=nobody, cwd="/")
        self.assertEqual(refused.out, "iwarp0\n")
        self.assertEqual(refused.err.count("Permission denied"), 2, str(refused))

    def test_behind_a_filter_without_namespaces(self):
        """If the library can use neither namespaces nor device nodes, it creates a regular file instead."""
        if platform.machine() != "x86_64":
            self.skipTest("the filter is for x86-64")
        confined = (sys.executable, CONFINED, "--")
        self.run_program("unshare", "-Ur", "true", prefix=confined, plain=True, statuses=(1,))
        said = self.run_program("sh", "-c", "stat -c '%F %t:%T' /dev/infiniband/uverbs0; test -c "
                                "/dev/infiniband/rdma_cm && cat /sys/class/infiniband/*/node_type",
                                prefix=confined, options=("--as", "roce")).out
        self.assertEqual(said, "character special file e7:c0\n1: CA\n")
        found = self.run_program("find", "/sys/class/infiniband", "/dev/infiniband", "-type", "c",
                                 prefix=confined).out
        self.assertEqual(sorted(found.split()), [f"/dev/infiniband/{name}" for name in ("rdma_cm", "uverbs0")])
        seen = json.loads(self.run_program(sys.executable, LOOK, prefix=confined, options=("--as", "roce")).out)
        self.assertEqual((seen["opened"], seen["kinds"]), (True, {"uverbs0": True, "rdma_cm": True}))


main("ibv_devinfo")
