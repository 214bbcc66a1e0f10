# SPDX-License-Identifier: Apache-2.0
"""Runs a program that writes to its buffers while they are sent, with a receiver process that the program stops
from time to time. The connection must survive with `--as iwarp` and with `--as roce`, with and without a CRC. The test takes a few
seconds; with IWARP_LONG=1 each of the four runs takes 30 s. The program is part of this project
(programs/changed_sources.cpp) and linked to the system's libraries."""
import itertools

from hosts import own_address
from support import LONG, PROGRAMS, SANITIZER, TIMEOUT, Case, main, skip_all

PROGRAM = PROGRAMS / "changed_sources"
SECONDS = 30 if LONG else 1


class ChangedSources(Case):
    def test_the_connection_lives(self):
        for persona, crc in itertools.product(("iwarp", "roce"), ("on", "off")):
            with self.subTest(persona=persona, crc=crc):
                result = self.run_program(PROGRAM, own_address(), SECONDS, timeout=TIMEOUT + SECONDS,
                                          options=("--as", persona, "--crc", crc))
                self.assertTrue(result.out.endswith("done\n"), result)
                self.assertEqual(result.err, "", result)


if __name__ == "__main__":
    if not PROGRAM.exists():
        skip_all(f"{PROGRAM} is not built: libibverbs-dev or librdmacm-dev is missing")
    if "thread" in SANITIZER:
        skip_all("the program changes buffers on purpose, which ThreadSanitizer reports")
    main()
