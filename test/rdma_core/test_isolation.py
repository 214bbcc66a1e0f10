# SPDX-License-Identifier: Apache-2.0
"""Tests that programs under `iwarp run` find no RDMA device of the machine. Needs root: the tests run in a mount
namespace in which foreign_tree.py has put the files of devices called mana_0 and mana_1. presence/foreign.cpp tests
the functions of the C library one by one; here that program and rdma_socket.py run among those files."""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import shutil
import struct
import sys

from hosts import ip, own_address
from presence import foreign_tree
from support import PROGRAMS, Case, main, skip_all

IN_C = PROGRAMS.parent / "presence/test_rdma_core.presence_in_c"
IN_PYTHON = pathlib.Path(__file__).with_name("presence") / "rdma_socket.py"
PERSONAS = ("iwarp", "roce")
FOREIGN = r"mana_\d|umad\d|uverbs1|ucm\d|7fff:00|9\.9\.9"
HERE = own_address()
INTERFACE = next((link["ifname"] for link in json.loads(ip("-j", "-4", "address", "show", "up"))
                  for address in link["addr_info"] if address["local"] == HERE), None)

SEARCH = """
import glob, os, pathlib
for top in ("/sys/class/infiniband", "/sys/class/infiniband_verbs", "/dev/infiniband"):
    print(sorted(os.listdir(top)), sorted(entry.name for entry in os.scandir(top)),
          sorted(path.name for path in pathlib.Path(top).iterdir()), sorted(glob.glob(top + "/*")))
    print(sorted(name for _, folders, files in os.walk(top, followlinks=False) for name in folders + files))
print([os.path.exists(f"/sys/class/infiniband{end}") for end in ("/mana_0", "_mad", "_cm", "_verbs/uverbs1")])
print(sorted(name for name in os.listdir("/sys/class") if name.startswith("infiniband")))
print(glob.glob("/sys/class/net/*/device/infiniband*"), glob.glob("/sys/class/*/card/infiniband*/*"))
"""
SEARCHED = """\
['iwarp0'] ['iwarp0'] ['iwarp0'] ['/sys/class/infiniband/iwarp0']
['iwarp0']
['abi_version', 'uverbs0'] ['abi_version', 'uverbs0'] ['abi_version', 'uverbs0'] \
['/sys/class/infiniband_verbs/abi_version', '/sys/class/infiniband_verbs/uverbs0']
['abi_version', 'uverbs0']
['rdma_cm', 'uverbs0'] ['rdma_cm', 'uverbs0'] ['rdma_cm', 'uverbs0'] \
['/dev/infiniband/rdma_cm', '/dev/infiniband/uverbs0']
['rdma_cm', 'uverbs0']
[False, False, False, False]
['infiniband', 'infiniband_verbs']
[] []
"""


class Watch:
    """Lets the kernel report each file and folder of the foreign devices that any process opens."""
    OPENED = 0x20

    def __init__(self):
        libc = ctypes.CDLL(None)
        self._fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._folders = {libc.inotify_add_watch(self._fd, os.fsencode(folder), self.OPENED): folder
                         for folder in foreign_tree.folders()}
        self.opened()  # those that folders() has opened

    def opened(self):
        """Returns the paths that have been opened since the last call."""
        out = []
        with contextlib.suppress(BlockingIOError):
            while events := os.read(self._fd, 1 << 16):
                while events:
                    watch, _, _, size = struct.unpack_from("iIII", events)
                    name = events[16:16 + size].rstrip(b"\0").decode()
                    out.append(f"{self._folders[watch]}/{name}")
                    events = events[16 + size:]
        return out

    def close(self):
        os.close(self._fd)


