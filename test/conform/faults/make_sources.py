#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies the sources that faults.py, ../../chaos/chaos_faults.py and ../../rdma_core/device_faults.py change, and
applies the changes.

  make_sources.py --list           prints the names of the sources, separated by semicolons (for CMake)
  make_sources.py SOURCES OUTPUT   writes the changed copies below OUTPUT, under the same names

If the old text of a change does not occur exactly once, the fault is stale, which is an error. A file whose
contents would not change is not written, so that nothing is recompiled."""
import pathlib
import re
import sys

import faults

TEST = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(TEST / "chaos"), str(TEST / "rdma_core")]
import chaos_faults  # noqa: E402
import device_faults  # noqa: E402

TABLES = (faults, chaos_faults, device_faults)
FAULTS = tuple(fault for table in TABLES for fault in table.FAULTS if fault.file)


def edited_files():
    return sorted({fault.file for fault in FAULTS})


def edited(root, name, problems):
    text = (root / name).read_text()
    for fault in FAULTS:
        if fault.file != name:
            continue
        found = text.count(fault.old)
        if found != 1:
            problems.append(f"{fault.id}: {found} times in {name}, not once: {fault.old!r}")
        condition = f'IWARP_BROKEN("{fault.id}")'
        new = re.sub(r"\bBROKEN\b", condition, fault.new)
        if condition not in new:
            problems.append(f"{fault.id}: its new text has no {condition}")
        text = text.replace(fault.old, new, 1)
    return f'#include "broken.hpp"\n{text}'


def write(root, output):
    problems = []
    texts = {name: edited(root, name, problems) for name in edited_files()}
    if problems:
        sys.exit("\n".join(["the tables of faults no longer fit the sources:", *problems]))
    for name, text in texts.items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


if sys.argv[1:] == ["--list"]:
    print(";".join(edited_files()), end="")
elif len(sys.argv) == 3:
    write(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
else:
    sys.exit(__doc__)
