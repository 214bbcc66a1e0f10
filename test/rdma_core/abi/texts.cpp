// SPDX-License-Identifier: Apache-2.0
// Prints the results of functions that need no device, for values inside and outside of their
// enumerations. The output must be the same with the libraries of rdma-core and with this
// project's.
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_cma.h>

#include <array>
#include <cstdio>
#include <cstring>

extern "C" {  // These functions are exported, but no header declares them.
const char* ibv_get_sysfs_path();
int ibv_read_sysfs_file(const char* dir, const char* file, char* buf, std::size_t size);
void ibv_copy_ah_attr_from_kern(ibv_ah_attr* dst, const ib_uverbs_ah_attr* src);
void ibv_copy_qp_attr_from_kern(ibv_qp_attr* dst, const ib_uverbs_qp_attr* src);
void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* dst, const ib_user_path_rec* src);
void ibv_copy_path_rec_to_kern(ib_user_path_rec* dst, const ibv_sa_path_rec* src);
}

namespace {

constexpr int kNowhere = 1000;
constexpr int kMaxMult = 1000;
constexpr int kMaxMbps = 2'000'000;

/// Prints the texts of the values up to `last`, and of values outside of the enumeration. Skips
/// enumerators that later releases of rdma-core add, because this project's library has no texts
/// for them.
template <typename Enumeration>
void texts(const char* kind, const char* (*function)(Enumeration), int last) {
  const auto text = reinterpret_cast<const char* (*)(int)>(function);
  for (int i = -2; i <= last; ++i) std::printf("%s %d: %s\n", kind, i, text(i));
  std::printf("%s %d: %s\n", kind, kNowhere, text(kNowhere));
}

void rates() {
  for (int i = -2; i <= IBV_RATE_1200_GBPS; ++i) {
    const auto rate = static_cast<ibv_rate>(i);
    std::printf("rate %d: %d %d\n", i, ibv_rate_to_mult(rate), ibv_rate_to_mbps(rate));
  }
  for (int i = -2; i < kMaxMult; ++i) {
    if (mult_to_ibv_rate(i) != 0) std::printf("mult %d: %d\n", i, mult_to_ibv_rate(i));
  }
  for (int i = -2; i < kMaxMbps; ++i) {
    if (mbps_to_ibv_rate(i) != 0) std::printf("mbps %d: %d\n", i, mbps_to_ibv_rate(i));
  }
}

void sysfs() {
  std::printf("sysfs: %s\n", ibv_get_sysfs_path());
  // The first sizes have room for "Linux" and a newline, the next for "Linux" alone, and the last
  // are too small.
  for (const std::size_t size : {16U, 7U, 6U, 5U, 3U}) {
    std::array<char, 16> text{};
    const int count = ibv_read_sysfs_file("/proc/sys/kernel", "ostype", text.data(), size);
    std::printf("read %zu: %d %s\n", size, count, count < 0 ? "" : text.data());
  }
  std::array<char, 16> text{};
  std::printf("none: %d\n", ibv_read_sysfs_file("/proc", "no such file", text.data(), text.size()));
}

/// Fills an object with bytes that differ from their neighbours.
template <typename T>
T filled() {
  T out;
  auto* const octets = reinterpret_cast<unsigned char*>(&out);
  for (std::size_t i = 0; i < sizeof out; ++i) octets[i] = static_cast<unsigned char>(i * 7 + 1);
  return out;
}

/// Zeroes a destination, lets `function` fill it from a source, and prints it.
template <typename To, typename From>
void copy(const char* name, void (*function)(To*, const From*)) {
  const auto from = filled<From>();
  To to;
  std::memset(&to, 0, sizeof to);
  function(&to, &from);
  std::array<unsigned char, sizeof to> octets{};
  std::memcpy(octets.data(), &to, sizeof to);
  std::printf("%s:", name);
  for (const auto octet : octets) std::printf(" %02x", octet);
  std::printf("\n");
}

}  // namespace

// [IBV-312, IBV-615, IBV-616, IBV-617, IBV-618, IBV-619, IBV-620, IBV-621]
int main() {
  texts("wc", ibv_wc_status_str, IBV_WC_TM_RNDV_INCOMPLETE);
  texts("node", ibv_node_type_str, IBV_NODE_UNSPECIFIED);
  texts("port", ibv_port_state_str, IBV_PORT_ACTIVE_DEFER);
  texts("event", ibv_event_type_str, IBV_EVENT_WQ_FATAL);
  // [RCM-23, RCM-24]
  texts("cm", rdma_event_str, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  rates();
  sysfs();
  copy("ah", ibv_copy_ah_attr_from_kern);
  copy("qp", ibv_copy_qp_attr_from_kern);
  copy("path", ibv_copy_path_rec_from_kern);
  copy("kernel's path", ibv_copy_path_rec_to_kern);
}
