// SPDX-License-Identifier: Apache-2.0
// Writes the pcap file through libpcap. Each record is written in one system call: the stream
// buffer is larger than any record, and is flushed after each record.
#include "iwarp/trace/capture_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <utility>

#include "iwarp/trace/pcap_library.hpp"

namespace iwarp::trace {
namespace {

constexpr std::size_t kFileBuffer = 128 * 1024;
static_assert(kFileBuffer > CaptureFile::kMaxPacket + 1024);

struct Close {
  const PcapLibrary* library = nullptr;
  void operator()(pcap_t* pcap) const { library->close(pcap); }
  void operator()(pcap_dumper_t* dumper) const { library->dump_close(dumper); }
};

std::string failure(const std::string& path, const std::string& what) {
  return fmt::format("cannot write the capture file {}: {}", path, what);
}

std::string last_error() { return std::generic_category().message(errno); }

}  // namespace

struct CaptureFile::State {
  State(std::string file, const CaptureClock& now, const PcapLibrary& pcap)
      : path(std::move(file)), clock(now), library(pcap) {}

  std::string path;
  CaptureClock clock;
  const PcapLibrary& library;
  std::unique_ptr<char[]> buffer;  ///< outlives the dumper, which closes the file
  std::unique_ptr<pcap_t, Close> dead{nullptr, Close{&library}};
  std::unique_ptr<pcap_dumper_t, Close> dumper{nullptr, Close{&library}};
  mutable std::mutex mutex;
  std::string error;
};

CaptureFile::CaptureFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureFile::~CaptureFile() = default;

std::expected<std::shared_ptr<CaptureFile>, std::string> CaptureFile::create(
    const std::string& path, const CaptureClock& clock) {
  const auto library = PcapLibrary::load();
  if (!library) return std::unexpected(failure(path, library.error()));
  const PcapLibrary& pcap = **library;
  auto state = std::make_unique<State>(path, clock, pcap);
  state->buffer = std::make_unique_for_overwrite<char[]>(kFileBuffer);
  state->dead.reset(
      pcap.open_dead(DLT_EN10MB, static_cast<int>(kMaxPacket), PCAP_TSTAMP_PRECISION_NANO));
  if (!state->dead) return std::unexpected(failure(path, "libpcap is out of memory"));
  // "e" sets close-on-exec, because a child process must not inherit the file.
  std::FILE* const file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) return std::unexpected(failure(path, last_error()));
  std::setvbuf(file, state->buffer.get(), _IOFBF, kFileBuffer);
  // dump_fopen() takes ownership of the file, even if it fails.
  // NOLINTNEXTLINE(clang-analyzer-unix.Stream): the analyser does not know that.
  state->dumper.reset(pcap.dump_fopen(state->dead.get(), file));
  if (!state->dumper) return std::unexpected(failure(path, pcap.error(state->dead.get())));
  if (pcap.dump_flush(state->dumper.get()) != 0) {
    return std::unexpected(failure(path, last_error()));
  }
  return std::shared_ptr<CaptureFile>(new CaptureFile(std::move(state)));
}

void CaptureFile::write(bytes::View packet, mpa::TimePoint now) {
  using std::chrono::nanoseconds;
  using std::chrono::seconds;
  State& s = *state_;
  const auto since_epoch = std::chrono::duration_cast<nanoseconds>(s.clock.wall.time_since_epoch() +
                                                                   (now - s.clock.steady));
  const auto whole = std::chrono::floor<seconds>(since_epoch);
  pcap_pkthdr header{};
  header.ts.tv_sec = static_cast<decltype(header.ts.tv_sec)>(whole.count());
  // Despite its name, tv_usec holds nanoseconds here, because the file was opened with nanosecond
  // precision.
  header.ts.tv_usec = static_cast<decltype(header.ts.tv_usec)>((since_epoch - whole).count());
  header.caplen = static_cast<bpf_u_int32>(packet.size());
  header.len = header.caplen;

  const std::lock_guard lock(s.mutex);
  if (!s.error.empty()) return;
  s.library.dump(reinterpret_cast<u_char*>(s.dumper.get()), &header,
                 reinterpret_cast<const u_char*>(packet.data()));
  if (s.library.dump_flush(s.dumper.get()) != 0) s.error = failure(s.path, last_error());
}

std::string CaptureFile::error() const {
  const std::lock_guard lock(state_->mutex);
  return state_->error;
}

}  // namespace iwarp::trace
