# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp demo` with every combination of its options: its output."""
import itertools

from support import Case, main, run


def combinations():
    for revision, crc, markers, peer_markers, rtr in itertools.product(
            ("1", "2"), ("on", "off"), (False, True), (False, True),
            ("none", "write", "read", "send")):
        if revision == "1" and rtr != "none":
            continue
        yield (["--mpa-rev", revision, "--crc", crc, "--rtr", rtr]
               + ["--markers"] * markers + ["--peer-markers"] * peer_markers)


class Demo(Case):
    def check(self, *options):
        with self.subTest(options=options):
            text = self.assert_ok(run("demo", "--quiet", *options))
            self.assertRegex(text, r"^demo passed: .* Terminate 1/1/00 invalid STag .*\n$")

    def test_every_combination(self):
        for options in combinations():
            self.check("--size", "100K", *options)

    def test_sizes_at_the_edges_of_frames_and_markers(self):
        for size in (1, 2, 3, 4, 5, 490, 491, 511, 512, 513, 64767, 64768, 64769, 65536, 1 << 20):
            self.check("--size", size, "--markers", "--peer-markers")

    def test_frame_sizes_and_placement(self):
        for fpdu in ("emss", "max", 128, 1024):
            for placement in ("verified", "direct"):
                self.check("--size", "100K", "--fpdu", fpdu, "--placement", placement)

    def test_the_story_is_told_in_order(self):
        text = self.assert_ok(run("demo"))
        steps = [text.index(word) for word in (
            "1. Connect", "MPA   Request", "MPA   Reply",
            "2. Exchange an STag", "RDMAP Send", "I registered 64 octets",
            "3. RDMA Write", "RDMAP RDMA Write",
            "4. RDMA Read", "RDMAP RDMA Read Request", "RDMAP RDMA Read Response",
            "5. Send with Invalidate", "RDMAP Send with Invalidate", "the memory around it is unchanged",
            "6. RDMA Write to the invalidated STag", "RDMAP Terminate 1/1/00",
            "I sent Terminate 1/1/00", "demo passed")]
        self.assertEqual(steps, sorted(steps))
        self.assertEqual(text.count("MPA   FPDU"), 9)


main()
