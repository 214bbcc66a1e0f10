# SPDX-License-Identifier: Apache-2.0
"""Compares this project's two libraries with rdma-core's: every name with its version, which functions are refused
and with which result, and the strings that functions such as ibv_wc_status_str() return. Installed programs and
libraries are not run; only readelf and the dynamic loader read them."""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support import IWARP, SANITIZER, Case, environment, main  # noqa: E402

BUILT = pathlib.Path(os.environ.get("IWARP_ABI", "build/release/test/rdma_core/abi"))
TABLE = pathlib.Path(os.environ.get("IWARP_EXPORTS", "exports.txt"))
LIBRARIES = ("libibverbs.so.1", "librdmacm.so.1")
EOPNOTSUPP = 95
ENOSYS = 38

PROGRAMS = ("cmtime fi_info fi_pingpong fi_strerror fio ib_atomic_bw ib_atomic_lat ib_read_bw "
            "ib_read_lat ib_send_bw ib_send_lat ib_write_bw ib_write_lat ibv_asyncwatch "
            "ibv_devices ibv_devinfo ibv_rc_pingpong ibv_srq_pingpong ibv_uc_pingpong "
            "ibv_ud_pingpong ibv_xsrq_pingpong mckey mpirun qemu-system-x86_64 qperf "
            "raw_ethernet_burst_lat raw_ethernet_bw raw_ethernet_fs_rate raw_ethernet_lat rcopy "
            "rdma_client rdma_server rdma_xclient rdma_xserver riostream rping rstream ucmatose "
            "ucx_info udaddy udpong").split()
PLUGINS = ("libmlx4.so.1", "libmlx5.so.1", "libefa.so.1", "libmana.so.1", "libhns.so.1",
           "libfabric.so.1", "libfabric/*.so", "ceph/libceph-common.so.2", "ucx/libuct_*.so.0",
           "libmca_common_verbs.so*", "openmpi*/lib/openmpi*/mca_btl_openib.so",
           "openmpi/lib/openmpi3/*.so", "rsocket/librspreload.so", "libnccl.so.2", "libspdk_*.so",
           "libdpdk*.so", "dpdk/pmds-*/librte_net_mlx*.so", "libibverbs/*-rdmav*.so")

# Looks up functions and objects of rdma-core by name and version, as a program does that was linked to the release with
# that version:
#   resolve LIBRARY < TABLE   checks that LIBRARY has each "NAME NODE HOW" of the table
#   call NAME@NODE...         calls twice; prints "NAME@NODE RESULT ERRNO" each time
#   read NAME@NODE...         prints "NAME@NODE OCTET" of each object
EXPORTS = """
import ctypes, os, sys
from ctypes import c_char_p, c_long, c_void_p
class Info(ctypes.Structure):
    _fields_ = [("file", c_char_p), ("base", c_void_p), ("symbol", c_char_p), ("address", c_void_p)]
libc = ctypes.CDLL(None)
libc.dlvsym.restype, libc.dlvsym.argtypes = c_void_p, [c_void_p, c_char_p, c_char_p]
loaded = [ctypes.CDLL(name, ctypes.RTLD_GLOBAL) for name in ("libibverbs.so.1", "librdmacm.so.1")]
def find(name, node, scope=None):
    return libc.dlvsym(scope, name.encode(), node.encode())
def home_of(address):
    info = Info()
    return address and libc.dladdr(c_void_p(address), ctypes.byref(info)) and os.fsdecode(info.file)
what, *names = sys.argv[1:]
if what == "resolve":
    rows = [line.split() for line in sys.stdin]
    # Some libraries, such as NCCL, look up names in libibverbs by its handle. Others use the default scope.
    bad = [(name, node, how, scope) for name, node, how in rows
           for scope in (None, loaded[node.startswith("RDMACM")]._handle)
           if not (home := home_of(find(name, node, scope))) or not os.path.samefile(home, names[0])]
    print(len(rows), "names; missing:", bad)
    sys.exit(bool(bad) or not rows)
for name in names:
    address = find(*name.split("@"))
    if what == "read":
        print(name, ctypes.c_ubyte.from_address(address).value)
        continue
    # A refused function reads none of its arguments, and returns an int, a long or a pointer.
    function = ctypes.CFUNCTYPE(c_long, *[c_long] * 6, use_errno=True)(address)
    for _ in range(2):
        ctypes.set_errno(0)
        print(name, function(0, 0, 0, 0, 0, 0), ctypes.get_errno(), flush=True)
"""


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], capture_output=True, text=True,
                          timeout=60, env=environment()).stdout


