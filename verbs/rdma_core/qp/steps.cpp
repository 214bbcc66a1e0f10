// SPDX-License-Identifier: Apache-2.0
// The state transitions ("steps") of a queue pair from the InfiniBand specification (volume 1,
// section 11.2.5.2). For each step a table has the attributes that the kernel requires and allows
// in ib_modify_qp_is_ok(), except those of alternate paths, which this device does not have
// [IBV-467, IBV-468]. Queue pairs of type UD and of an RNIC have no step to SQD.
#include "qp/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>

#include "device/limits.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

struct Attributes {
  int required = 0;
  int allowed = 0;  ///< allowed in addition to `required` and IBV_QP_STATE
};
/// Nullopt (kNever) if queue pairs of this type cannot take the step.
using Column = std::optional<Attributes>;
constexpr Column kNever;

struct Step {
  ibv_qp_state from;
  ibv_qp_state to;
  Column rc;
  Column uc;
  Column ud;
  Column rnic;
};

/// All attributes of an RNIC. The bits above IBV_QP_DEST_QPN are reserved, or are of attributes
/// that this device does not have. [IBV-452]
constexpr int kAny = ((IBV_QP_DEST_QPN << 1) - 1) & ~(IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE);
constexpr Attributes kNothing{};
constexpr Attributes kAnything{0, kAny};

constexpr int kPortAndKey = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
constexpr int kToPeer = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kRetries = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
constexpr int kRunning = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS;
constexpr int kUdRunning = IBV_QP_CUR_STATE | IBV_QP_QKEY;

constexpr Attributes kInit{kPortAndKey | IBV_QP_ACCESS_FLAGS, 0};
constexpr Attributes kInitAgain{0, kPortAndKey | IBV_QP_ACCESS_FLAGS};
constexpr int kReceivesToo = IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;

/// Returns a step in which the program may set no attribute other than the state. With the queue
/// pair of an RNIC, the program may set any attribute that the device has.
constexpr Step plain(ibv_qp_state from, ibv_qp_state to) {
  return {from, to, kNothing, kNothing, kNothing, kAnything};
}

