// SPDX-License-Identifier: Apache-2.0
// Functions that both processes of the demonstration use.
#include "demo/demo.hpp"

#include <fmt/format.h>

namespace iwarp::apps {

std::string octets_text(std::uint64_t count) {
  return fmt::format("{} octet{}", count, count == 1 ? "" : "s");
}

void fill_pattern(bytes::Span octets, unsigned seed) {
  for (std::size_t i = 0; i < octets.size(); ++i) octets[i] = demo_octet(i, seed);
}

void check_pattern(bytes::View octets, unsigned seed, const std::string& whose) {
  for (std::size_t i = 0; i < octets.size(); ++i) {
    if (octets[i] == demo_octet(i, seed)) continue;
    throw Error(fmt::format("octet {} of {} is {:#04x} instead of {:#04x}", i, whose,
                            std::to_integer<unsigned>(octets[i]),
                            std::to_integer<unsigned>(demo_octet(i, seed))));
  }
}

std::string await_terminate(Session& session, verbs::AsyncEventType type) {
  auto& events = session.rnic().async_events();
  while (const auto event = events.wait(kDemoPatience)) {
    if (event->qp_num != session.qp().num() || event->type != type) continue;
    if (!event->terminate) throw Error("the target sent a Terminate without content");
    const auto text = bytes::to_string(event->terminate->fault);
    if (event->terminate->fault != kDemoRefusal)
      throw Error("the target sent the wrong Terminate: " + text);
    return text;
  }
  throw Error("the target sent no Terminate for a Write to an invalidated STag");
}

}  // namespace iwarp::apps
