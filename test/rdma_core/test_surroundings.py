# SPDX-License-Identifier: Apache-2.0
"""Tests programs without privileges, locked memory, device nodes or a network card. Also tests programs on two
hosts, which are network namespaces joined by a pair of virtual cables. Setting up the tests needs root."""
import re
import shutil
import unittest

from hosts import HOSTS, HOSTS6, apart, ip, namespaces, need_namespaces, two_hosts, within
from support import Case, Program, free_port, main

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "prlimit", "--memlock=0:0")


class Nobody(Case):
    """Runs programs without privileges, with a limit of 0 bytes of locked memory, and with lo as the only
    interface."""

    def test_programs_run(self):
        self.use_readable_iwarp()
        with namespaces(1) as (name,):
            how = {"prefix": within(name, *NOBODY), "cwd": "/"}
            limit = self.run_program("sh", "-c", "id -u; ulimit -l; ls /sys/class/net", **how)
            self.assertEqual(limit.out, "65534\n0\nlo\n")
            self.assertIn("PORT_ACTIVE", self.run_program("ibv_devinfo", **how).out)
            self.rping("-V", "-C", 10, **how)
            self.with_client("ib_write_bw", "-F", "-R", "-n", 100, **how)
            self.with_client("ibv_rc_pingpong", "-c", **how)


class TwoHosts(Case):
    def test_over_rdma_cm(self):
        with two_hosts(ipv6=True) as names:
            for target, anywhere in zip((HOSTS[0], HOSTS6[0]), ("0.0.0.0", "::0")):
                for address in (anywhere, target):
                    with self.subTest(target=target, address=address):
                        self.rping("-V", "-C", 10, "-S", 30000, address=address, target=target, **apart(names))
            self.with_client("ib_write_bw", "-F", "-R", "-n", 200, host=HOSTS[0], **apart(names))

    @unittest.skipUnless(shutil.which("fi_info"), "needs libfabric-bin")
    def test_libfabric_tells_peers_an_address_that_they_can_reach(self):
        with two_hosts(ipv6=True) as names:
            found = self.run_program("fi_info", "-p", "verbs", "-v", prefix=within(names[0]))
            self.assertIn(f"src_addr: fi_sockaddr_in://{HOSTS[0]}:", found.out)
            self.assertNotIn("fi_sockaddr_in://127.", found.out)
            port = free_port()
            call = ("fi_pingpong", "-p", "verbs;ofi_rxm", "-e", "rdm", "-c", "-I", 10)
            self.pair((*call, "-B", port), (*call, "-P", port, HOSTS[0]), port, **apart(names))

    def test_without_rdma_cm_only_when_asked_for(self):
        with two_hosts(ipv6=True) as names:
            words = ("ibv_rc_pingpong", "-c", "-g", 0)
            self.with_client(*words, host=HOSTS[0], options=("--oob", "on"), **apart(names))
            port = free_port()
            call = (*words, "-p", port)
            with Program(*call, prefix=within(names[0])) as server:
                server.listens(port)
                client = self.run_program(*call, HOSTS[0], statuses=range(1, 256), prefix=within(names[1]))
                self.assertRegex(client.err + server.wait().err,
                                 r"(?m)^iwarp: .* without rdma_cm .*: \S+ is not an address of this host, and IWARP_OOB=")

    def test_without_any_interface(self):
        with namespaces(1) as (name,):
            ip("-n", name, "link", "set", "lo", "down")
            result = self.run_program("ibv_rc_pingpong", options=("--as", "roce"), prefix=within(name),
                                      statuses=range(1, 256))
        self.assertRegex(result.err, r"(?m)^iwarp: ibv_create_qp: no network interface of the device is up and has an "
                         r"IP address \(bring one up, for example with: ip link set lo up[;)]")


class ChangingInterfaces(Case):
    """Changes the interfaces of a host while a program waits for asynchronous events."""

    # [IBV-83, IBV-114, IBV-608]
    def test_events_and_state_of_the_port(self):
        for options in ((), ("--as", "roce")):
            with self.subTest(options=options), two_hosts() as names:
                how = {"prefix": within(names[0]), "options": options}
                with Program("ibv_asyncwatch", **how) as watch:
                    watch.says("async event FD")

                    def follows(event, count, name, *words):
                        ip("-n", name, *words)
                        watch.says(rf"(?s)(IBV_EVENT_{event} .*){{{count}}}")

                    def state():
                        return re.search(r"PORT_\w+", self.run_program("ibv_devinfo", **how).out)[0]

                    address = ("10.99.8.3/24", "dev", "veth0")
                    follows("GID_CHANGE", 1, names[0], "address", "add", *address)
                    follows("GID_CHANGE", 2, names[0], "address", "delete", *address)
                    # First the interface itself goes down and up, then the cable is pulled and put back.
                    for count, name in enumerate(names, 1):
                        link = ("link", "set", "veth0")
                        follows("PORT_ERR", count, name, *link, "down")
                        self.assertEqual(state(), "PORT_DOWN")
                        follows("PORT_ACTIVE", count, name, *link, "up")
                        self.assertEqual(state(), "PORT_ACTIVE")


if __name__ == "__main__":
    need_namespaces()
    main("ip", "setpriv", "prlimit", "rping", "ibv_asyncwatch", "ibv_devinfo", "ib_write_bw", "ibv_rc_pingpong")
