# SPDX-License-Identifier: Apache-2.0
"""Keeps the processors from halting, as booting with idle=poll does: for each processor it runs one process that
spins in the class SCHED_IDLE, which any other process preempts at once. Waking up a halted virtual processor takes
up to 100 us, depending on its neighbours, which would dominate the result of a test with sleeping processes."""
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
