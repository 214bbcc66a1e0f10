# SPDX-License-Identifier: Apache-2.0
"""Tests `iwarp info --record-device` on the simulated device: the profile has the values that ibv_devinfo prints, and
the files of the device. Also tests each error. Compares the profiles of rxe and siw in verbs/profiles with what the
tools printed about these devices in the same virtual machine (recorded/)."""
import json
import pathlib
import re

import support
from hosts import joined, why_no_namespaces, within
from support import Case, main

HERE = pathlib.Path(__file__).resolve().parent
RECORDED = HERE / "recorded"
PROFILES = HERE.parents[1] / "verbs/profiles"
SYSFS = "/sys/class/infiniband/iwarp0"
# The names by which ibv_devinfo prints members of ibv_port_attr, where they differ.
PRINTED = {"lid": "port_lid", "lmc": "port_lmc"}
MEMBERS = {"attributes": 36, "port": 18}


def number(text):
    """Returns the number in a value that ibv_devinfo prints: "0x1f", "12", the one in "4096 (5)", or "Ethernet"."""
    if text == "Ethernet":
        return 2  # IBV_LINK_LAYER_ETHERNET
    return int(re.search(r"\((\d+)\)$", text)[1] if text.endswith(")") else text, 0)


class Comparing(Case):
    def check_values(self, profile, listing):
        """Checks that the profile has the values that `ibv_devinfo -v` printed."""
        printed = dict(re.findall(r"(?m)^\s*(\w+):\s+(\S.*)$", listing))
        for part, count in MEMBERS.items():
            self.assertEqual(len(profile[part]), count)
            self.assertEqual(list(profile[part]), sorted(profile[part]))
            for name, value in profile[part].items():
                text = printed.get(PRINTED.get(name, name))
                # ibv_devinfo does not print the flags of the port, nor what is meaningless without FMRs.
                self.assertEqual(text is None, name in ("flags", "max_map_per_fmr"), name)
                if text is not None:
                    self.assertEqual(value, number(text), name)
        self.assertEqual(profile["device"]["fw_ver"], printed["fw_ver"])
        self.assertEqual(profile["device"]["transport"], number(printed["transport"]))


class Recording(Comparing):
    def record(self, persona="roce", **how):
        result = self.run_program(support.IWARP, "info", "--record-device", "iwarp0", options=("--as", persona), **how)
        self.assert_silent(result)
        return json.loads(result.out)

    def test_values_are_those_of_ibv_devinfo(self):
        for persona in ("iwarp", "roce"):
            with self.subTest(persona=persona):
                listing = self.run_program("ibv_devinfo", "-v", options=("--as", persona)).out
                self.check_values(self.record(persona), listing)

    def test_the_device_and_its_files(self):
        for persona, node_type, abi in (("iwarp", 4, 1), ("roce", 1, 2)):
            profile = self.record(persona)
            self.assertEqual((profile["format"], profile["name"]), (1, "iwarp"))
            device = profile["device"]
            self.assertEqual((device["name"], device["node_type"], device["uverbs_abi"], device["modalias"]),
                             ("iwarp0", node_type, abi, "platform:iwarp"))
            for name in ("node_desc", "hca_type"):
                said = self.run_program("cat", f"{SYSFS}/{name}", options=("--as", persona)).out
                self.assertEqual(device[name] + "\n", said)
            self.assertNotIn("board_id", device)
            found = self.run_program("find", f"{SYSFS}/", "!", "-type", "d", options=("--as", persona)).out.split()
            files = sorted(path.removeprefix(f"{SYSFS}/") for path in found)
            self.assertEqual(profile["files"], [file for file in files if not re.search(r"/[1-9]\d*$", file)])
            self.assertRegex(profile["sources"][""], r"^iwarp info --record-device iwarp0, Linux \S+ .*, libibverbs")

    def test_kinds_of_gids(self):
        if why_no_namespaces() is not None:
            self.skipTest(why_no_namespaces())
        addresses = ["192.0.2.1/24", "198.51.100.1/24", "2001:db8::1/64"]
        with joined((addresses, ["192.0.2.2/24"])) as (name, _):
            self.assertEqual(set(self.record(prefix=within(name))["gids"]), {"ipv4 v2", "ipv6 v2"})
            self.assertEqual(self.record("iwarp", prefix=within(name))["gids"][0], "mac")

    def test_errors(self):
        record = (support.IWARP, "info", "--record-device")
        other = self.run_program(*record, "mlx5_0", statuses=(1,))
        self.assertEqual(other.err, 'iwarp info: --record-device "mlx5_0": no such RDMA device (available: "iwarp0")\n')
        if not pathlib.Path("/sys/class/infiniband").exists():
            none = self.run_program(*record, "mlx5_0", plain=True, statuses=(1,))
            self.assertIn("this machine has no RDMA device", none.err)
        (self.scratch / "libibverbs.so.1").write_text("")
        broken = self.run_program(*record, "mlx5_0", plain=True, statuses=(1,),
                                  env={"LD_LIBRARY_PATH": str(self.scratch)})
        self.assertRegex(broken.err, r"^iwarp info: --record-device: cannot load libibverbs: .*libibverbs.so.1.* "
                         r"\(install libibverbs1\)\n$")
        self.run_program(*record, "mlx5_0", "--gids", plain=True, statuses=(2,))


class Recorded(Comparing):
    def test_profiles_of_kernel_devices(self):
        for name in ("rxe", "siw"):
            with self.subTest(name):
                profile = json.loads((PROFILES / f"{name}.json").read_text())
                folder = RECORDED / name
                self.check_values(profile, (folder / "ibv_devinfo.txt").read_text())
                sysfs = (folder / "sysfs.txt").read_text()
                files = set(re.findall(r"(?m)^\./([^: ]+)(?::| ->)", sysfs))
                self.assertEqual(profile["files"], sorted(files))
                for file in ("node_desc", "hca_type", "board_id"):
                    text = re.search(rf"(?m)^\./{file}:(.*)$", sysfs)
                    self.assertEqual(profile["device"].get(file), text and text[1])
                abi = re.search(r"(?m)^\./abi_version:(\d+)$", (folder / "uverbs.txt").read_text())
                self.assertEqual(profile["device"]["uverbs_abi"], int(abi[1]))

    def test_each_profile_has_all_members_and_a_source_for_each(self):
        for name in ("connectx", "mana", "rxe", "siw"):
            with self.subTest(name):
                profile = json.loads((PROFILES / f"{name}.json").read_text())
                self.assertEqual((profile["format"], profile["name"]), (1, name))
                self.assertEqual({part: len(profile[part]) for part in MEMBERS}, MEMBERS)
                for source, text in profile["sources"].items():
                    part, _, member = source.partition(".")
                    self.assertTrue(text and (not part or part in profile), source)
                    self.assertTrue(not member or member in profile[part], source)
                self.assertIn("", profile["sources"])


main("ibv_devinfo")
