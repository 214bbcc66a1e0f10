# SPDX-License-Identifier: Apache-2.0
"""Compares the output of `iwarp explain`, line by line, for the captures that users try first. After an intended
change, set IWARP_UPDATE_SNAPSHOTS=1 to update the expected output, and read the diff."""
import os
import pathlib
import sys

from support import Case, main, run

VECTORS = pathlib.Path(__file__).resolve().parents[1] / "vectors"
sys.path.insert(0, str(VECTORS))
from samples import SAMPLES  # noqa: E402


class Samples(Case):
    maxDiff = None

    def test_every_line_is_as_reviewed(self):
        for name, make in SAMPLES.items():
            with self.subTest(name=name):
                capture = self.scratch / f"{name}.pcap"
                capture.write_bytes(make())
                text = self.assert_ok(run("explain", capture))
                expected = VECTORS / "samples" / f"{name}.txt"
                if os.environ.get("IWARP_UPDATE_SNAPSHOTS") == "1":
                    expected.write_text(text)
                self.assertEqual(text, expected.read_text())


main()
