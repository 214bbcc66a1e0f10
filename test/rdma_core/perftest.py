# SPDX-License-Identifier: Apache-2.0
"""The eight tools of perftest: how to call them, their options, and their output. The test of one option runs every
fourth tool, and the test of the next option runs other tools. With IWARP_LONG=1 each option is tested with all
tools."""
import itertools
import re

from support import LONG, SANITIZER, Case

TOOLS = tuple(f"ib_{kind}_{what}" for kind in ("write", "read", "send", "atomic")
              for what in ("bw", "lat"))
PARTS = 1 if LONG else 4
part = itertools.count()
ITERATIONS = 100 if SANITIZER else 1000
# Runs fewer iterations of ib_write_lat. The tool polls memory instead of a queue, so it occupies the processor that
# would receive the next bytes.
FEWER = {"ib_write_lat": 100}
ALL_SIZES = tuple(1 << n for n in range(1, 24))


def takes(tool, option):
    """Returns whether the tool's help lists the option. For example, ib_write_bw does not have -e."""
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
        """Runs the tool once. The client's table must have a row of figures for each size."""
        count = () if "-D" in words else ("-n", min(iterations, FEWER.get(tool, iterations)))
        # On iWARP without -R, ib_send_bw does not deregister the memory of its credits. Its PD is therefore still
        # in use at the end, and the tool prints an error about the PD after all figures.
        leaks = tool == "ib_send_bw" and "-R" not in words
        server, client = self.with_client(tool, "-F", *words, *count, host=host, statuses=(0, 1) if leaks else (0,),
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
        """Runs all tools that have the option. Without IWARP_LONG=1, runs only every fourth one of them."""
        fitting = [tool for tool in tools if takes(tool, option)]
        for tool in fitting[next(part) % PARTS::PARTS] or fitting:
            # On iWARP, the client of ib_send_bw stops when it has consumed all receives of the server. It continues
            # when the server writes a new count of receives into the client's memory. With -e, a client that has
            # stopped sleeps until an event, but this Write causes none. With -r, the server therefore posts enough
            # receives for the whole run.
            more = ("-r", 2 * ITERATIONS) if (tool, option) == ("ib_send_bw", "-e") else ()
            with self.subTest(tool=tool, words=words):
                self.measure(tool, *words, *more, **how)

    def sizes(self, result):
        """Returns the message sizes of all rows that have a count of iterations followed by figures. At least one
        figure of a row must not be 0. If the program reports that it could not measure the processor's clock, as
        happens on a busy machine, rows whose figures are all 0 are also accepted."""
        figures = "" if "Correlation coefficient" in result.err else ".*[1-9]"
        return tuple(int(size) for size in
                     re.findall(rf"(?m)^ (\d+) +[1-9]\d* +{figures}", result.out))
