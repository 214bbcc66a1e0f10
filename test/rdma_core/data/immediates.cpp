// SPDX-License-Identifier: Apache-2.0
// Tests Send and Write with immediate data in every form that a program can use: posted with
// ibv_post_send() or with ibv_wr_*(), received from the queue pair's receive queue or from a shared
// one, and polled with both interfaces. Compares the payload. completion_queue.cpp tests which of
// these messages wake a program.
#include <algorithm>

#include "support.hpp"

using namespace data;

namespace {

/// How the payload is posted: whether it is inline, and its pieces in the sender's buffer.
struct Form {
  const char* name;
  bool is_inline;
  std::vector<std::pair<std::size_t, std::size_t>> pieces;  ///< offset and length of each piece
};

const std::vector<Form> kForms{
    {"no buffer", false, {}},
    {"an empty buffer", false, {{5, 0}}},
    {"one octet", false, {{5, 1}}},
    {"one buffer", false, {{0, 4000}}},
    {"a list", false, {{3000, 100}, {0, 0}, {17, 1}, {200, 1300}}},
    {"inline", true, {{9, 100}}},
    {"an inline list", true, {{60, 20}, {0, 0}, {10, 7}, {90, 101}}},
    {"nothing inline", true, {}},
};

constexpr std::size_t kAt = 10'000;   ///< offset of receives and Writes in the peer's buffer
constexpr std::size_t kSize = 8'000;  ///< size of a receive
constexpr std::uint32_t kData = 0xA1B2C3D4;

/// A completion, as returned by either polling interface.
struct Seen {
  std::uint64_t wr_id = 0;
  ibv_wc_status status = IBV_WC_GENERAL_ERR;
  ibv_wc_opcode opcode = IBV_WC_SEND;
  unsigned flags = 0;
  __be32 imm_data = 0;
  std::uint32_t byte_len = 0;
  std::uint32_t qp_num = 0;
};

Seen take(const End& end) {
  if (end.cq_ex == nullptr) {
    const ibv_wc wc = next(end.cq);
    return {wc.wr_id,    wc.status,   wc.opcode, static_cast<unsigned>(wc.wc_flags),
            wc.imm_data, wc.byte_len, wc.qp_num};
  }
  start_poll(end.cq_ex);
  const Seen seen{end.cq_ex->wr_id,
                  end.cq_ex->status,
                  ibv_wc_read_opcode(end.cq_ex),
                  ibv_wc_read_wc_flags(end.cq_ex),
                  ibv_wc_read_imm_data(end.cq_ex),
                  ibv_wc_read_byte_len(end.cq_ex),
                  ibv_wc_read_qp_num(end.cq_ex)};
  ibv_end_poll(end.cq_ex);
  return seen;
}

int post_by_list(End& from, const End& to, bool write, const Form& form, unsigned flags) {
  std::vector<ibv_sge> sges;
  for (const auto& [at, length] : form.pieces) sges.push_back(from.sge(at, length));
  if (form.is_inline) {
    for (ibv_sge& sge : sges) sge.lkey = 0;  // The library ignores the keys of inline data.
    flags |= IBV_SEND_INLINE;
  }
  ibv_send_wr wr{.wr_id = 77,
                 .sg_list = sges.data(),
                 .num_sge = static_cast<int>(sges.size()),
                 .opcode = write ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND_WITH_IMM,
                 .send_flags = flags,
                 .imm_data = htobe32(kData)};
  if (write) wr.wr.rdma = {.remote_addr = to.remote(kAt), .rkey = to.mr->rkey};
  return post_send(from.qp, wr);
}

int post_by_calls(End& from, const End& to, bool write, const Form& form, unsigned flags) {
  ibv_qp_ex* qp = must(ibv_qp_to_qp_ex(from.qp));
  ibv_wr_start(qp);
  qp->wr_id = 77;
  qp->wr_flags = flags;
  if (write) {
    ibv_wr_rdma_write_imm(qp, to.mr->rkey, to.remote(kAt), htobe32(kData));
  } else {
    ibv_wr_send_imm(qp, htobe32(kData));
  }
  if (form.is_inline) {
    std::vector<ibv_data_buf> list;
    for (const auto& [at, length] : form.pieces) list.push_back({from.buffer.data() + at, length});
    ibv_wr_set_inline_data_list(qp, list.size(), list.data());
  } else if (form.pieces.size() == 1) {
    const ibv_sge sge = from.sge(form.pieces[0].first, form.pieces[0].second);
    ibv_wr_set_sge(qp, sge.lkey, sge.addr, sge.length);
  } else if (!form.pieces.empty()) {
    std::vector<ibv_sge> sges;
    for (const auto& [at, length] : form.pieces) sges.push_back(from.sge(at, length));
    ibv_wr_set_sge_list(qp, sges.size(), sges.data());
  }
  return ibv_wr_complete(qp);
}

std::string payload_of(const End& end, const Form& form) {
  std::string out;
  for (const auto& [at, length] : form.pieces) out += end.text(at, length);
  return out;
}

void fill(End& end) {
  for (std::size_t i = 0; i < kAt; ++i) {
    end.buffer[i] = static_cast<std::byte>(1 + (i * 7 + i / 255) % 255);
  }
}

/// Checks that `payload` has been placed at kAt, and that the bytes around it are unchanged.
void check_placed(const End& end, const std::string& payload) {
  CHECK_EQ(end.text(kAt, payload.size()), payload);
  const auto zero = [](std::byte b) { return b == std::byte{0}; };
  const auto at = end.buffer.begin() + kAt;
  CHECK(std::all_of(at + static_cast<std::ptrdiff_t>(payload.size()), end.buffer.end(), zero));
}

void exchange(Pair& pair, bool by_calls, bool write, const Form& form, unsigned flags) {
  fill(pair.a);
  std::fill(pair.b.buffer.begin() + kAt, pair.b.buffer.end(), std::byte{0});
  // A Write must not change the buffer of the receive, so the receive uses another place.
  const std::size_t receive_at = write ? kAt + kSize : kAt;
  REQUIRE_EQ(pair.b.post_recv(88, receive_at, kSize), 0);
  const auto post = by_calls ? post_by_calls : post_by_list;
  const std::string payload = payload_of(pair.a, form);
  REQUIRE_EQ(post(pair.a, pair.b, write, form, flags | IBV_SEND_SIGNALED), 0);
  if (form.is_inline) std::fill_n(pair.a.buffer.begin(), 1000, std::byte{0});
  const Seen sent = take(pair.a);
  CHECK_EQ(sent.wr_id, 77);
  CHECK_EQ(sent.status, IBV_WC_SUCCESS);
  CHECK_EQ(sent.opcode, write ? IBV_WC_RDMA_WRITE : IBV_WC_SEND);
  CHECK_EQ(sent.flags, 0);
  const Seen got = take(pair.b);
  CHECK_EQ(got.wr_id, 88);
  CHECK_EQ(got.status, IBV_WC_SUCCESS);
  CHECK_EQ(got.opcode, write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
  CHECK_EQ(got.flags, IBV_WC_WITH_IMM);
  CHECK_EQ(be32toh(got.imm_data), kData);
  CHECK_EQ(got.byte_len, payload.size());
  CHECK_EQ(got.qp_num, pair.b.qp->qp_num);
  check_placed(pair.b, payload);
}

}  // namespace

// [IBV-260, IBV-279, IBV-280, IBV-282, IBV-371, IBV-507, IBV-508, IBV-510, IBV-512, IBV-526,
// IBV-527, IBV-540]
TEST_CASE("immediate data arrives with its payload, with a Send and after a Write, in every form") {
  for (const bool by_calls : {false, true}) {
    for (const bool shared : {false, true}) {
      for (const bool extended_cq : {false, true}) {
        Options options{.signal_all = 0,
                        .shared_receives = shared,
                        .extended = by_calls,
                        .extended_cq = extended_cq};
        options.cap.max_inline_data = 256;
        Pair pair(options);
        for (const Form& form : kForms) {
          for (const bool write : {false, true}) {
            for (const unsigned flags : {0U, unsigned{IBV_SEND_SOLICITED}}) {
              CAPTURE(by_calls);
              CAPTURE(shared);
              CAPTURE(extended_cq);
              CAPTURE(form.name);
              CAPTURE(write);
              CAPTURE(flags);
              exchange(pair, by_calls, write, form, flags);
            }
          }
        }
        CHECK(is_empty(pair.a.cq));
        CHECK(is_empty(pair.b.cq));
      }
    }
  }
}

// [IBV-387]
TEST_CASE("more inline payload than the queue pair accepts is refused with immediate data too") {
  Pair pair;
  const Form too_long{"too long", true, {{0, 129}}};
  for (const bool write : {false, true}) {
    CHECK_EQ(post_by_list(pair.a, pair.b, write, too_long, 0), EINVAL);
  }
}
