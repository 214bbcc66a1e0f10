#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests check_drawings.py. Each test gives it a small tree and a drawing of the rooms in that tree."""
import shutil
import unittest

from rules_bite import Tree


class DrawnRooms(Tree):
    """Uses the layer whose drawing has the fewest rooms. `driver` includes `sockets`, and `setup` includes both."""
    ARROWS = "[setup]-->[driver]----->[sockets]\n"
    OTHERS = "[metrics] [rnic] [memory] [channels] [datagrams] [statistics]\n"

    def setUp(self):
        super().setUp()
        self.write("verbs/net/src/driver/a.cpp", '#include "sockets/c.hpp"\n#include <memory>\n')
        self.write("verbs/net/src/setup/a.cpp", '#include "driver/b.hpp"\n#include "sockets/c.hpp"\n')

    def check(self, drawing):
        self.write("verbs/net/README.md", f"Rooms:\n\n```\n{drawing}```\n\n| `rnic` | | `device` |\n")
        return self.run_script("test/architecture/check_drawings.py")

    def assert_wrong(self, drawing, *messages):
        status, output = self.check(drawing)
        self.assertEqual((status, output.count("\n")), (1, len(messages) + 1), output)
        for message in messages:
            self.assertIn(f"verbs/net/README.md: {message}", output)

    def assert_true(self, drawing):
        self.assertEqual(self.check(drawing), (0, "drawings: 0 problems\n"))

    def test_an_empty_tree_and_a_tree_without_a_drawing(self):
        self.assert_wrong("setup --> driver\n", "no drawing of the rooms of verbs/net/src")
        shutil.rmtree(self.root / "verbs/net/src")
        self.assert_true("")

    def test_what_is_further_along_the_arrows_needs_no_arrow_and_may_have_one(self):
        self.assert_true(self.ARROWS + self.OTHERS)
        self.assert_true("[setup]-+->[driver]-->[sockets]\n        |                 ^\n"
                         "        +-----------------+\n\n" + self.OTHERS)

    def test_an_arrow_is_an_include(self):
        self.assert_wrong("[setup]-->[driver]----->[sockets]-->[memory]\n" + self.OTHERS.replace("[memory] ", ""),
                          "the drawing has an arrow from sockets to memory, but no include")
        self.assert_wrong("[driver]-->[setup]-->[sockets]\n" + self.OTHERS,
                          "the drawing has an arrow from driver to setup, but no include",
                          "setup includes driver, but the drawing has no way from one to the other")

    def test_an_include_has_a_way_in_the_drawing(self):
        self.assert_wrong("[setup]-->[driver]      [sockets]\n" + self.OTHERS,
                          "driver includes sockets, but the drawing has no way from one to the other",
                          "setup includes sockets, but the drawing has no way from one to the other")

    def test_lines_cross_without_touching(self):
        self.write("verbs/net/src/rnic/a.cpp", '#include "memory/d.hpp"\n')
        self.assert_true(" [setup]    [rnic]\n    |         |\n    +---------|-->[driver]-->[sockets]\n              |\n"
                         "              v\n          [memory]\n[metrics] [channels] [datagrams] [statistics]\n")

    def test_a_header_that_layers_share_belongs_to_the_room_whose_row_names_it(self):
        self.write("verbs/net/src/metrics/a.cpp", '#include "iwarp/net/device.hpp"\n')
        others = self.OTHERS.replace("[metrics] [rnic]", "[metrics]-->[rnic]")
        self.assert_true(self.ARROWS + others)
        self.assert_true(self.ARROWS + self.OTHERS)

    def test_a_line_leads_from_a_room_to_a_room(self):
        others = self.OTHERS.replace("[metrics] [rnic]", "{}")
        for ends, message in (("[metrics]---[rnic]", "a line from metrics leads to no room"),
                              ("[metrics]---+ [rnic]", "a line from metrics leads to no room"),
                              ("[metrics]  >[rnic]", "an arrow to rnic comes from no room")):
            status, output = self.check(self.ARROWS + others.format(ends))
            self.assertEqual(status, 1, output)
            self.assertIn(message, output)

    def test_each_room_is_drawn_once(self):
        self.assert_wrong(self.ARROWS + self.OTHERS.replace("[memory] ", ""), "the room memory is drawn 0 times")
        self.assert_wrong(self.ARROWS + self.OTHERS + "[memory] [cellar]\n", "the room memory is drawn 2 times",
                          "the drawing has a box cellar, which is no room")


if __name__ == "__main__":
    unittest.main()
