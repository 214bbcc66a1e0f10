// SPDX-License-Identifier: Apache-2.0
// Judge: records each comparison, opens the device when a case first needs it, and decides whether
// a case applies to the device.
#include "judge/frame/judge.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <rdma/rdma_cma.h>
#include <string.h>  // NOLINT: strerrorname_np() is not in <cstring>

#include <algorithm>
#include <array>
#include <cstring>

namespace iwarp::judge {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

bool is_of_ipv4(const ibv_gid& gid) {
  return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), gid.raw);
}

template <typename T, typename Name>
std::string names(std::initializer_list<T> values, Name name) {
  std::string out;
  for (const T& value : values) {
    if (!out.empty()) out += " or ";
    out += name(value);
  }
  return out;
}

bool has_cm() {
  rdma_event_channel* const channel = rdma_create_event_channel();
  if (channel != nullptr) rdma_destroy_event_channel(channel);
  return channel != nullptr;
}

bool has_extended_cq(ibv_context* context) {
  ibv_cq_init_attr_ex attr{.cqe = 1, .wc_flags = IBV_WC_STANDARD_FLAGS};
  ibv_cq_ex* const cq = ibv_create_cq_ex(context, &attr);
  if (cq != nullptr) ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
  return cq != nullptr;
}

/// Returns whether the device can create a queue pair of this type. If `send_ops` is not 0, the
/// queue pair must support them by ibv_wr_*().
bool can_create(ibv_context* context, ibv_qp_type type, std::uint64_t send_ops) {
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_cq* const cq = ibv_create_cq(context, 1, nullptr, nullptr, 0);
  ibv_qp_init_attr_ex init{
      .send_cq = cq,
      .recv_cq = cq,
      .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = type,
      .comp_mask = IBV_QP_INIT_ATTR_PD,
      .pd = pd};
  if (send_ops != 0) {
    init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.send_ops_flags = send_ops;
  }
  ibv_qp* const qp = pd != nullptr && cq != nullptr ? ibv_create_qp_ex(context, &init) : nullptr;
  if (qp != nullptr) ibv_destroy_qp(qp);
  if (cq != nullptr) ibv_destroy_cq(cq);
  if (pd != nullptr) ibv_dealloc_pd(pd);
  return qp != nullptr;
}

bool is_refusal(int code) { return code == EOPNOTSUPP || code == ENOSYS; }

}  // namespace

std::string errno_name(int code) {
  if (code == 0) return "0";
  const char* const name = ::strerrorname_np(code);
  return name != nullptr ? name : fmt::format("errno {}", code);
}

void must(Judge& judge, std::string_view step, int code) {
  if (code != 0) judge.require(step, code);
}

