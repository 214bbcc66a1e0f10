#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules for sources: which files may include which, how long a file may be, how it begins, which README
names it, and what it must not contain. The tables below define the rules. `check_sources.py RULE` checks one
rule."""
import fnmatch
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOP_LEVEL = ("mpa", "ddp", "rdmap", "verbs", "offload_model", "apps", "test", "rfc-notes")
CODE = (".cpp", ".hpp", ".c", ".h")
SCRIPTS = (".py", ".sh", ".cmake")

# Directory -> the layers whose headers it may include, besides its own. If several directories match a file, the
# longest one applies. CONTRIBUTING.md has the same table.
BELOW_VERBS = ("bytes", "crc32c", "mpa", "ddp", "rdmap")
LAYERS = {
    "mpa/bytes": (),
    "mpa/crc32c": ("bytes",),
    "mpa": ("bytes", "crc32c"),
    "ddp": ("bytes",),
    "rdmap": ("bytes", "ddp"),
    "verbs": BELOW_VERBS,
    "verbs/sim": (*BELOW_VERBS, "verbs"),
    "verbs/profiles": (),
    "verbs/options": ("verbs", "profiles"),
    "verbs/trace": (*BELOW_VERBS, "verbs"),
    "verbs/net": (*BELOW_VERBS, "verbs"),
    "verbs/tls": ("bytes", "verbs", "net"),
    "verbs/rdma_core": (*BELOW_VERBS, "verbs", "profiles", "options", "trace", "net", "tls"),
    "offload_model": ("bytes", "verbs"),
}
# Folder of apps/ -> the folders whose headers it may include, besides its own. No folder may include conform
# (decision 0013). Every folder may use the common parts of command lines (FOR_ALL_APPS).
APPS = {
    "command_line": (),
    "common": (),
    "usage": ("common",),
    "measure": ("common", "usage"),
    "transfer": ("common", "usage"),
    "ping": ("common",),
    "demo": ("common",),
    "run": ("common",),
    "perf": ("common", "usage", "measure"),
    "report": (),
    "judge": ("report",),
    "conform": ("common", "judge", "report"),
    "cost": ("common", "usage", "measure", "run"),
    "frames": (),
    "explain": ("common", "frames"),
    "explain_error": ("common",),
    "lab": ("common", "frames"),
    "info": ("common", "transfer"),
    "learn": ("common", "report"),
}
# Folder -> its sub-folders in order. Each sub-folder may include itself and the sub-folders before it in the list.
SUB_FOLDERS = {
    "apps/common": ("base", "connection", "serving"),
    "apps/conform": ("script", "cases", "generated", "report", "command"),
    "apps/cost": ("bench", "text", "commands"),
    "apps/frames": ("session", "connections", "model", "report"),
    "apps/judge": ("command", "frame", "tools", "cases", "generated", "litmus", "report", "main.cpp"),
    "apps/measure": ("basics", "roles", "measurement"),
}
FOR_ALL_APPS = ("command_line", "commands.hpp")
APPS_TOP = ("main.cpp", "commands.hpp", "examples")
# Programs in C that only use libibverbs and librdmacm. They include "../learn.h", as in the folder of a student.
EXERCISES = "apps/learn/exercises"
# Folder of apps/ -> headers of other layers that it may include although these headers are not installed.
NOT_INSTALLED = {"run": ("rdma_core/faults/plan.hpp", "rdma_core/process/session.hpp"),
                 "info": ("rdma_core/device/port.hpp",)}

# For the sources of each layer: its rooms, in order from the lowest, each with the other rooms that it may use. A
# room is a folder of any depth ("rsockets/streams") or a single file ("hooks.hpp"). The README of the layer has a
# table of the rooms, with the rooms that each one uses and its contents. A shared header of the layer belongs to the
# room whose row names it.
ROOMS = {
    "verbs/src": {
        "types": (),
        "text": ("types",),
        "queues": ("types",),
        "regions": ("types", "queues"),
        "queue_pair": ("types", "text", "queues", "regions"),
        "connection": ("text", "queues", "queue_pair"),
        "datagrams": ("types", "queues", "regions", "queue_pair"),
    },
    "verbs/net/src": {
        "sockets": (),
        "statistics": ("sockets",),
        "driver": ("sockets", "statistics"),
        "channels": ("sockets", "driver"),
        "datagrams": ("sockets", "driver"),
        "setup": ("sockets", "driver"),
        "memory": (),
        "rnic": ("sockets", "driver", "channels", "datagrams", "setup", "memory"),
        "metrics": ("sockets", "statistics", "driver", "rnic"),
    },
    "verbs/rdma_core": {
        "hooks.hpp": (),
        "exports": (),
        "process": ("hooks.hpp",),
        "device": ("process", "exports"),
        "objects": ("process", "device"),
        "qp": ("hooks.hpp", "process", "device", "objects"),
        "bring_up": ("process", "device", "qp"),
        "cm/sidr": ("process",),
        "cm": ("process", "device", "objects", "qp", "bring_up", "cm/sidr"),
        "faults": ("hooks.hpp", "process", "device", "objects", "qp", "cm"),
        "careful": ("hooks.hpp", "process", "objects", "qp"),
        "adversary": ("hooks.hpp", "process", "objects", "qp", "faults"),
        "rsockets/common": ("process",),
        "rsockets/streams": ("process", "device", "qp", "cm", "rsockets/common"),
        "rsockets/datagrams": ("process", "device", "objects", "cm", "rsockets/common"),
        "rsockets/service": ("process", "device", "rsockets/common", "rsockets/streams", "rsockets/datagrams"),
        "netlink": (),
        "presence": ("process", "device", "netlink"),
        "assembly.cpp": ("process", "device", "objects", "qp", "bring_up", "cm", "faults", "careful", "adversary"),
    },
}

# Layers whose code must not use I/O, except in the folders in DRIVERS.
SANS_IO = ("mpa", "ddp", "rdmap", "verbs")
DRIVERS = ("verbs/profiles", "verbs/net", "verbs/tls", "verbs/rdma_core")

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
# Headers for sockets, files, threads or real time.
IO_HEADERS = re.compile(
    r"(future|semaphore|barrier|latch|stop_token|fstream|iostream|filesystem|random|ctime|"
    r"sys/(?!auxv).*|netinet/.*|arpa/.*|linux/.*|net/.*|poll\.h|unistd\.h|fcntl\.h|netdb\.h|"
    r"pthread\.h|signal\.h|csignal|time\.h|errno\.h|cerrno|boost/asio.*|openssl/.*|pcap.*)$")
SEEDED = ("verbs/sim", "random")  # The simulator's random numbers depend only on its seed.
# In verbs/ these headers are allowed: objects that connections share need locks, and their threads may have to yield.
# check_symbols.py checks that <thread> is not used to create threads.
LOCK_HEADERS = re.compile(r"(thread|mutex|shared_mutex|condition_variable)$")
FILE_HEADERS = re.compile(r"(fstream|filesystem|sys/stat\.h|cerrno|unistd\.h|fcntl\.h|arpa/inet\.h|pcap/.*)$")
CAPTURE_WRITER = re.compile(r"verbs/trace/(src|(include|internal)/iwarp/trace)/(pcap|capture|qlog_file)\w*\.[ch]pp$")

MAX_LINES = 500
# A header of a layer for use by other code. Headers in "include" are installed, and headers in "internal" are only
# for higher layers in this build.
SHARED_HEADER = re.compile(r"/(include|internal)/(iwarp/.*\.hpp)$")
MAX_SHARED_HEADER_LINES = 200  # half of it may be documentation; examples do not count
EXAMPLE = re.compile(r"^//\n// <!-- figure: .*?^// <!-- end -->\n", re.MULTILINE | re.DOTALL)
# Two limits: the number of installed headers, including version.hpp, which CMake makes; and the number of headers
# that a program gets when it includes the umbrella header.
UMBRELLA = "iwarp/iwarp.hpp"
MAX_INSTALLED = 60
MAX_INCLUDED = 30

UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.])/(wo" r"rk|ho" r"me|ro" r"ot|tmp/build-|tmp/helpers)(/|\b)")
SLEEPS = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")
# A call that waits for less than a second. A busy machine can delay any thread by a second, so an event that has not
# arrived when the wait ends may still arrive later.
SHORT_WAIT = re.compile(r"\b\w*(?:wait|readable)\w*\([^;{}]*?(?<![-\w])(?:[1-9]\d{0,2}(?:ms|us)|"
                        r"(?:milliseconds|microseconds)[({][1-9]\d{0,2}[)}])\s*\)|"
                        r"\b(?:poll|rpoll)\((?:&\w+|[\w.]+\(\)|\w+), [\w.]+(?:\(\))?, [1-9]\d{0,2}\)|"
                        r"\b(?:epoll_wait|is_readable|readable)\([^;{}()]*, [1-9]\d{0,2}\)")
MAY_SLEEP = ("test/bench",)  # Benchmarks measure time.
MAY_WAIT_BRIEFLY = {  # The waits below check that a wait ends, or that a tool reports at intervals.
    "test/net/channel.cpp": ("wait(1ms)",),
    # In one test the program does not poll its queue for a while. In the other it arms the queue repeatedly.
    "test/net/driving/drive_modes.cpp": ("wait(2ms)", "wait(10ms)"),
    "test/rdma_core/rsockets/readiness.cpp": ("rpoll(waiting.data(), waiting.size(), 5)",),
    "test/load/load.cpp": ("poll(&end, 1, 5)",),
    "test/load/ends.cpp": ("wait_for(end.cm->fd(), end.channel->fd(), milliseconds(50))",),
    "test/apps/units/perf.cpp": ("wait(std::chrono::milliseconds(1))",),
}
# A loop in a script may sleep between polls of a condition, if there is no event for which it could wait.
SCRIPT_SLEEPS = {".py": re.compile(r"^.*\btime\.sleep\(.*$", re.MULTILINE),
                 ".sh": re.compile(r"^(?!\s*#).*\bsleep [\d.$].*$", re.MULTILINE)}
SCRIPT_LOOP = re.compile(r"\b(while|until)\b")
README_COMMANDS = ("test/portability.sh",)  # runs the commands of README.md, some of which sleep
BRIEF_TIMEOUT = re.compile(r"\.(?:wait|join|communicate|get|settimeout)\((?:timeout=)?0?\.\d+\)")
# Code that repeats a test until it passes, in ctest or in the test itself. This would hide races.
RETRIES = re.compile(r"until-pass|--repeat until|\b(tries|attempts?|retries_left)\s*(<|<=|>|!=)\s*\d|"
                     r"\bfor \w+ in range\(\w*(tries|attempts)|\brange\(tries\b")
# Data that differs from run to run.
UNSEEDED = re.compile(r"\bos\.urandom\b|\brandom_device\b|"
                      r"\brandom\.(?:Random\(\)|(?:randbytes|random|choice|shuffle|sample|randint)\()")


def files(suffixes, below=TOP_LEVEL):
    for top in below:
        for folder, _, names in os.walk(ROOT / top):
            for name in sorted(names):
                if name.endswith(suffixes):
                    path = pathlib.Path(folder, name)
                    yield str(path.relative_to(ROOT)), path.read_text(errors="replace")


def is_below(path, folders):
    return any(path.startswith(folder + "/") for folder in folders)


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


def check_includes():
    """Checks that a layer includes only itself and the layers on which it depends, and that layers below the driver
    use no I/O."""
    yield from check_table("CONTRIBUTING.md", LAYERS)
    for path, text in files(CODE, ("mpa", "ddp", "rdmap", "verbs", "offload_model")):
        layer = max((d for d in LAYERS if is_below(path, (d,))), key=len)
        sans_io = is_below(path, SANS_IO) and not is_below(path, DRIVERS)
        for match in INCLUDE.finditer(text):
            name, where = match[1], f"{path}:{line_of(text, match)}"
            own = re.match(r"iwarp/(\w+)/", name)
            if own and own[1] not in (pathlib.PurePath(layer).name, *LAYERS[layer]):
                yield f"{where}: {layer} must not include {name}"
            if SHARED_HEADER.search(path) and name.startswith("boost/asio"):
                yield f"{where}: Asio stays out of headers that other layers include"
            if not sans_io:
                continue
            if CAPTURE_WRITER.match(path) and FILE_HEADERS.match(name):
                continue
            if IO_HEADERS.match(name) and (layer, name) != SEEDED:
                yield f"{where}: <{name}> below the driver; only verbs/net does I/O"
            if LOCK_HEADERS.match(name) and not is_below(path, ("verbs",)):
                yield f"{where}: <{name}> in a layer that is single-threaded by contract"


def included_apps():
    """Yields the includes between the folders of apps/: path and line of the include, the folder that contains it, and
    the folder or top-level file that it includes."""
    for path, text in files(CODE, ("apps",)):
        if is_below(path, (EXERCISES,)):
            continue
        folder = path.split("/")[1]
        for match in INCLUDE.finditer(text):
            name = match[1].split("/")[0]
            if match[0].rstrip().endswith('"') and "/" not in match[1] and name not in FOR_ALL_APPS:
                if not (ROOT / path).with_name(name).is_file():
                    yield path, line_of(text, match), folder, name
            elif match[0].rstrip().endswith('"') and name != "iwarp" and name != folder:
                allowed = match[1] in NOT_INSTALLED.get(folder, ())
                if not allowed and ("/" in match[1] or name in FOR_ALL_APPS):
                    yield path, line_of(text, match), folder, name


def upward_includes():
    """For each folder in SUB_FOLDERS, finds files that include a header of a later sub-folder, and files that are in
    no sub-folder."""
    for folder, order in SUB_FOLDERS.items():
        name = folder.split("/")[-1]
        for path, text in files(CODE, (folder,)):
            own = path[len(folder) + 1:].split("/")[0]
            if own not in order:
                yield f"{path}: {folder} has no sub-folder {own} in the table SUB_FOLDERS"
                continue
            allowed = order[:order.index(own) + 1]
            for match in INCLUDE.finditer(text):
                parts = match[1].split("/")
                if parts[0] == name and parts[1] not in allowed:
                    yield f"{path}:{line_of(text, match)}: {name}/{own} must not include {match[1]}"


def check_apps():
    """Checks that a folder of apps/ includes only what the table allows, and that its target depends on no more."""
    yield from upward_includes()
    depends = {}
    for list_file in sorted((ROOT / "apps").glob("*/CMakeLists.txt")):
        folder = list_file.parent.name
        depends[folder] = set(re.findall(r"(?<!::)\bapps::(\w+)", list_file.read_text()))
        where = list_file.relative_to(ROOT)
        if folder not in APPS:
            yield f"{where}: {folder} is not in the table APPS"
        for other in sorted(depends[folder] - {*APPS.get(folder, ()), *FOR_ALL_APPS}):
            yield f"{where}: {folder} must not depend on {other}"
    for path, line, folder, name in included_apps():
        if folder in APPS_TOP:
            continue
        if name not in (*APPS.get(folder, ()), *FOR_ALL_APPS):
            yield f"{path}:{line}: {folder} must not include {name}"
        elif name in APPS and name not in reached(folder, lambda one: depends.get(one, set())):
            yield f"{path}:{line}: {folder} includes {name}, but its target does not depend on it"


def reached(begin, nexts):
    """Returns everything that can be reached from `begin`. `nexts` returns the set of what one step reaches."""
    found, left = set(), [begin]
    while left:
        new = nexts(left.pop()) - found
        found |= new
        left.extend(new)
    return found


def report(what, problems):
    """Prints the problems and their number. Returns the exit status of a check."""
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{what}: {len(problems)} problems")
    return 1 if problems else 0


def room_of(rooms, path):
    """Returns the room of a path that is relative to the sources of its layer, or None if it is in no room."""
    found = [room for room in rooms if path == room or path.startswith(room + "/")]
    return max(found, key=len, default=None)


def shared_rooms(base):
    """Returns the folders that hold the shared headers of this layer, and a dict from each header to its room."""
    readme, layer = readme_of(base), base.removesuffix("/src")
    rows = re.findall(r"^\| `([^`]+)` \|[^|]*\|(.*)\|$", (ROOT / readme).read_text(), re.MULTILINE) if readme else ()
    name = pathlib.PurePath(layer).name
    return (f"{layer}/include/iwarp/{name}", f"{layer}/internal/iwarp/{name}"), {
        f"iwarp/{name}/{stem}.hpp": room for room, row in rows for stem in re.findall(r"`(\w+)`", row)}


def check_rooms():
    """Checks that rooms of a layer use each other only as in the table ROOMS, which also rules out cycles."""
    for base, rooms in ROOMS.items():
        lower = set()
        for room, others in rooms.items():
            for other in others:
                if other not in lower:
                    yield f"ROOMS, {base}: {other} is not below {room}"
            lower.add(room)
        if readme_of(base):
            yield from check_table(readme_of(base), rooms)
        folders, shared = shared_rooms(base)
        for path, text in files(CODE, (base, *folders)):
            header = SHARED_HEADER.search(path)
            room = shared.get(header[2]) if header else room_of(rooms, path.removeprefix(f"{base}/"))
            if room not in rooms:
                yield f"{path}: in no room of {base}"
                continue
            for match in INCLUDE.finditer(text):
                if match[0].endswith('"') and (match[1] in shared or not match[1].startswith("iwarp/")):
                    problem = included_room(base, path, room, match[1], shared)
                    if problem:
                        yield f"{path}:{line_of(text, match)}: {problem}"


def included_room(base, path, room, name, shared):
    """Returns an error if a file of this room must not include `name`, otherwise None."""
    rooms = ROOMS[base]
    other = shared.get(name) or room_of(rooms, name)
    if other is None and "/" not in name:
        here = (ROOT / path).with_name(name).is_file()
        return None if here else f"{name} is not in the folder of the file that includes it"
    if other is None:
        return f"{name} is in no room of {base}"
    if other not in (room, *rooms[room]):
        return f"{room} must not include {name}"
    return None


def check_table(page, uses):
    """Checks that a table of this page has a row for each key of `uses`, with the names that the key may use."""
    rows = dict(re.findall(r"^\| `([^`]+)` \|([^|]*)\|", (ROOT / page).read_text(), re.MULTILINE))
    for one, others in uses.items():
        if one not in rows:
            yield f"{page}: no row for {one}"
        elif set(re.findall(r"`([^`]+)`", rows[one])) != set(others):
            yield f"{page}: {one} uses {', '.join(others) or 'nothing'}, says check_sources.py"


def check_sizes():
    """Checks that no file is longer than the limit for its kind."""
    for path, text in files(CODE + SCRIPTS):
        bound = MAX_SHARED_HEADER_LINES if SHARED_HEADER.search(path) else MAX_LINES
        length = EXAMPLE.sub("", text).count("\n")
        if length > bound:
            yield f"{path}: {length} lines, the bound is {bound}"


def in_a_loop(text, match):
    """Returns whether a line of a script is part of a loop that ends when a condition holds. The line may also contain
    the whole loop."""
    lines = text[:match.end()].splitlines()
    inner = len(lines[-1]) - len(lines[-1].lstrip())
    if SCRIPT_LOOP.search(lines[-1]):
        return True
    for line in reversed(lines[:-1]):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent < inner:
            if SCRIPT_LOOP.match(line.lstrip()):
                return True
            inner = indent
    return False


def sleeps(path, text):
    """Yields the sleeps in a test, and the waits that are used as sleeps, as (match, what)."""
    if not is_below(path, ("test",)) or is_below(path, (*MAY_SLEEP, "test/architecture")):
        return
    if path.endswith(CODE):
        yield from ((match, "sleep in a test") for match in SLEEPS.finditer(text))
        for match in SHORT_WAIT.finditer(text):
            if match[0] not in MAY_WAIT_BRIEFLY.get(path, ()):
                yield match, "short wait used as a sleep"
    suffix = pathlib.PurePath(path).suffix
    if suffix in SCRIPT_SLEEPS and path not in README_COMMANDS:
        yield from ((match, "sleep outside a loop that waits for a condition")
                    for match in SCRIPT_SLEEPS[suffix].finditer(text) if not in_a_loop(text, match))
        if suffix == ".py":
            yield from ((match, "short wait used as a sleep") for match in BRIEF_TIMEOUT.finditer(text))


def check_public():
    """Checks that an installed header includes only installed headers. Limits the number of installed headers, and
    the number of headers that the umbrella header includes."""
    includes, internal = {"iwarp/version.hpp": []}, set()
    for path, text in files((".hpp",), LAYERS):
        shared = SHARED_HEADER.search(path)
        if shared and shared[1] == "internal":
            internal.add(shared[2])
        elif shared:
            includes[shared[2]] = [(path, line_of(text, match), match[1]) for match in INCLUDE.finditer(text)]
    for found in includes.values():
        for path, line, name in found:
            if name in internal:
                yield f"{path}:{line}: an installed header must not include {name}, which is not installed"
    if len(includes) > MAX_INSTALLED:
        yield f"{len(includes)} headers are installed, the bound is {MAX_INSTALLED}"
    umbrella = {UMBRELLA} | reached(UMBRELLA, lambda one: {name for _, _, name in includes.get(one, ())} & includes.keys())
    if len(umbrella) > MAX_INCLUDED:
        yield f"{UMBRELLA} includes {len(umbrella)} headers, itself among them; the bound is {MAX_INCLUDED}"


def check_leftovers():
    """Checks that there is no unfinished code, no path that exists only on one machine, and no test that sleeps, is
    repeated until it passes, or uses other data in each run."""
    for path, text in files(CODE + SCRIPTS + (".md", ".txt", ".hex", "run"), (*TOP_LEVEL, ".ci")):
        found = [(UNFINISHED, "unfinished"), (MACHINE_PATHS, "path of one machine")]
        if is_below(path, ("test", ".ci")) and not path.startswith("test/architecture/"):
            found += [(RETRIES, "tried until it passes"), (UNSEEDED, "random data without a seed")]
        for pattern, what in found:
            for match in pattern.finditer(text):
                yield f"{path}:{line_of(text, match)}: {what}: {match[0]}"
        for match, what in sleeps(path, text):
            yield f"{path}:{line_of(text, match)}: {what}: {match[0].strip()}"


# The second line of a source, in which the comment about its purpose begins.
HEAD_OF_CODE = r"(//|/?\*) ?\w"
HEAD_OF_SCRIPT = r'(#|""") ?\w'


