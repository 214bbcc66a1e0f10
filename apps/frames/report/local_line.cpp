// SPDX-License-Identifier: Apache-2.0
// Formats each kind of event as one sentence.
#include "frames/report/local_line.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace iwarp::apps::frames {
namespace {

using verbs::MemoryUse;
using verbs::WorkQueue;

std::string_view name_of(verbs::WrOpcode opcode) {
  constexpr std::array<std::string_view, 13> kNames{"Send",
                                                    "Send with Invalidate",
                                                    "RDMA Write",
                                                    "RDMA Read",
                                                    "RDMA Read with Invalidate",
                                                    "Local Invalidate",
                                                    "Fast-Register",
                                                    "Bind Window",
                                                    "FetchAdd",
                                                    "CmpSwap",
                                                    "Immediate Data",
                                                    "RDMA Write with Immediate Data",
                                                    "Send with Immediate Data"};
  static_assert(kNames.size() == static_cast<std::size_t>(verbs::WrOpcode::kSendImmediate) + 1);
  return kNames.at(static_cast<std::size_t>(opcode));
}

std::string where(verbs::Stag stag, std::uint64_t to) {
  return fmt::format("STag=0x{:08x} TO=0x{:x}", stag.value, to);
}

const char* queue_name(WorkQueue queue) { return queue == WorkQueue::kSend ? "send" : "receive"; }

std::string line(const verbs::WorkPosted& e) {
  std::string out;
  if (e.queue == WorkQueue::kReceive) {
    out = fmt::format("posted Receive wr_id=0x{:x} of {} octets", e.wr_id, e.length);
  } else {
    out = fmt::format("posted {} wr_id=0x{:x}, {} octets", name_of(e.opcode), e.wr_id, e.length);
    if (e.remote.rkey.value != 0 || e.remote.to != 0) {
      out += ", peer's " + where(e.remote.rkey, e.remote.to);
    }
    if (has(e.flags, verbs::SendFlags::kFence)) out += ", with a read fence";
  }
  return e.early ? out + ", before the connection was established" : out;
}

std::string line(const verbs::PostsMissed& e) {
  return fmt::format("requests posted to the {1} queue but not in the log: {0}", e.count,
                     queue_name(e.queue));
}

std::string line(const verbs::WorkCompleted& e) {
  if (e.status != verbs::WcStatus::kSuccess) {
    return fmt::format("request wr_id=0x{:x} of the {} queue failed: {}", e.wr_id,
                       queue_name(e.queue), to_string(e.status));
  }
  auto out = fmt::format("completed {} wr_id=0x{:x}", to_string(e.opcode), e.wr_id);
  if (e.length != 0) out += fmt::format(", {} octets", e.length);
  if (e.invalidated) out += fmt::format(", STag 0x{:08x} invalidated", e.invalidated->value);
  return out;
}

std::string line(const verbs::MemoryUsed& e) {
  const auto at = where(e.stag, e.to);
  switch (e.use) {
    case MemoryUse::kWrite:
      return fmt::format("placed {} octets of an RDMA Write at {}", e.length, at);
    case MemoryUse::kReceive:
      return fmt::format("placed a Send of {} octets in a receive buffer", e.length);
    case MemoryUse::kReadResponse:
      return fmt::format("placed {} octets of an RDMA Read Response at {}", e.length, at);
    case MemoryUse::kReadSource:
      return fmt::format("read {} octets at {} to answer an RDMA Read", e.length, at);
    case MemoryUse::kAtomic:
      return fmt::format("executed an atomic operation at {}", at);
  }
  return {};
}

std::string line(const verbs::MemoryRefused& e) {
  constexpr std::array<std::string_view, 7> kWhy{
      "unknown or invalidated STag",
      "outside the registered memory",
      "the registration does not permit this access",
      "the STag belongs to another protection domain or stream",
      "TO plus length exceeds 2^64",
      "not on an 8-octet boundary",
      "the queue pair does not permit this operation"};
  static_assert(kWhy.size() == static_cast<std::size_t>(rdmap::AccessError::kNotEnabled) + 1);
  constexpr std::array<std::string_view, 5> kWhat{"an RDMA Write", "a Send", "a Read Response",
                                                  "an RDMA Read", "an atomic operation"};
  static_assert(kWhat.size() == static_cast<std::size_t>(MemoryUse::kAtomic) + 1);
  return fmt::format("refused {} of {} octets at {}: {}", kWhat.at(static_cast<std::size_t>(e.use)),
                     e.length, where(e.stag, e.to), kWhy.at(static_cast<std::size_t>(e.why)));
}

std::string line(const verbs::StateUpdated& e) {
  constexpr std::array<std::string_view, 3> kMachines{"MPA startup", "RDMAP stream", "queue pair"};
  const auto machine = kMachines.at(static_cast<std::size_t>(e.machine));
  if (e.before.empty()) return fmt::format("{}: {}", machine, e.now);
  return fmt::format("{}: {}, was {}", machine, e.now, e.before);
}

}  // namespace

std::string local_line(const verbs::LocalEvent& event) {
  return std::visit([](const auto& e) { return line(e); }, event);
}

bool is_failure(const verbs::LocalEvent& event) {
  const auto* completed = std::get_if<verbs::WorkCompleted>(&event);
  if (completed != nullptr) return completed->status != verbs::WcStatus::kSuccess;
  return std::holds_alternative<verbs::MemoryRefused>(event);
}

}  // namespace iwarp::apps::frames