std::string_view state_name(ibv_qp_state state) {
  constexpr std::array kNames{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return static_cast<std::size_t>(state) < kNames.size() ? kNames[state] : "no state";
}

std::string status_name(ibv_wc_status status) {
  constexpr std::array kNames{
      "SUCCESS",          "LOC_LEN_ERR",       "LOC_QP_OP_ERR",     "LOC_EEC_OP_ERR",
      "LOC_PROT_ERR",     "WR_FLUSH_ERR",      "MW_BIND_ERR",       "BAD_RESP_ERR",
      "LOC_ACCESS_ERR",   "REM_INV_REQ_ERR",   "REM_ACCESS_ERR",    "REM_OP_ERR",
      "RETRY_EXC_ERR",    "RNR_RETRY_EXC_ERR", "LOC_RDD_VIOL_ERR",  "REM_INV_RD_REQ_ERR",
      "REM_ABORT_ERR",    "INV_EECN_ERR",      "INV_EEC_STATE_ERR", "FATAL_ERR",
      "RESP_TIMEOUT_ERR", "GENERAL_ERR"};
  if (static_cast<std::size_t>(status) < kNames.size()) return kNames[status];
  return fmt::format("status {}", static_cast<int>(status));
}

Judge::Judge(Target target, Sink sink) : target_(std::move(target)), sink_(std::move(sink)) {}

Judge::~Judge() {
  if (context_ != nullptr && !is_of_cm_) ibv_close_device(context_);
  if (list_ != nullptr) ibv_free_device_list(list_);
}

bool Judge::record(std::string_view step, std::string observed, std::string expected,
                   bool is_right) {
  std::string name(step);
  if (const int count = ++counts_[name]; count > 1) name += fmt::format(" ({})", count);
  sink_({std::move(name), std::move(observed), std::move(expected), is_right});
  return is_right;
}

bool Judge::expect(std::string_view step, int code, std::initializer_list<int> allowed) {
  const bool is_right = std::ranges::find(allowed, code) != allowed.end();
  return record(step, errno_name(code), names(allowed, errno_name), is_right);
}

bool Judge::expect(std::string_view step, ibv_wc_status observed,
                   std::initializer_list<ibv_wc_status> allowed) {
  const bool is_right = std::ranges::find(allowed, observed) != allowed.end();
  return record(step, status_name(observed), names(allowed, status_name), is_right);
}

bool Judge::expect(std::string_view step, ibv_qp_state observed,
                   std::initializer_list<ibv_qp_state> allowed) {
  const bool is_right = std::ranges::find(allowed, observed) != allowed.end();
  return record(step, std::string(state_name(observed)), names(allowed, state_name), is_right);
}

bool Judge::expect_text(std::string_view step, std::string_view observed,
                        std::initializer_list<std::string_view> allowed) {
  const bool is_right = std::ranges::find(allowed, observed) != allowed.end();
  return record(step, std::string(observed), names(allowed, [](auto text) { return text; }),
                is_right);
}

bool Judge::expect_equal(std::string_view step, std::uint64_t observed, std::uint64_t expected) {
  return record(step, fmt::to_string(observed), fmt::to_string(expected), observed == expected);
}

bool Judge::expect_true(std::string_view step, bool holds, std::string_view expected) {
  return record(step, holds ? "yes" : "no", std::string(expected), holds);
}

void Judge::require(std::string_view step, int code) {
  if (is_refusal(code)) refuse(step, code);
  if (!expect(step, code)) throw Ended{};
}

void Judge::require_true(std::string_view step, bool holds, std::string_view expected) {
  if (!expect_true(step, holds, expected)) throw Ended{};
}

void Judge::refuse(std::string_view call, int code) {
  throw Refused{fmt::format("{}: {}", call, errno_name(code))};
}

void Judge::not_applicable(std::string_view why) { throw NotApplicable{std::string(why)}; }

std::vector<std::string> Judge::devices() {
  if (list_ == nullptr) list_ = ibv_get_device_list(nullptr);
  std::vector<std::string> out;
  for (ibv_device** each = list_; each != nullptr && *each != nullptr; ++each) {
    out.emplace_back(ibv_get_device_name(*each));
  }
  return out;
}

ibv_device* Judge::device() {
  const auto names = devices();
  const auto found = std::ranges::find(names, target_.device);
  if (found == names.end()) throw Gone{};
  return list_[found - names.begin()];
}

ibv_context* Judge::open() {
  ibv_context* const opened = ibv_open_device(device());
  must(*this, "ibv_open_device", errno_of(opened));
  return opened;
}

ibv_context* Judge::context() {
  if (context_ == nullptr && is_iwarp()) context_ = context_of_cm();
  if (context_ == nullptr) context_ = open();
  return context_;
}

// rdma_cm opens each device once, and its ids work only with objects of that context.
ibv_context* Judge::context_of_cm() {
  int count = 0;
  ibv_context** const list = rdma_get_devices(&count);
  ibv_context* found = nullptr;
  for (int i = 0; list != nullptr && i < count; ++i) {
    if (target_.device == ibv_get_device_name(list[i]->device)) found = list[i];
  }
  if (list != nullptr) rdma_free_devices(list);
  is_of_cm_ = found != nullptr;
  return found;
}

const ibv_device_attr& Judge::attributes() {
  if (!attributes_) {
    ibv_device_attr attr{};
    must(*this, "ibv_query_device", errno_of(ibv_query_device(context(), &attr)));
    attributes_ = attr;
  }
  return *attributes_;
}

ibv_port_attr Judge::port_attributes() {
  ibv_port_attr attr{};
  must(*this, "ibv_query_port", errno_of(ibv_query_port(context(), port(), &attr)));
  return attr;
}

ibv_gid Judge::gid() {
  ibv_gid out{};
  if (port_attributes().gid_tbl_len == 0) not_applicable("the port has no GID");
  const int index = gid_index();
  must(*this, "ibv_query_gid", errno_of(ibv_query_gid(context(), port(), index, &out)));
  return out;
}

std::uint8_t Judge::gid_index() {
  if (target_.gid_index < 0) {
    target_.gid_index = 0;
    const int count = port_attributes().gid_tbl_len;
    for (int index = 0; index < std::min(count, 256); ++index) {
      ibv_gid gid{};
      // With RoCE, version 2 follows version 1 of the same address; both work.
      if (ibv_query_gid(context(), port(), index, &gid) != 0 || !is_of_ipv4(gid)) continue;
      target_.gid_index = index;
      break;
    }
  }
  return static_cast<std::uint8_t>(target_.gid_index);
}

std::string Judge::address() {
  std::string bound = address_by_cm();
  if (!bound.empty()) return bound;
  // rdma_cm does not bind the address of the loopback interface to a device.
  const ibv_gid own = gid();
  if (!is_of_ipv4(own)) return "";
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, own.raw + kMappedPrefix.size(), text.data(), text.size());
  return text.data();
}

