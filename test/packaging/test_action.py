#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests action.yml and the hosted workflow. Both must be valid, and the files to which they refer must exist. The
action's steps, which run here as on a runner, must unpack a local archive and give each later step of the job the
device. A wrong checksum, a missing archive or an unknown option must stop the action.
usage: test_action.py SOURCE_DIR BUILD_DIR"""
import hashlib
import os
import pathlib
import re
import shutil
import socket
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
LIBRARIES = BUILD / "lib/iwarp"
# Runs a command while the folder $0 is in the place of /etc/sudoers.d.
OTHER_SUDOERS = 'mount --bind "$0" /etc/sudoers.d; exec "$@"'


class Runner:
    """Runs the steps of a job as a hosted runner does, with the features that this action needs: after each step, the
    lines of the files GITHUB_ENV and GITHUB_PATH are added to the environment of the later steps."""

    def __init__(self, folder, command=(), **environment):
        self.folder = pathlib.Path(folder)
        self.command = command  # precedes bash
        self.path = os.environ["PATH"]
        self.environment = environment
        self.output_file = self.folder / "output"
        self.output_file.write_text("")

    def step(self, script, environment=None):
        """Runs a step, and returns its exit status and what it printed."""
        files = {name: self.folder / name for name in ("GITHUB_ENV", "GITHUB_PATH")}
        for file in files.values():
            file.write_text("")
        given = {**self.environment, **(environment or {}), "PATH": self.path, "RUNNER_TEMP": self.folder,
                 "TMPDIR": self.folder, "GITHUB_OUTPUT": self.output_file, "GITHUB_ACTION_PATH": SOURCE, **files}
        done = subprocess.run([*self.command, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
                              check=False, env={name: str(value) for name, value in given.items()}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.environment |= dict(line.split("=", 1) for line in files["GITHUB_ENV"].read_text().splitlines())
        self.path = ":".join([*files["GITHUB_PATH"].read_text().split(), self.path])
        return done.returncode, done.stdout

    def run(self, inputs):
        """Runs the steps of the action, up to the first that fails."""
        action = yaml.safe_load((SOURCE / "action.yml").read_text())
        assert action["runs"]["using"] == "composite"
        unknown = inputs.keys() - action["inputs"].keys()
        assert not unknown, unknown
        values = {name: given["default"] for name, given in action["inputs"].items()} | inputs
        said = ""
        for step in action["runs"]["steps"]:
            environment = {name: self.fill(text, values) for name, text in step.get("env", {}).items()}
            status, text = self.step(step["run"], environment)
            said += text
            if status != 0:
                return status, said
        return 0, said

    @staticmethod
    def fill(text, inputs):
        def value(match):
            expression = match[1].strip()
            return inputs[expression[7:]] if expression.startswith("inputs.") else ""
        return re.sub(r"\$\{\{(.*?)\}\}", value, text)


def write_checksum(archive, value):
    archive.with_name(archive.name + ".sha256").write_text(f"{value}  {archive.name}\n")


class Job(unittest.TestCase):
    """A job whose first step is the action, with an archive that contains this build's files."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.shared.cleanup)
        tree = pathlib.Path(cls.shared.name, "iwarp-0.0.0-linux-test")
        for file, folder in ((BUILD / "apps/iwarp", "bin"), *((file, "lib/iwarp") for file in LIBRARIES.glob("*.so.1"))):
            (tree / folder).mkdir(parents=True, exist_ok=True)
            subprocess.run(["strip", "-o", tree / folder / file.name, file], check=True)
        cls.archive = tree.with_name(tree.name + ".tar.xz")
        with tarfile.open(cls.archive, "w:xz", preset=0) as out:
            out.add(tree, tree.name)
        cls.checksum = hashlib.sha256(cls.archive.read_bytes()).hexdigest()

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        write_checksum(self.archive, self.checksum)

    def started(self, runner=None, **inputs):
        """Runs the action, and returns the runner for the later steps of the job."""
        runner = runner or Runner(self.folder)
        status, said = runner.run({"archive": str(self.archive)} | inputs)
        self.assertEqual(status, 0, said)
        return runner

    def check_step(self, runner, script):
        status, said = runner.step(script)
        self.assertEqual(status, 0, f"{script}\n{said}")
        return said


class Action(Job):
    def test_an_archive_by_its_address_is_put_into_path(self):
        runner = Runner(self.folder)
        status, said = runner.run({"archive": f"file://{self.archive}"})
        self.assertEqual(status, 0, said)
        self.assertIn("crc32c", said)  # the last step runs iwarp info
        self.assertTrue(pathlib.Path(runner.path.split(":")[0], "iwarp").exists())
        self.assertIn("path=", runner.output_file.read_text())

    def test_a_wrong_checksum_stops_it(self):
        write_checksum(self.archive, "0" * 64)
        status, said = Runner(self.folder).run({"archive": str(self.archive)})
        self.assertNotEqual(status, 0)
        self.assertIn("has the checksum", said)

    def test_without_archive_and_repository_it_says_what_is_missing(self):
        status, said = Runner(self.folder).run({})
        self.assertNotEqual(status, 0)
        self.assertIn("neither an archive nor a repository", said)


