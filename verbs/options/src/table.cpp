// SPDX-License-Identifier: Apache-2.0
// The table: each option of `iwarp run` and of the commands that open a connection, in the order of
// --help.
#include <expected>
#include <ranges>

#include "iwarp/profiles/device_name.hpp"
#include "values.hpp"

namespace iwarp::options {
namespace {

using mpa::StartupOptions;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using verbs::ConnectionOptions;
using Ports = std::pair<std::uint16_t, std::uint16_t>;

constexpr std::uint64_t kMaxFpdu = 64768;
constexpr std::size_t kMaxCongestion = 15;  // TCP_CA_NAME_MAX without the terminating zero

constexpr std::array kRevisions{Word{"1", std::tuple(1, true)}, Word{"2", std::tuple(2, true)},
                                Word{"2-only", std::tuple(2, false)}};
constexpr std::array kRtr{Word{"none", mpa::Rtr::kNone}, Word{"write", mpa::Rtr::kWrite},
                          Word{"read", mpa::Rtr::kRead}, Word{"send", mpa::Rtr::kSend}};
constexpr std::array kFpdu{Word{"emss", std::uint64_t{0}}, Word{"max", kMaxFpdu}};
constexpr std::array kPlacement{Word{"verified", verbs::Placement::kVerified},
                                Word{"direct", verbs::Placement::kDirect}};
constexpr std::array kExtensions{Word{"auto", true}, Word{"off", false}};
constexpr std::array kCompletions{Word{"sent", verbs::Completions::kSent},
                                  Word{"acked", verbs::Completions::kAcknowledged}};
constexpr std::array kPersonas{Word{"iwarp", Persona::kIwarp}, Word{"roce", Persona::kRoce}};
constexpr std::array kPeers{Word{"off", OutOfBandPeers::kOff},
                            Word{"loopback", OutOfBandPeers::kLoopback},
                            Word{"on", OutOfBandPeers::kOn}};
// "refusals" and "connections" are former names of levels, which are still accepted.
constexpr std::array kLevels{
    Word{"off", verbs::LogLevel::kOff},         Word{"error", verbs::LogLevel::kError},
    Word{"warning", verbs::LogLevel::kWarning}, Word{"refusals", verbs::LogLevel::kWarning},
    Word{"info", verbs::LogLevel::kInfo},       Word{"connections", verbs::LogLevel::kInfo},
    Word{"debug", verbs::LogLevel::kDebug}};
constexpr std::array kFormats{Word{"text", verbs::LogFormat::kText},
                              Word{"logfmt", verbs::LogFormat::kLogfmt},
                              Word{"json", verbs::LogFormat::kJson}};

/// Accepts the name of any algorithm. The connection that uses the algorithm checks whether the
/// kernel has it and permits it.
constexpr Value congestion() {
  Value out = text<&Settings::congestion>("NAME");
  out.expected = "a name of at most 15 characters";
  out.set = [](Settings& settings, std::string_view name) {
    if (name.size() > kMaxCongestion) return false;
    settings.congestion = name;
    return true;
  };
  return out;
}

std::optional<Ports> parse_ports(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == text.npos) return std::nullopt;
  const auto low = parse_number(text.substr(0, dash), 1, UINT16_MAX);
  const auto high = parse_number(text.substr(dash + 1), low.value_or(1), UINT16_MAX);
  return low && high ? std::optional(Ports(*low, *high)) : std::nullopt;
}

constexpr Value port_range() {
  return {.title = "LOW-HIGH",
          .expected = "a port range LOW-HIGH, such as 20000-20999",
          .set =
              [](Settings& settings, std::string_view text) {
                const auto ports = parse_ports(text);
                if (ports) settings.ports = ports;
                return ports.has_value();
              },
          .show =
              [](const Settings& settings) {
                const auto& ports = settings.ports;
                return ports ? std::to_string(ports->first) + "-" + std::to_string(ports->second)
                             : "";
              }};
}

bool load_profile(Settings& settings, std::string_view text) {
  const auto profile = profiles::load(text);
  if (!profile) return false;
  settings.like = text;
  settings.profile = *profile;
  settings.persona = (*profile)->is_rnic() ? Persona::kIwarp : Persona::kRoce;
  return true;
}

constexpr Value profile() {
  Value out = file<&Settings::like>("rxe|siw|connectx|mana|FILE");
  out.words = profiles::kNames;
  out.set = load_profile;
  out.why = [](std::string_view text) {
    const auto profile = profiles::load(text);
    return profile ? std::string() : profile.error();
  };
  return std::move(out).opened_late();
}

/// A list of devices, or why the text is none.
using Devices = std::expected<std::vector<DeviceChoice>, std::string>;

Devices parse_devices(std::string_view text) {
  std::vector<DeviceChoice> out;
  for (const auto part : std::views::split(text, ',')) {
    const std::string_view entry(part);
    const auto equals = std::min(entry.find('='), entry.size());
    const std::string name(entry.substr(0, equals));
    if (!profiles::is_device_name(name)) {
      return std::unexpected("\"" + name + "\" is not a device name (use " +
                             std::string(profiles::kDeviceNameRule) + ")");
    }
    if (std::ranges::find(out, name, &DeviceChoice::name) != out.end()) {
      return std::unexpected("two devices are named " + name);
    }
    if (equals + 1 == entry.size()) {
      return std::unexpected(name + "= lacks a network interface or an IP address");
    }
    const std::string where(equals < entry.size() ? entry.substr(equals + 1) : std::string_view());
    out.push_back({.name = name, .where = where});
  }
  if (out.size() > kMaxDevices) {
    return std::unexpected(std::to_string(out.size()) + " devices: the maximum is " +
                           std::to_string(kMaxDevices));
  }
  return out;
}

constexpr Value devices() {
  return {.title = "NAME[=INTERFACE|ADDRESS],...",
          .why =
              [](std::string_view text) {
                const auto chosen = parse_devices(text);
                return chosen ? std::string() : chosen.error();
              },
          .set =
              [](Settings& settings, std::string_view text) {
                auto chosen = parse_devices(text);
                if (!chosen) return false;
                settings.devices = std::move(*chosen);
                return true;
              },
          .show =
              [](const Settings& settings) {
                std::string out;
                for (const auto& [name, where] : settings.devices) {
                  out.append(out.empty() ? "" : ",").append(name);
                  if (!where.empty()) out.append("=").append(where);
                }
                return out;
              }};
}

constexpr Value adversary() {
  return {.title = "SEED|FIRST..LAST[,FREEDOM...]",
          .expected =
              "a seed or a range FIRST..LAST, with optional freedoms, such as 1..100,late,order",
          .set =
              [](Settings& settings, std::string_view text) {
                settings.adversary = parse_adversary(text);
                return settings.adversary.has_value();
              },
          .show =
              [](const Settings& settings) {
                return settings.adversary ? to_string(*settings.adversary) : "";
              },
          .if_omitted = "on"};
}

constexpr auto kRevision = [](auto& settings) {
  return std::tie(settings.connection.startup.revision, settings.fall_back_to_revision_1);
};

constexpr std::array kTable{
    // Options of connections.
    Option{"--mpa-rev", "IWARP_MPA_REV", Group::kConnection, one_of<kRevisions, kRevision>(),
           "MPA revision: 1 (RFC 5044) or 2 (RFC 6581). With 2, this end tries again with revision "
           "1 if the peer closes the connection after a Request of revision 2; with 2-only, it "
           "does not"},
    Option{"--crc", "IWARP_CRC", Group::kConnection, one_of<kOnOff, &StartupOptions::crc>(),
           "CRC32c in each frame; off takes effect only if both ends select it"},
    Option{"--markers", "IWARP_MARKERS", Group::kConnection,
           one_of<kOnOff, &StartupOptions::markers>().of_kind(Kind::kFlag),
           "Ask the peer to send markers"},
    Option{"--rtr", "IWARP_RTR", Group::kConnection,
           one_of<kRtr, &StartupOptions::rtr>().in_programs("write"),
           "Ready-to-receive (RTR) message of MPA revision 2; none selects the client-server mode, "
           "which has no RTR message. Some adapters require an RTR message"},
    Option{"--fpdu", "IWARP_FPDU", Group::kConnection,
           number<&ConnectionOptions::max_ulpdu, 128, kMaxFpdu, std::uint64_t, kFpdu>("emss|max|N")
               .sizes(),
           "Largest frame to send. emss: fits a TCP segment, as RFC 5044 requires; max: faster "
           "between software peers, but some adapters may not accept it; N: with a ULPDU of at "
           "most N octets, from 128 to 64768"},
    Option{"--placement", "IWARP_PLACEMENT", Group::kConnection,
           one_of<kPlacement, &ConnectionOptions::placement>(),
           "verified: check the CRC, then place the payload; direct: place the payload while "
           "receiving it, so that after a wrong CRC the contents of the buffer are undefined"},
    Option{"--extensions", "IWARP_EXTENSIONS", Group::kConnection,
           one_of<kExtensions, &StartupOptions::extensions>(),
           "Atomics and immediate data (RFC 7306). auto: offer them to the peer in 8 octets after "
           "the private data, which a peer without RFC 7306 passes to its program; off: do not "
           "offer them"},
    Option{"--completions", "IWARP_COMPLETIONS", Group::kConnection,
           one_of<kCompletions, &ConnectionOptions::completions>().as_roce("acked"),
           "When a Send or Write completes. sent: when TCP has accepted the data; acked: when the "
           "peer has placed or refused the data, as on InfiniBand. acked works with any peer, "
           "because this end sends zero-length RDMA Reads to get acknowledgements"},
    Option{"--first-fpdu-delay", "IWARP_FIRST_FPDU_DELAY", Group::kConnection,
           number<&ConnectionOptions::first_fpdu_delay, 0, 4000, milliseconds>("MS"),
           "When connecting, wait MS milliseconds after the peer's Reply before sending the first "
           "frame. Use 100 if the server is an unpatched Linux siw and connections sometimes hang "
           "immediately"},
    Option{
        "--gather-delay", "IWARP_GATHER_DELAY", Group::kConnection,
        number<&ConnectionOptions::gather_delay, 0, 1000, microseconds>("US"),
        "Coalesce requests that are posted one at a time: delay them until the program polls for "
        "earlier completions, but for at most US microseconds; 0: send each request immediately"},
    Option{"-C,--congestion", "IWARP_CONGESTION", Group::kConnection, congestion(),
           "TCP congestion control algorithm, by its name in the kernel, such as cubic; the "
           "default is reno between two ends on the same host, and the system default otherwise"},
    Option{"--trace", "IWARP_TRACE", Group::kConnection, file<&Settings::trace>(),
           "Record every octet in FILE.pcap (for Wireshark), or in FILE.qlog together with posts, "
           "completions, placements and states. iwarp explain reads both formats"},

    // Options of TLS below MPA. The code that uses these options checks whether they are
    // consistent.
    Option{"--tls", "IWARP_TLS", Group::kTls, text<&TlsSettings::demand>("").of_kind(Kind::kFlag),
           "Use TLS 1.3 on the connection; each of the options below implies --tls. By "
           "default, a client trusts the CAs of the system; --tls-ca replaces them"},
    Option{"--tls-cert", "IWARP_TLS_CERT", Group::kTls,
           file<&TlsSettings::certificate>().opened_late(),
           "PEM: the certificate of this end, followed by its intermediate CAs"},
    Option{"--tls-key", "IWARP_TLS_KEY", Group::kTls, file<&TlsSettings::key>().opened_late(),
           "PEM: the private key, without a passphrase"},
    Option{"--tls-ca", "IWARP_TLS_CA", Group::kTls, file<&TlsSettings::authorities>().opened_late(),
           "PEM: trusted CAs for the peer's certificate. With this option, a server requires a "
           "certificate from every client"},
    Option{"--tls-peer", "IWARP_TLS_PEER", Group::kTls, text<&TlsSettings::peers>("NAME,..."),
           "Accept only a certificate for one of these names or addresses. By default, a client "
           "accepts the host to which it connects, and a server accepts any name"},
    Option{"--tls-psk", "IWARP_TLS_PSK", Group::kTls,
           file<&TlsSettings::shared_keys>().opened_late(),
           "Pre-shared keys instead of certificates, one IDENTITY:HEX per line. A client uses the "
           "first line"},

    // Options of a program under `iwarp run`.
    Option{"--as", "IWARP_AS", Group::kProgram, one_of<kPersonas, &Settings::persona>(),
           "The device that CMD sees: an RNIC, or an adapter for RoCE v2. The wire protocol is "
           "always iWARP"},
    Option{"--like", "IWARP_LIKE", Group::kProgram, profile(),
           "Show the device with the name, identifiers, limits and GID order of a card: the "
           "kernel's rxe or siw, a ConnectX, Azure's mana, or a FILE that iwarp info "
           "--record-device has written on a machine with the card. Overrides --as"},
    Option{"--device", "IWARP_DEVICE", Group::kProgram, devices(),
           "Names of the devices that CMD sees. A device serves all network interfaces, or only "
           "the INTERFACE or ADDRESS after its name"},
    Option{"--devices", "IWARP_DEVICES", Group::kProgram,
           number<&Settings::device_count, 1, kMaxDevices, std::uint16_t>("N"),
           "Show N devices, and assign the network interfaces of the host to them in turn"},
    Option{"--loopback", "IWARP_LOOPBACK", Group::kProgram,
           one_of<kOnOff, &Settings::list_loopback>(),
           "With --as roce: whether 127.0.0.1 and ::1 are GIDs even if the host has other "
           "addresses, for programs that look up the GID of a loopback address"},
    Option{"--presence", "IWARP_PRESENCE", Group::kProgram, one_of<kOnOff, &Settings::presence>(),
           "Whether CMD also finds the device below /sys/class/infiniband and /dev/infiniband"},
    Option{
        "--port-range", "IWARP_PORT_RANGE", Group::kProgram, port_range(),
        "TCP and UDP ports from which the library chooses if the program does not specify a port"},
    Option{"--port-offset", "IWARP_PORT_OFFSET", Group::kProgram,
           number<&Settings::port_offset, 0, kMaxPortOffset>("N"),
           "Map RDMA port P of the program to TCP port P+N, so that the program can use one port "
           "number for both TCP and RDMA. Both ends must use the same N"},
    Option{"--oob", "IWARP_OOB", Group::kProgram,
           one_of<kPeers, &Settings::out_of_band>().as_roce("on"),
           "Connect queue pairs that the program brings up without rdma_cm. off: never; loopback: "
           "to peers on this machine; on: also to other machines that run this stack (the default "
           "with --as roce)"},
    Option{"--receive-hold", "IWARP_RECEIVE_HOLD", Group::kProgram,
           number<&ConnectionOptions::receive_hold, 0, 3'600'000, milliseconds>("MS").in_programs(
               "10000"),
           "How long a message may wait for a receive to be posted before the connection "
           "ends"},
    Option{"--careful", "IWARP_CAREFUL", Group::kProgram,
           one_of<kOnOff, &Settings::careful>().of_kind(Kind::kFlag).titled("fail"),
           "Report each action of CMD that works here but can fail on hardware or in another run, "
           "and where in CMD it happens; with =fail, the exit status is 99 if there was a report"},
    Option{"--adversary", "IWARP_ADVERSARY", Group::kProgram, adversary(),
           "Make the device use freedoms that the standards grant but most devices never use: it "
           "delays and reorders completions, and makes Writes visible octet by octet. The seed "
           "selects the delays and orders. With FIRST..LAST, CMD runs once for each seed until it "
           "fails, and iwarp then finds the freedoms that cause the failure"},
    Option{"", "IWARP_ADVERSARY_RECORD", Group::kProgram, file<&Settings::adversary_record>(), ""},
    Option{"", "IWARP_CAREFUL_REPORTS", Group::kProgram, file<&Settings::careful_reports>(), ""},
    Option{"--fault", "IWARP_FAULT", Group::kProgram, file<&Settings::fault>().opened_late(),
           "Inject faults. Each line of FILE is a rule that says when to inject which fault, for "
           "example: after 100 completions status WR_FLUSH_ERR"},
    Option{"--fault-seed", "IWARP_FAULT_SEED", Group::kProgram,
           number<&Settings::fault_seed, 0, UINT64_MAX>("N"),
           "Seed for rules with a probability; overrides the seed in the FILE of --fault"},
    Option{"--fault-socket", "IWARP_FAULT_SOCKET", Group::kProgram,
           file<&Settings::fault_socket>("PATH").opened_late(),
           "Unix socket on which CMD, while it runs, accepts further rules from `iwarp fault`. In "
           "PATH, %p stands for the process id"},
    Option{
        "--metrics", "IWARP_METRICS", Group::kProgram,
        text<&Settings::metrics>("[ADDR:]PORT|unix:PATH"),
        "Serve metrics for Prometheus over HTTP on a loopback port (0: a free port) or on a Unix "
        "socket that only this user can open. In PATH, %p stands for the process id"},
    Option{
        "--log", "IWARP_LOG", Group::kProgram, one_of<kLevels, &Settings::log>(),
        "Log to standard error. off: nothing; error: internal errors; warning (or refusals): also "
        "refused features and failed connections, with the reason; info (or connections): also "
        "the other events of each connection; debug: also the counters of each connection"},
    Option{
        "--log-format", "IWARP_LOG_FORMAT", Group::kProgram,
        one_of<kFormats, &Settings::log_format>(),
        "text: for human readers; logfmt (key=value) or json (an object per line): for programs"}};

}  // namespace

std::span<const Option> all() { return kTable; }

}  // namespace iwarp::options
