# SPDX-License-Identifier: Apache-2.0
"""Prints as JSON what a Python program sees when it looks for RDMA devices in the file system. This is not a test."""
import glob
import json
import os
import pathlib
import stat

DEVICE = pathlib.Path("/sys/class/infiniband/iwarp0")
NODE = "/dev/infiniband/uverbs0"


def refusal(call, *words):
    try:
        call(*words)
    except OSError as error:
        return error.errno
    return 0


def opened():
    descriptor = os.open(NODE, os.O_RDWR)
    try:
        return stat.S_ISCHR(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)


def from_within():
    os.chdir(DEVICE / "ports")
    return [os.getcwd(), os.listdir("."), pathlib.Path("1/state").read_text(), os.path.realpath("..")]


print(json.dumps({
    "devices": sorted(os.listdir(DEVICE.parent)),
    "nodes": sorted(entry.name for entry in os.scandir("/dev/infiniband")),
    "interfaces": glob.glob(str(DEVICE.parent / "*/device/net/*")),
    "real": os.path.realpath(DEVICE),
    "resolved": str((DEVICE / "device").resolve()),
    "link": os.readlink(DEVICE),
    "character": stat.S_ISCHR(os.stat(NODE).st_mode),
    "number": [os.major(os.stat(NODE).st_rdev), os.minor(os.stat(NODE).st_rdev)],
    "opened": opened(),
    "kinds": {entry.name: stat.S_ISCHR(entry.stat().st_mode) and not entry.is_file()
              for entry in os.scandir("/dev/infiniband")},
    "access": os.access(NODE, os.R_OK | os.W_OK),
    "type": (DEVICE / "ports/1/gid_attrs/types/0").read_text(),
    "gid": (DEVICE / "ports/1/gids/0").read_text().strip(),
    "walked": sum(len(files) for _, _, files in os.walk(DEVICE.resolve())),
    "create": refusal(open, DEVICE / "x", "w"),
    "mkdir": refusal(os.mkdir, DEVICE / "x"),
    "within": from_within(),
}))
