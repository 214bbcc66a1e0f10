# SPDX-License-Identifier: Apache-2.0
"""Tests the page of `iwarp explain` in headless Chromium. The screenshots stay in explain-pictures/ of the build
tree."""
from browser import BUILD, HERE, browser_or_skip, look
from made_capture import sends
from support import Case, main, run, skip_all

SIW = HERE.parent / "vectors/siw"
HOSTILE = b"</script><img src=x onerror=alert(1)><!-- @SCRIPT@ -->"
FRAMES = 10000

if 'if (name == "page.js") return R"~~()~~"' in (BUILD / "apps/explain/page_files.cpp").read_text():
    skip_all("built without esbuild or React, so there is no page")
BROWSER = browser_or_skip("the page of iwarp explain")


class Browser(Case):
    def look(self, name, capture):
        page = self.scratch / f"{name}.html"
        self.assert_ok(run("explain", "--html", page, capture))
        result = look("explain_page_test.mjs", BROWSER, page, "explain-pictures", name)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f"{name}: 0 problems", result.stdout)

    def test_a_demonstration(self):
        trace = self.scratch / "demo.pcap"
        self.assert_ok(run("demo", "--markers", "--trace", trace))
        self.look("demo", trace)

    def test_errors_of_a_peer(self):
        self.look("errors", SIW / "term-stock.pcap")

    def test_long_messages(self):
        self.look("rping", SIW / "rping-crc-p2p.pcap")

    def test_ten_thousand_hostile_frames(self):
        capture = self.scratch / "many.pcap"
        capture.write_bytes(sends([HOSTILE] * FRAMES, private_data=HOSTILE))
        self.look("many", capture)


main()
