// SPDX-License-Identifier: Apache-2.0
// One end of datagrams, as any program would have it: a queue pair of type UD that is ready, and
// memory for what comes and goes.
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

inline constexpr std::uint32_t kKey = 0x1A2B3C;
inline constexpr std::uint32_t kGrh = 40;
inline constexpr std::uint32_t kSlot = 1088;
inline constexpr std::uint32_t kBatch = 128;
inline constexpr std::uint32_t kReceives = 512;
inline constexpr std::chrono::seconds kTimeout{20};

inline void check(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

inline ibv_gid gid_of(const char* address) {
  ibv_gid out{.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}};
  if (inet_pton(AF_INET, address, out.raw + 12) == 1) return out;
  check(inet_pton(AF_INET6, address, out.raw) == 1, "an address");
  return out;
}

struct End {
  /// nullptr: of the port's first GID.
  explicit End(const char* address) {
    ibv_device** list = ibv_get_device_list(nullptr);
    check(list != nullptr && list[0] != nullptr, "no device");
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    check(context != nullptr, "ibv_open_device");
    if (address != nullptr) find(gid_of(address));
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 1024, nullptr, nullptr, 0);
    mr = ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    check(pd != nullptr && cq != nullptr && mr != nullptr, "objects");
    ibv_qp_init_attr init{.send_cq = cq,
                          .recv_cq = cq,
                          .cap = {.max_send_wr = kBatch,
                                  .max_recv_wr = kReceives,
                                  .max_send_sge = 1,
                                  .max_recv_sge = 1},
                          .qp_type = IBV_QPT_UD};
    qp = ibv_create_qp(pd, &init);
    check(qp != nullptr, "ibv_create_qp");
    ibv_qp_attr attr{.qp_state = IBV_QPS_INIT, .qkey = kKey, .port_num = 1};
    constexpr int kInit = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
    check(ibv_modify_qp(qp, &attr, kInit) == 0, "INIT");
    attr.qp_state = IBV_QPS_RTR;
    check(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0, "RTR");
    attr.qp_state = IBV_QPS_RTS;
    check(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0, "RTS");
  }
  /// Before the memory goes.
  ~End() {
    ibv_destroy_qp(qp);
    ibv_dereg_mr(mr);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  void find(const ibv_gid& own) {
    ibv_gid gid{};
    for (;; ++index) {
      check(ibv_query_gid(context, 1, index, &gid) == 0, "no GID of that address");
      if (std::memcmp(gid.raw, own.raw, sizeof gid.raw) == 0) return;
    }
  }
  ibv_ah* way_to(const ibv_gid& peer) {
    ibv_ah_attr attr{.is_global = 1, .port_num = 1};
    attr.grh.dgid = peer;
    attr.grh.sgid_index = static_cast<std::uint8_t>(index);
    ibv_ah* const ah = ibv_create_ah(pd, &attr);
    check(ah != nullptr, "ibv_create_ah");
    return ah;
  }
  void post(std::uint64_t number, std::uint32_t length) {
    ibv_sge sge = slot(number, kGrh + length);
    ibv_recv_wr wr{.wr_id = number, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    check(ibv_post_recv(qp, &wr, &bad) == 0, "ibv_post_recv");
  }
  ibv_sge slot(std::uint64_t n, std::uint32_t length) {
    return {.addr = reinterpret_cast<std::uint64_t>(memory.data() + n * kSlot),
            .length = length,
            .lkey = mr->lkey};
  }
  ibv_wc next() const {
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    ibv_wc wc{};
    while (ibv_poll_cq(cq, 1, &wc) == 0) {
      check(std::chrono::steady_clock::now() < end, "nothing comes any more");
    }
    check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
    return wc;
  }

  int index = 0;
  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(std::size_t{kReceives} * kSlot);
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_mr* mr = nullptr;
  ibv_qp* qp = nullptr;
};
