# SPDX-License-Identifier: Apache-2.0
"""Tests that ibv_devices and ibv_devinfo list one device, iwarp0, as an RNIC or as RoCE, with an active port."""
import pathlib

from support import Case, main
from tried import tried


TRANSPORT = {"iwarp": r"iWARP \(1\)", "roce": r"InfiniBand \(0\)"}


@tried("ibv_devices, ibv_devinfo", "ibverbs-utils", "the list of devices, and the capabilities of "
       "the device", personas=("iwarp", "roce"))
class Devices(Case):
    def test_one_device_and_no_infiniband_in_the_kernel(self):
        result = self.run_program("ibv_devices")
        self.assertRegex(result.out, r"(?m)^\s+iwarp0\s+[0-9a-f]{16}$")
        self.assertEqual(len(result.out.splitlines()), 3, result.out)
        self.assert_silent(result)
        if pathlib.Path("/dev/infiniband").exists():
            self.skipTest("passed, but this machine has /dev/infiniband")

    # [IBV-19]
    def test_devinfo(self):
        result = self.run_program("ibv_devinfo", "-v")
        for line in (r"hca_id:\s+iwarp0", rf"transport:\s+{TRANSPORT[self.persona]}", r"phys_port_cnt:\s+1",
                     r"state:\s+PORT_ACTIVE \(4\)", r"link_layer:\s+Ethernet",
                     r"max_mr_size:\s+0x[0-9a-f]+", r"atomic_cap:\s+ATOMIC_\w+ \(\d\)",
                     r"max_qp_rd_atom:\s+[1-9]\d*", r"max_srq:\s+[1-9]\d*"):
            self.assertRegex(result.out, rf"(?m)^\s*{line}$")
        self.assert_silent(result)

    # [IBV-2, IBV-9]
    def test_devinfo_finds_it_by_name_and_lists_it(self):
        self.assertIn("iwarp0", self.run_program("ibv_devinfo", "-d", "iwarp0").out)
        self.assertRegex(self.run_program("ibv_devinfo", "-l").out, r"1 HCA found:\s+iwarp0")
        self.run_program("ibv_devinfo", "-d", "mlx5_0", statuses=(255, 1))

    def test_without_us_there_is_none(self):
        if pathlib.Path("/sys/class/infiniband").exists():
            self.skipTest("this machine has RDMA devices of its own")
        result = self.run_program("ibv_devinfo", plain=True, statuses=(255, 1))
        self.assertRegex(result.err, "No IB devices found|Failed to get IB devices list")


main("ibv_devices", "ibv_devinfo")
