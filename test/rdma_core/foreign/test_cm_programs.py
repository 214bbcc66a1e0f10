# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of librdmacm other than rping: ucmatose (event channels, many connections, migrated ids),
cmtime, and rdma_client, rdma_server, rdma_xclient and rdma_xserver (synchronous ids, rdma_create_ep)."""
from support import Case, Program, free_port, main
from tried import tried


@tried("ucmatose", "rdmacm-utils", "connections, messages, ids that move to another event channel",
       personas=("iwarp", "roce"))
class Ucmatose(Case):
    def transfer(self, *words, server=(), client=("-s", "127.0.0.1"), port=None):
        port = port or free_port()
        results = self.pair(("ucmatose", "-p", port, *words, *server),
                            ("ucmatose", "-p", port, *words, *client), port)
        self.assert_silent(*results)
        for result in results:
            for line in ("test complete", "return status 0"):
                self.assertIn(line, result.out, str(result))
        return results

    def test_connections_messages_and_options(self):
        for words in ((), ("-c", 10, "-C", 100), ("-c", 2, "-C", 20, "-S", 1), ("-c", 2, "-C", 20, "-S", 65536),
                      ("-c", 100, "-C", 1),
                      ("-c", 3, "-C", 0),  # connects without transferring data
                      ("-c", 10, "-C", 10, "-m"),  # migrates ids to another event channel
                      ("-t", 8), ("-a", 14)):
            with self.subTest(words=words):
                self.transfer(*words)

    def test_addresses(self):
        self.transfer(server=("-b", "127.0.0.1"), client=("-s", "127.0.0.1", "-b", "127.0.0.7"))
        self.transfer(server=("-b", "::1"), client=("-s", "::1"))
        self.transfer("-f", "ip", server=("-b", "127.0.0.1"))
        self.transfer("-f", "ipv6", server=("-b", "::1"), client=("-s", "::1"))
        self.transfer("-f", "name", client=("-s", "localhost"))


@tried("cmtime", "rdmacm-utils", "each step of setting up and ending a connection", personas=("iwarp", "roce"))
class Cmtime(Case):
    def setUp(self):
        super().setUp()
        # cmtime of rdma-core 56 uses one port number for RDMA and TCP, so the test sets a port offset. By default,
        # cmtime uses the numbers of queue pairs that do not exist, which no iWARP device can connect. With -q 0,
        # cmtime does not use such numbers.
        usage = self.run_program("cmtime", "-h", statuses=(0, 1), plain=True)
        self.words = ("-q", 0) if "[-q base_qpn]" in usage.out + usage.err else ()

    def test_all_steps_are_timed(self):
        port, tcp_port = free_port(), free_port()
        options = ("--port-offset", tcp_port - port)
        command = ("cmtime", "-p", port, "-c", 50, *self.words)
        with Program(*command, options=options) as server:
            server.listens(tcp_port)
            if self.words:
                server.listens(port)
            client = self.run_program(*command, "-s", "127.0.0.1", options=options)
            self.assert_silent(client)
            for step in ("create id", "resolve addr", "resolve route", "create qp",
                         "connect", "disconnect", "destroy"):
                self.assertRegex(client.out, rf"(?m)^[a-z ]*{step}[a-z ]*:?\s+\d")
            if self.words:
                self.check(server.wait())


class PortOffset(Case):
    """The log shows the port numbers in use. With a port offset it shows the RDMA port number and the TCP port
    number. Without an offset it shows one port number."""

    def log_of(self, port, *options):
        call = ("ucmatose", "-p", port, "-C", 0, "-c", 1)
        server, client = self.pair(call, (*call, "-s", "127.0.0.1"), self.tcp_port,
                                   options=("--log", "connections", *options))
        self.assertIn("return status 0", client.out)
        return server.err, client.err

    def test_the_log_has_both_numbers(self):
        port, self.tcp_port = free_port(), free_port()
        server, client = self.log_of(port, "--port-offset", self.tcp_port - port)
        both = rf"{port} \(TCP port {self.tcp_port}\)"
        self.assertRegex(server, rf"(?m)^iwarp: listens on 0\.0\.0\.0:{both}$")
        self.assertRegex(client, rf"(?m)^iwarp: connected with 127\.0\.0\.1:{both} ")

    def test_without_an_offset_the_log_has_one(self):
        port = self.tcp_port = free_port()
        server, client = self.log_of(port)
        self.assertRegex(server, rf"(?m)^iwarp: listens on 0\.0\.0\.0:{port}$")
        self.assertRegex(client, rf"(?m)^iwarp: connected with 127\.0\.0\.1:{port} \(queue")

    def test_a_port_out_of_range_is_named(self):
        result = self.run_program("ucmatose", "-p", 65000, "-s", "127.0.0.1", statuses=(0, 1, 255),
                                  options=("--port-offset", 1000))
        self.assertRegex(result.err, r"(?m)^iwarp: port 65000 is out of range with IWARP_PORT_OFFSET=1000 \(")
        self.assertIn("Cannot assign requested address", result.out + result.err)


@tried("rdma_client, rdma_server, rdma_xclient, rdma_xserver", "rdmacm-utils",
       "one session of each client with its server", personas=("iwarp", "roce"))
class Examples(Case):
    def both(self, name, *words):
        port = free_port()
        server, client = self.pair((f"rdma_{name}server", "-p", port, *words),
                                   (f"rdma_{name}client", "-s", "127.0.0.1", "-p", port, *words), port)
        self.assert_silent(server, client)
        self.assertIn(f"rdma_{name}server: end 0", server.out)
        self.assertIn(f"rdma_{name}client: end 0", client.out)

    def test_client_and_server(self):
        self.both("")

    def test_client_and_server_with_a_shared_receive_queue(self):
        self.both("x", "-c", "r")


main("ucmatose", "cmtime", "rdma_client", "rdma_server", "rdma_xclient", "rdma_xserver")
