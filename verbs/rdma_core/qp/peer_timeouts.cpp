// SPDX-License-Identifier: Apache-2.0
// Decodes the transport timers of InfiniBand, which ibv_modify_qp(3) describes.
#include "qp/peer_timeouts.hpp"

#include <array>

namespace iwarp::rdma_core {
namespace {

using namespace std::chrono_literals;

constexpr auto kTimeoutUnit = 4096ns;

/// The delay for each value of ibv_qp_attr::min_rnr_timer, which has five bits.
constexpr std::array<std::chrono::microseconds, 32> kRnrTimers{
    655'360us, 10us,     20us,     30us,      40us,      60us,      80us,      120us,
    160us,     240us,    320us,    480us,     640us,     960us,     1'280us,   1'920us,
    2'560us,   3'840us,  5'120us,  7'680us,   10'240us,  15'360us,  20'480us,  30'720us,
    40'960us,  61'440us, 81'920us, 122'880us, 163'840us, 245'760us, 327'680us, 491'520us};

constexpr bool has(int said, int bits) { return (said & bits) == bits; }

}  // namespace

// [IBV-324, IBV-480]
verbs::PeerTimeouts peer_timeouts(const ibv_qp_attr& attr, int said) {
  verbs::PeerTimeouts out;
  const unsigned timeout = attr.timeout & kMaxTimeout;
  if (has(said, IBV_QP_TIMEOUT) && timeout != 0) {
    out.answer = kTimeoutUnit * (std::int64_t{1} << timeout) * ((attr.retry_cnt & 7U) + 1);
  }
  if (has(said, IBV_QP_RNR_RETRY) && attr.rnr_retry >= kRnrForEver) {
    out.receive_hold = verbs::PeerTimeouts::kForEver;
  } else if (has(said, IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER)) {
    out.receive_hold = kRnrTimers[attr.min_rnr_timer & 31U] * attr.rnr_retry;
  }
  return out;
}

}  // namespace iwarp::rdma_core