def symbols(path, defined):
    """Returns name and version of each dynamic symbol, and whether this version is the default version of the name."""
    found = set()
    for line in readelf(path, "--dyn-syms").splitlines():
        fields = line.split()
        if len(fields) < 8 or (fields[6] == "UND") == defined or "@" not in fields[7]:
            continue
        name, at, version = re.match(r"([^@]+)(@@?)(.+)", fields[7]).groups()
        if re.match(r"(IBVERBS|RDMACM)_", version):
            found.add((name, version, at == "@@"))
    return found


def table():
    """Returns the contents of exports.def: for each function, a dict that maps each version node to the word that says
    how the library implements the function."""
    out = {}
    for line in TABLE.read_text().splitlines():
        name, node, how = line.split()
        out.setdefault(name, {})[node] = how
    return out


def preloaded():
    """Returns the paths of this project's two libraries, as `iwarp run` finds them."""
    text = subprocess.run([IWARP, "run", "--env"], capture_output=True, text=True, check=True,
                          timeout=60, env=environment()).stdout
    paths = re.search(r"^LD_PRELOAD=(.*)$", text, re.MULTILINE)[1].split(":")
    return [path for path in paths if os.path.basename(path) in LIBRARIES]


def library_folders():
    return [folder for folder in (*glob.glob("/usr/lib/*-linux-gnu"), "/usr/lib64", "/usr/lib")
            if os.path.isdir(folder)]


def installed_users():
    """Returns the installed files that are linked to libibverbs or librdmacm."""
    found = {path for path in map(shutil.which, PROGRAMS) if path}
    for folder in library_folders():
        for pattern in PLUGINS:
            found.update(map(os.path.realpath, glob.glob(f"{folder}/{pattern}")))
    found.update(glob.glob("/usr/lib/python3/dist-packages/pyverbs/*.so"))
    return sorted(path for path in found if symbols(path, defined=False))


def declared_types():
    """Returns {function: result type}, read from the headers that programs include."""
    types = {}
    for header in ("infiniband/verbs.h", "rdma/rdma_cma.h", "rdma/rsocket.h"):
        path = pathlib.Path("/usr/include", header)
        text = path.read_text() if path.exists() else ""
        for result, name in re.findall(r"^(?!static)((?:\w+ )+\**)(\w+)\(", text, re.MULTILINE):
            types[name] = result.strip()
    return types


class Abi(Case):
    @classmethod
    def setUpClass(cls):
        cls.table = table()
        cls.ibverbs, cls.rdmacm = preloaded()

    def exports(self, *words, env=None, input=None, run=(IWARP, "run")):
        if SANITIZER:
            self.skipTest("Python is not built with the sanitizer")
        return subprocess.run([*run, sys.executable, "-c", EXPORTS, *words], capture_output=True, text=True, timeout=120,
                              env=environment(env), input=input)


