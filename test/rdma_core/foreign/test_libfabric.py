# SPDX-License-Identifier: Apache-2.0
"""libfabric's verbs provider: the device must be found, and fi_pingpong must run with data checks (-c) over four
kinds of endpoints. These are connected endpoints, reliable datagrams over connected endpoints (ofi_rxm),
datagrams, and reliable datagrams over datagrams (ofi_rxd)."""
from hosts import HOSTS, apart, needs_namespaces, two_hosts
from support import Case, free_port, main
from tried import tried

FOUND = {"iwarp": ("Ethernet-iWARP$", "FI_PROTO_IWARP"), "roce": ("IB-0xfe80000000000000$", "FI_PROTO_RDMA_CM_IB_RC")}


class Pingpong(Case):
    def assert_quiet(self, *results):
        for result in results:
            self.assertNotRegex(result.err, "(?m)^iwarp")

    def play(self, provider, endpoint, *words, host="127.0.0.1", **how):
        port = free_port()
        shared = ("fi_pingpong", "-p", provider, "-e", endpoint, "-c", *words)
        server, client = self.pair((*shared, "-B", port), (*shared, "-P", port, host), port, **how)
        self.assert_quiet(server, client)
        for result in (server, client):
            self.assertRegex(result.out, r"(?m)^bytes +#sent +#ack +total")
            self.assertRegex(result.out, r"(?m)^\d+[kmg]? +\d+ +=?\d+ ")


@tried("libfabric", "libfabric-bin", "fi_info; fi_pingpong, with data checked, over `verbs` and "
       "over `verbs;ofi_rxm`", personas=("iwarp", "roce"))
class Libfabric(Pingpong):
    def test_the_provider_finds_the_device(self):
        result = self.run_program("fi_info", "-p", "verbs")
        fabric, protocol = FOUND[self.persona]
        self.assertRegex(result.out, rf"(?m)^\s*fabric: {fabric}")
        self.assertRegex(result.out, rf"(?m)^\s*protocol: {protocol}$")
        self.assertRegex(result.out, r"(?m)^\s*domain: iwarp0")
        self.assert_quiet(result)

    def test_connected_endpoints_and_reliable_datagrams(self):
        self.play("verbs", "msg")
        self.play("verbs;ofi_rxm", "rdm")
        self.play("verbs;ofi_rxm", "rdm", "-S", 1 << 20, "-I", 20)


@tried("libfabric, UD", "libfabric-bin", "fi_pingpong, with data checked, over `verbs` with `-e "
       "dgram` and over `verbs;ofi_rxd`, on one host and on two hosts", personas=("roce",))
class LibfabricDatagrams(Pingpong):
    def play_both(self, **how):
        self.play("verbs", "dgram", "-I", 100, **how)
        self.play("verbs;ofi_rxd", "rdm", "-S", 1024, "-I", 100, **how)
        self.play("verbs;ofi_rxd", "rdm", "-S", 1 << 16, "-I", 20, **how)

    def test_on_one_host(self):
        self.play_both()

    @needs_namespaces
    def test_on_two_hosts(self):
        with two_hosts() as names:
            self.play_both(host=HOSTS[0], **apart(names))


main("fi_info", "fi_pingpong")
