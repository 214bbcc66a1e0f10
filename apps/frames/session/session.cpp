// SPDX-License-Identifier: Apache-2.0
// Records what each end has sent, and interprets each frame in this context.
#include "frames/session/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <utility>

#include "frames/session/frame_rules.hpp"
#include "frames/session/stag_book.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::apps::frames {
namespace {

using bytes::View;
using rdmap::Opcode;

/// A message whose last segment has not yet been seen.
struct Message {
  std::uint64_t operation = 0;
  std::uint64_t octets = 0;  ///< number of payload octets seen so far
  ddp::SegmentHeader first;
};

/// A Read Request or Atomic Request that has not yet been answered.
struct Request {
  std::uint64_t frame = 0;
  std::uint64_t operation = 0;
  /// The decoded Read Request. Like atomic_id, it is nullopt if the request's header was not
  /// captured.
  std::optional<rdmap::ReadRequest> read;
  std::optional<std::uint32_t> atomic_id;
  bool is_read = false;
  bool unsure = false;
};

/// A recently sent segment. A later Terminate may report it.
struct Recent {
  std::uint64_t frame = 0;
  std::array<std::byte, ddp::kUntaggedHeaderSize> header{};
  std::size_t size = 0;
  bool faulty = false;
};

/// What is known about one end, from the frames that this end has sent.
struct End {
  std::optional<mpa::StartupFrame> startup;  ///< the end's startup frame, without private data
  std::optional<mpa::EnhancedWord> word;
  bool complete = false;  ///< whether the capture has every octet since the startup frame
  std::uint64_t fpdus = 0;
  std::uint32_t untagged_messages = 0;
  std::uint64_t terminated = 0;  ///< frame with this end's Terminate; 0 if there is none
  std::array<std::optional<ddp::Msn>, ddp::kQueues> next_msn;
  std::array<std::optional<Message>, ddp::kQueues> untagged;
  std::array<std::optional<Message>, 2> tagged;  ///< the unfinished RDMA Write and Read Response
  std::deque<Request> requests;
  std::deque<Recent> recent;
  StagBook book;  ///< the payloads in which this end may have advertised its STags
  /// Whether responses have shown that this end sends its Read Requests in little-endian order.
  bool little_endian_reads = false;
};

rdmap::ReadRequest swapped(const rdmap::ReadRequest& r) {
  return {.sink_stag = {std::byteswap(r.sink_stag.value)},
          .sink_to = {std::byteswap(r.sink_to.value)},
          .size = std::byteswap(r.size),
          .source_stag = {std::byteswap(r.source_stag.value)},
          .source_to = {std::byteswap(r.source_to.value)}};
}

template <typename T>
void push_bounded(std::deque<T>& list, T value, std::size_t most) {
  if (list.size() == most) list.pop_front();
  list.push_back(std::move(value));
}

}  // namespace

struct Session::State {
  std::array<End, 2> ends;
  std::uint64_t frames = 0;
  std::uint64_t operations = 0;
  Explained explained;  ///< the result of see(), kept to reuse its memory

  End& end(Side side) { return ends[static_cast<std::size_t>(side)]; }

  void see_startup(Explained& e);
  void see_fpdu(Explained& e);
  void see_gap(Explained& e);
  void follow_untagged(Explained& e, End& sender);
  void follow_tagged(Explained& e, End& sender);
  void begin_untagged(Explained& e, End& sender);
  void message(Explained& e, End& sender, End& receiver);
  void request(Explained& e, End& sender, End& receiver);
  void read_response(Explained& e, End& sender, End& receiver);
  void atomic_response(Explained& e, End& sender, End& receiver);
  void terminate(Explained& e, End& sender, End& receiver);
  void join(Explained& e, const Request& request);
  template <typename IsIts>
  void find_byte_order(Explained& e, End& requester, const IsIts& is_its);
  void check_order(Explained& e, End& sender, End& receiver);
  void check_rtr(Explained& e, const End& initiator, const End& responder);
  void use_stag(Explained& e, End& owner, std::uint32_t stag, std::uint64_t to, bool empty);
  void remember(Explained& e, End& sender);
};

Session::Session() : state_(std::make_unique<State>()) {}
Session::~Session() = default;

