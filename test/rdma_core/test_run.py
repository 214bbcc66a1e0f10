# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp run`: the environment that it passes to the program, its error messages, and that it has no other
effect."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from support import IWARP, SANITIZER, Case, environment, main

LIBRARIES = ("libibverbs.so.1", "librdmacm.so.1")
CAREFUL_LIBRARY = "libiwarp_careful.so.1"


class Run(Case):
    def setUp(self):
        super().setUp()
        self.env = {name: value for name, value in environment().items()
                    if not name.startswith(("IWARP_", "UCX_")) and name != "LD_PRELOAD"}

    def iwarp_run(self, *words, **env):
        return subprocess.run([IWARP, "run", *map(str, words)], capture_output=True, text=True,
                              timeout=60, env=dict(self.env, **env))

    def variables(self, *options, **env):
        result = self.iwarp_run("--env", *options, **env)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        found = dict(line.split("=", 1) for line in result.stdout.splitlines())
        session = found.pop("IWARP_SESSION", "none")
        self.assertRegex(session, "none" if "IWARP_SESSION" in env else r"^/\S*/iwarp-session-0-[0-9a-f]{16}$")
        return found

    def assert_fails(self, result, status, pattern):
        self.assertEqual(result.returncode, status, result.stderr + result.stdout)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertRegex(result.stderr, pattern)


