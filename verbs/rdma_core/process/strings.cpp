// SPDX-License-Identifier: Apache-2.0
// Functions that return the texts and numbers which programs print for the enumerators of verbs.h
// and rdma_cma.h. The texts are the same as in rdma-core, because users search for them and scripts
// compare them.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <array>

namespace {

/// Returns the text of the enumerator `value`, or `unknown` if `texts` has no text for it. The
/// first enumerator must have the value 0.
template <std::size_t kCount>
const char* text_of(const std::array<const char*, kCount>& texts, int value, const char* unknown) {
  const auto index = static_cast<std::size_t>(value);
  return value >= 0 && index < kCount ? texts[index] : unknown;
}

constexpr std::array kWcStatus{
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
};
static_assert(kWcStatus.size() == IBV_WC_TM_RNDV_INCOMPLETE + 1);

constexpr std::array kNodeType{
    "unknown",           "InfiniBand channel adapter",
    "InfiniBand switch", "InfiniBand router",
    "iWARP NIC",         "usNIC",
    "usNIC UDP",         "unspecified",
};
static_assert(kNodeType.size() == IBV_NODE_UNSPECIFIED + 1);

constexpr std::array kPortState{
    "no state change (NOP)", "down", "init", "armed", "active", "active defer",
};
static_assert(kPortState.size() == IBV_PORT_ACTIVE_DEFER + 1);

constexpr std::array kAsyncEvent{
    "CQ error",
    "local work queue catastrophic error",
    "invalid request local work queue error",
    "local access violation work queue error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration request error",
    "local catastrophic error",
    "port active",
    "port error",
    "LID change",
    "P_Key change",
    "SM change",
    "SRQ catastrophic error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration",
    "GID table change",
    "WQ fatal",
};
static_assert(kAsyncEvent.size() == IBV_EVENT_WQ_FATAL + 1);

constexpr std::array kCmEvent{
    "RDMA_CM_EVENT_ADDR_RESOLVED",   "RDMA_CM_EVENT_ADDR_ERROR",
    "RDMA_CM_EVENT_ROUTE_RESOLVED",  "RDMA_CM_EVENT_ROUTE_ERROR",
    "RDMA_CM_EVENT_CONNECT_REQUEST", "RDMA_CM_EVENT_CONNECT_RESPONSE",
    "RDMA_CM_EVENT_CONNECT_ERROR",   "RDMA_CM_EVENT_UNREACHABLE",
    "RDMA_CM_EVENT_REJECTED",        "RDMA_CM_EVENT_ESTABLISHED",
    "RDMA_CM_EVENT_DISCONNECTED",    "RDMA_CM_EVENT_DEVICE_REMOVAL",
    "RDMA_CM_EVENT_MULTICAST_JOIN",  "RDMA_CM_EVENT_MULTICAST_ERROR",
    "RDMA_CM_EVENT_ADDR_CHANGE",     "RDMA_CM_EVENT_TIMEWAIT_EXIT",
};
static_assert(kCmEvent.size() == RDMA_CM_EVENT_TIMEWAIT_EXIT + 1);

struct Rate {
  /// An ibv_rate; the type is int because programs also pass numbers that are not an ibv_rate.
  int rate;
  int mbps;
  /// The number that ibv_rate_to_mult() of rdma-core returns, in multiples of 2500 Mbit/s, or kNone
  /// if that function has no number for this rate.
  int mult;
};
constexpr int kNone = -1;

constexpr std::array kRates{
    Rate{IBV_RATE_2_5_GBPS, 2500, 1},       Rate{IBV_RATE_5_GBPS, 5000, 2},
    Rate{IBV_RATE_10_GBPS, 10000, 4},       Rate{IBV_RATE_20_GBPS, 20000, 8},
    Rate{IBV_RATE_30_GBPS, 30000, 12},      Rate{IBV_RATE_40_GBPS, 40000, 16},
    Rate{IBV_RATE_60_GBPS, 60000, 24},      Rate{IBV_RATE_80_GBPS, 80000, 32},
    Rate{IBV_RATE_120_GBPS, 120000, 48},    Rate{IBV_RATE_14_GBPS, 14062, kNone},
    Rate{IBV_RATE_56_GBPS, 56250, kNone},   Rate{IBV_RATE_112_GBPS, 112500, kNone},
    Rate{IBV_RATE_168_GBPS, 168750, kNone}, Rate{IBV_RATE_25_GBPS, 25781, kNone},
    Rate{IBV_RATE_100_GBPS, 103125, kNone}, Rate{IBV_RATE_200_GBPS, 206250, kNone},
    Rate{IBV_RATE_300_GBPS, 309375, kNone}, Rate{IBV_RATE_28_GBPS, 28125, 11},
    Rate{IBV_RATE_50_GBPS, 53125, 20},      Rate{IBV_RATE_400_GBPS, 425000, 160},
    Rate{IBV_RATE_600_GBPS, 637500, 240},   Rate{IBV_RATE_800_GBPS, 850000, 320},
    Rate{IBV_RATE_1200_GBPS, 1275000, 480},
};

/// Returns the field `give` of the row whose field `key` is `value`, or `otherwise` if there is no
/// such row.
int look_up(int Rate::* key, int value, int Rate::* give, int otherwise) {
  const auto* const found = std::ranges::find(kRates, value, key);
  return found != kRates.end() ? (*found).*give : otherwise;
}

/// Returns the ibv_rate of the row whose field `key` is `value`, or IBV_RATE_MAX if there is no
/// such row.
ibv_rate rate_of(int Rate::* key, int value) {
  return static_cast<ibv_rate>(look_up(key, value, &Rate::rate, IBV_RATE_MAX));
}

}  // namespace

extern "C" {

// [IBV-312]
const char* ibv_wc_status_str(ibv_wc_status status) {
  return text_of(kWcStatus, status, "unknown");
}

// [IBV-616]
const char* ibv_node_type_str(ibv_node_type type) { return text_of(kNodeType, type, "unknown"); }

// [IBV-617]
const char* ibv_port_state_str(ibv_port_state state) {
  return text_of(kPortState, state, "unknown");
}

// [IBV-615]
const char* ibv_event_type_str(ibv_event_type event) {
  return text_of(kAsyncEvent, event, "unknown");
}

// [RCM-23, RCM-24]
const char* rdma_event_str(rdma_cm_event_type event) {
  return text_of(kCmEvent, event, "UNKNOWN EVENT");
}

// [IBV-620]
int ibv_rate_to_mult(ibv_rate rate) { return look_up(&Rate::rate, rate, &Rate::mult, kNone); }

// [IBV-621]
ibv_rate mult_to_ibv_rate(int mult) {
  return mult == kNone ? IBV_RATE_MAX : rate_of(&Rate::mult, mult);
}

// [IBV-618]
int ibv_rate_to_mbps(ibv_rate rate) { return look_up(&Rate::rate, rate, &Rate::mbps, kNone); }

// [IBV-619]
ibv_rate mbps_to_ibv_rate(int mbps) { return rate_of(&Rate::mbps, mbps); }

}  // extern "C"
