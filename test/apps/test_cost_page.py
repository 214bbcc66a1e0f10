# SPDX-License-Identifier: Apache-2.0
"""Tests the page of `iwarp cost report` in headless Chromium. The screenshots stay in report-pictures/ of the build
tree."""
import re

from browser import browser_or_skip, look
from support import Case, main, run

BROWSER = browser_or_skip("the report's pictures")


class Page(Case):
    def look(self, name, *arguments):
        page = self.scratch / f"{name}.html"
        result = run("cost", "report", *arguments, "--html", page)
        self.assertEqual(result.returncode, 0, result.stderr)
        result = look("page_test.mjs", BROWSER, page, f"report-pictures/{name}")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("4 charts, 0 problems", result.stdout)
        return page.read_text()

    def test_every_preset_is_drawn(self):
        for preset in ("2003", "2007", "100g"):
            with self.subTest(preset=preset):
                text = self.look(preset, "--preset", preset)
                self.assertNotRegex(text, re.compile(r'(src|href)="(?!data:)'))

    def test_extremes_are_drawn(self):
        self.look("one-octet", "--size", 1, "--cached", "--application", 5)
        self.look("what-if", "--what-if", "depth=1,wait=interrupt,link=25")  # has the longest cells and sentences
        self.look("large", "--size", "1G", "--reuse", 1000, "--crc", "off")


main()
