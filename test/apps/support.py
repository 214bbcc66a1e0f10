# SPDX-License-Identifier: Apache-2.0
"""Runs the built iwarp command for the end-to-end tests, with timeouts. Kills processes that are still running at
the end."""
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

IWARP = os.environ.get("IWARP", "build/release/apps/iwarp")
SANITIZER = os.environ.get("IWARP_SANITIZE", "")
TIMEOUT = 600 if SANITIZER else 240  # seconds for one command


def run(*arguments, timeout=TIMEOUT, **options):
    """Runs a command until it ends. The result has returncode, stdout and stderr."""
    return subprocess.run([IWARP, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, **options)


def start(*arguments, **options):
    """Starts a command. It blocks if its output is not read and exceeds 1 MiB, the largest size of a pipe. The log of a
    server with some thousand clients is larger than the usual size, 64 KiB."""
    return subprocess.Popen([IWARP, *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, pipesize=1 << 20, text=True, **options)


def finish(process, number=None):
    """Sends a signal, if any, to a command that start() has started, and waits until it ends. The result is that of
    run()."""
    if number is not None:
        process.send_signal(number)
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def wait_until(condition, what, timeout=TIMEOUT):
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} s for: {what}")
        time.sleep(0.005)


def octets_written(pid):
    """Returns the number of bytes that a process has written. While this number grows, the process makes progress."""
    text = pathlib.Path(f"/proc/{pid}/io").read_text()
    return int(re.search(r"^wchar: (\d+)", text, re.MULTILINE)[1])


class Server:
    """Runs `iwarp serve` or `iwarp ping --server` on a free port until the end of the with block."""

    def __init__(self, *arguments, host="127.0.0.1", **options):
        self.process = start(*arguments, "--listen", f"{host}:0", **options)
        line = self.process.stdout.readline()
        match = re.search(r'listening on (.*:(\d+))(?:"})?$', line.strip())
        if not match:
            self.process.kill()
            raise AssertionError(f"no port in {line!r}; {self.process.stderr.read()}")
        self.address, self.port = match[1], int(match[2])

    def url(self, name=""):
        return f"iwarp://{self.address}/{name}"

    @property
    def pid(self):
        return self.process.pid

    def stop(self):
        """Sends SIGTERM to the server. Returns (status, output)."""
        ended = finish(self.process, signal.SIGTERM)
        return ended.returncode, ended.stdout + ended.stderr

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=TIMEOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        else:
            self.process.communicate()


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="iwarp-test-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.dir = self.scratch / "dir"
        self.out = self.scratch / "out"
        self.dir.mkdir()
        self.out.mkdir()

    def started(self, *arguments, **options):
        """Starts a command, and kills it at the end of the test."""
        process = start(*arguments, **options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def assert_ok(self, result):
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def assert_fails(self, result, status, pattern):
        """Checks the exit status, and that stderr has exactly one line, which matches `pattern`."""
        self.assertEqual(result.returncode, status, result.stderr + result.stdout)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertRegex(result.stderr, pattern)

    def written(self, name, octets):
        """Returns a file with these octets."""
        path = self.scratch / name
        path.write_bytes(octets)
        return path

    def file(self, name, size):
        return self.written(name, random.Random(size).randbytes(size))

    def names(self, directory):
        return sorted(os.listdir(directory))


def objects(text):
    """Returns the objects of a text with one JSON object per line."""
    return [json.loads(line) for line in text.splitlines()]


@contextlib.contextmanager
def processes(commands):
    """Starts several commands at the same time. Kills them if the with block fails."""
    running = [start(*command) for command in commands]
    try:
        yield running
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
            process.communicate()


def main():
    unittest.main(verbosity=2)


def skip_all(reason):
    print("SKIPPED:", reason)
    sys.exit(77)
