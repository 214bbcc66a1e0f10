# SPDX-License-Identifier: Apache-2.0
"""The page of iwarp cost report in headless Chromium. Needs chromium, node, and playwright-core,
which npm brings into the build tree; says loudly what is missing and skips. The screenshots stay in
the build tree, in report-pictures/."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from support import Case, main, run, skip_all

BUILD = pathlib.Path(os.environ["IWARP_BUILD"])
PLAYWRIGHT = "playwright-core@1.49.1"
HERE = pathlib.Path(__file__).resolve().parent


def playwright_module():
    """Where the module is; None: it is not here and cannot be had."""
    home = BUILD / "playwright"
    module = home / "node_modules/playwright-core/index.js"
    npm = shutil.which("npm")
    if not module.exists() and npm:
        home.mkdir(exist_ok=True)
        subprocess.run([npm, "install", "--prefix", home, "--no-save", "--ignore-scripts",
                        "--no-audit", "--no-fund", PLAYWRIGHT],
                       capture_output=True, timeout=180, check=False)
    return module if module.exists() else None


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if not CHROMIUM:
    skip_all("no chromium: nobody looks at the report's pictures")
if not shutil.which("node"):
    skip_all("no node: nobody looks at the report's pictures")
MODULE = playwright_module()
if MODULE is None:
    skip_all(f"npm cannot bring {PLAYWRIGHT}: nobody looks at the report's pictures")


class Page(Case):
    def look(self, name, *arguments):
        page = self.scratch / f"{name}.html"
        result = run("cost", "report", *arguments, "--html", page)
        self.assertEqual(result.returncode, 0, result.stderr)
        pictures = BUILD / "report-pictures" / name
        pictures.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as home:
            result = subprocess.run(
                ["node", HERE / "page_test.mjs", MODULE, CHROMIUM, page, pictures],
                capture_output=True, text=True, timeout=300, env={**os.environ, "HOME": home})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("9 charts, 0 problems", result.stdout)
        return page.read_text()

    def test_every_preset_is_drawn(self):
        for preset in ("2003", "2007", "100g"):
            with self.subTest(preset=preset):
                text = self.look(preset, "--preset", preset)
                self.assertNotRegex(text, re.compile(r'(src|href)="(?!data:)'))

    def test_a_note_does_not_end_the_page(self):
        host = self.scratch / "host.json"
        host.write_text(json.dumps({"note": "<!-- <script> </script> ]]>", "parameters": {},
                                    "machine": {"kernel": "</script><h1>"}}))
        text = self.look("hostile-note", "--host", host)
        self.assertIn(r"\u003c!-- \u003cscript>", text)

    def test_extremes_are_drawn(self):
        self.look("one-octet", "--size", 1, "--cached", "--application", 5)
        self.look("large", "--size", "1G", "--reuse", 1000, "--crc", "off", "--file", "512G")


main()
