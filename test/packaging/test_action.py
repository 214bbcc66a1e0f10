#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests action.yml and the hosted workflow. Both must be valid, and the files to which they refer must exist. The
action's steps, which run here as on a runner, must put iwarp from a local archive into PATH. A wrong checksum or
a missing archive must stop the action.
usage: test_action.py SOURCE_DIR BUILD_DIR"""
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

try:
    import yaml
except ImportError:
    print("SKIPPED: python3-yaml is not installed")
    sys.exit(77)

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:3])


class Runner:
    """Runs a composite action as a hosted runner does, with the features that this action needs."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.path_file = self.folder / "path"
        self.output_file = self.folder / "output"

    def run(self, inputs):
        action = yaml.safe_load((SOURCE / "action.yml").read_text())
        assert action["runs"]["using"] == "composite"
        values = {name: given["default"] for name, given in action["inputs"].items()} | inputs
        self.path_file.write_text("")
        self.output_file.write_text("")
        said = ""
        for step in action["runs"]["steps"]:
            environment = {name: self.fill(text, values) for name, text in
                           step.get("env", {}).items()}
            path = ":".join([*self.path_file.read_text().split(), os.environ["PATH"]])
            environment |= {"PATH": path, "RUNNER_TEMP": str(self.folder),
                            "GITHUB_PATH": str(self.path_file),
                            "GITHUB_OUTPUT": str(self.output_file),
                            "GITHUB_ACTION_PATH": str(SOURCE)}
            done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c",
                                   step["run"]], check=False, env=environment, text=True,
                                  capture_output=True)
            said += done.stdout + done.stderr
            if done.returncode != 0:
                return done.returncode, said
        return 0, said

    @staticmethod
    def fill(text, inputs):
        def value(match):
            expression = match[1].strip()
            return inputs[expression[7:]] if expression.startswith("inputs.") else ""
        return re.sub(r"\$\{\{(.*?)\}\}", value, text)


class Action(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        self.archive = self.folder / "iwarp-0.0.0-linux-test.tar.xz"
        with tarfile.open(self.archive, "w:xz", preset=0) as out:
            out.add(BUILD / "apps/iwarp", "iwarp-0.0.0-linux-test/bin/iwarp")
        self.write_checksum(hashlib.sha256(self.archive.read_bytes()).hexdigest())

    def write_checksum(self, value):
        checksum = self.archive.with_name(self.archive.name + ".sha256")
        checksum.write_text(f"{value}  {self.archive.name}\n")

    def test_an_archive_by_its_address_is_put_into_path(self):
        runner = Runner(self.folder)
        status, said = runner.run({"archive": f"file://{self.archive}"})
        self.assertEqual(status, 0, said)
        self.assertIn("crc32c", said)  # the last step runs iwarp info
        self.assertTrue(pathlib.Path(runner.path_file.read_text().strip(), "iwarp").exists())
        self.assertIn("path=", runner.output_file.read_text())

    def test_an_archive_may_be_a_file(self):
        status, said = Runner(self.folder).run({"archive": str(self.archive)})
        self.assertEqual(status, 0, said)

    def test_a_wrong_checksum_stops_it(self):
        self.write_checksum("0" * 64)
        status, said = Runner(self.folder).run({"archive": str(self.archive)})
        self.assertNotEqual(status, 0)
        self.assertIn("has the checksum", said)

    def test_without_archive_and_repository_it_says_what_is_missing(self):
        status, said = Runner(self.folder).run({})
        self.assertNotEqual(status, 0)
        self.assertIn("neither an archive nor a repository", said)


class Workflow(unittest.TestCase):
    def setUp(self):
        self.jobs = yaml.safe_load((SOURCE / ".github/workflows/ci.yml").read_text())["jobs"]

    def test_jobs_need_jobs_that_exist(self):
        for name, job in self.jobs.items():
            needs = job.get("needs", [])
            for needed in [needs] if isinstance(needs, str) else needs:
                self.assertIn(needed, self.jobs, name)

    def test_every_step_does_one_thing(self):
        for job in self.jobs.values():
            for step in job["steps"]:
                self.assertEqual(("run" in step) + ("uses" in step), 1, step)

    def test_shell_steps_are_shell(self):
        for job in self.jobs.values():
            for step in job["steps"]:
                script = re.sub(r"\$\{\{.*?\}\}", "value", step.get("run", ""))
                done = subprocess.run(["bash", "-n"], input=script, check=False, text=True,
                                      capture_output=True)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_change_has_to_pass_what_it_has_to_pass_elsewhere(self):
        self.assertIn(".ci/run", [step.get("run") for step in self.jobs["test"]["steps"]])

    def test_presets_and_files_that_it_names_exist(self):
        text = (SOURCE / ".github/workflows/ci.yml").read_text()
        presets = subprocess.run(["cmake", "--list-presets=all"], cwd=SOURCE, check=True, text=True,
                                 capture_output=True).stdout
        for preset in re.findall(r"kind: ([\w-]+)", text):
            self.assertIn(f'"{preset}"', presets)
        for path in re.findall(r"(?:^|\s)(\.ci/[\w.-]*\w|apps/[\w.-]*\w)", text):
            self.assertTrue((SOURCE / path).exists(), path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
