// SPDX-License-Identifier: Apache-2.0
// Maps opcodes to the operation names that --op accepts.
#include "frames/report/filter.hpp"

#include <array>
#include <string_view>

#include "frames/report/local_line.hpp"

namespace iwarp::apps::frames {
namespace {

using rdmap::Opcode;

constexpr std::string_view kStartup = "startup";

}  // namespace

std::string_view operation_of(const Explained& e) {
  if (e.frame->kind == FrameKind::kStartup) return kStartup;
  if (e.opcode == nullptr) return "unknown";
  switch (e.opcode->opcode) {
    case Opcode::kWrite:
      return "write";
    case Opcode::kReadRequest:
    case Opcode::kReadResponse:
      return "read";
    case Opcode::kTerminate:
      return "terminate";
    case Opcode::kImmediate:
    case Opcode::kImmediateSolicited:
      return "immediate";
    case Opcode::kAtomicRequest:
    case Opcode::kAtomicResponse:
      return "atomic";
    default:
      return "send";
  }
}

bool is_error(const Explained& e) {
  if (!e.violations.empty()) return true;
  if (e.frame->kind == FrameKind::kStartup) return e.frame->startup.rejected;
  return e.opcode != nullptr && e.opcode->opcode == Opcode::kTerminate;
}

const std::vector<std::string>& operation_names() {
  static const std::vector<std::string> kNames{
      std::string(kStartup), "write", "read", "send", "atomic", "immediate", "terminate"};
  return kNames;
}

bool Filter::wants(const ConnectionInfo& info, const Explained& e) const {
  return wants(info) && (operation.empty() || operation == operation_of(e)) &&
         (!errors || is_error(e));
}

bool Filter::wants(const ConnectionInfo& info, const verbs::LocalEvent& event) const {
  return wants(info) && operation.empty() && (!errors || is_failure(event));
}

}  // namespace iwarp::apps::frames
