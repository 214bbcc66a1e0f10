# SPDX-License-Identifier: Apache-2.0
"""The eight tools of perftest: how they are called, what they accept, what they print.
Every other tool has each option, the rest the next one; with IWARP_LONG=1 all have all."""
import itertools
import re

from support import LONG, SANITIZER, Case, free_port

TOOLS = tuple(f"ib_{kind}_{what}" for kind in ("write", "read", "send", "atomic")
              for what in ("bw", "lat"))
PARTS = 1 if LONG else 2
part = itertools.count()
ITERATIONS = 100 if SANITIZER else 1000
# It polls memory and never a queue, so it takes the processor that would bring the next octets.
FEWER = {"ib_write_lat": 100}
ALL_SIZES = tuple(1 << n for n in range(1, 24))


def takes(tool, option):
    """Whether the tool's help has the option; -e of ib_write_bw, for example, does not exist."""
    kind, what = tool.split("_")[1:]
    if option == "-b" or option == "-q":
        return what == "bw"
    if option == "-e":
        return kind != "write"
    if option == "-I":
        return kind in ("write", "send")
    if option == "--use-srq":
        return kind == "send"
    if option == "-a":
        return kind != "atomic"
    return True


class PerftestCase(Case):
    def measure(self, tool, *words, host="127.0.0.1", iterations=ITERATIONS, **how):
        """One run. Each size must have a row in the client's table, with figures in it."""
        port = free_port()
        call = [tool, "-F", "-p", port, *words]
        if "-D" not in words:
            call += ["-n", min(iterations, FEWER.get(tool, iterations))]
        # It registers memory for its credits on iWARP, and without -R never gives it back: its
        # domain is then rightly busy, and it says so behind all figures.
        leaks = tool == "ib_send_bw" and "-R" not in words
        server, client = self.pair(call, [*call, host], port, statuses=(0, 1) if leaks else (0,),
                                   **how)
        self.assert_silent(server, client)
        for result in (server, client):
            if result.status != 0:
                self.assertRegex(result.err, r"(?m)^Failed to deallocate PD - .*\n"
                                 r"Couldn't destroy all SEND resources\n$", str(result))
        sizes = self.sizes(client)
        self.assertEqual(sizes, ALL_SIZES if "-a" in words else sizes[:1], str(client))
        self.assertTrue(sizes, str(client))

    def each(self, option, *words, tools=TOOLS, **how):
        """One run of each tool that takes the option."""
        fitting = [tool for tool in tools if takes(tool, option)]
        for tool in fitting[next(part) % PARTS::PARTS] or fitting:
            # On iWARP its client stops when the server's receives are used up, until the server
            # writes a new count into memory; with -e it then sleeps, and no event comes.
            more = ("-r", 2 * ITERATIONS) if (tool, option) == ("ib_send_bw", "-e") else ()
            with self.subTest(tool=tool, words=words):
                self.measure(tool, *words, *more, **how)

    def sizes(self, result):
        """Of the rows that have a count of iterations, and behind it figures that are not all 0. These are 0 where the
        program could not measure the processor's clock, which it says, and which happens on a busy machine."""
        figures = "" if "Correlation coefficient" in result.err else ".*[1-9]"
        return tuple(int(size) for size in
                     re.findall(rf"(?m)^ (\d+) +[1-9]\d* +{figures}", result.out))
