// SPDX-License-Identifier: Apache-2.0
// Target: MPA startup in both roles against a hostile peer whose octets arrive in pieces of any
// size (RFC 5044 section 7.1, RFC 6581). Properties: the result is within what this end offered,
// the frame that this end sends is well formed, and the initiator's result does not depend on how
// TCP splits the octets.
#include "iwarp/mpa/startup.hpp"

#include "target.hpp"

namespace iwarp::fuzz {
namespace {

using namespace mpa;

bool over(const Startup& startup) {
  const auto state = startup.state();
  return state == StartupState::kFullOperation || state == StartupState::kRejected ||
         state == StartupState::kFailed;
}

void check(const Startup& startup, Role role, const mpa::StartupOptions& options) {
  require(startup.peer_private_data().size() <= 512, "private data has at most 512 octets");
  if (startup.state() == StartupState::kFailed) {
    require(startup.failure().has_value(), "a failure has a reason");
  }
  if (startup.state() != StartupState::kFullOperation) return;
  const auto& n = startup.negotiated();
  const auto& offer = startup.peer_offer();
  require(offer.has_value(), "full operation begins only after a frame of the peer");
  require(n.crc || !options.crc, "CRC is on if one end wants it");
  require(n.rx_markers == options.markers, "this end receives markers if it asked for them");
  require(n.rtr == mpa::Rtr::kNone || role == Role::kInitiator, "the initiator sends the RTR");
  require(n.ird <= 16383 && n.ord <= 16383, "IRD and ORD have 14 bits");
  require(!n.extensions || (options.extensions && offer->extensions),
          "extensions are agreed on by two");
  const bool both_take_it = options.send_immediate && offer->send_immediate;
  require(!n.peer_acknowledged || n.send_immediate,
          "who acknowledges a held Send knows Send with Immediate");
  require(!n.send_immediate || (n.extensions && both_take_it),
          "Send with Immediate is agreed on by two, and with the extensions");
  if (role == Role::kInitiator) {
    const bool refused = startup.failure() && startup.failure()->send_terminate;
    require(refused || n.ird <= options.max_ird || !options.negotiate_ird,
            "IRD does not exceed its limit");
  }
}

void check_own_frame(const Startup& startup, Role role) {
  const auto out = startup.transmit();
  if (out.empty()) return;
  const auto kind = role == Role::kInitiator ? mpa::FrameKind::kRequest : mpa::FrameKind::kReply;
  const auto frame = mpa::decode_startup_frame(kind, out);
  require(frame.has_value() && std::holds_alternative<mpa::StartupFrame>(*frame),
          "our own frame is well formed");
}

struct Plan {
  Role role;
  mpa::StartupOptions options;
  bool accept;
  std::uint16_t ird;
  std::uint16_t ord;
};

Plan read_plan(Input& in) {
  Plan plan{.role = in.flag() ? Role::kResponder : Role::kInitiator,
            .options = {},
            .accept = true,
            .ird = 0,
            .ord = 0};
  const auto bits = in.u8();
  plan.options.revision = (bits & 1) != 0 ? 1 : 2;
  plan.options.crc = (bits & 2) != 0;
  plan.options.markers = (bits & 4) != 0;
  plan.options.allow_markers = (bits & 8) == 0;
  plan.options.rtr = static_cast<mpa::Rtr>(bits >> 4 & 3);
  plan.options.negotiate_ird = (bits & 64) == 0;
  plan.accept = (bits & 128) == 0;
  const auto kinds = in.u8();
  plan.options.rtr_supported = {(kinds & 1) != 0, (kinds & 2) != 0, (kinds & 4) != 0};
  plan.options.extensions = (kinds & 8) != 0;
  plan.options.round_ird = (kinds & 16) != 0;
  plan.options.send_immediate = (kinds & 32) != 0;
  plan.options.acknowledged = (kinds & 64) != 0;
  plan.options.min_ord = kinds >> 6;
  plan.ird = in.u8();
  plan.ord = in.u8();
  return plan;
}

// Feeds the octets, `chunk` at a time. Returns the number of octets that belonged to startup, and
// the final state.
std::pair<std::size_t, StartupState> drive(const Plan& plan, View octets, std::size_t chunk) {
  Startup startup(plan.role, plan.options);
  const mpa::TimePoint now{};
  if (plan.role == Role::kInitiator) {
    require(startup.request({}, now), "a Request without private data can be made");
  } else {
    startup.listen(now);
  }
  check_own_frame(startup, plan.role);
  startup.transmitted(startup.transmit().size());
  std::size_t used = 0;
  while (used < octets.size() && !over(startup)) {
    const Octets piece(
        octets.begin() + static_cast<std::ptrdiff_t>(used),
        octets.begin() + static_cast<std::ptrdiff_t>(std::min(octets.size(), used + chunk)));
    const auto took = startup.receive(piece, now);
    require(took <= piece.size(), "startup consumes no more octets than it is given");
    used += took;
    if (startup.state() == StartupState::kAwaitDecision) {
      const bool done = plan.accept ? startup.accept({}, plan.ird, plan.ord) : startup.reject({});
      require(done, "the ULP can decide");
      check_own_frame(startup, plan.role);
      startup.transmitted(startup.transmit().size());
    }
    check(startup, plan.role, plan.options);
    if (took < piece.size()) break;
  }
  startup.closed(now);
  check(startup, plan.role, plan.options);
  return {used, startup.state()};
}

}  // namespace

void run(View input) {
  Input in(input);
  const auto plan = read_plan(in);
  const std::size_t chunk = 1 + in.u8();
  const auto octets = in.octets(4096);
  const auto whole = drive(plan, octets, octets.size() + 1);
  const auto pieces = drive(plan, octets, chunk);
  if (plan.role == Role::kResponder || whole.second == StartupState::kFailed) return;
  require(whole == pieces, "splitting the stream makes no difference");
}

}  // namespace iwarp::fuzz