def check_heads():
    """Checks that every source begins with its license line and a comment about its purpose."""
    for path, text in files(CODE + SCRIPTS):
        lines = text.splitlines()
        if lines and lines[0].startswith("#!"):
            lines = lines[1:]
        if not lines or "SPDX-License-Identifier: Apache-2.0" not in lines[0]:
            yield f"{path}:1: no SPDX licence line"
        elif len(lines) < 2 or not re.match(HEAD_OF_CODE if path.endswith(CODE) else HEAD_OF_SCRIPT, lines[1]):
            yield f"{path}:2: the head does not say what the file is for"
        elif path.endswith(".hpp") and "#pragma once" not in text:
            yield f"{path}: no #pragma once"


def named_in(readme):
    """Returns the words that a README shows as code or as targets of links. A word may be a pattern: `cm_*` matches
    every name that begins with cm_."""
    shown = re.findall(r"`[^`\n]*`|\]\([^)\n]*\)", readme)
    return {word for text in shown for word in re.findall(r"\w[\w*]*", text)}


def readme_of(folder):
    """Returns the README that describes a folder: the one in it, or in the nearest folder above it."""
    for above in (pathlib.PurePath(folder), *pathlib.PurePath(folder).parents):
        if (ROOT / above / "README.md").is_file():
            return str(above / "README.md")
    return None


def check_readmes():
    """Checks that the README of each layer names every source of the layer."""
    for layer in LAYERS:
        readme = readme_of(layer)
        names = named_in((ROOT / readme).read_text()) if readme else set()
        parts = {f"{layer}/src", f"{layer}/include", f"{layer}/internal", *(base for base in ROOMS if base == layer)}
        sources = {pathlib.PurePath(path).stem for path, _ in files(CODE, sorted(parts))}
        for source in sorted(sources):
            if not any(fnmatch.fnmatchcase(source, name) for name in names):
                yield f"{readme or 'README.md'}: does not name {source} of {layer}"


def main():
    rules = {"includes": check_includes, "rooms": check_rooms, "apps": check_apps, "sizes": check_sizes, "public": check_public,
             "leftovers": check_leftovers, "heads": check_heads, "readmes": check_readmes}
    if len(sys.argv) != 2 or sys.argv[1] not in rules:
        print(f"usage: check_sources.py {'|'.join(rules)}", file=sys.stderr)
        return 2
    return report(sys.argv[1], list(rules[sys.argv[1]]()))


if __name__ == "__main__":
    sys.exit(main())
