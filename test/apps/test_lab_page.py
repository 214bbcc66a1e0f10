# SPDX-License-Identifier: Apache-2.0
"""Tests the page of iwarp lab in headless Chromium: the tour, steps, faults, and the saved files. The screenshots
stay in lab-pictures/ of the build tree."""
from browser import BUILD, browser_or_skip, look
from support import Case, main, run, skip_all

PAGE = BUILD / "apps/lab/lab.html"
PICTURES = "lab-pictures"

if not PAGE.exists():
    skip_all("built without the wasm32 tools, esbuild or React, so there is no lab")
BROWSER = browser_or_skip("the page of iwarp lab")


class Browser(Case):
    def test_tour_steps_faults_and_files(self):
        result = look("lab_page_test.mjs", BROWSER, PAGE, PICTURES)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("lab: 0 problems", result.stdout)
        # The saved file is an ordinary capture. It contains a Write whose last octets are still in flight.
        said = run("explain", BUILD / PICTURES / "lab.pcap")
        self.assert_ok(said)
        self.assertIn("RDMA Write #2, 64 octets", said.stdout)


main()
