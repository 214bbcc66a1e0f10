// SPDX-License-Identifier: Apache-2.0
// Reads captures through libpcap.
#include "explain/capture_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "iwarp/trace/pcap_library.hpp"

namespace iwarp::apps::explain {
namespace {

// Maximum time of a packet, in seconds. A file may contain any value, but this time, and the
// difference between two such times, must fit in 64-bit nanoseconds.
constexpr std::int64_t kMostSeconds = 4'600'000'000;

std::string unreadable(const std::string& name, const std::string& what) {
  return fmt::format("cannot read the capture {}: {}", name == "-" ? "on standard input" : name,
                     what);
}

}  // namespace

struct CaptureReader::State {
  explicit State(const trace::PcapLibrary& pcap) : library(pcap) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (handle != nullptr) library.close(handle);
  }

  const trace::PcapLibrary& library;
  pcap_t* handle = nullptr;
  std::string error;
};

CaptureReader::CaptureReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;
CaptureReader& CaptureReader::operator=(CaptureReader&&) noexcept = default;
CaptureReader::~CaptureReader() = default;

std::expected<CaptureReader, std::string> CaptureReader::read(std::FILE* file,
                                                              const std::string& name) {
  const auto library = trace::PcapLibrary::load();
  if (!library) {
    std::fclose(file);
    return std::unexpected(unreadable(name, library.error()));
  }
  auto state = std::make_unique<State>(**library);
  char error[PCAP_ERRBUF_SIZE] = "";
  state->handle = state->library.open(file, PCAP_TSTAMP_PRECISION_NANO, error);
  if (state->handle == nullptr) {
    // If libpcap cannot open the capture, it does not close the file, so close the file here.
    std::fclose(file);
    constexpr std::string_view kUnknown = "unknown file format";
    const bool is_unknown = error == kUnknown;
    return std::unexpected(unreadable(
        name, is_unknown ? fmt::format("{} (use a pcap, pcapng or qlog file)", kUnknown) : error));
  }
  return CaptureReader(std::move(state));
}

std::optional<CaptureReader::Packet> CaptureReader::next() {
  State& s = *state_;
  if (!s.error.empty()) return std::nullopt;
  pcap_pkthdr* header = nullptr;
  const u_char* octets = nullptr;
  const int got = s.library.next(s.handle, &header, &octets);
  if (got != 1) {
    if (got != PCAP_ERROR_BREAK) s.error = s.library.error(s.handle);
    return std::nullopt;
  }
  // The file was opened with nanosecond precision, so tv_usec contains nanoseconds in spite of its
  // name.
  return Packet{
      .octets = {reinterpret_cast<const std::byte*>(octets), header->caplen},
      .wire_size = std::max(header->len, header->caplen),
      .nanoseconds = std::clamp<std::int64_t>(header->ts.tv_sec, 0, kMostSeconds) * 1'000'000'000 +
                     std::int64_t{header->ts.tv_usec}};
}

int CaptureReader::link_type() const { return state_->library.link_type(state_->handle); }

const std::string& CaptureReader::error() const { return state_->error; }

}  // namespace iwarp::apps::explain
