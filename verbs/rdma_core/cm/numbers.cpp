// SPDX-License-Identifier: Apache-2.0
// Encodes the numbers behind the private data, removes them at the other end, and combines the
// numbers of both ends. If the peer sends none, for example because it is a hardware RNIC, the IRD
// and ORD of its frame take their place.
#include "cm/numbers.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::uint8_t kFlowControl = 1;
constexpr std::uint8_t kSrq = 2;
constexpr int kRetryShift = 4;
constexpr unsigned kRetryMask = 7;

std::span<const std::byte> mark(mpa::FrameKind kind) {
  constexpr std::string_view kRequest = "cm.q";
  constexpr std::string_view kReply = "cm.p";
  return std::as_bytes(std::span(kind == mpa::FrameKind::kRequest ? kRequest : kReply));
}

std::uint8_t permitted(int reads) { return static_cast<std::uint8_t>(std::min(reads, kMaxReads)); }

/// Removes the numbers from the end of `private_data`. Returns nullopt if there are none.
std::optional<CmNumbers> take_numbers(mpa::FrameKind kind, std::vector<std::byte>& private_data) {
  if (private_data.size() < kNumbersSize) return std::nullopt;
  bytes::Reader reader(bytes::View(private_data).last(kNumbersSize));
  const auto expected = mark(kind);
  if (!std::ranges::equal(reader.take(expected.size()), expected)) return std::nullopt;
  CmNumbers out{.responder_resources = permitted(reader.u8()),
                .initiator_depth = permitted(reader.u8())};
  const unsigned retries = reader.u8();
  out.retry_count = static_cast<std::uint8_t>(retries >> kRetryShift & kRetryMask);
  out.rnr_retry_count = static_cast<std::uint8_t>(retries & kRetryMask);
  const std::uint8_t flags = reader.u8();
  out.flow_control = (flags & kFlowControl) != 0;
  out.srq = (flags & kSrq) != 0;
  out.qp_num = reader.u32();
  private_data.erase(private_data.end() - static_cast<std::ptrdiff_t>(kNumbersSize),
                     private_data.end());
  return out;
}

}  // namespace

std::vector<std::byte> encode(mpa::FrameKind kind, const CmNumbers& numbers) {
  std::vector<std::byte> out(kNumbersSize);
  bytes::Writer writer(out);
  writer.put(mark(kind));
  writer.u8(numbers.responder_resources);
  writer.u8(numbers.initiator_depth);
  writer.u8(
      static_cast<std::uint8_t>(numbers.retry_count << kRetryShift | numbers.rnr_retry_count));
  writer.u8(static_cast<std::uint8_t>((numbers.flow_control ? kFlowControl : 0) |
                                      (numbers.srq ? kSrq : 0)));
  writer.u32(numbers.qp_num);
  return out;
}

// [RCM-170, RCM-171, RCM-172, RCM-173]
PeerNumbers numbers_from(mpa::FrameKind kind, const std::optional<mpa::PeerOffer>& offer,
                         std::vector<std::byte>& private_data) {
  PeerNumbers out;
  const bool is_enhanced = offer && offer->enhanced;
  const auto said = offer && offer->extensions ? take_numbers(kind, private_data) : std::nullopt;
  if (said) {
    out = {.numbers = *said, .are_programs = true};
  } else if (is_enhanced) {
    out.numbers.responder_resources = permitted(offer->ird);
    out.numbers.initiator_depth = permitted(offer->ord);
  }
  std::swap(out.numbers.responder_resources, out.numbers.initiator_depth);
  return out;
}

// [RCM-175, RCM-191, RCM-192]
CmNumbers agreed(const CmNumbers& own, const PeerNumbers& reply) {
  CmNumbers out = reply.numbers;
  out.responder_resources = std::min(out.responder_resources, own.responder_resources);
  out.initiator_depth = std::min(out.initiator_depth, own.initiator_depth);
  out.retry_count = own.retry_count;
  if (!reply.are_programs) out.rnr_retry_count = own.rnr_retry_count;
  return out;
}

// [RCM-188]
void show(const CmNumbers& numbers, bool as_roce, rdma_conn_param& out) {
  out.responder_resources = numbers.responder_resources;
  out.initiator_depth = numbers.initiator_depth;
  if (!as_roce) return;
  out.flow_control = numbers.flow_control ? 1 : 0;
  out.retry_count = numbers.retry_count;
  out.rnr_retry_count = numbers.rnr_retry_count;
  out.srq = numbers.srq ? 1 : 0;
  out.qp_num = numbers.qp_num;
}

}  // namespace iwarp::rdma_core
