// SPDX-License-Identifier: Apache-2.0
// Common options: their help texts, and their translation into connection options.
#include "common/options.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>

#include "common/error.hpp"
#include "common/trace.hpp"

namespace iwarp::apps {

namespace {

constexpr std::size_t kMinFpdu = 128;
constexpr std::size_t kMaxFpdu = 64768;

std::string check_fpdu(const std::string& text) {
  return parse_fpdu(text) ? "" : "not emss, max or a number from 128 to 64768: " + text;
}

mpa::Rtr rtr_kind(const std::string& name) {
  if (name == "write") return mpa::Rtr::kWrite;
  if (name == "read") return mpa::Rtr::kRead;
  if (name == "send") return mpa::Rtr::kSend;
  return mpa::Rtr::kNone;
}

}  // namespace

void add_common_options(CLI::App& command, CommonOptions& options) {
  auto* group = command.add_option_group("Connection", "How the MPA connection shall be");
  const auto choice = [group](const char* name, std::string& value,
                              const std::vector<std::string>& of, const char* help) {
    group->add_option(name, value, help)
        ->check(without_name(CLI::IsMember(of)))
        ->type_name(CLI::detail::join(of, "|"))
        ->capture_default_str();
  };
  choice("--mpa-rev", options.mpa_rev, {"1", "2", "2-only"},
         "MPA revision: 1 (RFC 5044) or 2 (RFC 6581). A peer that\n"
         "goes away when asked for 2 is asked again for 1, but\n"
         "not with 2-only");
  choice("--crc", options.crc, {"on", "off"},
         "CRC32c over each frame; used unless both sides say off");
  group->add_flag("--markers", options.markers, "Ask the peer for markers in what we receive");
  choice("--rtr", options.rtr, {"none", "write", "read", "send"},
         "Ready-to-receive message of revision 2; none means\n"
         "client-server mode. Some adapters insist on one");
  group
      ->add_option("--fpdu", options.fpdu,
                   "Largest frame we send: emss fits a TCP segment, the rule\n"
                   "of RFC 5044; N is 128 to 64768. max is faster between\n"
                   "software peers, but adapters may dislike it")
      ->check(CLI::Validator(check_fpdu, ""))
      ->type_name("emss|max|N")
      ->capture_default_str();
  choice("--placement", options.placement, {"verified", "direct"},
         "verified: check the CRC, then place. direct: place while\n"
         "receiving; a wrong CRC leaves the buffer undefined");
  choice("--extensions", options.extensions, {"auto", "off"},
         "Atomics and immediate data (RFC 7306): auto offers them\n"
         "with 8 octets behind the private data; a peer that does\n"
         "not know these shows them to its program");
  group
      ->add_option("--first-fpdu-delay", options.first_fpdu_delay_ms,
                   "When connecting, wait so long behind the peer's Reply.\n"
                   "100 helps where siw of an unrepaired Linux kernel is the\n"
                   "server and now and then a connection hangs at once")
      ->check(without_name(CLI::Range(0U, 4000U)))
      ->type_name("MS")
      ->capture_default_str();
  group
      ->add_option("-C,--congestion", options.congestion,
                   "TCP's congestion control, by the name that the system\n"
                   "has for it, such as cubic; the default is the system's")
      ->check(CLI::Validator(congestion_fault, ""))
      ->type_name("NAME");
  group->add_option("--trace", options.trace, "Record every octet in a capture file for Wireshark")
      ->type_name("FILE.pcap");
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
  out.max_ulpdu = parse_fpdu(options.fpdu).value_or(0);
  out.placement =
      options.placement == "direct" ? verbs::Placement::kDirect : verbs::Placement::kVerified;
  return out;
}

net::ConnectOptions connect_options(const CommonOptions& options) {
  net::ConnectOptions out;
  out.connection = connection_options(options);
  out.congestion = options.congestion;
  out.fall_back_to_revision_1 = options.mpa_rev != "2-only";
  out.tap = make_tap_factory(options.trace);
  return out;
}

std::string congestion_fault(const std::string& name) {
  constexpr auto kList = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto size = static_cast<socklen_t>(name.size());
  const bool taken =
      size != 0 && ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), size) == 0;
  ::close(fd);
  return taken ? "" : std::string("not a congestion control that TCP may use here, see ") + kList;
}

std::optional<std::size_t> parse_fpdu(std::string_view text) {
  if (text == "emss") return 0;
  if (text == "max") return kMaxFpdu;
  const auto number = parse_size(text);
  if (!number || *number < kMinFpdu || *number > kMaxFpdu) return std::nullopt;
  return static_cast<std::size_t>(*number);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  unsigned shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
      case 'K':
        shift = 10;
        break;
      case 'M':
        shift = 20;
        break;
      case 'G':
        shift = 30;
        break;
      default:
        break;
    }
  }
  if (shift != 0) text.remove_suffix(1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;
  if (number > kLimit >> shift) return std::nullopt;
  return number << shift;
}

CLI::Validator size_suffix() {
  return {[](std::string& text) -> std::string {
            const auto size = parse_size(text);
            if (!size) return "not a size such as 4096, 64K or 1M: " + text;
            text = std::to_string(*size);
            return "";
          },
          ""};
}

CLI::Validator without_name(CLI::Validator validator) { return validator.description(""); }

net::Address address_argument(const std::string& text, std::uint16_t default_port) {
  auto address = net::parse_address(text, default_port);
  if (!address) throw UsageError("not an address such as HOST, HOST:PORT or [V6]:PORT: " + text);
  return *address;
}

}  // namespace iwarp::apps
