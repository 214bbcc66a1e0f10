// SPDX-License-Identifier: Apache-2.0
// Tests the text format of the metrics, the addresses at which they are served, and the requests
// that are refused.
#include "iwarp/net/metrics.hpp"

#include <regex.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "metrics/scrape.hpp"
#include "raw_peer.hpp"
#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

namespace {

std::string fault_of(std::string_view text) {
  const auto address = parse_metrics_address(text);
  return address ? "" : address.error();
}

std::string ask(std::string_view request, bool names_host = true) {
  return http_answer(request, names_host, [] { return std::string("figures\n"); });
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

/// Sends an HTTP request and receives until the end of the stream.
std::string exchange(int socket, std::string_view request) {
  REQUIRE_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL),
             static_cast<ssize_t>(request.size()));
  std::string out;
  char chunk[4096];
  for (;;) {
    const auto n = ::recv(socket, chunk, sizeof chunk, 0);
    if (n <= 0) return out;
    out.append(chunk, static_cast<std::size_t>(n));
  }
}

UniqueFd connect_tcp(std::uint16_t port) { return RawPeer::connect(port).release(); }

/// Creates a Unix socket, and connects or binds it to `path` with `call`.
UniqueFd unix_socket(const std::string& path, decltype(::connect)* call) {
  UniqueFd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE_EQ(call(out.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return out;
}

/// A POSIX extended regular expression. Uses <regex.h>, because GCC 12 with sanitizers warns about
/// its own std::regex.
class Pattern {
 public:
  explicit Pattern(const char* text) {
    REQUIRE_EQ(::regcomp(&compiled_, text, REG_EXTENDED | REG_NOSUB), 0);
  }
  ~Pattern() { ::regfree(&compiled_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  bool matches(const std::string& text) const {
    return ::regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
};

struct Folder {
  Folder() { REQUIRE_NE(::mkdtemp(path.data()), nullptr); }
  ~Folder() { ::rmdir(path.c_str()); }
  std::string path = "/tmp/iwarp-metrics-XXXXXX";
};

constexpr std::string_view kGet = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9000\r\n\r\n";

}  // namespace

TEST_CASE("metrics are served at a loopback port or a Unix socket, and nowhere else") {
  CHECK_EQ(to_string(*parse_metrics_address("9000")), "http://127.0.0.1:9000/metrics");
  CHECK_EQ(to_string(*parse_metrics_address("127.0.0.9:1")), "http://127.0.0.9:1/metrics");
  CHECK_EQ(to_string(*parse_metrics_address("[::1]:9000")), "http://[::1]:9000/metrics");
  CHECK_EQ(parse_metrics_address("unix:/run/a-%p.sock")->path,
           "/run/a-" + std::to_string(::getpid()) + ".sock");
  for (const auto* text : {"", "x", "65536", "-1", "127.0.0.1", "::1", ":9000",
                           "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:9000x"}) {
    CAPTURE(text);
    CHECK_NE(fault_of(text).find("ADDR:PORT"), std::string::npos);
  }
  for (const auto* text : {"0.0.0.0:9000", "192.0.2.1:9000", "[::]:9000", "localhost:9000"}) {
    CAPTURE(text);
    CHECK_NE(fault_of(text).find("loopback"), std::string::npos);
  }
  CHECK_NE(fault_of("unix:").find("107 bytes"), std::string::npos);
  CHECK_NE(fault_of("unix:/" + std::string(107, 'x')).find("107 bytes"), std::string::npos);
}

TEST_CASE("each line is a comment or a sample, and each family has one HELP and one TYPE line") {
  Statistics s;
  s.counters.octets_sent = 12;
  s.passive.failed[static_cast<std::size_t>(SetupFailure::kGaveWay)] = 3;
  s.open_connections = 3;
  s.connections.push_back({.qp = 7,
                           .is_outgoing = true,
                           .local = {"127.0.0.1", 1},
                           .peer = {"a\"b\\c\nd\x80", 2},
                           .counters = {.octets_sent = 9}});
  s.connections.push_back({.qp = 8, .device = "rxe0", .counters = {.octets_sent = 5}});
  s.devices["rxe0"].octets_sent = 6;
  s.datagrams = {.sent = 21,
                 .unsent = 22,
                 .delivered = 23,
                 .lost = 24,
                 .unjoined = 27,
                 .send_calls = 25,
                 .receive_calls = 26,
                 .dropped = {31, 32, 33, 34, 35, 36, 37}};
  verbs::Incidents ends;
  ends.terminate_sent = bytes::Fault{bytes::Layer::kDdp, 1, 0x00};
  s.add(ends);
  const auto text = metrics_text(s);
  CHECK(has_line(text, "iwarp_octets_sent_total 12"));
  CHECK(has_line(text, "iwarp_setups_failed_total{side=\"passive\",reason=\"gave_way\"} 3"));
  CHECK(has_line(text, "iwarp_setups_failed_total{side=\"active\",reason=\"gave_way\"} 0"));
  CHECK(has_line(text,
                 "iwarp_terminates_total{direction=\"sent\",code=\"1/1/00\",meaning=\"invalid "
                 "STag\"} 1"));
  CHECK(has_line(text, "iwarp_connections_unlisted 1"));
  for (const auto* line :
       {"iwarp_datagrams_sent_total 21", "iwarp_datagrams_unsent_total 22",
        "iwarp_datagrams_delivered_total 23", "iwarp_datagrams_lost_total 24",
        "iwarp_datagram_groups_unjoined_total 27", "iwarp_datagram_send_calls_total 25",
        "iwarp_datagram_receive_calls_total 26",
        "iwarp_datagrams_dropped_total{reason=\"malformed\"} 31",
        "iwarp_datagrams_dropped_total{reason=\"not_receiving\"} 32",
        "iwarp_datagrams_dropped_total{reason=\"wrong_qp\"} 33",
        "iwarp_datagrams_dropped_total{reason=\"wrong_q_key\"} 34",
        "iwarp_datagrams_dropped_total{reason=\"bad_crc\"} 35",
        "iwarp_datagrams_dropped_total{reason=\"repeated\"} 36",
        "iwarp_datagrams_dropped_total{reason=\"no_receive\"} 37"}) {
    CAPTURE(line);
    CHECK(has_line(text, line));
  }
  CHECK(has_line(text,
                 "iwarp_connection_octets_sent_total{qp=\"7\",side=\"active\",local=\"127.0.0.1:1\""
                 ",peer=\"a\\\"b\\\\c?d?:2\"} 9"));
  CHECK(has_line(text,
                 "iwarp_connection_octets_sent_total{device=\"rxe0\",qp=\"8\",side=\"passive\","
                 "local=\":0\",peer=\":0\"} 5"));
  CHECK(has_line(text, "iwarp_device_octets_sent_total{device=\"rxe0\"} 6"));
  CHECK_EQ(text.find("iwarp_device_registrations_total"), std::string::npos);
  const Pattern line(
      R"re(^(# (HELP|TYPE) iwarp_[a-z_]+ [ -~]+|iwarp_[a-z_]+([{]([a-z]+="([^"\\]|\\["\\])*",?)+[}])? [0-9]+)$)re");
  std::istringstream in(text);
  std::string one;
  std::vector<std::string> families;
  while (std::getline(in, one)) {
    CAPTURE(one);
    CHECK(line.matches(one));
    if (one.starts_with("# TYPE ")) families.push_back(one.substr(7, one.find(' ', 7) - 7));
    if (!one.starts_with('#')) CHECK_EQ(one.substr(0, one.find_first_of(" {")), families.back());
  }
  CHECK(text.ends_with('\n'));
  auto sorted = families;
  std::ranges::sort(sorted);
  CHECK(std::ranges::adjacent_find(sorted) == sorted.end());
}

TEST_CASE("a request is answered when it is complete, and only if it asks for the metrics") {
  CHECK_EQ(ask(kGet.substr(0, kGet.size() - 1)), "");
  CHECK(ask(kGet).starts_with("HTTP/1.0 200 OK\r\n"));
  CHECK(ask(kGet).ends_with("Content-Length: 8\r\nConnection: close\r\n\r\nfigures\n"));
  CHECK(ask("HEAD / HTTP/1.0\r\n\r\n").ends_with("Content-Length: 8\r\nConnection: close\r\n\r\n"));
  CHECK(ask("GET /other HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 404 "));
  CHECK(ask("POST /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 405 "));
  CHECK(ask("MPA ID Req Frame\r\n\r\n").starts_with("HTTP/1.0 400 "));
  const auto longest = "GET / HTTP/1.0\r\nX: " + std::string(Scrape::kMaxRequest, 'x');
  CHECK_EQ(ask(std::string_view(longest).substr(0, Scrape::kMaxRequest - 1)), "");
  CHECK(ask(std::string_view(longest).substr(0, Scrape::kMaxRequest)).starts_with("HTTP/1.0 431 "));
}

TEST_CASE("a request whose Host header is not a loopback address is refused (DNS rebinding)") {
  const auto from = [](const std::string& host, bool names_host = true) {
    return ask("GET /metrics HTTP/1.1\r\nHost: " + host + "\r\n\r\n", names_host);
  };
  for (const auto* host : {"localhost", "localhost:9000", "127.0.0.1", "[::1]:9000"}) {
    CAPTURE(host);
    CHECK(from(host).starts_with("HTTP/1.0 200 "));
  }
  for (const auto* host : {"evil.example", "evil.example:9000", "192.0.2.1", "localhost.evil"}) {
    CAPTURE(host);
    CHECK(from(host).starts_with("HTTP/1.0 403 "));
  }
  // The Host header does not matter on a Unix socket.
  CHECK(from("any", false).starts_with("HTTP/1.0 200 "));
}

TEST_CASE("metrics are available while the Rnic exists, and its totals afterwards") {
  auto server = must(MetricsServer::open({.tcp = {"127.0.0.1", 0}}));
  const auto scrape = [&] { return exchange(connect_tcp(server->address().tcp.port).get(), kGet); };
  {
    Pair pair;
    const auto watch = server->watch(*pair.rnic);
    pair.connect();
    CHECK(has_line(scrape(), "iwarp_connections_open 2"));
    CHECK(has_line(scrape(), "iwarp_objects{kind=\"qp\"} 2"));
  }
  const auto text = scrape();
  CHECK(has_line(text, "iwarp_connections_open 0"));
  CHECK(has_line(text, "iwarp_objects{kind=\"qp\"} 0"));
  CHECK(has_line(text, "iwarp_setups_established_total{side=\"active\"} 1"));
  CHECK_EQ(text.find("iwarp_connection_"), std::string::npos);
}

TEST_CASE("silent, verbose or many scrapers do not keep other scrapers out") {
  auto server = must(MetricsServer::open({.tcp = {"127.0.0.1", 0}}));
  const auto port = server->address().tcp.port;
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(connect_tcp(port));
  CHECK_NE(exchange(connect_tcp(port).get(), kGet).find("200 OK"), std::string::npos);
  // The server closed the oldest connection to admit this one.
  char octet = 0;
  CHECK_EQ(::recv(silent.front().get(), &octet, 1, 0), 0);
  const std::string endless(100'000, 'x');
  const auto big = connect_tcp(port);
  (void)::send(big.get(), endless.data(), endless.size(), MSG_NOSIGNAL);
  while (::recv(big.get(), &octet, 1, 0) > 0) {
  }
  CHECK_NE(exchange(connect_tcp(port).get(), kGet).find("200 OK"), std::string::npos);
}

TEST_CASE(
    "only its user can open the Unix socket; it replaces a stale socket and is removed at the "
    "end") {
  const Folder folder;
  const auto path = folder.path + "/metrics";
  {
    auto server = must(MetricsServer::open({.path = path}));
    struct stat about{};
    REQUIRE_EQ(::stat(path.c_str(), &about), 0);
    CHECK_EQ(about.st_mode & 0777U, 0600U);
    CHECK_NE(exchange(unix_socket(path, ::connect).get(), kGet).find("200 OK"), std::string::npos);
    const auto second = MetricsServer::open({.path = path});
    REQUIRE_FALSE(second.has_value());
    CHECK_EQ(second.error(), std::errc::address_in_use);
    CHECK_NE(exchange(unix_socket(path, ::connect).get(), kGet).find("200 OK"), std::string::npos);
  }
  CHECK_NE(::access(path.c_str(), F_OK), 0);
  (void)unix_socket(path, ::bind);  // Leaves a stale socket.
  CHECK(MetricsServer::open({.path = path}).has_value());
  std::ofstream(path) << "somebody's file";
  CHECK_FALSE(MetricsServer::open({.path = path}).has_value());
  CHECK_EQ(::unlink(path.c_str()), 0);
}
