# SPDX-License-Identifier: Apache-2.0
"""Controls what the processors do beside the measured processes.

keep_awake() keeps the processors from halting, as booting with idle=poll does. It runs one process per processor that
spins in the scheduling class SCHED_IDLE, so that any other process preempts it immediately. Waking up a halted virtual
processor takes up to 100 us, depending on the load of its neighbours. In a test with sleeping processes, that time
would dominate the result.

one_busy() runs one process that computes all the time, as a compiler or another rank of a program would."""
import contextlib
import functools
import os
import signal


def spin(parent):
    while os.getppid() == parent:
        for _ in range(100_000):
            pass


def idle_on(cpu):
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


@contextlib.contextmanager
def spinning(preparations):
    """Runs one process for each function in `preparations`. The process calls that function and then spins."""
    parent = os.getpid()
    children = []
    try:
        for prepare in preparations:
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                try:
                    prepare()
                    spin(parent)
                finally:
                    os._exit(0)
            children.append(child)
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def keep_awake():
    return spinning([functools.partial(idle_on, cpu) for cpu in os.sched_getaffinity(0)])


def one_busy():
    return spinning([lambda: None])
