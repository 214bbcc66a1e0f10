# SPDX-License-Identifier: Apache-2.0
"""Runs generated sequences of calls (`iwarp conform --generated`) on the device of this stack, as the persona that the
variable PERSONA names: 300 of them, or 3,000 with IWARP_LONG=1."""
import os

import support
from support import LONG, SANITIZER, Case, main


class Sequences(Case):
    def generated(self, seeds, **env):
        # With a short hold, a Send that finds no receive fails soon.
        return self.run_program(support.IWARP, "conform", f"--as={os.environ['PERSONA']}", "--device=iwarp0",
                                f"--generated={seeds}", plain=True, timeout=7200,
                                env={"IWARP_LOG": "off", "IWARP_RECEIVE_HOLD": "20", **env})

    def test_no_sequence_differs_from_the_model(self):
        self.generated(f"1..{3000 if LONG else 100 if SANITIZER else 300}")

    def test_a_late_event_is_not_one_of_the_next_connection(self):
        for seed in range(1, 5):
            self.generated("100..130", IWARP_ADVERSARY=f"{seed},dispatch")


if __name__ == "__main__":
    main()
