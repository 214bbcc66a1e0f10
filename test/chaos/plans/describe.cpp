// SPDX-License-Identifier: Apache-2.0
// Describes a plan in words.
#include <fmt/format.h>

#include <algorithm>

#include "plan.hpp"

namespace iwarp::chaos {
namespace {

constexpr std::array kActs{"Send",
                           "Send with Invalidate",
                           "Send with Immediate",
                           "Immediate",
                           "Write",
                           "Write with Immediate",
                           "Read",
                           "Read with Invalidate",
                           "FetchAdd",
                           "CmpSwap",
                           "open",
                           "local invalidate",
                           "receives",
                           "deregister",
                           "connect",
                           "disconnect",
                           "terminate",
                           "abort",
                           "pass turns"};
constexpr std::array kWrongs{"", ", wrong rkey", ", out of bounds", ", wrong lkey", ", too long"};
constexpr std::array kWrecks{"none", "reset", "flip", "half close"};
constexpr std::array kRtrs{"none", "write", "read", "send"};

std::string describe(const verbs::ConnectionOptions& o) {
  const auto& s = o.startup;
  const auto hold = std::chrono::duration_cast<std::chrono::milliseconds>(o.receive_hold);
  return fmt::format(
      "revision {}, crc {}, markers {}, rtr {}, ird {}{}, ord {}{}, extensions {}, send_immediate "
      "{}, {} placement, completions {}, ULPDU {}, batch {}, hold {} ms, first FPDU after {} ms",
      s.revision, s.crc, s.markers, kRtrs[static_cast<std::size_t>(s.rtr)], s.ird,
      s.negotiate_ird ? "" : " unsaid", s.ord, s.negotiate_ord ? "" : " unsaid", s.extensions,
      s.send_immediate, o.placement == verbs::Placement::kDirect ? "direct" : "verified",
      o.completions == verbs::Completions::kSent ? "sent" : "acknowledged", o.max_ulpdu,
      o.transmit_batch, hold.count(),
      std::chrono::duration_cast<std::chrono::milliseconds>(o.first_fpdu_delay).count());
}

std::string describe(const Session& s) {
  auto out = fmt::format(
      "segments to {}, delay to {} turns, accepted with ird {} ord {}{}, private data {}, "
      "time limit {} ms",
      s.max_segment, s.max_delay, s.ird, s.ord, s.reject ? ", rejected" : "", s.private_data,
      s.time_limit);
  for (std::size_t i = 0; i < 2; ++i) {
    if (s.stalls[i].turns == 0) continue;
    out += fmt::format(", from side {} a stall at octet {} of {} turns", i, s.stalls[i].at,
                       s.stalls[i].turns);
  }
  if (s.wreck.kind != Wreck::Kind::kNone) {
    out += fmt::format(", from side {} {} at octet {} bit {}", s.wreck.from,
                       kWrecks[static_cast<std::size_t>(s.wreck.kind)], s.wreck.at, s.wreck.bit);
  }
  return out + "\n      side 0: " + describe(s.options[0]) +
         "\n      side 1: " + describe(s.options[1]);
}

}  // namespace

std::string describe(const Step& step) {
  const char* const act = kActs[static_cast<std::size_t>(step.act)];
  if (step.act == Act::kPass) return fmt::format("{} {}", act, step.size);
  return fmt::format("link {} side {}: {} size {} place {} value {:#x}{}{}{}{}{}", step.link,
                     step.side, act, step.size, step.place, step.value,
                     step.is_signaled ? "" : ", unsignaled", step.is_solicited ? ", solicited" : "",
                     step.is_fenced ? ", fenced" : "", step.is_inline ? ", inline" : "",
                     kWrongs[static_cast<std::size_t>(step.wrong)]);
}

std::string describe(const Plan& plan) {
  auto out =
      fmt::format("seed {}: {} steps, receives of {} octets{}{}", plan.seed, plan.steps.size(),
                  plan.receive_size, plan.polls_lazily ? ", lazy polls" : "",
                  plan.one_queue ? ", one completion queue" : "");
  for (std::size_t i = 0; i < plan.links.size(); ++i) {
    const bool used = std::ranges::any_of(
        plan.steps, [i](const Step& s) { return s.link == i && s.act != Act::kPass; });
    if (!used) continue;
    const LinkPlan& link = plan.links[i];
    out += fmt::format("\n  link {}: {} requests and {} receives at most{}{}{}", i,
                       link.max_send_wr, link.max_recv_wr, link.signal_all ? ", all signaled" : "",
                       link.shared_receives[0] ? ", side 0 with an SRQ" : "",
                       link.shared_receives[1] ? ", side 1 with an SRQ" : "");
    for (std::size_t j = 0; j < link.sessions.size(); ++j) {
      out += fmt::format("\n    connection {}: {}", j, describe(link.sessions[j]));
    }
  }
  return out;
}

}  // namespace iwarp::chaos
