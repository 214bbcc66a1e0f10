// SPDX-License-Identifier: Apache-2.0
// Builds FPDUs octet by octet, following the figures of RFC 5044 section 4.
#include "conform/script/fpdu.hpp"

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/fpdu.hpp"

namespace iwarp::apps::conform {
namespace {

void put_u16(Octets& out, std::uint16_t value) {
  out.push_back(static_cast<std::byte>(value >> 8));
  out.push_back(static_cast<std::byte>(value & 0xFF));
}

// Appends octets to an FPDU. Inserts a marker wherever the stream position requires it.
class Layout {
 public:
  Layout(const Framing& framing, const Tamper& tamper) : framing_(framing), tamper_(tamper) {}

  void octet(std::byte value) {
    if (framing_.markers && (framing_.position + out_.size()) % mpa::kMarkerInterval == 0) marker();
    if (!start_) start_ = out_.size();
    out_.push_back(value);
  }
  /// Inserts a marker between PAD and CRC if the stream position requires one. The marker belongs
  /// to the FPDU, so the CRC covers it.
  void before_crc() {
    if (framing_.markers && (framing_.position + out_.size()) % mpa::kMarkerInterval == 0) marker();
  }
  Octets take() { return std::move(out_); }
  bytes::View octets() const { return out_; }

 private:
  void marker() {
    auto pointer = static_cast<std::uint16_t>(start_ ? out_.size() - *start_ : 0);
    if (!tampered_) pointer ^= tamper_.fpduptr_xor;
    tampered_ = true;
    put_u16(out_, tamper_.marker_reserved);
    put_u16(out_, pointer);
  }

  const Framing& framing_;
  const Tamper& tamper_;
  Octets out_;
  std::optional<std::size_t> start_;  ///< offset of the ULPDU_Length field in out_
  bool tampered_ = false;
};

}  // namespace

Octets make_fpdu(bytes::View ulpdu, Framing& framing, const Tamper& tamper) {
  Layout layout(framing, tamper);
  const auto length = tamper.ulpdu_length.value_or(static_cast<std::uint16_t>(ulpdu.size()));
  layout.octet(static_cast<std::byte>(length >> 8));
  layout.octet(static_cast<std::byte>(length & 0xFF));
  for (const std::byte octet : ulpdu) layout.octet(octet);
  for (auto n = mpa::pad_size(ulpdu.size()); n != 0; --n) {
    layout.octet(static_cast<std::byte>(tamper.pad_fill));
  }
  layout.before_crc();

  const std::uint32_t crc = (framing.crc ? crc32c::compute(layout.octets()) : 0) ^ tamper.crc_xor;
  Octets out = layout.take();
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<std::byte>((crc >> shift) & 0xFF));
  }
  if (tamper.flip_octet) out.at(*tamper.flip_octet) ^= std::byte{1};
  framing.position += out.size();
  return out;
}

Octets make_ulpdu(const ddp::SegmentHeader& header, bytes::View payload) {
  Octets out(header.size());
  bytes::Writer writer(out);
  ddp::encode(header, writer);
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

ddp::SegmentHeader untagged(rdmap::Opcode opcode, std::uint32_t msn, std::uint32_t inv_stag) {
  return {.last = true,
          .rsvd_ulp = rdmap::control_octet(opcode),
          .rsvd_ulp_rest = inv_stag,
          .qn = rdmap::info(opcode).qn,
          .msn = {msn}};
}

ddp::SegmentHeader tagged(rdmap::Opcode opcode, std::uint32_t stag, std::uint64_t to) {
  return {.tagged = true,
          .last = true,
          .rsvd_ulp = rdmap::control_octet(opcode),
          .stag = {stag},
          .to = {to}};
}

Octets encode_read_request(const rdmap::ReadRequest& request) {
  Octets out(rdmap::kReadRequestSize);
  bytes::Writer writer(out);
  rdmap::encode(request, writer);
  return out;
}

Octets pattern(std::size_t n, std::uint32_t seed) {
  Octets out(n);
  for (std::size_t i = 0; i < n; ++i) {
    seed = seed * 1664525U + 1013904223U;
    out[i] = static_cast<std::byte>('A' + (seed >> 24) % 26);
  }
  return out;
}

}  // namespace iwarp::apps::conform