std::size_t Session::unanswered(Side side) const {
  const auto& requests = state_->end(side).requests;
  return requests.size() -
         static_cast<std::size_t>(std::ranges::count(requests, true, &Request::unsure));
}

const Explained& Session::see(const Frame& frame) {
  State& s = *state_;
  Explained& e = s.explained;
  // Move the vector out and back in, to reuse its memory.
  auto violations = std::move(e.violations);
  violations.clear();
  e = Explained{.frame = &frame, .violations = std::move(violations)};
  if (frame.kind == FrameKind::kUndecodable) {
    s.see_gap(e);
    return e;
  }
  e.number = ++s.frames;
  if (frame.kind == FrameKind::kStartup) {
    s.see_startup(e);
  } else {
    s.see_fpdu(e);
  }
  return e;
}

/// Handles octets that could not be decoded. These octets may contain any frames of the sender, so
/// everything that is known about the sender's unfinished messages and MSNs is reset.
void Session::State::see_gap(Explained& e) {
  End& sender = end(e.frame->from);
  sender.complete = false;
  sender.next_msn.fill(std::nullopt);
  sender.untagged.fill(std::nullopt);
  sender.tagged.fill(std::nullopt);
}

void Session::State::see_startup(Explained& e) {
  const auto& frame = e.frame->startup;
  End& sender = end(e.frame->from);
  const End& peer = end(other(e.frame->from));
  judge_startup(e);
  if (peer.startup && peer.startup->kind == frame.kind) {
    note(e, Rule::kStartupKinds);
  } else if (peer.startup && frame.kind == mpa::FrameKind::kReply) {
    auto request = *peer.startup;
    // The stored Request has no private data, and its enhanced word is stored separately. Put the
    // word back for judge_reply().
    std::array<std::byte, mpa::kEnhancedWordSize> word{};
    if (peer.word) {
      bytes::store_be(word.data(), mpa::encode(*peer.word));
      request.private_data = word;
    }
    judge_reply(e, request);
  }
  const std::size_t word = frame.enhanced ? mpa::kEnhancedWordSize : 0;
  sender.book.sent(e.number, true,
                   frame.private_data.subspan(std::min(word, frame.private_data.size())));
  sender.startup = frame;
  sender.startup->private_data = {};
  sender.word = enhanced_word(frame);
  sender.complete = true;
  sender.next_msn.fill(ddp::Msn{1});  // [DDP-32]
}

void Session::State::see_fpdu(Explained& e) {
  const Frame& frame = *e.frame;
  End& sender = end(frame.from);
  End& receiver = end(other(frame.from));
  ddp::SegmentHeader header;
  if (ddp::decode(frame.ulpdu, header)) {
    e.header = header;
    e.opcode = rdmap::find_opcode(header);
    e.payload = frame.ulpdu.subspan(header.size());
    e.payload_size = frame.ulpdu_length - std::min(frame.ulpdu_length, header.size());
  }
  ++sender.fpdus;
  judge_fpdu(e);
  check_order(e, sender, receiver);
  const bool readable = e.header && frame.crc != CrcVerdict::kBad;
  if (!readable) {
    see_gap(e);
  } else if (e.opcode != nullptr && e.opcode->tagged == e.header->tagged) {
    if (e.header->tagged) {
      follow_tagged(e, sender);
    } else if (e.header->qn < ddp::kQueues) {
      follow_untagged(e, sender);
    }
    message(e, sender, receiver);
  }
  remember(e, sender);
}

void Session::State::check_order(Explained& e, End& sender, End& receiver) {
  if (sender.terminated != 0) {
    note(e, Rule::kAfterTerminate, fmt::format("frame {} is the Terminate", sender.terminated));
  }
  if (!sender.startup || !receiver.startup || !sender.complete || !receiver.complete) return;
  if (sender.fpdus != 1) return;
  const bool initiator = sender.startup->kind == mpa::FrameKind::kRequest;
  if (!initiator && receiver.fpdus == 0) note(e, Rule::kResponderFirst);
  if (initiator) check_rtr(e, sender, receiver);
}

