// SPDX-License-Identifier: Apache-2.0
// What the cases about queue pairs and about data share: bringing a queue pair to a state, posting
// requests with any list of buffers, and awaiting what a failure causes.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "judge/tools/ends.hpp"

namespace iwarp::judge {

/// All bits that the step to `to` needs from the state before it, including IBV_QP_STATE.
int full_mask(ibv_qp_type type, ibv_qp_state to);
/// Moves the queue pair one step, with the attributes that the step needs. A queue pair that goes
/// to RTR without a peer is connected to itself. Returns an errno value.
int step(End& end, ibv_qp_state to, int without = 0, int with = 0);
/// Brings a queue pair that is in RESET to `state`. Ends the case if a step fails, as refused if
/// the device does not offer SQD.
void bring(End& end, ibv_qp_state state);
/// Returns the attributes of `mask` from ibv_query_qp(), and always the capacities.
ibv_qp_attr query(End& end, int mask = IBV_QP_CAP);
/// As End::state(), as a step of its own: a refused call must not change the state.
void expect_same_state(Judge& j, std::string_view after, const End& end, ibv_qp_state state);

/// Posts one request with these buffers. Returns an errno value.
int post(End& end, ibv_send_wr wr, std::initializer_list<ibv_sge> buffers);
int receive(End& end, std::uint64_t id, std::initializer_list<ibv_sge> buffers);
/// Posts `count` receives of 64 bytes with consecutive ids from `first`.
void post_receives(End& end, unsigned count, unsigned first = 0);
/// A signaled request without peer: a Send of `id`.
ibv_send_wr send_of(std::uint64_t id, unsigned flags = IBV_SEND_SIGNALED);
/// Datagrams also need an address.
ibv_send_wr send_to(std::uint64_t id, ibv_ah* way, const End& peer);

/// Awaits `count` completions with status IBV_WC_WR_FLUSH_ERR and consecutive ids from `first`.
void expect_flushed(Judge& j, std::string_view step, const Cq& cq, std::uint64_t first, int count);
/// Awaits a successful completion with this id.
ibv_wc expect_done(Judge& j, std::string_view step, const Cq& cq, std::uint64_t id);
/// Compares memory with a repeated octet.
void expect_bytes(Judge& j, std::string_view step, const char* at, std::size_t count, char octet);

/// Returns the name of the next event that concerns a queue pair, a CQ or an SRQ; "no event" if
/// none comes in time. `about`: the queue pair of the event.
std::string next_affiliated(Judge& j, ibv_qp** about = nullptr);
/// Causes an event of another queue pair (the last WQE of a queue pair with an SRQ), and compares
/// that it is the first event: what came before has caused none. Needs kSrq.
void expect_no_event(Judge& j, std::string_view step);
/// Sends a message between two other queue pairs. After it has arrived, a device had time for what
/// it does to other queue pairs.
void exchange_elsewhere(Judge& j);

}  // namespace iwarp::judge
