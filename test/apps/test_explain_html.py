# SPDX-License-Identifier: Apache-2.0
"""Tests the file that `iwarp explain --html` writes, and the sources of its page and of that of iwarp lab."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from made_capture import sends
from support import Case, main, objects, run

HERE = pathlib.Path(__file__).resolve().parent
SIW = HERE.parent / "vectors/siw"
APPS = HERE.parents[1] / "apps"
BUNDLE = pathlib.Path(os.environ["IWARP_BUILD"]) / "apps/explain/page_files.cpp"
HOSTILE = b"</script><img src=x onerror=alert(1)><!-- @SCRIPT@ -->"
HAS_PAGE = 'if (name == "page.js") return R"~~()~~"' not in BUNDLE.read_text()


@unittest.skipUnless(HAS_PAGE, "built without esbuild or React, so there is no page")
class File(Case):
    def page_of(self, capture, *options):
        page = self.scratch / "page.html"
        said = self.assert_ok(run("explain", *options, "--html", page, capture))
        text = page.read_text()
        self.assertIn(f"wrote {page} ({len(text.encode())} bytes, self-contained)\n", said)
        return text

    def test_it_is_one_file_that_loads_nothing(self):
        text = self.page_of(SIW / "rping-crc-p2p.pcap")
        self.assertNotRegex(text, re.compile(r'<[^>]*\b(src|href)="(?!data:)'))
        self.assertNotRegex(text, r"@import|url\(")
        self.assertIn("default-src 'none'", text)
        self.assertEqual(text.count("</script"), 2)

    def test_the_model_in_it_is_that_of_json(self):
        capture = SIW / "term-stock.pcap"
        text = self.page_of(capture)
        model = re.search(r'id="model">\n(.*?)</script>', text, re.DOTALL)[1]
        said = self.assert_ok(run("explain", "--json", "-vv", capture))
        self.assertEqual(objects(model.strip()), objects(said))

    def test_what_the_wire_brought_is_text(self):
        text = self.page_of(self.written("hostile.pcap", sends([HOSTILE] * 3, private_data=HOSTILE)))
        self.assertEqual(text.count("</script"), 2)
        self.assertNotIn("onerror=alert", text)

    def test_long_frames_and_large_captures_are_bounded(self):
        long = self.written("long.pcap", sends([bytes([i % 256]) * 30000 for i in range(4)]))
        self.assertLess(len(self.page_of(long)), 400000)
        capture = self.written("large.pcap", sends([bytes(2000)] * 14000))
        page = self.scratch / "page.html"
        said = self.assert_ok(run("explain", "--html", page, capture))
        left_out = int(re.search(r"frames left out because the page would become too large: (\d+) ", said)[1])
        self.assertGreater(left_out, 0)
        self.assertIn(f'"left_out":{left_out},', page.read_text()[-400000:])

    def test_misuse(self):
        self.assert_fails(run("explain", "--html", self.scratch, SIW / "rping-stock.pcap"), 1, "cannot write")
        page = self.scratch / "page.html"
        for rival in ("--json", "-v"):
            self.assert_fails(run("explain", rival, "--html", page, SIW / "rping-stock.pcap"), 2, "excludes")
        result = run("explain", "--html", page, self.scratch / "none")
        self.assertEqual(result.returncode, 1)
        self.assertIn("contains no MPA connection", page.read_text())


class Sources(Case):
    def test_types(self):
        if not shutil.which("tsc"):
            self.skipTest("tsc is missing, so the page's types are not checked")
        for name in ("explain", "lab"):
            result = subprocess.run(["tsc", "--noEmit", "-p", APPS / name / "page"], capture_output=True, text=True,
                                    timeout=120, check=False)
            self.assertEqual(result.returncode, 0, result.stdout)

    def test_a_build_without_the_page_says_so(self):
        for options, why in ((["-DIWARP_PAGES=OFF"], "IWARP_PAGES is off"),
                             (["-DIWARP_PAGES=ON", f"-DIWARP_NODE_MODULES={self.dir}"],
                              "[a-z0-9-]+ for node is missing")):
            with self.subTest(why=why):
                result = subprocess.run(
                    ["cmake", *options, f"-DOUT={self.scratch}/page.js", "-P", HERE / "pages/without_page.cmake"],
                    capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertRegex(
                    result.stderr, f"^-- {why}: the page of iwarp explain --html is left out\n$")


@unittest.skipIf(HAS_PAGE, "built with the page")
class Without(Case):
    def test_it_is_refused(self):
        page = self.scratch / "page.html"
        self.assert_fails(run("explain", "--html", page, SIW / "rping-stock.pcap"), 1,
                          "built without the HTML page")
        self.assertFalse(page.exists())


main()
