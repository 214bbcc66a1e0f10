// SPDX-License-Identifier: Apache-2.0
// MPA startup of both roles: interprets the two frames (RFC 5044 section 7.1, RFC 6581). Startup
// never stores more than one frame of the peer, and a frame has at most 532 octets.
#include "iwarp/mpa/startup.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "iwarp/mpa/faults.hpp"

namespace iwarp::mpa {
namespace {

constexpr std::uint8_t kPlain = 1;
constexpr std::uint8_t kEnhanced = 2;
constexpr Fault kOctetsBehindRequest{Layer::kMpa, 0, 0x04,
                                     "the initiator sent octets before the responder replied"};
constexpr Fault kWrongRevision{Layer::kMpa, 0, 0x04, "MPA revision not supported"};
constexpr Fault kNoEnhancedWord{Layer::kMpa, 0, 0x04,
                                "S=1, but the private data is too short for IRD and ORD"};
constexpr Fault kPlainAnswer{Layer::kMpa, 0, 0x04,
                             "the Reply to a Request with S=1 must have revision 2 and S=1"};

/// Returns the options, clamped to values that the frames can carry. [EMPA-51]
StartupOptions sane(Role role, StartupOptions options) {
  options.revision = std::clamp(options.revision, kPlain, kEnhanced);
  options.ird = std::min(options.ird, kMaxReads);
  options.ord = std::min(options.ord, kMaxReads);
  options.min_ord = std::min(options.min_ord, kMaxReads);
  if (options.round_ird) options.ird = std::bit_floor(options.ird);
  options.max_ird = std::max(options.max_ird, options.ird);
  auto& kinds = options.rtr_supported;
  if (role == Role::kInitiator) {
    kinds.write = kinds.write || options.rtr == Rtr::kWrite;
    kinds.read = kinds.read || options.rtr == Rtr::kRead;
    kinds.send = kinds.send || options.rtr == Rtr::kSend;
  } else if (kinds.empty()) {
    kinds.write = true;  // an enhanced responder accepts at least one RTR kind [EMPA-32]
  }
  return options;
}

std::size_t private_data_limit(bool enhanced) {
  return enhanced ? kMaxPrivateData - kEnhancedWordSize : kMaxPrivateData;  // [MPA-80] [EMPA-10]
}

/// Returns the extensions that this end's tag should announce, or kNone if there is no room for the
/// tag.
Extensions extensions_to_advertise(const StartupOptions& options, bool enhanced,
                                   bytes::View private_data) {
  const auto word = enhanced ? kEnhancedWordSize : 0;
  const bool fits = word + private_data.size() + kExtensionsTagSize <= kMaxTaggedPrivateData;
  if (!options.extensions || !fits) return Extensions::kNone;
  if (!options.send_immediate) return Extensions::kRfc7306;
  return options.acknowledged ? Extensions::kAcknowledged : Extensions::kSendImmediate;
}

void set_kinds(EnhancedWord& word, const RtrSet& kinds) {
  word.peer_to_peer = true;
  word.rtr_send = kinds.send;
  word.rtr_write = kinds.write;
  word.rtr_read = kinds.read;
}

/// Returns the enhanced word of a Reply, in which IRD and ORD are still 0. The word echoes the A
/// bit of the Request. It has the RTR kinds that both ends support or, if they have none in common,
/// the kinds that this end supports. If A=0, the word has no RTR kind. [EMPA-33] [EMPA-34]
/// [EMPA-35] [EMPA-37] [EMPA-41] [EMPA-42]
EnhancedWord rtr_answer(const PeerOffer& offer, const RtrSet& supported) {
  EnhancedWord word;
  if (!offer.peer_to_peer) return word;
  const auto common = supported.common(offer.rtr);
  set_kinds(word, common.empty() ? supported : common);
  return word;
}

/// Returns the RTR kind to send: the preferred kind if both ends support it, otherwise the cheapest
/// kind that both support.
Rtr choose_rtr(Rtr preferred, const RtrSet& both) {
  for (const Rtr kind : {preferred, Rtr::kWrite, Rtr::kRead, Rtr::kSend}) {
    if (both.has(kind)) return kind;
  }
  return Rtr::kNone;
}

}  // namespace

Startup::Startup(Role role, const StartupOptions& options)
    : role_(role), options_(sane(role, options)) {
  in_.reserve(startup_frame_size(kMaxPrivateData));
  negotiated_.role = role;
}

bool Startup::request(bytes::View private_data, TimePoint now) {
  // The Request has Rev 2 with S=1, or Rev 1 with S=0. [MPA-75] [EMPA-4] [EMPA-5] [EMPA-47]
  const bool enhanced = options_.revision == kEnhanced;
  if (role_ != Role::kInitiator || state_ != StartupState::kIdle ||
      private_data.size() > private_data_limit(enhanced)) {
    return false;
  }
  enter(StartupEvent::kSendRequest);
  EnhancedWord word;
  // Without an RTR, the bits for RTR kinds stay zero. [EMPA-30] [EMPA-31] [EMPA-40]
  if (options_.rtr != Rtr::kNone) {
    set_kinds(word, options_.rtr_supported);
  }
  word.ird = options_.negotiate_ird ? options_.ird : kNoNegotiation;
  word.ord = options_.negotiate_ord ? options_.ord : kNoNegotiation;
  advertised_ = extensions_to_advertise(options_, enhanced, private_data);
  queue({.kind = FrameKind::kRequest,
         .markers = options_.markers,
         .crc = options_.crc,
         .enhanced = enhanced,
         .revision = options_.revision,
         .private_data = {}},
        word, private_data, advertised_);
  deadline_ = now + options_.timeout;
  return true;  // [MPA-81] [MPA-82]
}

void Startup::listen(TimePoint now) {
  if (role_ != Role::kResponder || state_ != StartupState::kIdle) return;
  enter(StartupEvent::kListen);
  deadline_ = now + options_.timeout;
}

std::size_t Startup::receive(bytes::View octets, TimePoint now) {
  handle_timeout(now);
  switch (state_) {
    case StartupState::kAwaitReply:
      return collect(FrameKind::kReply, octets);
    case StartupState::kAwaitRequest: {
      const auto taken = collect(FrameKind::kRequest, octets);
      if (state_ != StartupState::kAwaitDecision) return taken;
      return taken + receive(octets.subspan(taken), now);
    }
    case StartupState::kAwaitDecision:
      // An initiator must send nothing between its Request and this end's Reply. [MPA-89] After the
      // ULP's decision, startup does not check this: the Reply and the initiator's octets may
      // cross, so this end cannot know whether the initiator had received the Reply when it sent
      // those octets.
      if (!octets.empty()) fail(StartupEvent::kEarlyOctets, kOctetsBehindRequest);
      return octets.size();
    case StartupState::kFailed:
      return octets.size();
    case StartupState::kIdle:
    case StartupState::kFullOperation:
    case StartupState::kRejected:
      return 0;
  }
  return 0;
}

void Startup::closed(TimePoint now) {
  handle_timeout(now);
  if (is_final(state_)) return;
  // A responder without RFC 6581 closes the connection when it receives an enhanced Request, so
  // the driver may try again with a plain one. [EMPA-50]
  const bool unanswered = state_ == StartupState::kAwaitReply && in_.empty();
  const bool asked = options_.revision == kEnhanced && out_sent_ == out_.size();
  fail(StartupEvent::kConnectionLost, kTcpLost, unanswered && asked);
  if (unanswered) failure_->unanswered = true;
}

bool Startup::accept(bytes::View private_data, std::uint16_t ird, std::uint16_t ord) {
  if (state_ != StartupState::kAwaitDecision ||
      private_data.size() > private_data_limit(offer_->enhanced)) {
    return false;
  }
  EnhancedWord word = rtr_answer(*offer_, options_.rtr_supported);
  negotiated_.ird = std::min(ird, kMaxReads);
  negotiated_.ord = std::min(ord, kMaxReads);
  if (options_.round_ird) negotiated_.ird = std::bit_floor(negotiated_.ird);
  if (offer_->enhanced) {
    // The peer's IRD may be kNoNegotiation. This value is larger than any ORD, so the minimum is
    // then this end's ORD. [EMPA-17] [EMPA-18] [EMPA-28]
    negotiated_.ord = std::min(negotiated_.ord, offer_->ird);
    if (word.rtr_read) negotiated_.ird = std::max<std::uint16_t>(negotiated_.ird, 1);  // [EMPA-19]
    const bool say_ird = options_.negotiate_ird && offer_->ord != kNoNegotiation;      // [EMPA-26]
    const bool say_ord = options_.negotiate_ord && offer_->ird != kNoNegotiation;      // [EMPA-28]
    word.ird = say_ird ? negotiated_.ird : kNoNegotiation;
    word.ord = say_ord ? negotiated_.ord : kNoNegotiation;
  }
  negotiated_.peer_to_peer = word.peer_to_peer;
  const auto ours = extensions_to_advertise(options_, offer_->enhanced, private_data);
  const auto agreed = std::min(spoken(peer_extensions_), spoken(ours));
  const auto theirs = agreed == spoken(ours) ? ours : agreed;
  agree_on(agreed);
  queue({.kind = FrameKind::kReply,
         .markers = options_.markers,
         .crc = negotiated_.crc,
         .enhanced = offer_->enhanced,
         .revision = offer_->revision,
         .private_data = {}},
        word, private_data, theirs);
  enter(StartupEvent::kAccept);  // [MPA-87] [MPA-88]
  return true;
}

bool Startup::reject(bytes::View private_data) {
  if (state_ != StartupState::kAwaitDecision ||
      private_data.size() > private_data_limit(offer_->enhanced)) {
    return false;
  }
  reject_with(options_.ord, private_data);
  enter(StartupEvent::kReject);
  return true;
}

// A responder has nothing to send before the ULP accepts or rejects a valid Request. [MPA-83]
void Startup::transmitted(std::size_t n) { out_sent_ += std::min(n, out_.size() - out_sent_); }

std::optional<TimePoint> Startup::timeout() const { return deadline_; }

void Startup::handle_timeout(TimePoint now) {
  // The whole exchange has one deadline, which octets that trickle in do not extend. [MPA-99]
  // [MPA-102]
  if (deadline_ && now >= *deadline_) fail(StartupEvent::kTimeout, kStartupTimeout);
}

StartupState Startup::state() const { return state_; }

// The ULP reads the peer's private data, and may close the connection because of it. [MPA-95]
bytes::View Startup::peer_private_data() const {
  return bytes::View(in_).subspan(offer_ ? private_offset_ : 0, private_size_);
}

const std::optional<PeerOffer>& Startup::peer_offer() const { return offer_; }
const Negotiated& Startup::negotiated() const { return negotiated_; }
const std::optional<Failure>& Startup::failure() const { return failure_; }

void Startup::enter(StartupEvent event) {
  bytes::advance(kStartupEdges, state_, event);
  if (is_final(state_)) deadline_.reset();
}

void Startup::fail(StartupEvent event, const Fault& fault, bool retry_plain) {
  enter(event);
  failure_ = Failure{
      .fault = fault, .timed_out = event == StartupEvent::kTimeout, .retry_plain = retry_plain};
}

/// Stores octets until the frame is complete, but no octet after the frame. [MPA-100]
std::size_t Startup::collect(FrameKind kind, bytes::View octets) {
  std::size_t taken = 0;
  for (;;) {
    const auto decoded = decode_startup_frame(kind, in_);
    if (!decoded) {
      const bool speaks_tls = begins_with_tls(in_);
      fail(StartupEvent::kMalformedFrame,
           speaks_tls ? kTlsSpoken : decoded.error());  // [MPA-84] [MPA-90]
      failure_->speaks_tls = speaks_tls;
      return octets.size();
    }
    if (const auto* frame = std::get_if<StartupFrame>(&*decoded)) {
      // In either direction, the octets after this frame belong to full operation. [MPA-62]
      // [MPA-64]
      kind == FrameKind::kRequest ? on_request(*frame) : on_reply(*frame);
      return state_ == StartupState::kFailed ? octets.size() : taken;
    }
    const auto missing = std::get<NeedOctets>(*decoded).total - in_.size();
    const auto piece = octets.subspan(taken, std::min(missing, octets.size() - taken));
    if (piece.empty()) return taken;
    in_.insert(in_.end(), piece.begin(), piece.end());
    taken += piece.size();
  }
}

// The peer's M decides whether this end inserts markers, C in either frame decides whether there
// are CRCs, and R has no meaning in a Request. [MPA-73]
void Startup::on_request(const StartupFrame& frame) {
  // Rev 0 is the RDMA Consortium's protocol, which is refused. [MPA-76] [MPA-77] [MPA-118]
  if (frame.revision == 0 || frame.revision > options_.revision) {
    return fail(StartupEvent::kMalformedFrame, kWrongRevision);
  }
  // With the option `revision = 1`, S=1 fails the set-up whatever Rev is. [EMPA-49] With revision
  // 2, S in a Rev 1 frame is a reserved bit (RFC 5044) and is ignored, and a Rev 2 frame with S=0
  // is a plain Request. [EMPA-3] [EMPA-6] [EMPA-48]
  if (options_.revision == kPlain && frame.enhanced) {
    return fail(StartupEvent::kMalformedFrame, kWrongRevision);
  }
  const bool enhanced = frame.enhanced && frame.revision == kEnhanced;
  if (enhanced && frame.private_data.size() < kEnhancedWordSize) {
    return fail(StartupEvent::kMalformedFrame, kNoEnhancedWord);  // [EMPA-7]
  }
  learn(frame, enhanced);
  if (frame.markers && !options_.allow_markers) {
    reject_with(options_.ord, {});
    enter(StartupEvent::kRefusedRequest);
  } else if (enhanced && offer_->ird < options_.min_ord) {
    // The Reply rejects the Request and names the ORD that this end needs. A Terminate is not
    // possible, because it needs full operation.
    reject_with(options_.min_ord, {});  // [EMPA-13] [EMPA-20] [EMPA-21]
    enter(StartupEvent::kRefusedRequest);
  } else {
    enter(StartupEvent::kGoodRequest);
  }
}

void Startup::on_reply(const StartupFrame& frame) {
  if (frame.revision == 0 || frame.revision > options_.revision) {  // [MPA-76] [MPA-77]
    return fail(StartupEvent::kMalformedFrame, kWrongRevision);
  }
  const bool enhanced = frame.enhanced && frame.revision == kEnhanced;
  if (enhanced && frame.private_data.size() < kEnhancedWordSize) {
    return fail(StartupEvent::kMalformedFrame, kNoEnhancedWord);  // [EMPA-7]
  }
  // A peer that accepts an enhanced Request with a plain Reply took the enhanced word for private
  // data of the ULP. The ULPs would misunderstand each other, so the driver has to start over with
  // a plain Request. [EMPA-45] [EMPA-50]
  if (options_.revision == kEnhanced && !enhanced && !frame.rejected) {
    return fail(StartupEvent::kMalformedFrame, kPlainAnswer, true);
  }
  learn(frame, enhanced);
  if (frame.rejected) {
    enter(StartupEvent::kRejectReply);  // [MPA-91]
    return;
  }
  const auto refusal = agree_on_reply();  // [MPA-89] [MPA-92]
  enter(refusal ? StartupEvent::kUnusableReply : StartupEvent::kGoodReply);
  if (refusal) failure_ = Failure{.fault = *refusal, .send_terminate = true};
}

/// Stores the values of the peer's frame that both roles use.
void Startup::learn(const StartupFrame& frame, bool enhanced) {
  auto& offer = offer_.emplace();
  offer.revision = frame.revision;
  offer.enhanced = enhanced;
  offer.crc = frame.crc;
  offer.markers = frame.markers;
  if (enhanced) {
    const auto word =
        decode_enhanced_word(bytes::load_be<std::uint32_t>(frame.private_data.data()));
    offer.peer_to_peer = word.peer_to_peer;
    if (word.peer_to_peer) {  // [EMPA-43]
      offer.rtr = {.write = word.rtr_write, .read = word.rtr_read, .send = word.rtr_send};
    }
    offer.ird = word.ird;
    offer.ord = word.ord;
    private_offset_ = kStartupHeaderSize + kEnhancedWordSize;
  }
  learn_extensions(frame);
  negotiated_.revision = frame.revision;
  negotiated_.enhanced = enhanced;
  negotiated_.crc = options_.crc || frame.crc;  // [MPA-37] [MPA-40] [MPA-71] [MPA-72]
  negotiated_.tx_markers = frame.markers;       // [MPA-24] [MPA-69] [MPA-70]
  negotiated_.rx_markers = options_.markers;
  negotiated_.ird = options_.ird;
  negotiated_.ord = options_.ord;
}

/// Reads the extensions tag and removes it from the private data that the ULP gets. A Reply has a
/// tag only if the Request had one. A rejection has no tag, so its last octets belong to the ULP.
/// [EXT-1]
void Startup::learn_extensions(const StartupFrame& frame) {
  const auto data = frame.private_data.subspan(private_offset_ - kStartupHeaderSize);
  const bool request = frame.kind == FrameKind::kRequest;
  const auto theirs = advertised_extensions(frame.kind, data);
  const bool answers = request || (!frame.rejected && spoken(theirs) <= spoken(advertised_));
  peer_extensions_ = answers ? theirs : Extensions::kNone;
  offer_->extensions = peer_extensions_ != Extensions::kNone;
  offer_->send_immediate = spoken(peer_extensions_) == Extensions::kSendImmediate;
  private_size_ = data.size() - (offer_->extensions ? kExtensionsTagSize : 0);
  if (!request) agree_on(spoken(peer_extensions_));
}

void Startup::agree_on(Extensions agreed) {
  negotiated_.extensions = agreed != Extensions::kNone;
  negotiated_.send_immediate = agreed == Extensions::kSendImmediate;
  negotiated_.peer_acknowledged =
      negotiated_.send_immediate && peer_extensions_ == Extensions::kAcknowledged;
}

/// Initiator: adapts this end's values to a Reply that accepts. Returns the Fault of the Terminate
/// to send, or nullopt if the Reply is acceptable.
std::optional<Fault> Startup::agree_on_reply() {
  if (!offer_->enhanced) return std::nullopt;
  // The peer's IRD may be kNoNegotiation. This value is larger than any ORD, so the minimum is then
  // this end's ORD. [EMPA-23] [EMPA-27]
  negotiated_.ord = std::min(negotiated_.ord, offer_->ird);
  if (offer_->ord != kNoNegotiation) {  // else this end keeps its IRD [EMPA-29]
    // The peer must not have more Reads than the application allows. [EMPA-24] [SEC-31]
    if (offer_->ord > options_.max_ird) return kInsufficientIrd;
    negotiated_.ird = std::max(negotiated_.ird, offer_->ord);  // [EMPA-22]
  }
  // There is no RTR unless both frames have A=1. Some old responders forget to echo A.
  if (options_.rtr == Rtr::kNone || !offer_->peer_to_peer) return std::nullopt;
  // Ignore RTR kinds that this end did not offer. [EMPA-36]
  negotiated_.rtr = choose_rtr(options_.rtr, options_.rtr_supported.common(offer_->rtr));
  if (negotiated_.rtr == Rtr::kNone) return kNoMatchingRtr;  // [EMPA-39]
  negotiated_.peer_to_peer = true;                           // [EMPA-38]
  if (negotiated_.rtr == Rtr::kRead) {
    negotiated_.ord = std::max<std::uint16_t>(negotiated_.ord, 1);  // the RTR itself is a Read
  }
  return std::nullopt;
}

void Startup::reject_with(std::uint16_t ord, bytes::View private_data) {
  EnhancedWord word = rtr_answer(*offer_, options_.rtr_supported);
  word.ird = options_.ird;
  word.ord = ord;
  queue({.kind = FrameKind::kReply,
         .markers = options_.markers,
         .crc = negotiated_.crc,
         .rejected = true,  // [MPA-85] [MPA-96]
         .enhanced = offer_->enhanced,
         .revision = offer_->revision,
         .private_data = {}},
        word, private_data);
}

/// Queues a frame. A Reply has the same Rev as its Request, and an enhanced word if the Request had
/// one. [EMPA-45] [EMPA-46] The C bit of a Reply states the outcome for the connection, not what
/// this end wants: kernel siw, if it requires CRC, drops a connection whose Reply does not repeat
/// C=1.
void Startup::queue(StartupFrame frame, const EnhancedWord& word, bytes::View private_data,
                    Extensions theirs) {
  std::array<std::byte, kMaxPrivateData> payload;
  bytes::Writer content(payload);
  if (frame.enhanced) content.u32(encode(word));
  content.put(private_data);
  if (theirs != Extensions::kNone) {
    content.put(std::as_bytes(std::span(extensions_tag(frame.kind, theirs))));
  }
  frame.private_data = content.written();
  out_.resize(startup_frame_size(frame.private_data.size()));
  bytes::Writer out(out_);
  encode(frame, out);
  out_sent_ = 0;
}

}  // namespace iwarp::mpa
