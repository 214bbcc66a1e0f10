# SPDX-License-Identifier: Apache-2.0
"""Tests programs in unusual environments: behind system call filters, without /sys, and with variables that change
for a child process. The program must work, or a message must say why it does not."""
import pathlib
import platform
import subprocess
import sys

from support import Case, free_port, main

HERE = pathlib.Path(__file__).resolve().parent
CONFINED = (sys.executable, HERE / "presence/confined.py")
TRANSPORTS = {"iwarp": "iWARP (1)", "roce": "InfiniBand (0)"}
NODE_TYPES = {"iwarp": "4: RNIC", "roce": "1: CA"}


class Filters(Case):
    def setUp(self):
        super().setUp()
        if platform.machine() != "x86_64":
            self.skipTest("the filter is for x86-64")

    def test_no_namespaces_and_what_is_not_used(self):
        """unshare, setns, memfd_create and io_uring_setup fail with EPERM."""
        how = {"prefix": (*CONFINED, "memfd_create,io_uring_setup,timerfd_create", "--")}
        self.assertIn("PORT_ACTIVE", self.run_program("ibv_devinfo", **how).out)
        for persona in TRANSPORTS:
            self.assert_silent(*self.rping("-V", "-C", 10, options=("--as", persona), **how))

    def test_a_call_that_it_needs_is_named(self):
        for call in ("eventfd2", "epoll_create1"):
            with self.subTest(call=call):
                result = self.run_program("ibv_devinfo", prefix=(*CONFINED, call, "--"),
                                          statuses=range(1, 256))
                self.assertEqual(result.err.splitlines(), [
                    "iwarp: the device cannot be opened: Operation not permitted (the sandbox must allow "
                    "eventfd(2) and epoll(7))", "Failed to open device"])

    def test_the_errno_is_that_of_the_call(self):
        result = self.run_program("rping", "-s", "-a", "127.0.0.1", "-p", free_port(), "-C", 1,
                                  prefix=(*CONFINED, "epoll_create1", "--"),
                                  options=("--quiet",), statuses=range(1, 256))
        self.assertIn("Operation not permitted", result.err)


class WithoutSys(Case):
    """Runs without a mounted /sys, as in a chroot, and without /dev/infiniband."""

    def test_the_device_is_there(self):
        alone = ("unshare", "-m", "sh", "-c", "mount -t tmpfs none /sys && exec \"$@\"", "sh")
        if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("only root can unmount /sys, and only if mounts are permitted")
        for persona, transport in TRANSPORTS.items():
            with self.subTest(persona=persona):
                how = {"prefix": alone, "options": ("--as", persona)}
                said = self.run_program("ibv_devinfo", "-v", **how)
                self.assert_silent(said)
                self.assertRegex(said.out, r"transport:\s+" + transport.replace("(", r"\(").replace(")", r"\)"))
                self.assertIn("PORT_ACTIVE", said.out)
                listed = self.run_program("sh", "-c", "ls /sys/class/infiniband /sys; cat "
                                          "/sys/class/infiniband/iwarp0/node_type", **how)
                self.assertEqual(listed.out, f"/sys:\n\n/sys/class/infiniband:\niwarp0\n{NODE_TYPES[persona]}\n")
                self.rping("-V", "-C", 5, **how)


class Changed(Case):
    """IWARP_AS has one value in a parent and another value in its child. Each process must see all files of its own
    device."""

    def test_between_a_parent_and_its_child(self):
        for mine, other in (("iwarp", "roce"), ("roce", "iwarp")):
            with self.subTest(mine=mine):
                script = ("cat /sys/class/infiniband/iwarp0/node_type; ibv_devinfo | grep transport;"
                          f"export IWARP_AS={other};"
                          "cat /sys/class/infiniband/iwarp0/node_type; ibv_devinfo | grep transport")
                lines = self.run_program("sh", "-c", script, options=("--as", mine)).out.splitlines()
                said = [line.replace("\t", " ") for line in lines]
                self.assertEqual(said[0::2], [NODE_TYPES[mine], NODE_TYPES[other]])
                self.assertIn(TRANSPORTS[mine], said[1])
                self.assertIn(TRANSPORTS[other], said[3])

    def test_within_the_folder_of_the_other(self):
        """A child that starts in a directory of its parent's device must find itself in the same directory of its
        own device."""
        script = ("cd /sys/class/infiniband/iwarp0 && cat node_type && IWARP_AS=iwarp sh -c "
                  "'cat node_type; cat ./ports/../node_type; /bin/pwd; cat ../iwarp0/node_type;"
                  " ls /dev/infiniband; cat ports/1/gid_attrs/types/0'; cat node_type")
        self.assertEqual(self.run_program("sh", "-c", script, options=("--as", "roce")).out,
                         "1: CA\n" + 2 * "4: RNIC\n" +
                         "/sys/devices/platform/iwarp/infiniband/iwarp0\n4: RNIC\n"
                         "rdma_cm\nuverbs0\nIB/RoCE v1\n1: CA\n")


main("ibv_devinfo", "rping", "unshare")
