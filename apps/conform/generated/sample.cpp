// SPDX-License-Identifier: Apache-2.0
// Builds valid samples. Brings connections into the states in which the tester sends the samples.
#include "conform/generated/sample.hpp"

#include <algorithm>

namespace iwarp::apps::conform::generated {
namespace {

using rdmap::Opcode;

constexpr std::uint64_t kOurSink = Script::kOurTo + 768 * 1024;

bool in_untagged(State state) { return state == State::kInSend; }
bool in_tagged(State state) { return state == State::kInWrite || state == State::kInReadResponse; }

Octets send_text(const Progress& progress) {
  if (!progress.peer_listens) return Octets(kReceiveSize);
  const bool source = progress.state == State::kEstablished;
  return advert_of(source ? 0 : kSinkOffset, kExchangeSize);
}

bytes::View rest_of(bytes::View octets, std::uint32_t begun) {
  return octets.subspan(std::min<std::size_t>(begun, octets.size()));
}

Sample send_sample(Opcode opcode, const Progress& p) {
  const std::uint32_t begun = p.state == State::kInSend ? p.begun : 0;
  Sample s{.header = untagged(opcode, p.next_msn[rdmap::kSendQueue])};
  if (rdmap::info(opcode).invalidates) s.header.rsvd_ulp_rest = p.memory.stag;
  s.header.mo = begun;
  const Octets text = send_text(p);
  const auto rest = rest_of(text, begun);
  s.payload.assign(rest.begin(), rest.end());
  return s;
}

Sample write_sample(const Progress& p) {
  const std::uint32_t begun = p.state == State::kInWrite ? p.begun : 0;
  Sample s{.header = tagged(Opcode::kWrite, p.memory.stag, p.memory.to + begun)};
  if (p.memory.length != 0) s.payload = pattern(kPiece, 71 + begun);
  return s;
}

Sample read_sample(const Progress& p) {
  Sample s{.header = untagged(Opcode::kReadRequest, p.next_msn[rdmap::kReadRequestQueue])};
  s.read = {.sink_stag = {Script::kOurStag},
            .sink_to = {kOurSink},
            .size = p.memory.length == 0 ? 0 : kPiece,
            .source_stag = {p.memory.stag},
            .source_to = {p.memory.to}};
  return s;
}

Sample response_sample(const Progress& p, bytes::View our_memory) {
  const std::uint32_t begun = p.state == State::kInReadResponse ? p.begun : 0;
  Sample s{.header = tagged(Opcode::kReadResponse, p.memory.stag, p.memory.to + begun)};
  if (p.asked) {
    const auto rest = our_memory.subspan(begun, p.asked->size - begun);
    s.payload.assign(rest.begin(), rest.end());
  } else if (p.memory.length != 0) {
    s.payload = pattern(kPiece, 73);
  }
  return s;
}

void begin_send(Script& script, const Progress& p) {
  auto header = untagged(Opcode::kSend, p.next_msn[rdmap::kSendQueue]);
  header.last = false;
  script.fpdu(make_ulpdu(header, bytes::View(send_text(p)).first(kBegun)));
}

void begin_tagged(Script& script, ddp::SegmentHeader header, bytes::View payload) {
  header.last = false;
  script.fpdu(make_ulpdu(header, payload));
}

// Makes the peer send a Read Request for the tester's memory. Returns the request; the caller must
// answer it.
rdmap::ReadRequest provoke_read(Script& script) {
  show_text(script, kExchangeSize);
  script.send(advert_of(0, kExchangeSize));
  script.serve_memory(false);
  const auto request = rdmap::decode_read_request(script.expect(Opcode::kReadRequest).payload);
  script.serve_memory(true);
  if (!request || request->size != kExchangeSize) {
    throw Failed{"a Read Request for the advertised octets", "a Read Request for other octets"};
  }
  return *request;
}

}  // namespace

Octets Sample::ulpdu() const {
  Octets out = make_ulpdu(header, read ? encode_read_request(*read) : payload);
  out[0] |= static_cast<std::byte>(ddp_reserved);
  if (ulpdu_length) out.resize(*ulpdu_length);
  return out;
}

Sample right_sample(Opcode opcode, const Progress& progress, bytes::View our_memory) {
  switch (opcode) {
    case Opcode::kWrite:
      return write_sample(progress);
    case Opcode::kReadRequest:
      return read_sample(progress);
    case Opcode::kReadResponse:
      return response_sample(progress, our_memory);
    case Opcode::kTerminate:
      return {.header = untagged(opcode, progress.next_msn[rdmap::kTerminateQueue]),
              .payload = Octets(4)};
    default:
      return send_sample(opcode, progress);
  }
}

bool continues(const Sample& sample, const Progress& p) {
  if (in_untagged(p.state)) return !sample.header.tagged && sample.header.qn == rdmap::kSendQueue;
  return in_tagged(p.state) && sample.header.tagged;
}

Progress reach(Script& script, State state, bool crc) {
  script.establish({.crc = crc});
  Progress p{.state = state,
             .peer_listens = script.peer_role() == PeerRole::kResponder,
             .crc = script.crc()};
  if (state == State::kReadRequested || state == State::kInReadResponse) {
    p.asked = provoke_read(script);
    p.memory = {p.asked->sink_stag.value, p.asked->sink_to.value, p.asked->size};
  } else if (state != State::kEstablished || !p.peer_listens) {
    p.memory = learn_memory(script);
  }
  for (const auto opcode : {Opcode::kSend, Opcode::kReadRequest, Opcode::kTerminate}) {
    p.next_msn[rdmap::info(opcode).qn] = script.next_msn(opcode);
  }
  if (state == State::kInSend) {
    p.begun = kBegun;
    begin_send(script, p);
  } else if (state == State::kInWrite) {
    p.begun = kBegun;
    begin_tagged(script, tagged(Opcode::kWrite, p.memory.stag, p.memory.to), pattern(kBegun, 71));
  } else if (state == State::kInReadResponse) {
    p.begun = kExchangeSize / 2;
    begin_tagged(script, tagged(Opcode::kReadResponse, p.memory.stag, p.memory.to),
                 bytes::View(script.memory()).first(p.begun));
  } else if (state == State::kBehindTerminate) {
    script.terminate(bytes::Fault{});
    p.next_msn[rdmap::kTerminateQueue] = script.next_msn(Opcode::kTerminate);
  }
  return p;
}

void finish(Script& script, const Progress& p) {
  if (p.begun == 0) return;
  const auto opcode = p.state == State::kInSend    ? Opcode::kSend
                      : p.state == State::kInWrite ? Opcode::kWrite
                                                   : Opcode::kReadResponse;
  script.fpdu(right_sample(opcode, p, script.memory()).ulpdu());
}

}  // namespace iwarp::apps::conform::generated
