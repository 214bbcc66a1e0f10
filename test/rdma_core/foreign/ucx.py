# SPDX-License-Identifier: Apache-2.0
"""What programs over UCX are told."""
import re
import subprocess


def version():
    """Of the installed UCX, as numbers; (0,): none that says it."""
    try:
        said = subprocess.run(["ucx_info", "-v"], capture_output=True, text=True, timeout=60).stdout
    except FileNotFoundError:
        return (0,)
    found = re.search(r"(\d+)\.(\d+)\.\d+", said)
    return tuple(int(number) for number in found.groups()) if found else (0,)


def environment(transports="^sm"):
    """`transports`: UCX_TLS, None where UCX chooses among all; else the memory that both hosts really
    share is left out. From 1.16 on UCX waits at a fence for the
    peer's memory to be written, which its rc_verbs can do with no adapter but Mellanox's: it says
    "flush(remote) is not supported" and goes on as if it were done. With one connection between two
    ends its weak fence is enough."""
    variables = {"UCX_NET_DEVICES": "iwarp0:1"}
    if transports is not None:
        variables["UCX_TLS"] = transports
    if version() >= (1, 16):
        variables["UCX_FENCE_MODE"] = "weak"
    return variables
