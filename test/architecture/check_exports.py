#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that a test covers every function that a program written for rdma-core can call: the names in
verbs/rdma_core/exports.def, and the inline functions of the headers. If a function is refused, the test must check
the refusal.

  check_exports.py [HEADERS]            checks; exits with 1 if a name has no test, or the table is stale
  check_exports.py [HEADERS] --update   rewrites the table in verbs/rdma_core/README.md

A source of test/rdma_core, or a case of the judge, which rdma_core.judge runs, must call each handwritten function
(`impl`), or look it up by name.
test/rdma_core/abi/test_abi.py must call the generated functions of each kind (the column HOW of exports.def)."""
import pathlib
import re
import sys

from check_sources import ROOT, report

DEF = ROOT / "verbs/rdma_core/exports.def"
README = ROOT / "verbs/rdma_core/README.md"
TESTS = ROOT / "test/rdma_core"
JUDGE = ROOT / "apps/judge"
GENERATED = TESTS / "abi/test_abi.py"
BEGIN, END = "<!-- exports:begin -->", "<!-- exports:end -->"

KINDS = (("done as the manual page says", ("impl",)),
         ("refused: what its manual page says for errors, and one line",
          ("errno", "minus1", "null")),
         ("for providers only: ENOSYS, no line", ("private", "privnull")),
         ("nothing to do, or no listener to notify", ("nothing", "data")))

HEADERS = ("infiniband/verbs.h", "rdma/rdma_verbs.h")
INLINE = re.compile(r"^static inline[^;{(]*?[\s*](\w+)\(", re.MULTILINE)
# The tests were written with Debian 12's headers. Only headers of later releases have this function.
LATER = "ibv_wr_flush"
# These functions need an object that cannot exist, because the function that creates the object is refused. A test
# checks that refusal.
UNREACHABLE = {
    "ibv_wc_read_completion_ts": "IBV_WC_EX_WITH_COMPLETION_TIMESTAMP",
    "ibv_wc_read_completion_wallclock_ns": "IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK",
    "ibv_wc_read_cvlan": "IBV_WC_EX_WITH_CVLAN",
    "ibv_wc_read_flow_tag": "IBV_WC_EX_WITH_FLOW_TAG",
    "ibv_wc_read_tm_info": "IBV_WC_EX_WITH_TM_INFO",
    "ibv_post_wq_recv": "ibv_create_wq",
    "ibv_wr_atomic_write": "wr_atomic_write",
    "ibv_memcpy_to_dm": "ibv_alloc_dm",
    "ibv_memcpy_from_dm": "ibv_alloc_dm",
}
# Maps the names that the headers really call to the names that programs use.
BY_HEADER = {"__ibv_get_device_list": "ibv_get_device_list", "___ibv_query_port": "ibv_query_port",
             "__ibv_reg_mr": "ibv_reg_mr", "__ibv_reg_mr_iova": "ibv_reg_mr_iova"}

NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|^ *#[^\n]*', re.DOTALL | re.MULTILINE)
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
ASKED = re.compile(r'\bdlv?sym\([^;]*?"(\w+)"')


def exported():
    """Returns the contents of exports.def: maps each name to the word that says how the library implements it."""
    return {name: how for how, names in re.findall(r"^(?:IBVERBS|RDMACM)_\S+ (\w+).*\n((?:  .*\n)+)",
                                                   DEF.read_text(), re.MULTILINE) for name in names.split()}


def used_by_tests():
    """Returns every identifier in the code of the tests, and every name that a test looks up with dlsym()."""
    used = set()
    for path in sorted([*TESTS.rglob("*.[ch]pp"), *JUDGE.rglob("*.[ch]pp")]):
        code = NOT_CODE.sub(" ", path.read_text())
        used.update(ASKED.findall(code))
        used.update(re.findall(r"\b\w+\b", re.sub(r'extern "C" \{.*?\n\}', " ", TEXT.sub(" ", code),
                                                  flags=re.DOTALL)))
    return used


def generated_and_called():
    """Returns each kind of function (the column HOW of exports.def) that test_abi.py calls."""
    return {how for words in re.findall(r'self\.refused\(([^)]*)\)', GENERATED.read_text())
            for how in re.findall(r'"(\w+)"', words)}


def inline_functions(headers):
    """Returns the inline functions of the installed headers. Returns none if the headers are missing, or later than
    the headers for which the tests were written."""
    names = set()
    for header in HEADERS:
        path = pathlib.Path(headers) / header
        if not path.exists():
            return set()
        names.update(INLINE.findall(path.read_text()))
    return set() if LATER in names else names


def problems(headers):
    names, used, called = exported(), used_by_tests(), generated_and_called()
    for name, how in names.items():
        if how == "impl" and name not in used:
            yield f"{name} is done, but no test calls it"
        elif how != "impl" and how not in called:
            yield f"{name} is of kind {how}, which no test in {GENERATED.name} calls"
    for name in sorted(inline_functions(headers)):
        if name in UNREACHABLE and UNREACHABLE[name] not in used:
            yield f"{name} cannot be reached, but no test uses {UNREACHABLE[name]}"
        elif name not in UNREACHABLE and BY_HEADER.get(name, name) not in used:
            yield f"{name}, inline in the headers, is called by no test"


def table():
    names = exported()
    lines = [f"rdma-core exports {len(names)} names in its releases up to 65; tests call each:",
             "", "| | Names |", "|---|---|"]
    for what, hows in KINDS:
        count = sum(how in hows for how in names.values())
        lines.append(f"| {what} | {count} |")
    return "\n".join(lines)


def main():
    arguments = [word for word in sys.argv[1:] if word != "--update"]
    headers = arguments[0] if arguments else "/usr/include"
    text = README.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        print(f"{README}: {BEGIN} and {END} are not there once each", file=sys.stderr)
        return 1
    head, rest = text.split(BEGIN)
    fresh = head + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1]
    found = list(problems(headers))
    if "--update" in sys.argv:
        README.write_text(fresh)
    elif fresh != text:
        found.append(f"{README.relative_to(ROOT)}: the table is stale; check_exports.py --update")
    return report(f"{len(exported())} exported names and {len(inline_functions(headers))} inline functions", found)


if __name__ == "__main__":
    sys.exit(main())