class Names(Abi):
    # [IBV-78]
    def test_every_name_of_the_table_is_found_with_its_version(self):
        result = self.exports("resolve", self.ibverbs, input=TABLE.read_text())
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertGreater(int(result.stdout.split()[0]), 247)

    def test_they_can_also_be_found_in_place_of_the_others(self):
        """Finds the libraries through LD_LIBRARY_PATH, as in a container that was built with them."""
        result = self.exports("resolve", self.ibverbs, input=TABLE.read_text(), run=(),
                              env={"LD_LIBRARY_PATH": os.path.dirname(self.ibverbs)})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_nothing_else_is_exported(self):
        ours = {(name, version) for name, version, _ in symbols(self.ibverbs, defined=True)}
        wanted = {(name, node) for name, nodes in self.table.items() for node in nodes}
        self.assertEqual(ours, wanted)
        for path in (self.ibverbs, self.rdmacm):
            plain = {fields[7] for line in readelf(path, "--dyn-syms").splitlines()
                     if len(fields := line.split()) == 8 and fields[6].isdigit()
                     and fields[4] in ("GLOBAL", "WEAK") and "@" not in fields[7]}
            self.assertEqual(plain, set(), path)

    def test_all_that_rdma_core_exports_is_in_the_table(self):
        """The table need not have the IBVERBS_1.0 version of a function whose default version is IBVERBS_1.1."""
        real = [path for folder in library_folders() for name in LIBRARIES for path in glob.glob(f"{folder}/{name}")]
        if not real:
            self.skipTest("rdma-core's libraries are not installed")
        for path in real:
            for name, version, is_default in symbols(path, defined=True):
                if version == "IBVERBS_1.0" and not is_default:
                    self.assertIn("IBVERBS_1.1", self.table[name])
                else:
                    self.assertIn(version, self.table.get(name, {}), f"{name}@{version} of {path}")

    def test_a_name_is_in_one_public_node(self):
        for name, nodes in self.table.items():
            self.assertTrue(len(nodes) == 1 or all("_PRIVATE_" in node for node in nodes), name)

    def test_all_that_is_imported_here_is_there(self):
        users = installed_users()
        if not users:
            self.skipTest("nothing installed uses libibverbs")
        ours = {(name, version) for name, version, _ in symbols(self.ibverbs, defined=True)}
        missing = {}
        for path in users:
            for name, version, _ in symbols(path, defined=False):
                if (name, version) not in ours:
                    missing.setdefault(f"{name}@{version}", []).append(os.path.basename(path))
        self.assertEqual(missing, {})
        print(f"{len(users)} programs and libraries: {' '.join(map(os.path.basename, users))}")


class Libraries(Abi):
    def test_each_has_the_name_that_programs_ask_for(self):
        for path in (self.ibverbs, self.rdmacm):
            dynamic = readelf(path, "-d")
            self.assertIn(f"Library soname: [{os.path.basename(path)}]", dynamic)
            self.assertIn("NODELETE", dynamic)
        self.assertIn("Shared library: [libibverbs.so.1]", readelf(self.rdmacm, "-d"))

    def test_the_second_declares_all_versions_and_defines_nothing(self):
        declared = set(re.findall(r"Name: (RDMACM_\S+)", readelf(self.rdmacm, "-V")))
        wanted = {node for nodes in self.table.values() for node in nodes if "RDMACM" in node}
        self.assertEqual(declared, wanted)
        defined = [line for line in readelf(self.rdmacm, "--dyn-syms").splitlines()
                   if re.search(r"(FUNC|OBJECT) +(GLOBAL|WEAK) +DEFAULT +[0-9]+ (?!RDMACM)", line)]
        self.assertEqual(defined, [])

    def test_thread_local_variables_leave_space_for_other_libraries(self):
        """glibc reserves 1,664 octets of each thread for the variables of libraries that a program opens while it runs.
        All libraries of all namespaces share them; when they are used up, dlopen() fails."""
        total = 0
        for path in glob.glob(f"{os.path.dirname(self.ibverbs)}/lib*.so.1"):
            found = re.search(r"^ *TLS +0x\w+ 0x\w+ 0x\w+ 0x\w+ 0x(\w+)", readelf(path, "-l"), re.MULTILINE)
            total += int(found[1], 16) if found else 0
        self.assertGreater(total, 0)
        self.assertLessEqual(total, 384)

    def test_programs_can_be_loaded_and_find_all_their_names_in_ours(self):
        """The loader binds every name of every installed program without running the program."""
        users = [path for path in installed_users() if os.access(path, os.X_OK)]
        if not users:
            self.skipTest("nothing installed uses libibverbs")
        trace = {"LD_TRACE_LOADED_OBJECTS": "1", "LD_WARN": "1", "LD_BIND_NOW": "1",
                 "LD_PRELOAD": ":".join((self.ibverbs, self.rdmacm))}
        problems = {}
        for path in users:
            if ".so" in os.path.basename(path):
                continue
            result = subprocess.run([path], capture_output=True, text=True, timeout=60, env=dict(os.environ, **trace))
            said = result.stdout + result.stderr
            wrong = re.findall("undefined symbol.*|.*(?:not found|no version|cannot).*", said)
            # The loader found one of rdma-core's libraries instead of the preloaded library.
            wrong += re.findall(r".*(?:libibverbs|librdmacm)\.so\.1 => .*", said)
            if wrong or self.ibverbs not in said or self.rdmacm not in said:
                problems[path] = wrong
        self.assertEqual(problems, {})


