# SPDX-License-Identifier: Apache-2.0
"""Puts the files of RDMA devices that do not exist below /sys and /dev, in a mount namespace of this process: a PCI
function with the devices mana_0 and mana_1, whose interface is one of this machine's. This is not a test."""
import ctypes
import os
import pathlib
import re
import stat

FUNCTION = pathlib.Path("/sys/devices/pci7fff:00/7fff:00:02.0")
CLASS = pathlib.Path("/sys/class")
NODES = pathlib.Path("/dev/infiniband")
CM = pathlib.Path("/sys/devices/virtual/misc/rdma_cm")
CM_SETTINGS = pathlib.Path("/sys/kernel/config/rdma_cm")
RDMA = re.compile(r"infiniband|rdma_cm$|231:|10:124$")  # names in the folders of a machine that has RDMA devices
NEW_MOUNTS, BIND, RECURSIVE, PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000

libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind=None, flags=0, options=None):
    words = [None if word is None else os.fsencode(str(word)) for word in (source, target, kind)]
    if libc.mount(*words, ctypes.c_ulong(flags), options and options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}: {os.strerror(ctypes.get_errno())}")


def cover(folder):
    """Covers a folder with one that has the same entries, except RDMA devices, and in which others can be made."""
    before = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    with os.scandir(before) as listing:
        entries = [(entry.name, entry.stat(follow_symlinks=False)) for entry in listing if not RDMA.match(entry.name)]
    links = {name: os.readlink(name, dir_fd=before) for name, about in entries if stat.S_ISLNK(about.st_mode)}
    mount("tmpfs", folder, "tmpfs", options="mode=755")
    for name, about in entries:
        path = pathlib.Path(folder) / name
        if name in links:
            path.symlink_to(links[name])
        elif stat.S_ISCHR(about.st_mode) or stat.S_ISBLK(about.st_mode):
            os.mknod(path, about.st_mode, about.st_rdev)
            path.chmod(stat.S_IMODE(about.st_mode))
        elif stat.S_ISDIR(about.st_mode) or stat.S_ISREG(about.st_mode):
            path.mkdir() if stat.S_ISDIR(about.st_mode) else path.touch()
            mount(f"/proc/self/fd/{before}/{name}", path, flags=BIND | RECURSIVE)
    os.close(before)


def write(folder, texts):
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{text}\n")


def link(path, target):
    """Makes a relative link, like the links in sysfs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


def add_class(name, number, device, node, texts):
    """Makes a device of a class: the folder of the PCI function, the links of the class and of the number, the node."""
    folder = FUNCTION / name / node
    write(folder, {"ibdev": device, "dev": number, **texts})
    link(folder / "device", FUNCTION)
    link(CLASS / name / node, folder)
    link(pathlib.Path("/sys/dev/char") / number, folder)
    add_node(node, number)


def add_node(name, number):
    path = NODES / name
    path.parent.mkdir(exist_ok=True)
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(*map(int, number.split(":"))))
    link(pathlib.Path("/dev/char") / number, path)


def add_device(index, interface, gid):
    name = f"mana_{index}"
    folder = FUNCTION / "infiniband" / name
    write(folder, {"node_type": "1: CA", "node_guid": "0200:00ff:fe00:0001", "sys_image_guid": "0200:00ff:fe00:0001",
                   "fw_ver": "9.9.9", "node_desc": name, "ports/1/state": "4: ACTIVE", "ports/1/lid": "0x0",
                   "ports/1/phys_state": "5: LinkUp", "ports/1/rate": "100 Gb/sec (4X EDR)",
                   "ports/1/link_layer": "Ethernet", "ports/1/cap_mask": "0x04010000", "ports/1/pkeys/0": "0xffff",
                   "ports/1/gids/0": gid, "ports/1/gid_attrs/types/0": "RoCE v2",
                   "ports/1/gid_attrs/ndevs/0": interface})
    link(folder / "device", FUNCTION)
    link(CLASS / "infiniband" / name, folder)
    add_class("infiniband_verbs", f"231:{192 + index}", name, f"uverbs{index}", {"abi_version": 1})
    add_class("infiniband_mad", f"231:{index}", name, f"umad{index}", {"port": 1})
    add_class("infiniband_cm", f"231:{224 + index}", name, f"ucm{index}", {})
    write(CM_SETTINGS / name, {"ports/1/default_roce_mode": "RoCE v2"})


def move_interface(interface):
    """Makes the PCI function the parent of the interface. What files of the interface contain remains readable."""
    folder = FUNCTION / "net" / interface
    for path in (CLASS / "net" / interface).iterdir():
        if path.is_file() and os.access(path, os.R_OK):
            try:
                write(folder, {path.name: path.read_text().rstrip("\n")})
            except OSError:  # for example the speed of an interface that is down
                continue
    link(folder / "device", FUNCTION)
    (CLASS / "net" / interface).unlink()
    link(CLASS / "net" / interface, folder)


def build(interface, gid):
    """Moves this process, which must have one thread, into a mount namespace with the files of the foreign devices.
    Fails with OSError if this process may not do so."""
    if libc.unshare(NEW_MOUNTS) != 0:
        raise OSError(ctypes.get_errno(), f"unshare: {os.strerror(ctypes.get_errno())}")
    mount(None, "/", flags=RECURSIVE | PRIVATE)
    for folder in ("/sys/devices", "/sys/devices/virtual", "/sys/devices/virtual/misc", "/sys/class",
                   "/sys/class/net", "/sys/class/misc", "/sys/dev/char", "/sys/kernel", "/dev", "/dev/char"):
        if os.path.isdir(folder):
            cover(folder)
    CM_SETTINGS.parent.mkdir(exist_ok=True)
    mount("tmpfs", CM_SETTINGS.parent, "tmpfs")
    write(FUNCTION, {"vendor": "0x1414", "device": "0x00ba", "numa_node": 0, "class": "0x020000"})
    for index in range(2):
        add_device(index, interface, gid)
    write(CLASS / "infiniband_verbs", {"abi_version": 6})
    write(CLASS / "infiniband_mad", {"abi_version": 5})
    move_interface(interface)
    write(CM, {"abi_version": 4, "dev": "10:124", "foreign": "yes"})
    link(CLASS / "misc/rdma_cm", CM)
    link(pathlib.Path("/sys/dev/char/10:124"), CM)
    add_node("rdma_cm", "10:124")
    link(CLASS / "foreign/card", FUNCTION)


def folders():
    """Returns all folders that only the foreign devices have."""
    tops = [*CLASS.glob("infiniband*"), *FUNCTION.glob("infiniband*"), NODES, CM, CM_SETTINGS]
    return [folder for top in tops for folder, _, _ in os.walk(top)]