class Environment(Run):
    def test_only_the_preload_is_set_by_default(self):
        self.assertEqual(set(self.variables()), {"LD_PRELOAD"})

    def test_a_session_is_inherited(self):
        """Every `iwarp run` begins a session, unless it was started in one. The program is its first process."""
        show = ("sh", "-c", "echo $$ $IWARP_SESSION")
        process, path = self.iwarp_run(*show).stdout.split()
        self.assertRegex(path, rf"/iwarp-session-{process}-[0-9a-f]{{16}}$")
        self.assertEqual(self.iwarp_run(*show, IWARP_SESSION="/a b").stdout.split()[1:], ["/a", "b"])
        self.variables(IWARP_SESSION="/a")

    def test_options_become_variables(self):
        """test/apps/units/option_table.cpp compares each option with its variable."""
        given = self.variables("--markers", "--fpdu", "4K", "--trace", "a %p.pcap", "--careful", "--as", "roce")
        del given["LD_PRELOAD"]
        self.assertEqual(given, {"IWARP_MARKERS": "on", "IWARP_FPDU": "4096", "IWARP_TRACE": "a %p.pcap",
                                 "IWARP_CAREFUL": "on", "IWARP_AS": "roce"})
        tls = self.variables("--tls-cert", "/a", "--tls-key", "/b", "--tls-ca", "/c", "--tls-peer",
                             "x,y", "--tls-psk", "/d", IWARP_TLS="off")
        del tls["LD_PRELOAD"]
        self.assertEqual(tls, {"IWARP_TLS": "on", "IWARP_TLS_CERT": "/a", "IWARP_TLS_KEY": "/b",
                               "IWARP_TLS_CA": "/c", "IWARP_TLS_PEER": "x,y", "IWARP_TLS_PSK": "/d"})
        self.assertEqual(self.variables("--tls")["IWARP_TLS"], "on")
        # An empty shell variable must not disable TLS.
        self.assertEqual(self.variables("--tls-ca", "")["IWARP_TLS"], "on")
        self.assertEqual(self.variables("--quiet")["IWARP_LOG"], "off")
        self.assertEqual(self.variables("--fpdu", "max")["IWARP_FPDU"], "max")

    def test_the_program_gets_them_and_what_was_there(self):
        shown = self.iwarp_run("--crc", "off", "env", IWARP_RTR="read", IWARP_CRC="on").stdout
        self.assertIn("\nIWARP_CRC=off\n", f"\n{shown}")
        self.assertIn("\nIWARP_RTR=read\n", f"\n{shown}")

    def test_the_libraries_are_found_and_what_was_preloaded_stays(self):
        maps = pathlib.Path("/proc/self/maps").read_text()
        mine = re.search(r"/\S+/libc\.so\S*", maps)[0]  # any library that the loader accepts will do
        preload = self.variables(LD_PRELOAD=mine, ASAN_OPTIONS="verify_asan_link_order=0")
        preload = preload["LD_PRELOAD"].split(":")
        self.assertEqual(preload[-1], mine)
        self.assertEqual([pathlib.Path(path).name for path in preload[-3:-1]], list(LIBRARIES))
        for path in preload[-3:-1]:
            self.assertTrue(os.path.isfile(path), path)

    def test_a_folder_of_ones_own(self):
        self.assert_fails(self.iwarp_run("true", IWARP_LIB_DIR=str(self.scratch)), 1,
                          rf"^iwarp run: IWARP_LIB_DIR=.*: not a folder with {', '.join(LIBRARIES)} "
                          r"and the other libraries of this stack \(")
        built = pathlib.Path(self.variables()["LD_PRELOAD"].split(":")[-1]).parent
        folder = self.scratch / "own"
        shutil.copytree(built, folder)
        preload = self.variables(IWARP_LIB_DIR=str(folder))["LD_PRELOAD"]
        self.assertIn(f"{folder}/{LIBRARIES[0]}:{folder}/{LIBRARIES[1]}", preload)
        (folder / CAREFUL_LIBRARY).unlink()
        if not SANITIZER:
            self.assert_fails(self.iwarp_run("--careful", "true", IWARP_LIB_DIR=str(folder)), 1,
                              rf"^iwarp run: {folder}/{CAREFUL_LIBRARY}: not found \(")
        spaced = self.scratch / "a b"
        folder.rename(spaced)
        self.assert_fails(self.iwarp_run("true", IWARP_LIB_DIR=str(spaced)), 1,
                          r"a space or a colon \(install this stack in another folder\)$")

    def test_a_library_of_careful_mode_only(self):
        """The library must be first in LD_PRELOAD. A build with a sanitizer, which has its own allocator, leaves it
        out."""
        plain, careful = (self.variables(*options)["LD_PRELOAD"].split(":") for options in ((), ("--careful",)))
        names = [pathlib.Path(path).name for path in careful]
        if SANITIZER:
            self.assertEqual(careful, plain)
            return
        self.assertEqual(names[0], CAREFUL_LIBRARY)
        self.assertEqual(careful[1:], plain)
        self.assertTrue(os.path.isfile(careful[0]), careful)

    @unittest.skipIf(SANITIZER, "this sanitizer's run-time library must come first itself")
    @unittest.skipUnless(shutil.which("gcc"), "gcc is missing, whose programs use the sanitizer as a library")
    def test_a_program_built_with_address_sanitizer(self):
        source, program = self.scratch / "listed.c", self.scratch / "listed"
        source.write_text("""
            #include <infiniband/verbs.h>
            #include <stdio.h>
            #include <stdlib.h>
            int main(int count, char **words) {
              int devices = 0;
              ibv_free_device_list(ibv_get_device_list(&devices));
              printf("%d\\n", devices);
              char *volatile freed = malloc(8);
              free(freed);
              return count == 1 ? 0 : freed[0];
            }""")
        subprocess.run(["gcc", "-fsanitize=address", "-o", program, source, "-libverbs"], check=True)
        for options in ((), ("--careful",)):
            with self.subTest(options=options):
                listed = self.iwarp_run(*options, program)
                self.assertEqual((listed.returncode, listed.stdout, listed.stderr), (0, "1\n", ""))
                self.assertIn("heap-use-after-free", self.iwarp_run(*options, program, "x").stderr)
        elsewhere = self.iwarp_run("listed", PATH=f"{self.scratch}:{os.environ['PATH']}")
        self.assertEqual((elsewhere.returncode, elsewhere.stdout), (0, "1\n"))

    def test_both_libraries_are_in_the_process(self):
        maps = self.iwarp_run("cat", "/proc/self/maps")
        self.assertEqual((maps.returncode, maps.stderr), (0, ""))
        for library in ("libiwarp_presence.so.1", *LIBRARIES):
            self.assertIn(f"/lib/iwarp/{library}\n", maps.stdout)


