# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp run --fault`: unmodified programs see the faults of a plan, the same seed repeats a run, and with an
invalid plan the program is not started. Only the user who runs the program can add rules."""
import os
import re
import shutil
import socket
import subprocess
import threading
import unittest

from hosts import own_address
from support import IWARP, PROGRAMS, TIMEOUT, Case, Program, environment, free_port, main

DATAGRAMS = PROGRAMS / "datagrams"


class Planned(Case):
    def plan(self, text, name="faults.txt"):
        path = self.scratch / name
        path.write_text(text)
        return path


class Plans(Planned):
    def test_a_file_with_nonsense_is_one_line_and_nothing_runs(self):
        mark = self.scratch / "ran"
        for text, line, why in (
            ("# plan\n\nafter 3 completions status NOPE\n", 3, "NOPE is not a status such as"),
            ("seed 7\nafter three sends error\n", 2, "three is not a positive number"),
            ("\x00\xff\x1b[2J", 1, r"\?+\[2J is not one of after"),
        ):
            path = self.scratch / "bad.txt"
            path.write_bytes(text.encode("latin-1"))
            result = subprocess.run([IWARP, "run", "--fault", path, "touch", mark], text=True,
                                    capture_output=True, timeout=60, env=environment())
            self.assertEqual(result.returncode, 2, result)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertRegex(result.stderr, rf"^iwarp run: {re.escape(str(path))}:{line}: .*{why}")
            self.assertFalse(mark.exists())
        result = subprocess.run([IWARP, "run", "--fault", self.scratch / "none", "touch", mark],
                                text=True, capture_output=True, timeout=60, env=environment())
        self.assertEqual((result.returncode, mark.exists()), (2, False), result)
        self.assertRegex(result.stderr, r"^iwarp run: --fault: cannot read \S+/none: no such file or directory$")

    def test_the_rules_may_come_from_a_pipe(self):
        """`--fault <(...)`: iwarp run checks the rules, and each device of CMD reads them again."""
        rules = ["bash", "-c", "exec \"$0\" run --fault <(echo 'after 9 sends error') \"$@\"", IWARP]
        both = subprocess.run([*rules, "sh", "-c", "ibv_devices && ibv_devinfo && ibv_devinfo"], text=True,
                              capture_output=True, timeout=60, env=environment())
        self.assertEqual(both.returncode, 0, both)
        self.assertEqual(both.stderr.count("rules: 1,"), 2, both.stderr)
        printed = subprocess.run([*rules, "--env"], text=True, capture_output=True, timeout=60, env=environment())
        self.assertEqual((printed.returncode, printed.stdout), (2, ""), printed)
        self.assertIn("IWARP_FAULT: --env cannot pass on the contents of a pipe", printed.stderr)

    def test_given_as_a_variable_nonsense_is_one_line_and_no_device(self):
        path = self.plan("after 3 completions status NOPE\n")
        result = self.run_program("ibv_devinfo", env={"IWARP_FAULT": str(path)}, statuses=(1, 255))
        said = [line for line in result.err.splitlines() if line.startswith("iwarp: ")]
        self.assertEqual(len(said), 1, result.err)
        self.assertIn(f"{path}:1: NOPE is not a status", said[0])


class Injected(Planned):
    def client(self, plan, *tool, options=(), statuses=(0, 1)):
        port = free_port()
        words = [*tool, "-p", port, "-R"]
        with Program(*words) as server:
            server.listens(port)
            with Program(*words, "127.0.0.1", options=("--fault", plan, *options)) as client:
                return self.check(client.wait(), statuses)

    def faults(self, result):
        return [line for line in result.err.splitlines() if line.startswith("iwarp: ")]

    def test_the_example_of_the_manual(self):
        result = self.client(self.plan("after 100 completions qp any status WR_FLUSH_ERR\n"),
                             "ib_write_bw", "-n", 5000, statuses=(1,))
        self.assertRegex(result.out + result.err, r"Failed status 5: wr_id 0 syndrom 0x20000")
        self.assertRegex(self.faults(result)[1],
                         r"faults.txt:1: after 100 completions .* \(completion 100, queue pair 2\)$")

    def test_a_run_is_repeated_by_its_seed(self):
        plan = self.plan("seed 7\nchance 1% completions qp each tell GID_CHANGE\n"
                         "chance 0.5% sends tell SM_CHANGE\n")
        runs = [self.client(plan, "ib_write_bw", "-n", 2000, options=seed, statuses=(0,))
                for seed in ((), (), ("--fault-seed", 8))]
        logs = [self.in_order_of_rules(self.faults(result)) for result in runs]
        self.assertEqual(logs[0], logs[1])
        self.assertGreater(len(logs[0]), 10)
        self.assertNotEqual(logs[0][1:], logs[2][1:])

    @staticmethod
    def in_order_of_rules(log):
        """Returns the log sorted by rule. For each rule, the seed determines which of the counted events trigger the
        rule. Timing determines in which order the events of different rules occur, for example how many sends
        precede a completion."""
        return sorted(log, key=lambda line: re.sub(r"\(\w+ \d+,", "(", line))

    def test_a_registration_that_fails(self):
        result = self.client(self.plan("after 1 registration fail ENOMEM\n"), "ib_send_lat", "-n", 5,
                             statuses=(1,))
        self.assertRegex(result.out + result.err, "Couldn't allocate MR|allocate")

    def test_a_connection_reset_in_the_middle(self):
        result = self.client(self.plan("after 1000000 octets connection any reset\n"),
                             "ib_write_bw", "-n", 1000, statuses=(1,))
        self.assertRegex(self.faults(result)[1], r"\(octet 1000000, connection \d+\)$")


@unittest.skipUnless(DATAGRAMS.exists(), f"{DATAGRAMS} was not built, which needs libibverbs-dev")
class Datagrams(Planned):
    """Runs both ends of programs/datagrams.cpp on one host, without a relay. The datagrams that the sender does not
    log as lost must arrive."""
    TOTAL = 1000  # The program sends one more datagram, which marks the end.

    def play(self, text, *options):
        """Returns the log of the sender, and the output of the receiver."""
        address = own_address()
        with socket.create_server((address, 0)) as listener:
            listener.settimeout(TIMEOUT)
            words = (address, address, listener.getsockname()[1], self.TOTAL)
            plan = ("--fault", self.plan(text), *options)
            with Program(DATAGRAMS, "receive", *words, options=("--as", "roce")) as receiver:
                to_receiver = Control(self, listener)
                number = to_receiver.hear()
                with Program(DATAGRAMS, "send", *words, options=("--as", "roce", *plan)) as sender:
                    to_sender = Control(self, listener)
                    to_sender.hear()
                    to_sender.tell(number)
                    behind = 0
                    while behind != self.TOTAL + 1:
                        behind = to_sender.hear()
                        passed = behind - len(self.lost(self.log(sender.result())))
                        to_receiver.tell(passed)
                        self.assertEqual(to_receiver.hear(), passed, receiver.result())
                        to_sender.tell(behind)
                    log = self.log(self.check(sender.wait()))
                    return log, self.check(receiver.wait()).out

    @staticmethod
    def log(result):
        return [line for line in result.err.splitlines() if line.startswith("iwarp: faults.txt:")]

    @staticmethod
    def lost(log):
        """Returns the sequence numbers of the lost datagrams. The first datagram sent has number 0."""
        found = (re.search(r" lose \(datagram (\d+), queue pair 1\)$", line) for line in log)
        return [int(each[1]) - 1 for each in found if each]

    def test_one_in_ten_is_lost_by_the_seed_and_no_other(self):
        plan = "seed 7\nchance 10% datagrams qp each lose\n"
        logs = []
        for options in ((), (), ("--fault-seed", 8)):
            log, received = self.play(plan, *options)
            lost = self.lost(log)
            self.assertEqual(len(lost), len(log))
            self.assertGreater(len(lost), self.TOTAL // 20)
            self.assertLess(len(lost), self.TOTAL // 5)
            self.assertEqual(received, f"{self.TOTAL + 1 - len(lost)} of {self.TOTAL + 1} delivered, "
                                       f"not{''.join(f' {n}' for n in lost)}\n")
            logs.append(log)
        self.assertEqual(logs[0], logs[1])
        self.assertNotEqual(logs[0], logs[2])

    def test_what_is_delayed_arrives(self):
        plan = "seed 7\nchance 10% datagrams qp each delay 20ms\nevery 7 datagrams delay 3ms\n"
        runs = [self.play(plan) for _ in range(2)]
        self.assertEqual(runs[0], runs[1])
        log, received = runs[0]
        self.assertGreater(len(log), self.TOTAL // 7 + self.TOTAL // 20)
        self.assertEqual(received, f"{self.TOTAL + 1} of {self.TOTAL + 1} delivered, not\n")


class Control:
    """Replaces the relay: tells the ends of programs/datagrams.cpp how many datagrams have passed."""

    def __init__(self, case, listener):
        connection, _ = listener.accept()
        case.addCleanup(connection.close)
        connection.settimeout(TIMEOUT)
        self.file = connection.makefile("rw", buffering=1, newline="\n")
        case.addCleanup(self.file.close)

    def hear(self):
        return int(self.file.readline())

    def tell(self, number):
        print(number, file=self.file, flush=True)


class ControlSocket(Case):
    def setUp(self):
        super().setUp()
        self.path = self.scratch / "fault.sock"
        self.port = free_port()

    def fault(self, *words, prefix=()):
        return subprocess.run([*prefix, IWARP, "fault", self.path, *words], text=True,
                              capture_output=True, timeout=60, env=environment())

    def server(self):
        """Starts a server and waits until it has opened the device. The server then waits for a client."""
        program = Program("rping", "-s", "-p", self.port, "-a", "127.0.0.1", "-C", 100,
                          options=("--fault-socket", self.path))
        self.addCleanup(program.__exit__)
        program.listens(self.port)
        return program

    def rping(self, statuses=(0,)):
        return self.run_program("rping", "-c", "-p", self.port, "-a", "127.0.0.1", "-C", 100, statuses=statuses)

    def test_rules_are_added_while_a_program_runs(self):
        server = self.server()
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)
        stay = ("after 10 completions status RETRY_EXC_ERR", "after 3600s tell SM_CHANGE")
        added = self.fault(stay[0], "now tell GID_CHANGE", stay[1])
        self.assertEqual((added.returncode, added.stderr), (0, ""))
        # The list no longer shows rules that can never trigger again.
        self.assertEqual(self.fault().stdout, "".join(f"{rule}\n" for rule in stay))
        refused = self.fault("after 10 completions explode")
        self.assertEqual(refused.returncode, 2)
        self.assertRegex(refused.stderr, "^iwarp fault: after 10 completions explode: explode is not")
        self.rping(statuses=(0, 1, 255, 251))
        said = server.wait().err
        self.assertRegex(said, r"iwarp: fault socket: after 10 completions .* \(completion 10, ")
        self.assertFalse(self.path.exists())

    def test_another_user_is_refused_and_nothing_else_suffers(self):
        if os.getuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("needs root, to run as another user")
        self.scratch.chmod(0o755)
        server = self.server()
        other = ("setpriv", "--reuid", "65534", "--clear-groups")
        connect = ["python3", "-c", "import socket, sys; s = socket.socket(socket.AF_UNIX); "
                   "s.connect(sys.argv[1]); s.sendall(b'now remove device\\n'); print(s.recv(99))",
                   str(self.path)]
        by_mode = subprocess.run([*other, *connect], capture_output=True, text=True, timeout=60)
        self.assertRegex(by_mode.stderr, "PermissionError")
        self.path.chmod(0o666)
        by_peer = subprocess.run([*other, *connect], capture_output=True, text=True, timeout=60)
        self.assertRegex(by_peer.stdout + by_peer.stderr, "b''|ConnectionReset|BrokenPipe")
        server.says("iwarp: the fault socket refused a connection from another user")
        self.rping()
        self.check(server.wait())

    def test_nonsense_and_crowds_disturb_nobody(self):
        server = self.server()
        held = []
        for text in (b"\x00\xff\x1b[2J\n", b"x" * 100000, b"now\n" * 100, b"", b"list\n" * 100):
            peer = socket.socket(socket.AF_UNIX)
            peer.settimeout(30)
            peer.connect(str(self.path))
            held.append(peer)
            sender = threading.Thread(target=send_what_goes, args=(peer, text))
            sender.start()
            sender.join(30)
        self.assertEqual(self.fault("after 1000000 sends error").returncode, 0)
        self.rping()
        self.check(server.wait())
        for peer in held:
            peer.close()

    def test_a_socket_that_nobody_serves(self):
        result = self.fault("now port up")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"^iwarp fault: .*: no such file or directory$")


def send_what_goes(peer, text):
    try:
        peer.sendall(text)
    except OSError:
        pass  # The other end refused the text before all of it was sent.


main("rping", "ib_write_bw", "ib_send_lat", "ibv_devinfo", "ip")
