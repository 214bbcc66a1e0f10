// SPDX-License-Identifier: Apache-2.0
// WireScript encodes what both ends of a connection send, frame by frame, with the project's own
// codecs. The near end is the initiator. WireScript does not model timing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/mpa/framer.hpp"
#include "iwarp/mpa/startup_frame.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::test {

/// Values for `outbound`: which end sends.
constexpr bool kNear = true;
constexpr bool kFar = false;

class WireScript {
 public:
  struct Options {
    bool near_markers = false;  ///< M flag of the Request: if set, the far end sends markers
    bool far_markers = false;   ///< M flag of the Reply: if set, the near end sends markers
    bool crc = true;
  };
  struct Sent {
    bool outbound;  ///< set if the near end sends the frame
    std::vector<std::byte> octets;
  };

  explicit WireScript(const Options& options)
      : options_(options),
        near_({.markers = options.far_markers, .crc = options.crc}),
        far_({.markers = options.near_markers, .crc = options.crc}) {}

  /// Returns a script that begins with a Request and a Reply.
  static WireScript started(const Options& options = {false, false, true}) {
    WireScript out(options);
    out.request();
    out.reply();
    return out;
  }

  /// Adds a frame that this script's options do not determine.
  void startup(const mpa::StartupFrame& frame) {
    std::vector<std::byte> octets(mpa::startup_frame_size(frame.private_data.size()));
    bytes::Writer writer(octets);
    encode(frame, writer);
    sent.push_back({frame.kind == mpa::FrameKind::kRequest, std::move(octets)});
  }
  void request(bytes::View private_data = {}) {
    startup({.kind = mpa::FrameKind::kRequest,
             .markers = options_.near_markers,
             .crc = options_.crc,
             .private_data = private_data});
  }
  void reply(bool rejected = false) {
    startup({.kind = mpa::FrameKind::kReply,
             .markers = options_.far_markers,
             .crc = options_.crc,
             .rejected = rejected});
  }

  void tagged(bool outbound, rdmap::Opcode opcode, std::uint32_t stag, std::uint64_t to,
              bytes::View payload, bool last = true) {
    fpdu(outbound,
         {.tagged = true,
          .last = last,
          .rsvd_ulp = rdmap::control_octet(opcode),
          .stag = {stag},
          .to = {to}},
         payload);
  }
  void send(bool outbound, std::uint32_t msn, bytes::View payload,
            rdmap::Opcode opcode = rdmap::Opcode::kSend, std::uint32_t stag = 0) {
    fpdu(outbound,
         {.last = true,
          .rsvd_ulp = rdmap::control_octet(opcode),
          .rsvd_ulp_rest = stag,
          .qn = rdmap::kSendQueue,
          .msn = {msn}},
         payload);
  }
  void read_request(bool outbound, std::uint32_t msn, const rdmap::ReadRequest& request) {
    std::array<std::byte, rdmap::kReadRequestSize> octets;
    bytes::Writer writer(octets);
    encode(request, writer);
    fpdu(outbound,
         {.last = true,
          .rsvd_ulp = rdmap::control_octet(rdmap::Opcode::kReadRequest),
          .qn = rdmap::kReadRequestQueue,
          .msn = {msn}},
         octets);
  }
  void terminate(bool outbound, const bytes::Fault& fault) {
    std::array<std::byte, rdmap::kMaxTerminateSize> octets;
    bytes::Writer writer(octets);
    encode(rdmap::make_terminate(fault, std::nullopt), writer);
    fpdu(outbound,
         {.last = true,
          .rsvd_ulp = rdmap::control_octet(rdmap::Opcode::kTerminate),
          .qn = rdmap::kTerminateQueue},
         writer.written());
  }
  void fpdu(bool outbound, const ddp::SegmentHeader& header, bytes::View payload) {
    std::array<std::byte, ddp::kUntaggedHeaderSize> octets;
    bytes::Writer writer(octets);
    encode(header, writer);
    bytes::Gather gather;
    if (!payload.empty()) gather.push_back(payload);
    mpa::Framer& framer = outbound ? near_ : far_;
    framer.frame(writer.written(), gather, mpa::PayloadMode::kInPlace, 0);
    std::vector<std::byte> wire;
    for (const bytes::View piece : framer.plan(1024)) {
      wire.insert(wire.end(), piece.begin(), piece.end());
    }
    framer.sent(wire.size());
    while (framer.pop_sent()) {
    }
    sent.push_back({outbound, std::move(wire)});
  }

  std::vector<Sent> sent;  ///< one element for each frame

 private:
  Options options_;
  mpa::Framer near_, far_;
};

/// Returns `n` octets with the values 0, 1, 2 and so on, modulo 256.
inline std::vector<std::byte> counting(std::size_t n) {
  std::vector<std::byte> octets(n);
  for (std::size_t i = 0; i < n; ++i) octets[i] = static_cast<std::byte>(i & 0xFF);
  return octets;
}

/// Returns a short session: an RTR, an advertisement, a Write of three segments, a Read, a Send
/// with Invalidate, and a Write to the STag that is then invalid.
inline WireScript short_session(const WireScript::Options& options) {
  using rdmap::Opcode;
  constexpr std::uint32_t kStag = 0x11223344;
  const auto payload = counting(700);
  WireScript script(options);
  script.request(counting(4));
  script.reply();
  script.tagged(kNear, Opcode::kWrite, 1, 0, {});
  script.send(kFar, 1, counting(16));
  script.tagged(kNear, Opcode::kWrite, kStag, 0x1000, payload, false);
  script.tagged(kNear, Opcode::kWrite, kStag, 0x1000 + 700, payload, false);
  script.tagged(kNear, Opcode::kWrite, kStag, 0x1000 + 1400, counting(33));
  script.read_request(kNear, 1, {{0x55667788}, {0x2000}, 64, {kStag}, {0x1000}});
  script.tagged(kFar, Opcode::kReadResponse, 0x55667788, 0x2000, counting(64));
  script.send(kNear, 1, counting(40), Opcode::kSendInvalidate, kStag);
  script.tagged(kNear, Opcode::kWrite, kStag, 0x1000, counting(4));
  script.terminate(kFar, ddp::kTaggedInvalidStag);
  return script;
}

}  // namespace iwarp::test
