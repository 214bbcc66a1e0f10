// SPDX-License-Identifier: Apache-2.0
// Performs MPA startup from the tester's side (RFC 5044 section 7.1, RFC 6581 section 9).
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <thread>

#include "conform/script/recorder.hpp"
#include "conform/script/script.hpp"

namespace iwarp::apps::conform {
namespace {

mpa::EnhancedWord word_of(const Setup& setup) {
  if (setup.word) return *setup.word;
  const auto offers = [&](mpa::Rtr kind) { return setup.peer_to_peer && setup.rtr == kind; };
  return {.peer_to_peer = setup.peer_to_peer,
          .rtr_send = offers(mpa::Rtr::kSend),
          .ird = setup.ird,
          .rtr_write = offers(mpa::Rtr::kWrite),
          .rtr_read = offers(mpa::Rtr::kRead),
          .ord = setup.ord};
}

Octets private_data_of(mpa::FrameKind kind, const Setup& setup) {
  Octets out;
  if (setup.revision >= 2) {
    out.resize(mpa::kEnhancedWordSize);
    bytes::Writer writer(out);
    writer.u32(encode(word_of(setup)));
  }
  out.insert(out.end(), setup.private_data.begin(), setup.private_data.end());
  if (setup.extensions) {
    const auto tag = std::as_bytes(std::span(mpa::extensions_tag(kind)));
    out.insert(out.end(), tag.begin(), tag.end());
  }
  return out;
}

mpa::Rtr kind_in(const mpa::EnhancedWord& word, mpa::Rtr preferred) {
  if (preferred == mpa::Rtr::kWrite && word.rtr_write) return preferred;
  if (preferred == mpa::Rtr::kRead && word.rtr_read) return preferred;
  if (preferred == mpa::Rtr::kSend && word.rtr_send) return preferred;
  if (word.rtr_write) return mpa::Rtr::kWrite;
  return word.rtr_read ? mpa::Rtr::kRead : mpa::Rtr::kSend;
}

// Adapts `setup` to the peer's Request: copies the revision and the flag A of the Request, selects
// a kind of RTR that the Request offers, and limits ORD to the Request's IRD. Also sets C if the
// Request has C.
Setup answer_to(const mpa::StartupFrame& request, const mpa::EnhancedWord& word, Setup setup) {
  if (!request.enhanced) setup.revision = 1;
  setup.crc = setup.crc || request.crc;
  setup.peer_to_peer = word.peer_to_peer;
  if (word.peer_to_peer) setup.rtr = kind_in(word, setup.rtr);
  if (request.enhanced) {
    const bool free = word.ird == mpa::kNoNegotiation;
    setup.ord = free ? mpa::kNoNegotiation : std::min(setup.ord, word.ird);
    if (word.ord == mpa::kNoNegotiation) setup.ird = mpa::kNoNegotiation;
  }
  return setup;
}

}  // namespace

Octets Script::make_startup(const mpa::StartupFrame& frame) {
  our_startup_ = frame;
  peer_reader_.said(frame);
  Octets out(mpa::startup_frame_size(frame.private_data.size()));
  bytes::Writer writer(out);
  mpa::encode(frame, writer);
  return out;
}

Octets Script::make_startup(const Setup& wanted) {
  Setup setup = wanted;
  setup.revision = std::min(setup.revision, target_.revision);
  const auto kind =
      peer_role() == PeerRole::kResponder ? mpa::FrameKind::kRequest : mpa::FrameKind::kReply;
  our_private_ = private_data_of(kind, setup);
  return make_startup({.kind = kind,
                       .markers = setup.markers,
                       .crc = setup.crc,
                       .enhanced = setup.revision >= 2,
                       .revision = setup.revision,
                       .private_data = our_private_});
}

void Script::send_startup(const mpa::StartupFrame& frame) { octets(make_startup(frame)); }

void Script::send_startup(const Setup& setup) { octets(make_startup(setup)); }

mpa::StartupFrame Script::expect_startup() { return take_startup(receive()); }

std::optional<mpa::StartupFrame> Script::startup_or_end() {
  Received received = receive();
  if (received.kind == Received::Kind::kClosed || received.kind == Received::Kind::kReset)
    return std::nullopt;
  return take_startup(std::move(received));
}

mpa::StartupFrame Script::take_startup(Received received) {
  const bool reply = peer_role() == PeerRole::kResponder;
  const char* wanted = reply ? "an MPA Reply" : "an MPA Request";
  if (received.kind != Received::Kind::kStartup) throw Failed{wanted, describe(received)};
  const auto kind = reply ? mpa::FrameKind::kReply : mpa::FrameKind::kRequest;
  if (received.startup->kind != kind) throw Failed{wanted, describe(received)};
  peer_startup_octets_ = std::move(received.octets);
  peer_private_.assign(peer_startup_octets_.begin() + mpa::kStartupHeaderSize,
                       peer_startup_octets_.end());
  peer_startup_ = received.startup;
  peer_startup_->private_data = peer_private_;
  bytes::Reader word(peer_private_);
  const auto value = word.u32();
  peer_word_ = {};
  if (peer_startup_->enhanced && word.ok()) peer_word_ = mpa::decode_enhanced_word(value);
  return *peer_startup_;
}

void Script::expect_refusal() {
  const Received received = receive();
  if (received.kind != Received::Kind::kClosed && received.kind != Received::Kind::kReset) {
    throw Failed{"the end of the connection, without an answer", describe(received)};
  }
}

Setup Script::await_peer(const Setup& setup) {
  open();
  if (peer_role() == PeerRole::kResponder) return setup;
  const auto request = expect_startup();
  Setup answer = answer_to(request, peer_word_, setup);
  answer.extensions =
      setup.extensions && mpa::ends_with_extensions_tag(request.kind, peer_private_);
  return answer;
}

mpa::StartupFrame Script::expect_accept() {
  if (peer_role() == PeerRole::kResponder && expect_startup().rejected) {
    throw Failed{"an MPA Reply with R=0", "an MPA Reply with R=1"};
  }
  return *peer_startup_;
}

mpa::StartupFrame Script::establish(const Setup& wanted) {
  const Setup setup = await_peer(wanted);
  send_startup(setup);
  expect_accept();
  const bool rtr = setup.peer_to_peer && peer_word_.peer_to_peer;
  begin(rtr ? setup.rtr : mpa::Rtr::kNone);
  return *peer_startup_;
}

mpa::StartupFrame Script::establish_or_skip(const Setup& setup, std::string_view feature) {
  const std::string no = fmt::format("the peer does not offer {}", feature);
  std::optional<mpa::StartupFrame> frame;
  try {
    frame = establish(setup);
  } catch (const Failed&) {
    throw Skipped{no};
  }
  const bool p2p_missing = setup.peer_to_peer && !peer_word_.peer_to_peer;
  const bool tag_missing =
      setup.extensions && !mpa::ends_with_extensions_tag(frame->kind, peer_private_);
  if (p2p_missing || tag_missing) throw Skipped{no};
  return *frame;
}

void Script::begin(mpa::Rtr rtr) {
  framing_ = {.markers = peer_startup_->markers,
              .crc = our_startup_->crc || peer_startup_->crc,
              .position = 0};
  if (peer_role() == PeerRole::kInitiator) {
    if (rtr != mpa::Rtr::kNone) take_rtr(rtr);
    return;
  }
  // Some peers lose the first FPDU if it follows the Reply immediately, so the user can set a
  // delay.
  std::this_thread::sleep_for(target_.first_fpdu_delay);
  if (rtr != mpa::Rtr::kNone) send_rtr(rtr);
}

void Script::send_rtr(mpa::Rtr kind) {
  if (kind == mpa::Rtr::kSend) return send({});
  if (kind == mpa::Rtr::kWrite) return write(1, 0, {});
  read_request({.sink_stag = {1}, .sink_to = {}, .size = 0, .source_stag = {1}, .source_to = {}});
  serve_memory(false);
  expect(rdmap::Opcode::kReadResponse);
  serve_memory(true);
}

void Script::take_rtr(mpa::Rtr kind) {
  constexpr rdmap::Opcode kOpcodes[] = {rdmap::Opcode::kWrite, rdmap::Opcode::kWrite,
                                        rdmap::Opcode::kReadRequest, rdmap::Opcode::kSend};
  serve(Serve::kNothing);
  const auto message = expect(kOpcodes[static_cast<std::size_t>(kind)]);
  serve(Serve::kMemory);
  if (kind != mpa::Rtr::kRead) return;
  if (const auto request = rdmap::decode_read_request(message.payload)) {
    read_response(request->sink_stag.value, request->sink_to.value, {});
  }
}

}  // namespace iwarp::apps::conform
