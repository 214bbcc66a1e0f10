// SPDX-License-Identifier: Apache-2.0
// Two queue pairs of type UD that exchange datagrams, for cases about datagrams and handles.
#pragma once

#include <cstring>
#include <string>

#include "judge/tools/ends.hpp"

namespace iwarp::judge {

inline constexpr std::uint32_t kGrh = 40;
inline constexpr std::uint32_t kPayload = 16;
inline constexpr std::size_t kTextAt = 8192;  ///< where the sender's memory has the payload

struct Datagrams {
  explicit Datagrams(Judge& of, EndOptions options = {})
      : j(of), pair(of, with_type(options)), ah(way_to_self(of, pair.a)) {
    std::strcpy(pair.a.memory(kTextAt), "hello");
  }
  static EndOptions with_type(EndOptions options) {
    options.type = IBV_QPT_UD;
    return options;
  }

  /// A signaled Send from `a` to `b`.
  ibv_send_wr request(std::uint64_t wr_id = 3, ibv_wr_opcode opcode = IBV_WR_SEND) const {
    ibv_send_wr wr{.wr_id = wr_id, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED};
    wr.wr.ud = {.ah = ah.get(), .remote_qpn = pair.b.qp->qp_num, .remote_qkey = kQKey};
    return wr;
  }
  /// Posts a receive at the begin of b's memory. Ends the case if this fails.
  void receive(std::uint64_t wr_id, std::uint32_t length = kGrh + kPayload) {
    j.require("ibv_post_recv " + std::to_string(wr_id), pair.b.post_recv(wr_id, 0, length));
  }
  /// Sends, and waits for the completion of the Send.
  void send(const std::string& step, const ibv_send_wr& wr, std::uint32_t length = kPayload) {
    j.require(step + ": ibv_post_send", pair.a.post_send(wr, kTextAt, length));
    expect_completion(j, step, pair.a.send_cq);
  }
  /// Sends one datagram, and returns the completion of its receive.
  ibv_wc exchange() {
    receive(1);
    send("completion of the Send", request());
    return expect_completion(j, "completion of the receive", pair.b.recv_cq);
  }
  ibv_grh* grh() { return reinterpret_cast<ibv_grh*>(pair.b.memory(0)); }

  Judge& j;
  Pair pair;
  Ah ah;
};

}  // namespace iwarp::judge