@unittest.skipUnless(LIBRARIES.exists(), "this build has no drop-in libraries")
class LaterSteps(Job):
    def test_the_device_is_there(self):
        runner = self.started()
        self.assertEqual(self.check_step(runner, "ls /sys/class/infiniband"), "rxe0\n")
        self.assertEqual(self.check_step(runner, "cat /sys/class/infiniband/*/node_type"), "1: CA\n")

    @staticmethod
    def ping_pong(options):
        """Returns the lines of a script in which two processes exchange messages."""
        with socket.socket() as probe:
            probe.bind(("", 0))
            port = probe.getsockname()[1]
        return f"""ibv_rc_pingpong {options} -p {port} &
until grep -q ":{port:04X} .* 0A " /proc/net/tcp /proc/net/tcp6; do kill -0 $!; sleep 0.1; done
ibv_rc_pingpong {options} -p {port} 127.0.0.1
wait $!
"""

    @unittest.skipUnless(shutil.which("ibv_rc_pingpong"), "ibverbs-utils is not installed")
    def test_unmodified_programs_run(self):
        self.check_step(self.started(), f"ibv_devinfo | grep 'transport:.*InfiniBand'\n{self.ping_pong('-g 0')}")

    @unittest.skipUnless(all(map(shutil.which, ("rdma", "sudo", "ibv_devinfo"))),
                         "iproute2, sudo or ibverbs-utils is not installed")
    def test_a_set_up_script_runs_unchanged(self):
        """The script comes from a job with rxe, and its devices are there in later steps."""
        for add, devices in (("rxe0", ["rxe0"]), ("rxe_lo", ["rxe0", "rxe_lo"])):
            with self.subTest(add=add):
                runner = self.started()
                self.check_step(runner, f"sudo modprobe rdma_rxe\nsudo rdma link add {add} type rxe netdev lo\n"
                                f"ibv_devinfo -d {add}\n{self.ping_pong(f'-d {add} -g 1')}")
                self.assertEqual(self.check_step(runner, "ls /sys/class/infiniband").split(), devices)
                self.assertIn(f"link {add}/1 state ACTIVE", self.check_step(runner, "rdma link"))

    def test_options_take_effect(self):
        runner = self.started(device="siw_lo", netdev="lo", like="siw", options="--completions acked\n--log off")
        self.assertEqual(self.check_step(runner, "cat /sys/class/infiniband/siw_lo/node_type"), "4: RNIC\n")
        ports = "/sys/class/infiniband/siw_lo/ports/1"
        self.assertEqual(self.check_step(runner, f"sort -u {ports}/gid_attrs/ndevs/*"), "lo\n")
        self.assertEqual(self.check_step(runner, "echo $IWARP_LOG"), "off\n")

    def test_a_wrong_input_stops_the_action(self):
        for name, value in (("options", "--no-such-option"), ("netdev", "no-such-if"), ("like", "no-such-card")):
            status, said = Runner(self.folder).run({"archive": str(self.archive), name: value})
            self.assertNotEqual(status, 0)
            self.assertIn(value, said)

    @unittest.skipUnless(shutil.which("node"), "nodejs is not installed")
    def test_actions_in_javascript_run_as_before(self):
        # The runner starts node with the variables. The libraries then start no thread and print nothing.
        script = "node -e 'console.log(require(\"fs\").readdirSync(\"/proc/self/task\").length)'"
        before = self.check_step(Runner(self.folder), script)
        runner = self.started()
        self.assertEqual(self.check_step(runner, script), before)
        self.assertIn("libibverbs", self.check_step(runner, "node -e 'console.log(process.env.LD_PRELOAD)'"))

    @unittest.skipUnless(shutil.which("sudo") and os.geteuid() == 0, "sudo is not installed, or the user is not root")
    def test_sudo_keeps_the_device_on_a_hosted_runner(self):
        for kind, expected in (("self-hosted", "no device\n"), ("github-hosted", "1: CA\n")):
            sudoers = self.folder / kind
            sudoers.mkdir()
            command = ("unshare", "--mount", "bash", "-ec", OTHER_SUDOERS, sudoers)
            runner = self.started(Runner(self.folder, command, RUNNER_ENVIRONMENT=kind))
            read = "sudo cat /sys/class/infiniband/rxe0/node_type 2>/dev/null || echo no device"
            self.assertEqual(self.check_step(runner, read), expected, kind)


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
                done = subprocess.run(["bash", "-n"], input=script, check=False, text=True, capture_output=True)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_change_has_to_pass_what_it_has_to_pass_elsewhere(self):
        self.assertIn(".ci/run", [step.get("run") for step in self.jobs["test"]["steps"]])

    def test_the_examples_in_the_guide_are_valid(self):
        blocks = re.findall(r"(?ms)^```yaml\n(.*?)^```$", (SOURCE / "rfc-notes/ci.md").read_text())
        self.assertEqual([next(iter(yaml.safe_load(block))) for block in blocks], ["steps", "rdma-tests", "apiVersion"])

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
