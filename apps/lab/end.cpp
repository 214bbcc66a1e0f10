// SPDX-License-Identifier: Apache-2.0
// Registers memory at fixed addresses, converts actions to work requests, and logs their results.
#include "lab/end.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "iwarp/bytes/cursor.hpp"

namespace iwarp::apps::lab {
namespace {

using verbs::Access;
using verbs::SendFlags;
using verbs::WrOpcode;

constexpr std::uint32_t kAdvertSize = 16;
constexpr std::uint32_t kWord = 8;
constexpr std::uint32_t kNobodysStag = 0x5A000000;
constexpr std::size_t kMostPosts = 4096;

void fill(std::span<std::byte> octets, std::string_view text) {
  for (std::size_t i = 0; i < octets.size(); ++i) {
    octets[i] = static_cast<std::byte>(text[i % text.size()]);
  }
}

struct Request {
  WrOpcode opcode;
  std::string_view name;
};

/// Returns the properties of the work request for `verb`, which must be in the range from kTell to
/// kAdd.
const Request& request_of(Verb verb) {
  static constexpr std::array kRequests{
      Request{WrOpcode::kSend, "Send"},
      Request{WrOpcode::kSend, "Send"},
      Request{WrOpcode::kSendInvalidate, "Send with Invalidate"},
      Request{WrOpcode::kWrite, "RDMA Write"},
      Request{WrOpcode::kRead, "RDMA Read"},
      Request{WrOpcode::kFetchAdd, "FetchAdd"},
  };
  return kRequests[static_cast<std::size_t>(verb) - static_cast<std::size_t>(Verb::kTell)];
}

}  // namespace

End::End(Side side, const Settings& settings, const TimePoint& clock)
    : sim::End(settings.seed * 2 + static_cast<std::uint32_t>(side), clock), side_(side) {
  const Access remote = Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic;
  make_memory(kOwnWindow, "window", kWindow,
              remote | Access::kLocalWrite | Access::kRemoteInvalidate);
  make_memory(kSource, "source", kWindow, Access::kNone);
  make_memory(kSink, "sink", kWindow, Access::kLocalWrite);
  make_memory(kInbox, "inbox", kReceive * kReceives, Access::kLocalWrite);
  const bool near = side == Side::kNear;
  fill(std::span(memory_[kOwnWindow].octets).subspan(kWindow / 2),
       near ? "The initiator's window. " : "The responder's window. ");
  fill(memory_[kSource].octets, near ? "RDMA places octets where the sender says. "
                                     : "The responder's octets for an RDMA Read. ");
  open(near ? mpa::Role::kInitiator : mpa::Role::kResponder, options_of(settings, side));
  for (std::uint32_t i = 0; i < settings.receives; ++i) (void)post_receive();
}

void End::make_memory(Which which, const char* name, std::size_t size, Access access) {
  constexpr std::uint64_t kFirst = 0x10000, kApart = 0x1000;
  Memory& memory = memory_[which];
  memory.name = name;
  memory.octets.resize(size);
  const auto region =
      stags.create({.pd = 1,
                    .address = memory.octets.data(),
                    .length = size,
                    .access = access,
                    .iova = kFirst * (static_cast<unsigned>(side_) + 1) + kApart * which});
  memory.region = region.value();
}

verbs::Sge End::piece(Which which, std::uint32_t offset, std::uint32_t length) const {
  const verbs::Region& region = *memory_[which].region;
  const auto local = static_cast<std::uintptr_t>(region.local_base + offset);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the value is an address of the region's iova space.
  return {.address = reinterpret_cast<std::byte*>(local),
          .length = length,
          .lkey = verbs::Stag{region.stag.load()}};
}

/// Returns the address in this end's memory to which the peer's work request goes.
verbs::RemoteAddress End::aim(const Action& action, std::uint32_t length) const {
  const bool closed = action.target == Target::kRights;
  const verbs::Region& region = *memory_[closed ? kSource : kOwnWindow].region;
  verbs::RemoteAddress to{.rkey = verbs::Stag{region.stag.load()}, .to = region.to_base};
  switch (action.target) {
    case Target::kWindow:
      to.to += action.numbers[action.verb == Verb::kAdd ? 0 : 1];
      break;
    case Target::kWrongStag:
      to.rkey.value ^= kNobodysStag;
      break;
    case Target::kBounds:
      to.to += (kWindow - length / 2) / kWord * kWord + (action.verb == Verb::kAdd ? kWord : 0);
      break;
    case Target::kRights:
      break;
  }
  return to;
}

/// Returns the local memory of the request: the octets to send, or the buffer for the result.
std::expected<verbs::Sge, std::string> End::source(const Action& action) {
  if (action.verb == Verb::kAdd) return piece(kSink, 0, kWord);
  if (action.verb != Verb::kTell) {
    const auto length = action.numbers[0];
    if (length > kWindow) {
      return std::unexpected(
          fmt::format("the length exceeds the local buffer of {} octets", kWindow));
    }
    return piece(action.verb == Verb::kRead ? kSink : kSource, 0, length);
  }
  // Write the advert at the end of the source, in network byte order.
  auto& octets = memory_[kSource].octets;
  const verbs::Region& window = *memory_[kOwnWindow].region;
  bytes::Writer out(bytes::Span(octets).last(kAdvertSize));
  out.u32(window.stag.load());
  out.u64(window.to_base);
  out.u32(kWindow);
  return piece(kSource, kWindow - kAdvertSize, kAdvertSize);
}

std::expected<void, std::string> End::post(const Action& action, const End& peer) {
  if (posts_.size() >= kMostPosts)
    return std::unexpected("too many requests have been posted (begin a new session)");
  std::error_code error;
  std::string name = "Receive";
  if (action.verb == Verb::kReceive) {
    error = post_receive();
  } else {
    const Request& request = request_of(action.verb);
    const auto sge = source(action);
    if (!sge) return std::unexpected(sge.error());
    name = request.name;
    verbs::SendWr wr{.wr_id = posts_.size(),
                     .opcode = request.opcode,
                     .flags = SendFlags::kSignaled,
                     .sgl = {&*sge, 1},
                     .remote = peer.aim(action, sge->length)};
    if (action.verb == Verb::kInvalidate) {
      wr.invalidate = verbs::Stag{peer.memory_[kOwnWindow].region->stag.load()};
    }
    wr.atomic.add_or_swap = 1;
    error = qp->post_send(wr);
    if (!error) posts_.push_back(name);
  }
  if (error) return std::unexpected(error.message());
  auto text = fmt::format("{} posted, request {}", name, posts_.size() - 1);
  if (is_over_ && qp->state() == verbs::QpState::kIdle) {
    text += ": the request waits for a new connection, which a lab session cannot make";
  }
  note(Event::Kind::kPost, std::move(text));
  return {};
}

std::error_code End::post_receive() {
  const auto sge = piece(kInbox, receives_ % kReceives * kReceive, kReceive);
  const auto error = qp->post_recv({.wr_id = posts_.size(), .sgl = {&sge, 1}});
  if (error) return error;
  ++receives_;
  posts_.emplace_back("Receive");
  return {};
}

std::string End::described(const verbs::WorkCompletion& wc) const {
  const auto name = wc.wr_id < posts_.size() ? posts_[wc.wr_id] : std::string("request");
  auto text = fmt::format("{}, request {}: {}", name, wc.wr_id, to_string(wc.status));
  if (wc.status != verbs::WcStatus::kSuccess) return text;
  if (wc.opcode == verbs::WcOpcode::kRecv || wc.opcode == verbs::WcOpcode::kRead) {
    text += fmt::format(", {} octets", wc.byte_len);
  }
  if (wc.invalidated)
    text += fmt::format(", STag 0x{:08x} was invalidated", wc.invalidated_stag.value);
  return text;
}

bool End::look() {
  using Type = verbs::ConnectionEvent::Type;
  constexpr std::array<std::string_view, 6> kEventTexts{
      "connect request: accepted",
      "connected",
      "rejected",
      "the connection could not be established",
      "the connection ended",
      "a registered region was unmapped (register it again)"};
  const auto before = log_.size();
  while (const auto event = connection->event()) {
    std::string text(kEventTexts[static_cast<std::size_t>(event->type)]);
    if (event->failure && event->failure->fault.why != std::string_view()) {
      text += fmt::format(": {}", event->failure->fault.why);
    }
    if (event->type == Type::kFailed) text += " (no Terminate is sent during MPA startup)";
    is_over_ |= event->type == Type::kFailed || event->type == Type::kDisconnected;
    note(Event::Kind::kNews, std::move(text));
    if (event->type == Type::kRequest) connection->accept(*qp, {}, kReads, kReads, now);
  }
  for (const auto& event : std::exchange(async, {})) {
    std::string text(to_string(event.type));
    if (event.terminate) text += fmt::format(": {}", bytes::to_string(event.terminate->fault));
    const bool is_mute = event.type == verbs::AsyncEventType::kLlpConnectionLost && event.terminate;
    if (is_mute && side_ == Side::kFar) {
      text +=
          "; no Terminate was sent, because a responder must not send before it has received a "
          "valid FPDU (RFC 5044 7.1)";
    }
    note(Event::Kind::kFailure, std::move(text));
  }
  std::array<verbs::WorkCompletion, 16> completions;
  while (const auto n = cq.poll(completions)) {
    for (const auto& wc : std::span(completions).first(n)) {
      const bool good = wc.status == verbs::WcStatus::kSuccess;
      note(good ? Event::Kind::kCompletion : Event::Kind::kFailure, described(wc));
    }
  }
  return log_.size() != before;
}

void End::note(Event::Kind kind, std::string text) { log_.push_back({now, kind, std::move(text)}); }

}  // namespace iwarp::apps::lab