/// Checks the initiator's first FPDU. If A=1 in the enhanced words of both ends, this FPDU must be
/// a zero-length message of a kind that the responder has offered.
void Session::State::check_rtr(Explained& e, const End& initiator, const End& responder) {
  if (!e.header || e.opcode == nullptr) return;
  const auto opcode = e.opcode->opcode;
  const auto read = opcode == Opcode::kReadRequest ? rdmap::decode_read_request(e.payload)
                                                   : std::optional<rdmap::ReadRequest>();
  const bool empty_read = read && read->size == 0;
  const bool empty_write = opcode == Opcode::kWrite && e.payload_size == 0;
  if (!initiator.word) {
    if (empty_read || empty_write) e.rtr = Rtr::kRevisionOne;
    return;
  }
  if (!responder.word || !initiator.word->peer_to_peer || !responder.word->peer_to_peer) return;
  const auto& word = *responder.word;
  const bool empty_send = opcode == Opcode::kSend && e.payload_size == 0;
  const bool right = (empty_write && word.rtr_write) || (empty_send && word.rtr_send) ||
                     (empty_read && word.rtr_read);
  const bool unseen = opcode == Opcode::kReadRequest && word.rtr_read && !read;
  if (right) e.rtr = Rtr::kAgreed;
  if (!right && !unseen) note(e, Rule::kRtr);
}

void Session::State::begin_untagged(Explained& e, End& sender) {
  const auto& h = *e.header;
  auto& next = sender.next_msn[h.qn];
  if (next && *next != h.msn) {
    const bool first = next->value == 1;
    const bool shared = h.msn.value == sender.untagged_messages + 1;
    note(e, first ? Rule::kFirstMsn : Rule::kMsnStep,
         fmt::format("{} instead of {}{}", h.msn.value, next->value,
                     shared ? ", as if all queues shared one sequence of MSNs" : ""));
  }
  ++sender.untagged_messages;
  if (h.mo != 0 && next) note(e, Rule::kFirstMo, fmt::format("MO {}", h.mo));
  e.first = h.mo == 0 || next.has_value();
  next = h.msn.next();
  sender.untagged[h.qn] = Message{.operation = ++operations, .octets = h.mo, .first = h};
}

void Session::State::follow_untagged(Explained& e, End& sender) {
  const auto& h = *e.header;
  auto& open = sender.untagged[h.qn];
  if (!open) {
    begin_untagged(e, sender);
  } else {
    if (h.msn != open->first.msn) {
      note(e, Rule::kMsnInMessage, fmt::format("{} after {}", h.msn.value, open->first.msn.value));
      sender.next_msn[h.qn] = h.msn.next();
    }
    if (h.mo != open->octets) {
      note(e, Rule::kMo, fmt::format("{} instead of {}", h.mo, open->octets));
    }
    if (h.rsvd_ulp != open->first.rsvd_ulp || h.rsvd_ulp_rest != open->first.rsvd_ulp_rest) {
      note(e, Rule::kUlpOctets);
    }
  }
  e.operation = open->operation;
  e.octets_before = h.mo;
  open->octets = h.mo + e.payload_size;
  if (h.last) open.reset();
}

void Session::State::follow_tagged(Explained& e, End& sender) {
  const auto& h = *e.header;
  auto& open = sender.tagged[e.opcode->opcode == Opcode::kWrite ? 0 : 1];
  if (!open) {
    open = Message{.operation = ++operations, .octets = 0, .first = h};
    e.first = true;
  } else {
    if (h.stag != open->first.stag) {
      note(e, Rule::kTaggedStag,
           fmt::format("0x{:08x} after 0x{:08x}", h.stag.value, open->first.stag.value));
    }
    if (h.to.value != open->first.to.value + open->octets) {
      note(
          e, Rule::kTaggedTo,
          fmt::format("0x{:x} instead of 0x{:x}", h.to.value, open->first.to.value + open->octets));
    }
    if (h.rsvd_ulp != open->first.rsvd_ulp) note(e, Rule::kUlpOctet);
  }
  e.operation = open->operation;
  e.octets_before = open->octets;
  open->octets += e.payload_size;
}

