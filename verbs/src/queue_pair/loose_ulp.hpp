// SPDX-License-Identifier: Apache-2.0
// LooseUlp: a Ulp that is put between a stream and its queue pair if ConnectionOptions::latitude is
// set. The stream then reads and writes buffers of this object, and a Latitude decides when their
// contents move from and to the memory of the application. Call with the connection lock held.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "iwarp/rdmap/stream.hpp"
#include "iwarp/verbs/latitude.hpp"
#include "queue_pair/stream_port.hpp"

namespace iwarp::verbs {

class LooseUlp final : public rdmap::Ulp {
 public:
  LooseUlp(StreamPort& port, std::unique_ptr<Latitude> latitude)
      : port_(port), ulp_(port.ulp()), latitude_(std::move(latitude)) {}
  /// Call before the stream calls any other function.
  void set_stream(const rdmap::Stream& stream) { unanswered_ = &stream.unanswered(); }

  bool next_request(bool read_credit, rdmap::Request& out) override;
  void sent(std::uint64_t cookie) override { ulp_.sent(cookie); }
  void read_done(std::uint64_t cookie) override;
  void atomic_done(std::uint64_t cookie, std::uint64_t original) override;
  void delivered_before(rdmap::Msn msn) override { ulp_.delivered_before(msn); }
  std::expected<void, AccessError> write_target(Stag stag, rdmap::TaggedOffset to,
                                                std::uint32_t length, bytes::Span& out) override;
  void release_target() override;
  std::expected<bytes::View, AccessError> read_source(Stag stag, rdmap::TaggedOffset to,
                                                      std::uint32_t length) override;
  void release_source() override { ulp_.release_source(); }
  std::expected<std::uint64_t, AccessError> atomic(const rdmap::AtomicRequest& request) override;
  bytes::Check receive_buffer(ddp::UntaggedBuffer& out) override;
  bytes::Check send_received(const rdmap::ReceivedSend& send) override;
  void terminate_received(const rdmap::Terminate& terminate) override;

 private:
  /// A Read of this end, whose response arrives in `data` instead of in `sink`.
  struct Read {
    std::uint64_t cookie;
    bytes::Span sink;
    std::vector<std::byte> data;
  };
  /// The last request of the peer that was executed before its turn.
  struct Early {
    std::optional<rdmap::Msn> msn;
    std::uint64_t original = 0;   ///< the result of an atomic
    std::vector<std::byte> data;  ///< the source of a Read
  };
  void finish_reads();
  void overtake(const rdmap::InboundRequest& next);
  std::expected<std::uint64_t, AccessError> execute(const rdmap::AtomicRequest& request);
  bool is_early() const { return early_.msn == unanswered_->front().msn; }

  StreamPort& port_;
  rdmap::Ulp& ulp_;
  const std::unique_ptr<Latitude> latitude_;
  std::vector<std::byte> target_;      ///< payload of the Write segment in progress; may be empty
  std::vector<std::byte> source_;      ///< copy of the memory that the peer reads
  std::optional<rdmap::Msn> checked_;  ///< the last Read whose access the stream has checked
  Early early_;
  const rdmap::BoundedFifo<rdmap::InboundRequest>* unanswered_ = nullptr;
  std::deque<Read> reads_;   ///< in the order of their requests
  std::size_t arrived_ = 0;  ///< the first `arrived_` of `reads_` have their responses
};

}  // namespace iwarp::verbs