class Refusals(Abi):
    def refused(self, *hows):
        """Returns NAME@NODE for each entry of the table whose third column is in `hows`."""
        names = [f"{name}@{node}" for name, nodes in self.table.items() for node, how in nodes.items() if how in hows]
        self.assertTrue(names, hows)
        return names

    def called(self, names, **env):
        """Returns {name: [(result, errno) of each of two calls]}, and the lines that were printed on standard
        error."""
        result = self.exports("call", *names, env=env)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        out = {}
        for line in result.stdout.splitlines():
            name, value, error = line.split()
            out.setdefault(name, []).append((int(value), int(error)))
        self.assertEqual(list(out), names)
        return out, result.stderr.splitlines()

    # [IBV-17, IBV-119, IBV-146, IBV-158, IBV-179, IBV-623, IBV-628, IBV-629, IBV-630, IBV-632,
    # IBV-633, IBV-634, IBV-635]
    def test_each_kind_of_refusal_has_its_result_and_its_line(self):
        """A function that only providers call returns ENOSYS, and says nothing. Of a function that returns an errno, only
        the result counts."""
        for names, expected, is_told in ((self.refused("errno"), (EOPNOTSUPP, None), True),
                                         (self.refused("minus1"), (-1, EOPNOTSUPP), True),
                                         (self.refused("null"), (0, EOPNOTSUPP), True),
                                         (self.refused("private"), (ENOSYS, None), False),
                                         (self.refused("privnull"), (0, ENOSYS), False)):
            with self.subTest(expected=expected):
                results, lines = self.called(names)
                for name in names:
                    seen = [(value & 0xFFFFFFFF, None) if expected[1] is None else (value, error)
                            for value, error in results[name]]
                    self.assertEqual(seen, [expected] * 2, name)
                functions = [name.partition("@")[0] for name in names] if is_told else []
                self.assertEqual(len(lines), len(functions), lines)
                for function, line in zip(functions, lines):
                    self.assertRegex(line, rf"^iwarp: {function} is not supported: \w.*\w$")
        self.assertIn("rdma_write_cm_event@RDMACM_1.4", self.refused("minus1"))

    def test_nothing_is_said_when_nothing_shall_be(self):
        names = self.refused("errno", "minus1", "null")
        results, lines = self.called(names, IWARP_LOG="off")
        self.assertEqual(len(results), len(names))
        self.assertEqual(lines, [])

    # [IBV-120, IBV-159]
    def test_what_is_nothing_returns_and_says_nothing(self):
        names = self.refused("nothing")
        self.assertIn("verbs_register_driver_34@IBVERBS_PRIVATE_34", names)
        self.assertEqual(self.called(names)[1], [])

    def test_what_is_an_object_is_an_octet_of_zero(self):
        names = self.refused("data")
        result = self.exports("read", *names)
        self.assertEqual(result.stdout.splitlines(), [f"{name} 0" for name in names], result.stderr)

    def test_a_refusal_is_of_the_type_that_the_headers_declare(self):
        """A refused function that returns an int must return -1 if its manual page says so, and an errno otherwise."""
        types = declared_types()
        if not types:
            self.skipTest("the headers of rdma-core are not installed")
        minus1 = re.compile(r"r[a-z]+|rdma_\w+|ibv_init_ah_from_wc|ibv_\w+_dmabuf_fd")
        for name, nodes in self.table.items():
            how, = set(nodes.values())
            if name not in types or how not in ("errno", "minus1", "null", "nothing"):
                continue
            wanted = ("null" if "*" in types[name] else "nothing" if types[name] == "void" else
                      "minus1" if minus1.fullmatch(name) else "errno")
            self.assertEqual(how, wanted, f"{types[name]} {name}")


class Texts(Abi):
    def test_texts_rates_and_copies_are_those_of_rdma_core(self):
        texts = BUILT / "abi_texts"
        real = subprocess.run([texts], capture_output=True, text=True, timeout=60, env=environment())
        ours = subprocess.run([IWARP, "run", texts], capture_output=True, text=True, timeout=60, env=environment())
        self.assertEqual((real.returncode, ours.returncode), (0, 0), real.stderr + ours.stderr)
        self.assertEqual(real.stdout.splitlines(), ours.stdout.splitlines())
        self.assertIn("wc 12: transport retry counter exceeded", ours.stdout)


main("readelf")
