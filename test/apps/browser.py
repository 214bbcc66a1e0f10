# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium for the tests of web pages. Needs chromium, node, and playwright-core, which npm installs into
the build tree. If one of them is missing, skips the tests and prints what is missing."""
import fcntl
import os
import pathlib
import shutil
import subprocess
import tempfile

from support import skip_all

BUILD = pathlib.Path(os.environ["IWARP_BUILD"])
PLAYWRIGHT = "playwright-core@1.49.1"
HERE = pathlib.Path(__file__).resolve().parent


def playwright_module():
    """Returns the path of the module, or None if it is not installed and cannot be installed."""
    home = BUILD / "playwright"
    module = home / "node_modules/playwright-core/index.js"
    npm = shutil.which("npm")
    home.mkdir(exist_ok=True)
    with open(home / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # The tests of several pages start at the same time.
        if not module.exists() and npm:
            subprocess.run([npm, "install", "--prefix", home, "--no-save", "--ignore-scripts",
                            "--no-audit", "--no-fund", PLAYWRIGHT],
                           capture_output=True, timeout=180, check=False)
    return module if module.exists() else None


def browser_or_skip(what):
    """Returns the beginning of the command line for a script that drives the browser. The script's own arguments
    follow."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        skip_all(f"chromium is missing, so {what} is not tested")
    if not shutil.which("node"):
        skip_all(f"node is missing, so {what} is not tested")
    module = playwright_module()
    if module is None:
        skip_all(f"npm cannot install {PLAYWRIGHT}, so {what} is not tested")
    return module, chromium


def look(script, browser, page, pictures, *arguments):
    """Runs test/apps/SCRIPT on the page. The screenshots stay in the folder `pictures` of the build tree."""
    folder = BUILD / pictures
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        return subprocess.run(["node", HERE / "pages" / script, *browser, page, folder, *arguments],
                              capture_output=True, text=True, timeout=900,
                              env={**os.environ, "HOME": home})
