# SPDX-License-Identifier: Apache-2.0
"""The environment for programs that use UCX."""
import re
import subprocess


def version():
    """Returns the version of the installed UCX as numbers, or (0,) if there is none."""
    try:
        said = subprocess.run(["ucx_info", "-v"], capture_output=True, text=True, timeout=60).stdout
    except FileNotFoundError:
        return (0,)
    found = re.search(r"(\d+)\.(\d+)\.\d+", said)
    return tuple(int(number) for number in found.groups()) if found else (0,)


def environment(transports="^sm"):
    """Returns the environment variables. `transports` is the value of UCX_TLS. With None, UCX chooses among all
    transports. The default excludes shared memory, through which the two simulated hosts could communicate
    because they are one machine. From version 1.16 on, UCX waits at a fence until the peer's memory has been
    written. Its rc_verbs supports this only on Mellanox adapters; elsewhere it prints "flush(remote) is not
    supported" and continues. With one connection between two ends, UCX's weak fence is sufficient."""
    variables = {"UCX_NET_DEVICES": "iwarp0:1"}
    if transports is not None:
        variables["UCX_TLS"] = transports
    if version() >= (1, 16):
        variables["UCX_FENCE_MODE"] = "weak"
    return variables
