# SPDX-License-Identifier: Apache-2.0
"""Runs the shell commands of README.md, CONTRIBUTING.md and rfc-notes, page by page, as a reader would. Each page gets a
folder with links to the source tree, and a network of its own in which 192.0.2.1 is this machine. Commands that EXCEPT
lists are not run. Of commands that run tests, this test only checks that they select at least one test."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["IWARP_BUILD"])
SKIPPED = 77
LIMIT = 900

BUILDS = "installs packages, builds or tests everything; test/portability.sh runs it"
PEER = "needs another machine, or files that the page does not make"
CHANGES = "changes files of the source tree"
LONG = "takes long; another test does the same with less"
FOREVER = "runs until it is interrupted"
TEST = "is a test itself"
CI = "needs the tools of .ci/run, or the kernel siw guest"
EXCEPT = {
    "README.md": {"apps/demo.sh": BUILDS, "test/run.sh": BUILDS, "apps/lab.sh": FOREVER, "cmake": BUILDS,
                  "build/release/apps/iwarp conform 192.0.2.7": PEER,
                  "build/release/apps/iwarp conform --device": LONG},
    "CONTRIBUTING.md": {
        "git grep": CHANGES,
        "cmake": BUILDS, ".ci/package": CI, "IWARP_PACKAGES=1 test/run.sh": CI, "test/portability.sh": CI,
        "test/bench/": LONG, "test/litmus/adversary.py": LONG, "LEARN_SEEDS=200": LONG, "build/release/test/chaos/chaos": LONG, "build/release/test/failing/failing": LONG,
        "build/release/test/load/load": LONG, "build/release/apps/iwarp conform HOST": PEER,
        "build/release/apps/iwarp conform --device iwarp0 --as roce ": LONG,
        "IWARP=build/release/apps/iwarp test/interop": CI, "test/conform/compare.py": PEER,
        "rfc-notes/figures.py": CHANGES, "rfc-notes/messages.py": CHANGES, "rfc-notes/programs.py": CHANGES,
        "test/architecture/check_exports.py": CHANGES, "IWARP_UPDATE_SNAPSHOTS=1": CHANGES,
        "test/notes/check_answers.py": TEST, "test/notes/check_prose.py": TEST, "build/release/test/tls": TEST},
    "rfc-notes/clinic.md": dict.fromkeys(("echo", "iwarp", "python3", "IWARP_FAULT"), "fails on purpose; notes.clinic runs it"),
    "rfc-notes/conform.md": {"build/release/apps/iwarp conform": PEER, "cmake": BUILDS,
                             "test/conform/compare.py": PEER, "test/interop/siw": CI},
    "rfc-notes/faults.md": {"timeout 60": PEER},
    "rfc-notes/judge.md": {"build/release/apps/iwarp conform --device rxe0": PEER,
                           "build/release/apps/iwarp conform --device iwarp0": LONG, "cc -o sequence": PEER},
    "rfc-notes/offload-model.md": {
        "iwarp cost calibrate": LONG, "iwarp cost validate": LONG, "iwarp get": PEER,
        "iwarp cost report --host": "needs the file of iwarp cost calibrate"},
    "rfc-notes/operations.md": {"iwarp serve DIR": PEER, "iwarp run --metrics": PEER, "curl": PEER},
    "rfc-notes/performance.md": {"build/release/apps/iwarp perf 192.0.2.7": PEER, "test/bench/run": LONG,
                                 "build/release/test/bench": LONG},
    "rfc-notes/programs.md": {"apt-get update": "packaging.first_ping_pong runs it",
                              "tar xf": "packaging.archive runs it", "bin/iwarp": "packaging.archive runs it"},
    "rfc-notes/qlog.md": {"build/release/apps/iwarp run --trace": PEER},
    "rfc-notes/robustness.md": {
        "build/release/test/chaos/chaos": LONG, "IWARP_LONG=1 build/release/test": LONG,
        "build/release/apps/iwarp conform --device iwarp0 --as": LONG,
        "build/release/test/load/load": LONG, "build/release/test/failing/failing": LONG,
        "build/release/apps/iwarp conform HOST": PEER, "IWARP=build/release/apps/iwarp": CI,
        "test/conform/compare.py": PEER},
    "rfc-notes/learn.md": {"iwarp learn check --watch": FOREVER},
    "rfc-notes/rsockets.md": {"LD_PRELOAD": PEER},
    "rfc-notes/security.md": {"iwarp": PEER},
    "rfc-notes/siw.md": {"test/run.sh": CI, "IWARP_LONG=1 test/run.sh": CI, "IWARP_NO_GUEST=1": CI},
}

# In place of sleep(1): a machine with much to do needs more than a second until a server in the background listens.
PREAMBLE = r"""
set -eo pipefail
listeners() { cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp | awk '$4 == "0A" || $4 == "07"' | wc -l; }
sleep() { while jobs %% >/dev/null && [ "$(listeners)" -le "${known:-0}" ]; do command sleep 0.1; done; known=$(listeners); }
"""
NETWORK = "ip link set lo up; ip address add 192.0.2.1/24 dev lo"
BAD = re.compile(r"data verification failed|iwarp: careful:")


def blocks(page):
    """Yields the shell blocks of a page, each as a list of commands."""
    for block in re.findall(r"(?ms)^```sh\n(.*?)^```$", page.read_text()):
        commands = []
        for line in block.splitlines():
            goes_on = commands and re.search(r"(&&|\\)\s*(#.*)?$", commands[-1])
            if goes_on:
                commands[-1] += "\n" + line
            else:
                commands.append(line)
        yield commands


def runnable(command):
    """Replaces a command that runs tests by one that counts them, and fails if there are none."""
    if re.match(r"(\w+=\S+ )*ctest ", command):
        return re.sub(r"( -V)?\s*(#.*)?$", "", command) + " -N | grep 'Total Tests: [1-9]'"
    if re.match(r"\S*/test_\w+ -[ts][cf]=", command):
        parts = re.sub(r"\s+#.*", "", command).split(";")
        return "; ".join(f"{part} -c | grep 'current filters: [1-9]'" for part in parts)
    return command


class Page:
    def __init__(self, path):
        self.path = path
        self.name = str(path.relative_to(ROOT))
        self.exceptions = EXCEPT.get(self.name, {})
        self.used = set()

    def excepted(self, command):
        found = [start for start in self.exceptions if command.startswith(start)]
        self.used.update(found)
        return bool(found)

    def problems(self):
        with tempfile.TemporaryDirectory(prefix="iwarp-page-") as scratch:
            folder = pathlib.Path(scratch)
            for entry in ROOT.iterdir():
                if entry.name != "build":
                    (folder / entry.name).symlink_to(entry)
            (folder / "build").mkdir()
            (folder / "build/release").symlink_to(BUILD)
            (folder / "my_program").symlink_to(shutil.which("ibv_devices") or "/bin/true")
            for commands in blocks(self.path):
                script = "\n".join(runnable(one) for one in commands if not self.excepted(one))
                if script.strip():
                    yield from self.run(script, folder)
        yield from (f"{self.name}: EXCEPT has {start}, which is on the page no longer"
                    for start in set(self.exceptions) - self.used)

    def run(self, script, folder):
        path = f"{BUILD / 'apps'}:{os.environ['PATH']}"
        process = subprocess.Popen(
            ["unshare", "--map-root-user", "--net", "bash", "-c", f"{NETWORK}\n{PREAMBLE}\n{script}\nwait"],
            cwd=folder, env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        try:
            out, _ = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            out = "no end\n"
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if process.wait() != 0 or BAD.search(out):
            yield f"{self.name}: status {process.returncode} of:\n{script}\n{out}"


def main():
    if subprocess.run(["unshare", "--map-root-user", "--net", "ip", "link", "set", "lo", "up"]).returncode != 0:
        print("SKIPPED: no network namespace can be made (util-linux, iproute2)")
        return SKIPPED
    missing = [tool for tool in ("ibv_rc_pingpong", "ib_write_bw", "rstream", "jq", "curl") if not shutil.which(tool)]
    if missing:
        print(f"SKIPPED: {', '.join(missing)} missing: apt-get install ibverbs-utils perftest rdmacm-utils jq curl")
        return SKIPPED
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "rfc-notes").glob("*.md")),
             *sorted((ROOT / "rfc-notes/course").glob("*.md"))]
    wanted = sys.argv[1:]
    found = [problem for path in pages if not wanted or str(path.relative_to(ROOT)) in wanted
             for problem in Page(path).problems()]
    found += [f"EXCEPT has {name}, which is no page" for name in EXCEPT if not (ROOT / name).exists()]
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
