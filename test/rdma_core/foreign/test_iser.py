# SPDX-License-Identifier: Apache-2.0
"""iSCSI over RDMA with tgt's target, libiscsi's tools, and QEMU's block layer on libiscsi. Compares the data that
was written or read with the file behind the target."""
import contextlib
import os
import pathlib
import random
import subprocess

from support import LONG, TIMEOUT, Case, Program, free_port, main, skip_all
from tried import tried

TARGET = "iqn.2026-01.test.iwarp:disk"
# tgt accepts a login only from an initiator whose name and address it knows.
INITIATORS = ("iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-inq",
              "iqn.2007-10.com.github:sahlberg:libiscsi:iscsi-readcapacity16", "iqn.2008-11.org.linux-kvm")
SIZE = 64 << 20 if LONG else 8 << 20


class Iser(Case):
    def setUp(self):
        super().setUp()
        self.disk = self.scratch / "disk"
        self.disk.write_bytes(random.Random(1).randbytes(SIZE))

    def administer(self, mode, operation, *words):
        subprocess.run(["tgtadm", "--control-port", str(self.control), "--lld", "iser", "--mode", mode,
                        "--op", operation, *map(str, words)], check=True, capture_output=True,
                       text=True, timeout=TIMEOUT)

    @contextlib.contextmanager
    def target(self):
        port, self.control = free_port(), os.getpid() % 32768
        with Program("tgtd", "-f", "--control-port", self.control, "--iscsi",
                     f"portal=127.0.0.1:{free_port()}", "--iser", f"port={port},pool_sz_mb=16") as tgtd:
            tgtd.says("work_timer_start")
            self.administer("target", "new", "--tid", 1, "--targetname", TARGET)
            self.administer("logicalunit", "new", "--tid", 1, "--lun", 1, "--backing-store", self.disk)
            self.administer("target", "bind", "--tid", 1, "--initiator-address", "ALL")
            for name in INITIATORS:
                self.administer("target", "bind", "--tid", 1, "--initiator-name", name)
            yield f"iser://127.0.0.1:{port}/{TARGET}/1"
        for left in pathlib.Path("/var/run/tgtd").glob(f"socket.{self.control}*"):
            left.unlink()  # remains because the target was killed

    def assert_reads_as_the_file(self, url):
        """libiscsi refuses iSER requests of 512 KiB or more, and QEMU's default requests are larger."""
        copy = self.scratch / "copy"
        self.run_program("qemu-img", "dd", "-f", "raw", "-O", "raw", "bs=256k", f"if={url}", f"of={copy}")
        self.assertTrue(copy.read_bytes() == self.disk.read_bytes(), "the content differs")


@tried("tgt, libiscsi", "tgt libiscsi-bin", "an iSER target; iscsi-inq, iscsi-readcapacity16",
       personas=("iwarp", "roce"))
class Libiscsi(Iser):
    def test_tools(self):
        with self.target() as url:
            inquiry = self.run_program("iscsi-inq", url)
            self.assertRegex(inquiry.out, "(?m)^Peripheral Device Type:DIRECT_ACCESS")
            capacity = self.run_program("iscsi-readcapacity16", url)
            self.assertRegex(capacity.out, f"(?m)^Total size:{SIZE}$")
            self.assert_silent(inquiry, capacity)


@tried("QEMU", "qemu-block-extra qemu-utils", "qemu-io and qemu-img on a disk over iSER", personas=("iwarp", "roce"))
class Qemu(Iser):
    def test_blocks_are_where_they_belong(self):
        with self.target() as url:
            self.assert_reads_as_the_file(url)
            before = self.disk.read_bytes()
            new = self.scratch / "new"
            new.write_bytes(random.Random(2).randbytes(128 << 10))
            commands = (f"write -s {new} 64k 128k", "write -P 0x5a 1M 256k", "read -P 0x5a 1M 256k",
                        "write -P 7 4096 512", "flush")
            words = [word for command in commands for word in ("-c", command)]
            result = self.run_program("qemu-io", "-f", "raw", *words, url)
            self.assert_silent(result)
            self.assertNotIn("failed", result.out)
            wanted = bytearray(before)
            wanted[64 << 10:192 << 10] = new.read_bytes()
            wanted[1 << 20:(1 << 20) + (256 << 10)] = b"\x5a" * (256 << 10)
            wanted[4096:4608] = b"\x07" * 512
            self.assertTrue(self.disk.read_bytes() == wanted, "the content differs")
            self.assert_reads_as_the_file(url)


if __name__ == "__main__":
    if os.getuid() != 0:
        skip_all("tgtd needs root for its socket in /var/run/tgtd")
    if "iser" not in subprocess.run(["qemu-img", "--help"], capture_output=True, text=True).stdout:
        skip_all("this QEMU has no iser; apt-get install qemu-utils qemu-block-extra")
    main("tgtd", "tgtadm", "iscsi-inq", "iscsi-readcapacity16", "qemu-img", "qemu-io")