@unittest.skipIf(SANITIZER, "this sanitizer replaces dlopen(), and refuses RTLD_DEEPBIND")
@unittest.skipUnless(shutil.which("gcc"), "gcc is missing, which makes the copies and plugins")
class Loading(Run):
    """Programs that open libibverbs while they run, by all names and paths. A wheel is a folder with a plugin and a
    copy of libibverbs to which the plugin is linked. The copies in this test list no device, as the library of the
    distribution does."""
    HASHED = "libibverbs-1234abcd.so.1.14.44.0"
    PROGRAM = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        int main(int count, char **words) {
          void *it = words[1][0] == 'n' ? dlmopen(LM_ID_NEWLM, words[2], RTLD_NOW)
                                        : dlopen(words[2], RTLD_NOW | (words[1][0] == 'd' ? RTLD_DEEPBIND : 0));
          if (it == NULL) return puts(dlerror()), 1;
          void *(*list)(int *) = dlsym(it, words[3]);
          int devices = -1;
          if (list != NULL) list(&devices);
          printf("%d\\n", devices);
        }"""
    COPY = "void *ibv_get_device_list(int *count) { return *count = 0, (void *)0; }"
    PLUGIN = "void *ibv_get_device_list(int *); void *look(int *count) { return ibv_get_device_list(count); }"
    HOWS = ("plain", "deep", "namespace")

    def setUp(self):
        super().setUp()
        self.wheel = self.scratch / "wheel"
        self.wheel.mkdir()
        versions = self.scratch / "versions"
        versions.write_text("IBVERBS_1.1 { ibv_get_device_list; };")
        for name in ("libibverbs.so.1", self.HASHED):
            self.build(self.COPY, self.wheel / name, "-shared", f"-Wl,-soname,{name}", f"-Wl,--version-script={versions}")
        for plugin, copy, tags in (("rpath.so", "libibverbs.so.1", "disable"), ("runpath.so", "libibverbs.so.1", "enable"),
                                   ("hashed.so", self.HASHED, "disable")):
            self.build(self.PLUGIN, self.wheel / plugin, "-shared", self.wheel / copy, f"-Wl,--{tags}-new-dtags",
                       "-Wl,-rpath,$ORIGIN")
        self.program = self.scratch / "open"
        self.build(self.PROGRAM, self.program, "-Wl,--enable-new-dtags", "-Wl,-rpath,$ORIGIN/wheel")

    def build(self, source, out, *words):
        subprocess.run(["gcc", "-fPIC", "-x", "c", "-", "-x", "none", *words, "-o", out], input=source, text=True, check=True)

    def opened(self, how, name, function, devices, said="^$", **env):
        with self.subTest(how=how, name=name):
            result = self.iwarp_run(self.program, how, name, function, **env)
            self.assertEqual((result.returncode, result.stdout), (0, f"{devices}\n"), result.stderr)
            self.assertRegex(result.stderr, said)

    def test_every_name_and_path_opens_the_library_of_this_project(self):
        for how in self.HOWS:
            for name in ("libibverbs.so", "libibverbs.so.1", "libibverbs.so.1.14.44.0", self.wheel / "libibverbs.so.1",
                         self.HASHED, self.wheel / self.HASHED):
                self.opened(how, name, "ibv_get_device_list", 1)
            for name in ("librdmacm.so", "librdmacm.so.1", "/usr/lib/librdmacm.so.1.3.44.0"):
                self.opened(how, name, "rdma_get_devices", 1)
        # Files with similar names are other libraries.
        shutil.copy(self.wheel / "libibverbs.so.1", self.wheel / "libibverbs.so.2")
        self.opened("plain", self.wheel / "libibverbs.so.2", "ibv_get_device_list", 0)

    def test_a_plugin_that_brings_a_copy_finds_the_device(self):
        for how, plugin in (("plain", "rpath.so"), ("deep", "rpath.so"), ("plain", "hashed.so")):
            self.opened(how, self.wheel / plugin, "look", 1)

    def test_a_plugin_that_cannot_find_the_device_causes_one_line(self):
        line = r"^iwarp: {}: \S+/{} finds no device, because it loads \S+/{} instead of this stack's library \({}\)\n$"
        self.opened("deep", self.wheel / "hashed.so", "look", 0,
                    line.format("dlopen", "hashed.so", self.HASHED, "open the library without RTLD_DEEPBIND"))
        remedy = r"set LD_LIBRARY_PATH=\S+/lib/iwarp"
        said = line.format("dlmopen", "runpath.so", "libibverbs.so.1", remedy)
        self.opened("namespace", self.wheel / "runpath.so", "look", 0, said)
        self.opened("namespace", self.wheel / "runpath.so", "look", 0, IWARP_LOG="off")
        folder = pathlib.Path(self.variables()["LD_PRELOAD"].split(":")[-1]).parent
        self.opened("namespace", self.wheel / "runpath.so", "look", 1, LD_LIBRARY_PATH=str(folder))

    def test_the_runpath_of_the_caller_is_obeyed(self):
        self.opened("plain", "rpath.so", "look", 1)
        self.opened("deep", "rpath.so", "look", 1)
        self.opened("namespace", "rpath.so", "look", 0)


class Persona(Run):
    def test_nonsense_is_one_line(self):
        """An invalid value must cause only one message, although several libraries read the variable."""
        result = self.iwarp_run("ls", "/sys/class/infiniband", IWARP_AS="infiniband")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "iwarp0\n", ""))
        result = self.iwarp_run("ibv_devinfo", IWARP_AS="infiniband")
        self.assertRegex(result.stderr, r"^iwarp: IWARP_AS=infiniband is not .*ignored\n$")
        self.assertIn("iWARP (1)", result.stdout)


class Command(Run):
    def test_all_behind_the_program_is_the_programs(self):
        words = ["--crc", "maybe", "-h", "--help", "--env", "--", "demo", "--", ""]
        for options in ((), ("--crc", "off"), ("--",), ("--crc=off", "--")):
            with self.subTest(options=options):
                result = self.iwarp_run(*options, "printf", "<%s>", *words)
                self.assertEqual(result.stdout, "".join(f"<{word}>" for word in words))
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_the_status_is_the_programs(self):
        self.assertEqual(self.iwarp_run("sh", "-c", "exit 42").returncode, 42)
        self.assertEqual(self.iwarp_run("sh", "-c", "kill -TERM $$").returncode, -15)

    def test_the_process_becomes_the_program(self):
        with subprocess.Popen([IWARP, "run", "sh", "-c", "echo $$"], stdout=subprocess.PIPE,
                              text=True, env=self.env) as process:
            self.assertEqual(int(process.stdout.read()), process.pid)

    def test_the_program_ignores_no_signal_because_of_us(self):
        def ignored(*prefix):
            text = subprocess.run([*prefix, "grep", "SigIgn", "/proc/self/status"],
                                  capture_output=True, text=True, timeout=60, env=self.env).stdout
            return text.split()[1]
        self.assertEqual(ignored(IWARP, "run"), ignored())

    def test_what_cannot_be_run(self):
        self.assert_fails(self.iwarp_run("no-such-program"), 127,
                          "^iwarp run: cannot run no-such-program: no such file or directory$")
        self.assert_fails(self.iwarp_run(self.scratch), 126,
                          "^iwarp run: cannot run .*: permission denied$")
        plain = self.scratch / "plain"
        plain.write_text("no program")
        self.assert_fails(self.iwarp_run(plain), 126, ": permission denied$")

    def test_nonsense(self):
        for words, pattern in (
            ((), "^iwarp run: CMD is missing"),
            (("--",), "^iwarp run: CMD is missing"),
            (("--frobnicate", "true"), "^iwarp run: unknown option \"--frobnicate\""),
            (("--env", "true"), "^iwarp run: --env cannot be combined with CMD: true"),
            (("--port-range", "7", "true"), "^iwarp run: --port-range: \"7\" is not a port range LOW-HIGH, such as"),
            (("--metrics", "0.0.0.0:9000", "true"), "^iwarp run: --metrics: \"0\.0\.0\.0:9000\": not a loopback address "),
            (("--metrics", "", "true"), "^iwarp run: --metrics: \"\": must be PORT, ADDR:PORT or unix:PATH"),
            (("--mpa-rev", "1", "--rtr", "read", "true"), "^iwarp run: --rtr read needs"),
            (("--quiet", "--log", "off", "true"), "^iwarp run: .*--quiet"),
        ):
            with self.subTest(words=words):
                self.assert_fails(self.iwarp_run(*words), 2, pattern)

    def test_advice_is_not_followed_by_that_of_the_help(self):
        for words in (("--congestion", "nope"), ("--like", "nope")):
            self.assert_fails(self.iwarp_run(*words, "true"), 2, r'^iwarp run: --\w+: "nope" is [^()]*\([^()]*\)$')

    def test_a_misspelled_variable_is_reported(self):
        # A name that is close to none, or that only the tests use, belongs to another program.
        names = {"IWARP_LIEK": "rxe", "IWARP_CAREFULL": "on", "IWARP_CRC": "off", "IWARP_HOME": "/", "IWARP_LONG": "1"}
        result = self.iwarp_run("true", **names)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(sorted(result.stderr.splitlines()),
                         ["iwarp run: warning: unknown variable IWARP_CAREFULL; did you mean IWARP_CAREFUL?",
                          "iwarp run: warning: unknown variable IWARP_LIEK; did you mean IWARP_LIKE?"])
        self.assertEqual(self.iwarp_run("--quiet", "true", **names).stderr, "")

    def test_a_program_that_will_not_be_preloaded_is_run_with_a_warning(self):
        usual = ("/bin/busybox", "/sbin/ldconfig")
        static = next((path for path in usual if is_static(path)), None)
        if static is None:
            self.skipTest("this machine has no statically linked program")
        copy = self.scratch / pathlib.Path(static).name
        shutil.copy(static, copy)
        result = self.iwarp_run(copy, "--help")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, "^iwarp run: warning: .* is statically linked")

    def test_a_program_that_changes_the_user_is_run_with_a_warning(self):
        if os.getuid() != 0:
            self.skipTest("creating the program needs root")
        copy = self.scratch / "id"
        shutil.copy("/usr/bin/id", copy)
        os.chown(copy, 65534, 65534)
        copy.chmod(0o4755)
        result = self.iwarp_run(copy, "-u")
        self.assertEqual((result.returncode, result.stdout), (0, "65534\n"))
        self.assertRegex(result.stderr, "^iwarp run: warning: .* with the rights of another user")


def is_static(path):
    return os.path.isfile(path) and b"/ld-linux" not in pathlib.Path(path).read_bytes()[:4096]


main()
