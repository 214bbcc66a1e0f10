# SPDX-License-Identifier: Apache-2.0
"""Runs the command of each entry of the error clinic (`iwarp explain-error --json`) in a network and a folder of its own,
and checks that it prints what the entry says. With arguments, runs only the entries of `iwarp explain-error ARGUMENT...`."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["IWARP_BUILD"]).resolve()
ENVIRONMENT = {**os.environ, "PATH": f"{BUILD / 'apps'}:{os.environ['PATH']}", "LC_ALL": "C"}
SKIPPED = 77
LIMIT = 120  # seconds for one command
PROGRAMS = ("ibv_rc_pingpong", "rping", "cc", "unshare", "ip")
# In place of sleep(1): waits until the server in the background listens, or has ended.
PREAMBLE = """ip link set lo up
sleep() { until grep -q ' 0A ' /proc/net/tcp /proc/net/tcp6; do jobs %% >/dev/null 2>&1 || break; command sleep 0.02; done; }
"""


def output(command):
    """Runs the command until it ends, and then ends what it has left running."""
    with tempfile.TemporaryDirectory(prefix="iwarp-clinic-") as folder, tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(["unshare", "--map-root-user", "--net", "bash", "-c", PREAMBLE + command],
                                   cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        try:
            process.wait(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            print(f"no end within {LIMIT} s: {command}")
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        out.seek(0)
        return out.read()


def main():
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing or subprocess.run(["unshare", "--map-root-user", "--net", "true"]).returncode != 0:
        print(f"SKIPPED: {', '.join(missing) or 'network namespaces'} missing: apt-get install "
              "ibverbs-utils rdmacm-utils gcc libibverbs-dev librdmacm-dev util-linux iproute2")
        return SKIPPED
    listed = subprocess.run(["iwarp", "explain-error", "--json", *sys.argv[1:]], env=ENVIRONMENT, capture_output=True,
                            text=True, check=True, timeout=LIMIT).stdout
    tried = [entry for entry in json.loads(listed) if entry["command"]]
    failed = 0
    for entry in tried:
        out = output(entry["command"])
        if entry["prints"] not in out:
            failed += 1
            print(f"{entry['title']}: {entry['command']}\ndid not print {entry['prints']!r}, but:\n{out}")
    print(f"{len(tried)} commands, {failed} of them print something else")
    return 1 if failed or not tried else 0


sys.exit(main())
