#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that apps/frames and the layers below the driver do no I/O. For this, examines the symbols that their
archives import. Reads `nm -uC` of each archive that is given as LAYER=ARCHIVE on the command line. Supports only
GNU nm."""
import os
import re
import subprocess
import sys

from check_sources import report

SANS_IO = ("bytes", "crc32c", "mpa", "ddp", "rdmap", "verbs", "sim", "options", "trace", "frames")
REQUIRED = ("bytes", "crc32c", "mpa", "ddp", "rdmap")

NETWORK = (r"socket|socketpair|bind|listen|accept4?|connect|shutdown|[gs]etsockopt|"
           r"(recv|send)(from|to|msg|mmsg)?|p?poll|p?select|epoll_\w+|eventfd|pipe2?|io_uring_\w+")
TIME = (r"clock_(gettime|nanosleep)|gettimeofday|time|nanosleep|usleep|sleep|timerfd_\w+|"
        r"std::chrono::(_V2::)?\w+_clock::now\(\)")
THREADS = r"pthread_create|std::thread::.*|std::this_thread::.*|fork|vfork|clone"
FILES = (r"f?open(64|at|at64)?|fopen64|fdopen|freopen|creat|p?(read|write)v?(64)?|close|mmap(64)?|"
         r"std::(basic_)?[io]?f(ile)?(stream|buf).*|std::filesystem::.*")
RANDOM = r"getrandom|getentropy|s?rand|random|arc4random\w*|std::random_device::.*|RAND_\w+"
LOCKS = r"pthread_(mutex|cond|rwlock)_\w+|std::(condition_variable|mutex|shared_mutex)\w*::.*"


def deny_list(layer, member):
    """Returns the symbols that this member of the layer's archive must not import."""
    denied = [NETWORK, TIME, THREADS, RANDOM]
    if not (layer == "trace" and re.match(r"(unity_)?(pcap|capture|qlog_file)", member)):
        denied.append(FILES)
    if layer not in ("verbs", "trace"):
        denied.append(LOCKS)
    return re.compile("(" + "|".join(denied) + r")(@.*)?$")


def check(layer, archive):
    listing = subprocess.run(["nm", "-uC", archive], check=True, capture_output=True, text=True)
    member, members = "", 0
    for line in listing.stdout.splitlines():
        if line.endswith(".o:"):
            member, members = line[:-1], members + 1
        elif symbol := re.match(r"\s+[Uw] (.*)", line):
            if deny_list(layer, member).match(symbol[1]):
                yield f"{layer}: {member} imports {symbol[1]}"
    if members == 0:
        yield f"{layer}: {os.path.basename(archive)} has no members"


def main():
    archives = dict(argument.split("=", 1) for argument in sys.argv[1:])
    problems = [f"no archive given for {layer}" for layer in REQUIRED if layer not in archives]
    checked = [layer for layer in SANS_IO if layer in archives]
    for layer in checked:
        problems += check(layer, archives[layer])
    return report(f"symbols of {', '.join(checked)}", problems)


if __name__ == "__main__":
    sys.exit(main())
