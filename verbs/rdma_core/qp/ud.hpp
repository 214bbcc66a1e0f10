// SPDX-License-Identifier: Apache-2.0
// Queue pairs of type UD, which exist only with IWARP_AS=roce.
#pragma once

#include "iwarp/net/datagram_qp.hpp"
#include "qp/queue_pair.hpp"

namespace iwarp::rdma_core {

struct UdQp final : Qp {
  using Qp::Qp;

  std::unique_ptr<net::DatagramQp> core;

  verbs::QpNum make_core() override;
  void enter() override;
  int modify(const ibv_qp_attr& attr, int mask) override;
  int to_error() override;
  ibv_qp_state state_now() const override;
  ibv_qp_state describe(ibv_qp_attr& attr) const override;
  int post(ibv_send_wr*& wr) override;
  int receive(ibv_recv_wr*& wr) override;
  int convert_staged() override;
  int post_staged() override;
  int attach(const verbs::IpAddress& group, std::span<const unsigned> on) override;
  int detach(const verbs::IpAddress& group) override;
  bool is_attached() const override;
  void end() override;
  void abandon() noexcept override;
};

/// Fills those fields of `out` that begin_request() does not fill: the destination and the
/// immediate data. Returns 0 or an errno.
int make_request(verbs::DatagramWr& out, const ibv_send_wr& wr);

/// Returns the maximum length of a datagram's payload, in octets.
std::size_t max_datagram(Device& device);

}  // namespace iwarp::rdma_core
