# SPDX-License-Identifier: Apache-2.0
"""Keeps the processors from halting, as booting with idle=poll does. Runs one process per processor that spins in
the scheduling class SCHED_IDLE, so that any other process preempts it immediately. Waking up a halted virtual
processor takes up to 100 us, depending on the load of its neighbours. In a test with sleeping processes, that
time would dominate the result."""
import contextlib
import os
import signal


def spin(cpu, parent):
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    while os.getppid() == parent:
        for _ in range(100_000):
            pass


@contextlib.contextmanager
def keep_awake():
    parent = os.getpid()
    children = []
    try:
        for cpu in os.sched_getaffinity(0):
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                try:
                    spin(cpu, parent)
                finally:
                    os._exit(0)
            children.append(child)
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
