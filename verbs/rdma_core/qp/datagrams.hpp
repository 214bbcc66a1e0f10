// SPDX-License-Identifier: Apache-2.0
// Queue pairs of type UD, where queue_pair.cpp, qp/states.cpp, post.cpp and qp/builders.cpp leave
// them to datagrams.cpp. They exist as RoCE only.
#pragma once

#include "iwarp/net/datagram_qp.hpp"
#include "qp/queue_pair.hpp"

namespace iwarp::rdma_core {

std::unique_ptr<net::DatagramQp> make_datagram_core(Pd& pd, const Qp& qp);
int modify_datagrams(Qp& qp, const ibv_qp_attr& attr, int mask);
/// To the error state, as by modify_datagrams().
void fail_datagrams(Qp& qp);
/// What ibv_query_qp() says of its state.
ibv_qp_state state_of_datagrams(const Qp& qp);
/// Fills what a datagram needs beyond what begin_request() did; an errno.
int make_request(verbs::DatagramWr& out, const ibv_send_wr& wr);
/// As post_send() in qp/calls.hpp.
int post_datagrams(Qp& qp, ibv_send_wr*& wr);

/// The payload of a datagram is at most so long.
std::size_t max_datagram();

}  // namespace iwarp::rdma_core