// A GID does not show the address of every device (siw's shows the MAC address), so rdma_cm finds
// out which device has which address.
std::string Judge::address_by_cm() const {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  std::string found;
  for (const ifaddrs* each = all; each != nullptr && found.empty(); each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(nullptr, &id, nullptr, RDMA_PS_TCP) != 0) break;
    sockaddr_in own{};
    std::memcpy(&own, each->ifa_addr, sizeof own);
    if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&own)) == 0 && id->verbs != nullptr &&
        target_.device == ibv_get_device_name(id->verbs->device)) {
      std::array<char, INET_ADDRSTRLEN> text{};
      ::inet_ntop(AF_INET, &own.sin_addr, text.data(), text.size());
      found = text.data();
    }
    rdma_destroy_id(id);
  }
  ::freeifaddrs(all);
  return found;
}

bool Judge::is_iwarp() { return device()->transport_type == IBV_TRANSPORT_IWARP; }

void Judge::require_needs(Needs needs) {
  const auto has_type = [&](ibv_qp_type type) { return can_create(context(), type, 0); };
  const auto has_flag = [&](unsigned flag) { return (attributes().device_cap_flags & flag) != 0; };
  struct Check {
    Needs need;
    const char* name;
    std::function<bool()> holds;
  };
  const std::array checks{
      Check{kByHand, "connections by ibv_modify_qp()", [&] { return !is_iwarp(); }},
      Check{kIwarp, "iWARP", [&] { return is_iwarp(); }},
      Check{kUd, "queue pairs of type UD", [&] { return has_type(IBV_QPT_UD); }},
      Check{kUc, "queue pairs of type UC", [&] { return has_type(IBV_QPT_UC); }},
      Check{kCm, "rdma_cm", has_cm},
      Check{kCm, "an IPv4 address", [&] { return !address().empty(); }},
      Check{kSrq, "shared receive queues", [&] { return attributes().max_srq > 0; }},
      Check{kAtomics, "atomic operations",
            [&] { return attributes().atomic_cap != IBV_ATOMIC_NONE; }},
      Check{kWindow1, "memory windows of type 1", [&] { return has_flag(IBV_DEVICE_MEM_WINDOW); }},
      Check{
          kWindow2, "memory windows of type 2",
          [&] { return has_flag(IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B); }},
      Check{kWrEx, "ibv_wr_*()",
            [&] { return can_create(context(), IBV_QPT_RC, IBV_QP_EX_WITH_SEND); }},
      Check{kCqEx, "ibv_start_poll()", [&] { return has_extended_cq(context()); }},
      Check{kImmediate, "Writes with immediate data", [&] { return !is_iwarp(); }},
  };
  for (const Check& check : checks) {
    if ((needs & check.need) == 0 || check.holds()) continue;
    not_applicable(std::string("the device lacks ") + check.name);
  }
}

}  // namespace iwarp::judge