void Session::State::message(Explained& e, End& sender, End& receiver) {
  const auto& h = *e.header;
  if (e.opcode->invalidates && h.last) {
    use_stag(e, receiver, h.rsvd_ulp_rest, 0, true);
    receiver.book.invalidated(h.rsvd_ulp_rest, e.number);
  }
  switch (e.opcode->opcode) {
    case Opcode::kWrite:
      use_stag(e, receiver, h.stag.value, h.to.value, e.payload_size == 0);
      break;
    case Opcode::kReadRequest:
    case Opcode::kAtomicRequest:
      request(e, sender, receiver);
      break;
    case Opcode::kReadResponse:
      read_response(e, sender, receiver);
      break;
    case Opcode::kAtomicResponse:
      atomic_response(e, sender, receiver);
      break;
    case Opcode::kTerminate:
      terminate(e, sender, receiver);
      break;
    default:
      sender.book.sent(e.number, false, e.payload);
  }
  if (h.tagged && h.last) sender.tagged[e.opcode->opcode == Opcode::kWrite ? 0 : 1].reset();
}

/// Records that the frame uses an STag of `owner`. A zero-length message may use an invalid STag.
/// [DDP-46]
void Session::State::use_stag(Explained& e, End& owner, std::uint32_t stag, std::uint64_t to,
                              bool empty) {
  e.stag = stag;
  const auto use = owner.book.used(stag, to);
  e.stag_origin = use.origin;
  if (use.invalidated != 0 && !empty) {
    note(e, Rule::kStagValid,
         fmt::format("0x{:08x}, invalidated by frame {}", stag, use.invalidated));
  }
}

void Session::State::request(Explained& e, End& sender, End& receiver) {
  Request request{.frame = e.number,
                  .operation = e.operation,
                  .is_read = e.opcode->opcode == Opcode::kReadRequest,
                  .unsure = e.frame->unsure};
  if (request.is_read) {
    request.read = rdmap::decode_read_request(e.payload);
    if (request.read && sender.little_endian_reads) {
      e.meant = request.read = swapped(*request.read);
      note(e, Rule::kReadByteOrder);
    }
    if (request.read) {
      use_stag(e, receiver, request.read->source_stag.value, request.read->source_to.value,
               request.read->size == 0);
    }
  } else if (const auto atomic = rdmap::decode_atomic_request(e.payload)) {
    request.atomic_id = atomic->id;
    use_stag(e, receiver, atomic->stag.value, atomic->to.value, false);
  }
  push_bounded(sender.requests, request, kMaxRequests);
  const auto& word = receiver.word;
  if (word && sender.complete && receiver.complete && word->ird != mpa::kNoNegotiation &&
      sender.requests.size() > word->ird) {
    note(e, Rule::kOrd, fmt::format("{} outstanding, IRD {}", sender.requests.size(), word->ird));
  }
}

/// Gives the response the operation number of its request.
void Session::State::join(Explained& e, const Request& request) {
  if (e.first && e.operation == operations) --operations;
  e.operation = request.operation;
  e.request = request.frame;
}

/// Detects an end that sends Read Requests in little-endian order: the response matches the oldest
/// request only if the fields of the request are byte-swapped. In this case, byte-swaps all
/// requests of that end.
template <typename IsIts>
void Session::State::find_byte_order(Explained& e, End& requester, const IsIts& is_its) {
  auto& requests = requester.requests;
  if (requester.little_endian_reads || requests.empty() || !requests.front().read) return;
  Request turned = requests.front();
  turned.read = swapped(*turned.read);
  if (is_its(requests.front()) || !is_its(turned)) return;
  requester.little_endian_reads = true;
  for (auto& request : requests) {
    if (request.read) request.read = swapped(*request.read);
  }
  const auto& r = *turned.read;
  note(e, Rule::kReadByteOrder,
       fmt::format("this response answers frame {} if the fields of that frame are little-endian: "
                   "{} octets from STag=0x{:08x} TO=0x{:x} to STag=0x{:08x} TO=0x{:x}",
                   turned.frame, r.size, r.source_stag.value, r.source_to.value, r.sink_stag.value,
                   r.sink_to.value));
}

