# SPDX-License-Identifier: Apache-2.0
"""confined.py [CALL,...] -- CMD...: executes CMD without privileges and behind a system call filter, as in a
container. CMD cannot use namespaces, mounts or device nodes, nor the system calls that CALL,... names. Supports
x86-64; on other processors it exits with status 77."""
import ctypes
import os
import platform
import struct
import sys

REFUSED = {"mknod": 133, "chroot": 161, "mount": 165, "mknodat": 259, "unshare": 272, "setns": 308}
MORE = {"eventfd2": 290, "epoll_create1": 291, "timerfd_create": 283, "memfd_create": 319, "io_uring_setup": 425}
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050001  # SECCOMP_RET_ERRNO with EPERM


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def confine(refused):
    steps = [(LOAD, 0, 0, 0)]
    for left, number in zip(range(len(refused), 0, -1), refused):
        steps.append((EQUAL, left, 0, number))
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = Program(len(steps), code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
            libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


if platform.machine() != "x86_64":
    sys.exit(77)
split = sys.argv.index("--")
confine([*REFUSED.values(), *(MORE[name] for names in sys.argv[1:split] for name in names.split(","))])
os.execvp(sys.argv[split + 1], sys.argv[split + 1:])
