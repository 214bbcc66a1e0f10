# SPDX-License-Identifier: Apache-2.0
"""The eight tools of perftest: how they are called, what they accept, what they print."""
import re

from support import SANITIZER, Case, free_port

TOOLS = tuple(f"ib_{kind}_{what}" for kind in ("write", "read", "send", "atomic")
              for what in ("bw", "lat"))
ITERATIONS = 100 if SANITIZER else 1000
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
    def measure(self, tool, *words, host="127.0.0.1", sizes=None, iterations=ITERATIONS, **how):
        """One run. Each of `sizes` must be a row of both tables, with what was measured."""
        port = free_port()
        call = [tool, "-F", "-p", port, *words]
        if "-D" not in words:
            call += ["-n", iterations]
        server, client = self.pair(call, [*call, host], port, **how)
        self.assert_silent(server, client)
        for size in sizes or ("[0-9]+",):
            # bytes, iterations, and at least two figures that are no zero
            row = rf"(?m)^ {size} +[1-9][0-9]* +[0-9.]*[1-9][0-9.]* .*[1-9]"
            self.assertRegex(client.out, row, str(client))
        return server, client

    def each(self, option, *words, tools=TOOLS, **how):
        """One run of each tool that takes the option."""
        for tool in tools:
            if takes(tool, option):
                with self.subTest(tool=tool, words=words):
                    self.measure(tool, *words, **how)

    def rows(self, result):
        return [int(row) for row in re.findall(r"(?m)^ (\d+) +[1-9]\d* ", result.out)]