/// Matches a Read Response with its request. Responses arrive in the order of the requests. If a
/// part of the capture is missing, requests without a response are skipped, and a response without
/// a request violates no rule.
void Session::State::read_response(Explained& e, End& sender, End& receiver) {
  const auto& h = *e.header;
  e.stag = h.stag.value;
  auto& requests = receiver.requests;
  const auto is_its = [&](const Request& r) {
    return r.read && r.read->sink_stag == h.stag &&
           r.read->sink_to.value + e.octets_before == h.to.value;
  };
  find_byte_order(e, receiver, is_its);
  if (!receiver.complete || !sender.complete) {
    // The capture may lack the responses to earlier requests, so discard these requests.
    const auto its = std::ranges::find_if(requests, is_its);
    if (its == requests.end()) return;
    requests.erase(requests.begin(), its);
  }
  if (requests.empty() || !requests.front().is_read) {
    note(e, Rule::kReadResponse);
    return;
  }
  const Request& due = requests.front();
  join(e, due);
  if (due.read && !is_its(due)) {
    note(e, Rule::kReadSink,
         fmt::format(
             "STag 0x{:08x} TO 0x{:x}, but the request in frame {} names STag 0x{:08x} TO 0x{:x}",
             h.stag.value, h.to.value, due.frame, due.read->sink_stag.value,
             due.read->sink_to.value + e.octets_before));
  }
  if (auto& open = sender.tagged[1]) open->operation = e.operation;
  const std::uint64_t octets = e.octets_before + e.payload_size;
  const bool wrong_end =
      due.read && (octets > due.read->size || (h.last && octets != due.read->size));
  if (wrong_end) {
    note(e, Rule::kReadSize, fmt::format("{} of {} octets", octets, due.read->size));
  }
  if (h.last) requests.pop_front();
}

void Session::State::atomic_response(Explained& e, End& sender, End& receiver) {
  const auto response = rdmap::decode_atomic_response(e.payload);
  auto& requests = receiver.requests;
  if (!response) return;
  const auto is_its = [&](const Request& r) { return r.atomic_id == response->id; };
  if (!receiver.complete || !sender.complete) {
    const auto its = std::ranges::find_if(requests, is_its);
    if (its == requests.end()) return;
    requests.erase(requests.begin(), its);
  }
  if (requests.empty() || requests.front().is_read) {
    note(e, Rule::kAtomicResponse);
    return;
  }
  const Request& due = requests.front();
  join(e, due);
  if (due.atomic_id && !is_its(due)) {
    note(e, Rule::kAtomicId,
         fmt::format("0x{:08x} instead of 0x{:08x}", response->id, *due.atomic_id));
  }
  requests.pop_front();
}

/// Finds the cause of a Terminate: the peer's recent frame that has the headers which the Terminate
/// returns. If the Terminate returns no headers, the cause is the last frame that violated a rule.
void Session::State::terminate(Explained& e, End& sender, End& receiver) {
  sender.terminated = e.number;
  const auto terminate = rdmap::decode_terminate(e.payload);
  if (!terminate) return;
  const auto& echo = terminate->segment;
  const auto is_cause = [&](const Recent& r) {
    if (!echo || echo->ddp_header_size == 0) return r.faulty;
    return r.size == echo->ddp_header_size &&
           std::memcmp(r.header.data(), echo->ddp_header.data(), r.size) == 0;
  };
  const auto cause = std::find_if(receiver.recent.rbegin(), receiver.recent.rend(), is_cause);
  if (cause != receiver.recent.rend()) {
    e.cause = cause->frame;
  } else if (echo && echo->rdma_header_size != 0) {
    // siw alters the DDP header that it returns, but returns the header of the Read Request
    // unchanged.
    const auto read = rdmap::decode_read_request(echo->rdma_header);
    const auto request = std::ranges::find(receiver.requests, read, &Request::read);
    if (request != receiver.requests.end()) e.cause = request->frame;
  }
}

void Session::State::remember(Explained& e, End& sender) {
  Recent recent{.frame = e.number, .faulty = !e.violations.empty()};
  const View ulpdu = e.frame->ulpdu;
  recent.size = std::min(ulpdu.size(), ddp::header_size(ulpdu));
  std::copy_n(ulpdu.begin(), recent.size, recent.header.begin());
  push_bounded(sender.recent, recent, kMaxRecent);
}

}  // namespace iwarp::apps::frames
