// SPDX-License-Identifier: Apache-2.0
// Common options: their help texts, and their translation into connection options.
#include "common/connection/options.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "command_line/help.hpp"
#include "common/base/error.hpp"
#include "common/connection/trace.hpp"

namespace iwarp::apps {

namespace {

constexpr std::size_t kMinFpdu = 128;
constexpr std::size_t kMaxFpdu = 64768;

std::string check_fpdu(const std::string& text) {
  return parse_fpdu(text) ? ""
                          : "not emss, max or a number from 128 to 64768: " + cli::excerpt(text);
}

mpa::Rtr rtr_kind(const std::string& name) {
  if (name == "write") return mpa::Rtr::kWrite;
  if (name == "read") return mpa::Rtr::kRead;
  if (name == "send") return mpa::Rtr::kSend;
  return mpa::Rtr::kNone;
}

}  // namespace

void add_common_options(cli::Command& command, CommonOptions& options) {
  command.begin_group(cli::kConnectionGroup);
  command.choice("--mpa-rev", options.mpa_rev, {"1", "2", "2-only"},
                 "MPA revision: 1 (RFC 5044) or 2 (RFC 6581). A peer that goes away when asked for "
                 "2 is asked again for 1, but not with 2-only");
  command.choice("--crc", options.crc, {"on", "off"},
                 "CRC32c over each frame; used unless both sides say off");
  command.flag("--markers", options.markers, "Ask the peer for markers in what we receive");
  command.choice("--rtr", options.rtr, {"none", "write", "read", "send"},
                 "Ready-to-receive message of revision 2; none means client-server mode. Some "
                 "adapters insist on one");
  command
      .text("--fpdu", "emss|max|N", options.fpdu,
            "Largest frame we send: emss fits a TCP segment, the rule of RFC 5044; N is 128 to "
            "64768. max is faster between software peers, but adapters may dislike it")
      .check(check_fpdu);
  command.choice("--placement", options.placement, {"verified", "direct"},
                 "verified: check the CRC, then place. direct: place while receiving; a wrong CRC "
                 "leaves the buffer undefined");
  command.choice("--extensions", options.extensions, {"auto", "off"},
                 "Atomics and immediate data (RFC 7306): auto offers them with 8 octets behind the "
                 "private data; a peer that does not know these shows them to its program");
  command.choice("--completions", options.completions, {"sent", "acked"},
                 "When a Send or Write completes: sent, when TCP has it; acked, when the peer has "
                 "placed or refused it, as on InfiniBand. Empty RDMA Reads ask any peer for that");
  command.number("--first-fpdu-delay", "MS", options.first_fpdu_delay_ms, {0, 4000},
                 "When connecting, wait so long behind the peer's Reply. 100 helps where siw of an "
                 "unrepaired Linux kernel is the server and now and then a connection hangs at "
                 "once");
  command.number("--gather-delay", "US", options.gather_delay_us, {0, 1000},
                 "Small requests posted one by one leave together while their program has not "
                 "polled for those before, and wait so long at most; 0: each leaves at once");
  command
      .text("-C,--congestion", "NAME", options.congestion,
            "TCP's congestion control, by the name that the system has for it, such as cubic; the "
            "default is the system's")
      .check(congestion_fault);
  command
      .text("--trace", "FILE", options.trace,
            "Record every octet: FILE.pcap for Wireshark; FILE.qlog is a log that has posts, "
            "completions, placements and states, too. iwarp explain reads both")
      .completes(cli::Completion::kFile);
}

verbs::ConnectionOptions connection_options(const CommonOptions& options) {
  if (options.mpa_rev == "1" && options.rtr != "none") {
    throw UsageError("--rtr " + options.rtr + " needs --mpa-rev 2: revision 1 has no RTR");
  }
  verbs::ConnectionOptions out;
  out.startup.revision = options.mpa_rev == "1" ? 1 : 2;
  out.startup.crc = options.crc == "on";
  out.startup.markers = options.markers;
  out.startup.rtr = rtr_kind(options.rtr);
  out.startup.extensions = options.extensions == "auto";
  out.first_fpdu_delay = std::chrono::milliseconds(options.first_fpdu_delay_ms);
  out.gather_delay = std::chrono::microseconds(options.gather_delay_us);
  out.max_ulpdu = parse_fpdu(options.fpdu).value_or(0);
  out.placement =
      options.placement == "direct" ? verbs::Placement::kDirect : verbs::Placement::kVerified;
  out.completions = options.completions == "acked" ? verbs::Completions::kAcknowledged
                                                   : verbs::Completions::kSent;
  return out;
}

net::ConnectOptions connect_options(const CommonOptions& options) {
  net::ConnectOptions out;
  out.connection = connection_options(options);
  out.congestion = options.congestion;
  out.fall_back_to_revision_1 = options.mpa_rev != "2-only";
  out.tap = make_tap_factory(options.trace);
  out.carrier = connecting_carrier(options.tls);
  return out;
}

std::string congestion_fault(const std::string& name) {
  constexpr auto kList = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto size = static_cast<socklen_t>(name.size());
  const bool taken =
      size != 0 && ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), size) == 0;
  ::close(fd);
  if (taken) return "";
  return fmt::format("not a congestion control that TCP may use here, see {}", kList);
}

std::optional<std::size_t> parse_fpdu(std::string_view text) {
  if (text == "emss") return 0;
  if (text == "max") return kMaxFpdu;
  const auto number = cli::parse_size(text);
  if (!number || *number < kMinFpdu || *number > kMaxFpdu) return std::nullopt;
  return static_cast<std::size_t>(*number);
}

net::Address address_argument(const std::string& text, std::uint16_t default_port) {
  auto address = net::parse_address(text, default_port);
  if (!address) throw UsageError("not an address such as HOST, HOST:PORT or [V6]:PORT: " + text);
  return *address;
}

}  // namespace iwarp::apps
