// SPDX-License-Identifier: Apache-2.0
// Writes the members of each event. The tables in rfc-notes/qlog.md list them.
#include "iwarp/trace/qlog_tap.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <utility>

#include "iwarp/bytes/hex.hpp"
#include "iwarp/trace/log_words.hpp"

namespace iwarp::trace {
namespace {

using verbs::LocalEvent;

/// Returns `text`, which may contain any octets, as a JSON string with '?' for each unprintable
/// octet.
std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c < ' ' || c > '~' ? '?' : c;
  }
  return out + '"';
}

std::string end_json(const Endpoint& end) {
  return fmt::format(R"({{"ip":{},"port":{}}})", json_string(end.host), end.port);
}

const char* kind_word(FrameKind kind) {
  constexpr std::array kWords{"startup", "fpdu", "undecodable"};
  return kWords[static_cast<std::size_t>(kind)];
}

const char* crc_word_of(CrcVerdict crc) {
  constexpr std::array kWords{"good", "bad", "off", "unknown"};
  return kWords[static_cast<std::size_t>(crc)];
}

std::string where(verbs::Stag stag, std::uint64_t to) {
  return fmt::format(R"("stag":"{:08x}","to":"{:016x}")", stag.value, to);
}

std::string flags_json(verbs::SendFlags flags) {
  using verbs::SendFlags;
  constexpr std::array kNames{
      std::pair{SendFlags::kSignaled, "signaled"}, std::pair{SendFlags::kSolicited, "solicited"},
      std::pair{SendFlags::kFence, "fence"}, std::pair{SendFlags::kInline, "inline"},
      std::pair{SendFlags::kLocalFence, "local_fence"}};
  std::string out;
  for (const auto& [flag, name] : kNames) {
    if (has(flags, flag)) out += fmt::format("{}\"{}\"", out.empty() ? "" : ",", name);
  }
  return out;
}

QlogRecord record_of(const verbs::WorkPosted& e) {
  auto data = fmt::format(R"({{"queue":"{}","wr_id":"{:016x}","length":{})", word(e.queue), e.wr_id,
                          e.length);
  if (e.queue == verbs::WorkQueue::kSend) {
    data += fmt::format(R"(,"opcode":"{}","flags":[{}])", word(e.opcode), flags_json(e.flags));
    if (e.remote.rkey.value != 0 || e.remote.to != 0) {
      data += fmt::format(",{}", where(e.remote.rkey, e.remote.to));
    }
  }
  if (e.early) data += R"(,"early":true)";
  return {"work_posted", data + "}"};
}

QlogRecord record_of(const verbs::PostsMissed& e) {
  return {"posts_missed", fmt::format(R"({{"queue":"{}","count":{}}})", word(e.queue), e.count)};
}

QlogRecord record_of(const verbs::WorkCompleted& e) {
  auto data = fmt::format(R"({{"queue":"{}","wr_id":"{:016x}","status":"{}")", word(e.queue),
                          e.wr_id, word(e.status));
  if (e.status == verbs::WcStatus::kSuccess) {
    data += fmt::format(R"(,"opcode":"{}","length":{})", word(e.opcode), e.length);
    if (e.invalidated) data += fmt::format(R"(,"invalidated":"{:08x}")", e.invalidated->value);
  }
  return {"work_completed", data + "}"};
}

QlogRecord record_of(const verbs::MemoryUsed& e) {
  auto data = fmt::format(R"({{"use":"{}","length":{})", word(e.use), e.length);
  if (e.use != verbs::MemoryUse::kReceive) data += fmt::format(",{}", where(e.stag, e.to));
  return {"memory_used", data + "}"};
}

QlogRecord record_of(const verbs::MemoryRefused& e) {
  return {"memory_refused", fmt::format(R"({{"use":"{}","length":{},{},"why":"{}"}})", word(e.use),
                                        e.length, where(e.stag, e.to), word(e.why))};
}

QlogRecord record_of(const verbs::StateUpdated& e) {
  const auto before = e.before.empty() ? std::string() : fmt::format(R"("old":"{}",)", e.before);
  return {"state_updated",
          fmt::format(R"({{"machine":"{}",{}"new":"{}"}})", word(e.machine), before, e.now)};
}

/// Writes local events to the log. A Log may outlive its tap, because a program may post while its
/// connection is being destroyed.
class Log final : public verbs::LocalObserver {
 public:
  Log(std::shared_ptr<QlogFile> file, std::uint64_t group)
      : file_(std::move(file)), group_(group) {}

  void see(const LocalEvent& event) override {
    const auto at = file_->now();
    const auto record = qlog_record(event);
    file_->event(group_, record.name, record.data, at);
  }

 private:
  std::shared_ptr<QlogFile> file_;
  std::uint64_t group_;
};

}  // namespace

QlogRecord qlog_record(const LocalEvent& event) {
  return std::visit([](const auto& e) { return record_of(e); }, event);
}

QlogTap::QlogTap(std::shared_ptr<QlogFile> file, const CaptureEnds& ends, bool frames)
    : file_(std::move(file)),
      group_(file_->next_group()),
      frames_(frames),
      now_(file_->now()),
      decoder_([this](const Frame& frame) { write(frame); }) {
  file_->event(
      group_, "connection_started",
      fmt::format(R"({{"opened_by":"{}","local":{},"remote":{}}})",
                  ends.near_opened ? "local" : "remote", end_json(ends.near), end_json(ends.far)),
      now_);
}

QlogTap::~QlogTap() {
  decoder_.ended(Side::kNear);
  decoder_.ended(Side::kFar);
  file_->event(group_, "connection_ended", "{}", file_->now());
}

std::shared_ptr<verbs::LocalObserver> QlogTap::observer() {
  return std::make_shared<Log>(file_, group_);
}

void QlogTap::octets(bool outbound, bytes::View octets, mpa::TimePoint now) {
  now_ = now;
  if (frames_) decoder_.octets(outbound ? Side::kNear : Side::kFar, octets);
}

void QlogTap::closed(bool outbound, bool reset, mpa::TimePoint now) {
  now_ = now;
  decoder_.ended(outbound ? Side::kNear : Side::kFar);
  if (over_) return;
  over_ = reset;
  file_->event(group_, "connection_closed",
               fmt::format(R"({{"by":"{}","how":"{}"}})", outbound ? "local" : "remote",
                           reset ? "reset" : "fin"),
               now);
}

void QlogTap::write(const Frame& frame) {
  data_.clear();
  auto out = std::back_inserter(data_);
  fmt::format_to(out, R"({{"kind":"{}","offset":{})", kind_word(frame.kind), frame.offset);
  if (frame.kind == FrameKind::kFpdu) fmt::format_to(out, R"(,"crc":"{}")", crc_word_of(frame.crc));
  fmt::format_to(out, R"(,"raw":{{"length":{},"data":"{}"}}}})", frame.octets.size(),
                 bytes::to_hex(frame.octets, 0));
  file_->event(group_, frame.from == Side::kNear ? "frame_sent" : "frame_received", data_, now_);
}

}  // namespace iwarp::trace