// [IBV-428, IBV-429, IBV-430, IBV-431, IBV-432, IBV-433, IBV-434, IBV-437, IBV-438, IBV-439,
// IBV-440, IBV-441, IBV-442, IBV-447]
constexpr std::array kSteps{
    plain(IBV_QPS_RESET, IBV_QPS_RESET),
    Step{IBV_QPS_RESET, IBV_QPS_INIT, kInit, kInit, Attributes{kPortAndKey | IBV_QP_QKEY, 0},
         Attributes{IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, kAny}},
    // A new queue pair of an RNIC is in RESET but behaves as in INIT, so this step to ERR is
    // allowed.
    Step{IBV_QPS_RESET, IBV_QPS_ERR, kNever, kNever, kNever, kAnything},
    plain(IBV_QPS_INIT, IBV_QPS_RESET),
    plain(IBV_QPS_INIT, IBV_QPS_ERR),
    Step{IBV_QPS_INIT, IBV_QPS_INIT, kInitAgain, kInitAgain,
         Attributes{0, kPortAndKey | IBV_QP_QKEY}, kAnything},
    Step{IBV_QPS_INIT, IBV_QPS_RTR,
         Attributes{kToPeer | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, kReceivesToo},
         Attributes{kToPeer, kReceivesToo}, Attributes{0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
         kAnything},
    plain(IBV_QPS_RTR, IBV_QPS_RESET),
    plain(IBV_QPS_RTR, IBV_QPS_ERR),
    Step{IBV_QPS_RTR, IBV_QPS_RTR, kNever, kNever, kNever, kAnything},
    Step{IBV_QPS_RTR, IBV_QPS_RTS,
         Attributes{kRetries | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
                    kRunning | IBV_QP_MIN_RNR_TIMER},
         Attributes{IBV_QP_SQ_PSN, kRunning}, Attributes{IBV_QP_SQ_PSN, kUdRunning}, kAnything},
    plain(IBV_QPS_RTS, IBV_QPS_RESET),
    plain(IBV_QPS_RTS, IBV_QPS_ERR),
    Step{IBV_QPS_RTS, IBV_QPS_RTS, Attributes{0, kRunning | IBV_QP_MIN_RNR_TIMER},
         Attributes{0, kRunning}, Attributes{0, kUdRunning}, kAnything},
    Step{IBV_QPS_RTS, IBV_QPS_SQD, Attributes{0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
         Attributes{0, IBV_QP_EN_SQD_ASYNC_NOTIFY}, kNever, kNever},
    plain(IBV_QPS_SQD, IBV_QPS_RESET),
    plain(IBV_QPS_SQD, IBV_QPS_ERR),
    Step{IBV_QPS_SQD, IBV_QPS_SQD,
         Attributes{0, kReceivesToo | IBV_QP_PORT | IBV_QP_AV | kRetries | IBV_QP_MIN_RNR_TIMER |
                           IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC},
         Attributes{0, kReceivesToo | IBV_QP_AV}, kNever, kNever},
    Step{IBV_QPS_SQD, IBV_QPS_RTS, Attributes{0, kRunning | IBV_QP_MIN_RNR_TIMER},
         Attributes{0, kRunning}, kNever, kNever},
    plain(IBV_QPS_SQE, IBV_QPS_RESET),
    plain(IBV_QPS_SQE, IBV_QPS_ERR),
    Step{IBV_QPS_SQE, IBV_QPS_RTS, kNever, Attributes{0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
         Attributes{0, kUdRunning}, kNever},
    plain(IBV_QPS_ERR, IBV_QPS_RESET),
    plain(IBV_QPS_ERR, IBV_QPS_ERR),
};

const Step* find(ibv_qp_state from, ibv_qp_state to) {
  const auto* const found = std::ranges::find_if(
      kSteps, [&](const Step& step) { return step.from == from && step.to == to; });
  return found != kSteps.end() ? found : nullptr;
}

Column column(const Step& step, QpRules rules) {
  switch (rules) {
    case QpRules::kUc:
      return step.uc;
    case QpRules::kUd:
      return step.ud;
    case QpRules::kRnic:
      return step.rnic;
    case QpRules::kRnicByHand:
      return step.rc ? Attributes{step.rc->required, kAny} : step.rnic;
    default:
      return step.rc;
  }
}

struct Range {
  int bit;
  const char* name;
  unsigned (*value)(const ibv_qp_attr& attr);
  unsigned least;
  unsigned most;
  const char* remedy;
  /// A limit of the device that may be below `most`.
  unsigned (*limit)(const Device& device) = nullptr;
};
template <auto kField>
unsigned field(const ibv_qp_attr& attr) {
  return attr.*kField;
}
template <auto kLimit>
unsigned limit(const Device& device) {
  return static_cast<unsigned>(device.limits().*kLimit);
}
constexpr unsigned kMost3Bits = 7;
constexpr unsigned kMost5Bits = 31;
constexpr unsigned kMostQpNum = 0xFFFFFF;
constexpr const char* kOnePort = "the device has one port";
// [IBV-33, IBV-34, IBV-463, IBV-464, IBV-465, IBV-466, IBV-471, IBV-478, IBV-479]
constexpr std::array kRanges{
    Range{IBV_QP_PORT, "port_num", field<&ibv_qp_attr::port_num>, kPortNumber, kPortNumber,
          kOnePort},
    Range{IBV_QP_PKEY_INDEX, "pkey_index", field<&ibv_qp_attr::pkey_index>, 0, 0,
          "the port has one P_Key"},
    Range{IBV_QP_AV, "ah_attr.port_num",
          [](const auto& a) -> unsigned { return a.ah_attr.port_num; }, kPortNumber, kPortNumber,
          kOnePort},
    Range{IBV_QP_PATH_MTU, "path_mtu", field<&ibv_qp_attr::path_mtu>, IBV_MTU_256, IBV_MTU_4096,
          "use an IBV_MTU_ constant up to the max_mtu of ibv_query_port()",
          [](const Device& device) -> unsigned { return device.max_mtu(); }},
    Range{IBV_QP_DEST_QPN, "dest_qp_num", field<&ibv_qp_attr::dest_qp_num>, 0, kMostQpNum,
          "pass the qp_num of the peer's queue pair, in host byte order"},
    Range{IBV_QP_TIMEOUT, "timeout", field<&ibv_qp_attr::timeout>, 0, kMost5Bits,
          "the time is 4.096 us * 2^timeout; 0 means no limit"},
    Range{IBV_QP_RETRY_CNT, "retry_cnt", field<&ibv_qp_attr::retry_cnt>, 0, kMost3Bits,
          "the field has 3 bits"},
    Range{IBV_QP_RNR_RETRY, "rnr_retry", field<&ibv_qp_attr::rnr_retry>, 0, kMost3Bits,
          "7 means retry without limit"},
    Range{IBV_QP_MIN_RNR_TIMER, "min_rnr_timer", field<&ibv_qp_attr::min_rnr_timer>, 0, kMost5Bits,
          "ibv_modify_qp(3) lists the codes; 12 means 0.64 ms"},
    Range{IBV_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic", field<&ibv_qp_attr::max_rd_atomic>, 0,
          kMaxReads, "ibv_query_device() reports max_qp_init_rd_atom",
          limit<&ibv_device_attr::max_qp_init_rd_atom>},
    Range{IBV_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic", field<&ibv_qp_attr::max_dest_rd_atomic>,
          0, kMaxReads, "ibv_query_device() reports max_qp_rd_atom",
          limit<&ibv_device_attr::max_qp_rd_atom>},
};

struct Bit {
  int bit;
  const char* name;
};
#define IWARP_BIT(name) \
  Bit { name, #name }
constexpr std::array kBits{IWARP_BIT(IBV_QP_CUR_STATE),
                           IWARP_BIT(IBV_QP_EN_SQD_ASYNC_NOTIFY),
                           IWARP_BIT(IBV_QP_ACCESS_FLAGS),
                           IWARP_BIT(IBV_QP_PKEY_INDEX),
                           IWARP_BIT(IBV_QP_PORT),
                           IWARP_BIT(IBV_QP_QKEY),
                           IWARP_BIT(IBV_QP_AV),
                           IWARP_BIT(IBV_QP_PATH_MTU),
                           IWARP_BIT(IBV_QP_TIMEOUT),
                           IWARP_BIT(IBV_QP_RETRY_CNT),
                           IWARP_BIT(IBV_QP_RNR_RETRY),
                           IWARP_BIT(IBV_QP_RQ_PSN),
                           IWARP_BIT(IBV_QP_MAX_QP_RD_ATOMIC),
                           IWARP_BIT(IBV_QP_ALT_PATH),
                           IWARP_BIT(IBV_QP_MIN_RNR_TIMER),
                           IWARP_BIT(IBV_QP_SQ_PSN),
                           IWARP_BIT(IBV_QP_MAX_DEST_RD_ATOMIC),
                           IWARP_BIT(IBV_QP_PATH_MIG_STATE),
                           IWARP_BIT(IBV_QP_CAP),
                           IWARP_BIT(IBV_QP_DEST_QPN),
                           IWARP_BIT(IBV_QP_RATE_LIMIT)};
#undef IWARP_BIT

/// Returns the names of the bits in `mask`, for example "IBV_QP_PORT | IBV_QP_QKEY".
std::string names_of(int mask) {
  std::string out;
  for (const Bit& bit : kBits) {
    if ((mask & bit.bit) != 0) out += (out.empty() ? "" : " | ") + std::string(bit.name);
    mask &= ~bit.bit;
  }
  if (mask != 0) out += fmt::format("{}{:#x}", out.empty() ? "" : " | ", mask);
  return out;
}

/// Returns what to do if there is no step from `from` to `to`.
const char* remedy_for(ibv_qp_state from, ibv_qp_state to) {
  if (from == IBV_QPS_ERR)
    return "move the queue pair to RESET first, and then through INIT, RTR and RTS";
  if (to == IBV_QPS_RTR) return "move the queue pair from RESET to INIT first";
  if (to == IBV_QPS_RTS) return "move the queue pair to INIT and RTR first";
  return "a queue pair goes from RESET through INIT and RTR to RTS, and from RTS to SQD and back; "
         "it can go to RESET from any state, and to ERR from any state but RESET";
}

}  // namespace

// [IBV-436, IBV-443, IBV-444, IBV-445, IBV-446]
int check_step(ibv_qp_state from, ibv_qp_state to, QpRules rules, int mask) {
  const Step* const step = find(from, to);
  const Column takes = step != nullptr ? column(*step, rules) : std::nullopt;
  const char* const here = name_of(from);
  const char* const there = name_of(to);
  if (!takes) {
    return refused(EINVAL, "{} to {}: not a valid transition ({})", here, there,
                   remedy_for(from, to));
  }
  if (const int lacks = takes->required & ~mask) {
    return refused(EINVAL, "{} to {}: attr_mask lacks {} (set each missing bit and its attribute)",
                   here, there, names_of(lacks));
  }
  if (const int excess = mask & ~(takes->required | takes->allowed | IBV_QP_STATE)) {
    return refused(
        EINVAL,
        "{} to {}: attr_mask contains {} (clear each bit that this transition does not allow)",
        here, there, names_of(excess));
  }
  return 0;
}

bool is_step(ibv_qp_state from, ibv_qp_state to, QpRules rules, int mask) {
  const Step* const step = find(from, to);
  if (step == nullptr) return false;
  const Column takes = column(*step, rules);
  return takes && (mask & takes->required) == takes->required &&
         (mask & ~(takes->required | takes->allowed | IBV_QP_STATE)) == 0;
}

bool may_change(ibv_qp_state from, ibv_qp_state to) { return find(from, to) != nullptr; }

int check_ranges(const Device& device, const ibv_qp_attr& attr, int mask) {
  for (const Range& range : kRanges) {
    const unsigned value = (mask & range.bit) != 0 ? range.value(attr) : range.least;
    const unsigned most = range.limit != nullptr ? range.limit(device) : range.most;
    if (range.least <= value && value <= most) continue;
    const auto allowed = range.least == most
                             ? fmt::format("must be {}", range.least)
                             : fmt::format("must be from {} to {}", range.least, most);
    const auto to =
        (mask & IBV_QP_STATE) != 0 ? fmt::format("to {}: ", name_of(attr.qp_state)) : "";
    return refused(EINVAL, "{}{} {}: {} ({})", to, range.name, value, allowed, range.remedy);
  }
  return 0;
}

// [IBV-450]
int refuse_state(const ibv_qp_attr& attr, ibv_qp_state from) {
  return refused(EINVAL, "cur_qp_state {}: the queue pair is in {} (leave out IBV_QP_CUR_STATE)",
                 name_of(attr.cur_qp_state), name_of(from));
}

const char* name_of(ibv_qp_state state) {
  constexpr std::array kNames{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  const auto index = static_cast<std::size_t>(state);
  return index < kNames.size() ? kNames[index] : "UNKNOWN";
}

}  // namespace iwarp::rdma_core