class Isolation(Case):
    def see(self, *words, persona, statuses=(0,), **how):
        """Runs a program, which must neither print the name of a foreign device nor open one of its files."""
        watch = Watch()
        self.addCleanup(watch.close)
        result = self.run_program(*words, options=("--as", persona), statuses=statuses, **how)
        self.assertEqual(watch.opened(), [], f"opened by {words}")
        self.assertNotRegex(result.out + result.err, FOREIGN)
        return result

    def test_without_iwarp_run_the_foreign_devices_are_there(self):
        """Tests the test."""
        watch = Watch()
        self.addCleanup(watch.close)
        plain = self.run_program("sh", "-c", "ls /sys/class/infiniband /sys/class/infiniband_mad; "
                                 f"cat /sys/class/net/{INTERFACE}/device/infiniband/mana_0/ports/1/state; "
                                 "ls /dev/char/ /dev/infiniband", plain=True).out
        for name in ("mana_0", "umad0", "4: ACTIVE", "231:193", "uverbs1"):
            self.assertIn(name, plain)
        self.assertIn(f"{foreign_tree.FUNCTION}/infiniband/mana_0/ports/1/state", watch.opened())

    def test_functions_of_the_c_library(self):
        self.run_program(IN_C, plain=True)
        self.run_program(sys.executable, IN_PYTHON)

    def test_shells_and_tools(self):
        for persona in PERSONAS:
            for command, said in (
                    ("ls /sys/class/infiniband; echo /sys/class/infiniband/*", "iwarp0\n/sys/class/infiniband/iwarp0\n"),
                    ("cd /sys/class/infiniband_verbs && echo *", "abi_version uverbs0\n"),
                    ("ls /dev/infiniband", "rdma_cm\nuverbs0\n"),
                    ("find /sys/class/ /dev/ -path /dev/shm -prune -o \\( -name 'umad*' -o -name 'mana*' -o -name "
                     "uverbs1 -o -name 'ucm*' \\) -print", ""),
                    (f"find {foreign_tree.FUNCTION}/ -path '*infiniband*' | sed s/7fff:00//", ""),
                    ("find -L /sys/class/infiniband -maxdepth 1", "/sys/class/infiniband\n/sys/class/infiniband/iwarp0\n"),
                    ("ls -d /sys/class/infiniband*", "/sys/class/infiniband\n/sys/class/infiniband_verbs\n"),
                    ("cat /sys/class/infiniband/*/ports/1/gid_attrs/ndevs/0 >/dev/null", ""),
                    ("for each in /sys/class/infiniband/*/device; do readlink -f $each; realpath $each/; done",
                     "/sys/devices/platform/iwarp\n" * 2)):
                with self.subTest(persona=persona, command=command):
                    self.assertEqual(self.see("sh", "-c", command, persona=persona).out, said)

    def test_what_is_asked_for_by_name_does_not_exist(self):
        paths = ("/sys/class/infiniband/mana_0", "/sys/class/infiniband_mad/umad0", "/sys/class/infiniband_cm",
                 f"/sys/class/net/{INTERFACE}/device/infiniband", f"{foreign_tree.FUNCTION}/infiniband/mana_0",
                 "/dev/infiniband/umad0", "/dev/char/231:0", "/sys/dev/char/231:192", "/sys/dev/char/231:193/ibdev")
        for program in ("cat", "ls -l", "ls -d", "stat", "readlink -e", "test -e", "du"):
            with self.subTest(program=program):
                script = f'for path; do {program} "$path" && echo "found $path"; done; true'
                plain = self.run_program("sh", "-c", script, "sh", *paths, plain=True)
                there = len(re.findall("(?m)^found |: Is a directory$|: No such device", plain.out + plain.err))
                self.assertEqual(there, len(paths), str(plain))
                result = self.run_program("sh", "-c", script, "sh", *paths)
                self.assertNotIn("found ", result.out)
                self.assertEqual(len(re.findall("(?i)no such file", result.err)),
                                 0 if program in ("readlink -e", "test -e") else len(paths), str(result))

    def test_started_in_a_folder_of_the_foreign_devices(self):
        for folder, said in (("/sys/class/infiniband", "iwarp0\n"), ("/sys/class/infiniband_mad", ""),
                             ("/sys/class/infiniband_verbs", "abi_version\nuverbs0\n"),
                             ("/dev/infiniband", "rdma_cm\nuverbs0\n")):
            with self.subTest(folder=folder):
                self.assertEqual(self.run_program("ls", cwd=folder, statuses=(0, 2)).out, said)

    def test_python(self):
        for persona in PERSONAS:
            self.assertEqual(self.see(sys.executable, "-c", SEARCH, persona=persona).out, SEARCHED)

    def test_lists_of_devices(self):
        for persona in PERSONAS:
            for words, said in ((("ibv_devices",), "iwarp0"), (("ibv_devinfo", "-v"), "iwarp0"),
                                (("ucx_info", "-d"), "iwarp0" if persona == "roce" else ""),
                                (("fi_info", "-p", "verbs"), "iwarp0"),
                                (("node", "-e", "fs = require('fs'); for (const name of fs.readdirSync("
                                  "'/sys/class/infiniband')) console.log(name, fs.statSync('/sys/class/infiniband/' + "
                                  "name).isDirectory())"), "iwarp0 true")):
                with self.subTest(persona=persona, words=words):
                    if shutil.which(words[0]) is None:
                        self.skipTest(f"not installed: {words[0]}")
                    self.assertIn(said, self.see(*words, persona=persona).out)
            result = self.run_program("ibv_devinfo", "-d", "mana_0", options=("--as", persona), statuses=(255,))
            self.assertIn("IB device 'mana_0' wasn't found", result.err)

    def test_rdma_cm(self):
        """Both ends use an address that the foreign devices have, too."""
        watch = Watch()
        self.addCleanup(watch.close)
        for persona in PERSONAS:
            for address in (HERE, "0.0.0.0"):
                with self.subTest(persona=persona, address=address):
                    self.rping("-V", "-C", 10, address=address, target=HERE, options=("--as", persona))
            self.with_client("ib_write_bw", "-F", "-R", "-n", 20, host=HERE, options=("--as", persona))
        self.assertEqual(watch.opened(), [])

    def test_everything_else_looks_the_same(self):
        hide = "grep -v -E ' (infiniband.*|231:.*|10:124 .*|rdma_cm .*)$'"
        for command in (f"ls -l /sys/class | {hide}", "ls -lR /sys/class/net", f"ls -l /sys/class/net/*/device/ | {hide}",
                        f"ls -l /sys/class/misc | {hide}", "cat /sys/class/net/*/address", f"find /dev -maxdepth 1 -printf '%M %u %l %f\\n' | {hide}",
                        f"ls -l /dev/char /sys/dev/char | {hide}", f"ls {foreign_tree.FUNCTION} | grep -v infiniband",
                        "ls /sys /sys/bus /sys/module /sys/devices /sys/devices/virtual /proc/net",
                        "cat /proc/net/dev | cut -d: -f1", "cat /proc/net/route /proc/net/if_inet6",
                        f"cat {foreign_tree.FUNCTION}/vendor", "readlink -f /sys/class/net/*", "find /sys/class/net/"):
            with self.subTest(command=command):
                plain = self.run_program("sh", "-c", command, plain=True)
                self.assertEqual(self.run_program("sh", "-c", command).out, plain.out)
                self.assertNotEqual(plain.out, "")

    def test_if_no_files_can_be_made(self):
        """Without a folder for the simulated files, programs see no device below /sys and /dev, neither a foreign
        one."""
        for folder in ("/tmp", "/dev/shm"):
            if pathlib.Path(os.path.realpath(os.environ.get("IWARP", __file__))).is_relative_to(folder):
                self.skipTest(f"the programs are in {folder}")
        command = ("mount -t tmpfs -o ro tmpfs /tmp && mount -t tmpfs -o ro tmpfs /dev/shm && "
                   "exec env -u TMPDIR \"$@\"")
        result = self.run_program("ls", "/sys/class/infiniband", prefix=("unshare", "-m", "sh", "-c", command, "sh"),
                                  statuses=(2,))
        self.assertEqual(result.out, "")


if __name__ == "__main__":
    if os.getuid() != 0:
        skip_all("only root can make mount namespaces")
    if INTERFACE is None:
        skip_all("needs an interface with an IPv4 address")
    try:
        foreign_tree.build(INTERFACE, "0000:0000:0000:0000:0000:ffff:" + ":".join(
            "".join(f"{int(part):02x}" for part in pair) for pair in (HERE.split(".")[:2], HERE.split(".")[2:])))
    except OSError as refused:
        skip_all(f"the files of foreign devices cannot be made here: {refused}")
    main("ip", "unshare", "ibv_devices", "ibv_devinfo", "rping", "ib_write_bw")
