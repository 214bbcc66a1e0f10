# SPDX-License-Identifier: Apache-2.0
"""libfabric's verbs provider: the device is found, and fi_pingpong runs with data checked (-c) over
connected endpoints and over reliable datagrams made of them (ofi_rxm)."""
from support import Case, free_port, main


class Libfabric(Case):
    def test_the_provider_finds_the_device(self):
        result = self.run_program("fi_info", "-p", "verbs")
        self.assertRegex(result.out, r"(?m)^\s*fabric: Ethernet-iWARP$")
        self.assertRegex(result.out, r"(?m)^\s*protocol: FI_PROTO_IWARP$")
        self.assertRegex(result.out, r"(?m)^\s*domain: iwarp0")
        self.assert_silent(result)

    def play(self, provider, endpoint, *words):
        port = free_port()
        shared = ("fi_pingpong", "-p", provider, "-e", endpoint, "-c", *words)
        server, client = self.pair((*shared, "-B", port), (*shared, "-P", port, "127.0.0.1"), port)
        self.assert_silent(server, client)
        for result in (server, client):
            self.assertRegex(result.out, r"(?m)^bytes +#sent +#ack +total")
            self.assertRegex(result.out, r"(?m)^\d+[kmg]? +\d+ +=?\d+ ")

    def test_connected_endpoints(self):
        self.play("verbs", "msg")

    def test_reliable_datagrams(self):
        self.play("verbs;ofi_rxm", "rdm")

    def test_a_large_message(self):
        self.play("verbs;ofi_rxm", "rdm", "-S", 1 << 20, "-I", 20)


if __name__ == "__main__":
    main("fi_info", "fi_pingpong")
