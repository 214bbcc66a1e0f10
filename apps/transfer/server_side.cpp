// SPDX-License-Identifier: Apache-2.0
// The server's side of get and put: transfers the file through a ring of registered buffers. The
// client must advertise its windows in file order; any other message ends the session with an
// error.
#include "transfer/server_side.hpp"

#include <algorithm>
#include <optional>

namespace iwarp::apps {

namespace {

using verbs::Access;
using verbs::SendFlags;
using verbs::WrOpcode;

/// Windows that the client has advertised and that the server has not yet processed.
class Windows {
 public:
  explicit Windows(std::uint64_t size) : size_(size) {}

  /// Adds a window that the client has advertised. Throws Error if the window is out of order, has
  /// the wrong length, or exceeds the limit on outstanding windows.
  void add(const Window& window) {
    if (window.offset != advertised_ || advertised_ >= size_ ||
        window.memory.length != piece_length(advertised_, size_)) {
      throw Error(
          "file protocol: the client advertised memory for the wrong part of the file, or of the "
          "wrong length");
    }
    if (waiting_.size() >= kMaxWindows) {
      throw Error(
          "file protocol: the client advertised memory for too many parts of the file at once");
    }
    waiting_.push_back(window);
    advertised_ += window.memory.length;
  }
  std::optional<Window> take() {
    if (waiting_.empty()) return std::nullopt;
    const auto window = waiting_.front();
    waiting_.pop_front();
    return window;
  }
  std::uint64_t size() const { return size_; }

 private:
  const std::uint64_t size_;
  std::uint64_t advertised_ = 0;
  std::deque<Window> waiting_;
};

void post_data(Session& session, WrOpcode opcode, SendFlags flags, std::uint64_t wr_id,
               const verbs::Sge& sge, const Window& window) {
  session.post_send({.wr_id = wr_id,
                     .opcode = opcode,
                     .flags = flags,
                     .sgl = {&sge, 1},
                     .remote = {.rkey = window.memory.stag, .to = window.memory.to}});
}

/// Waits for the next event. If the event is a Window, adds it to `windows` and returns nullopt. If
/// the event is a completion, returns the completion.
std::optional<verbs::WorkCompletion> next_receive(MessageStream& messages, Windows& windows) {
  const auto event = messages.next();
  if (const auto* wc = std::get_if<verbs::WorkCompletion>(&event)) return *wc;
  const auto* window = std::get_if<Window>(&std::get<Message>(event));
  if (window == nullptr) refuse_message(event);
  windows.add(*window);
  return std::nullopt;
}

}  // namespace

void BufferRing::open(Session& session, std::uint64_t size, Access access) {
  const auto octets = static_cast<std::size_t>(piece_length(0, size));
  const auto pieces = size / kMaxPiece + (size % kMaxPiece == 0 ? 0 : 1);
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(kMaxWindows, pieces); ++i) {
    buffers_.push_back(std::make_unique<Buffer>(session, octets, access));
    free_.push_back(i);
  }
}

std::uint64_t BufferRing::take() {
  const auto index = free_.front();
  free_.pop_front();
  return index;
}

Digest send_file(MessageStream& messages, BufferRing& ring, const SourceFile& file) {
  Windows windows(file.size);
  ring.open(messages.session(), file.size, Access::kNone);
  Sha256 sha;
  std::uint64_t written = 0;
  while (written < file.size) {
    if (const auto wc = next_receive(messages, windows)) ring.release(wc->wr_id);
    while (ring.has_free()) {
      const auto window = windows.take();
      if (!window) break;
      const auto index = ring.take();
      const auto octets = ring[index].octets().first(window->memory.length);
      read_at(file, window->offset, octets);
      sha.update(octets);
      // The peer delivers the Send after it has placed the Write, so a client that has received the
      // Piece also has the data. Requests complete in order, so the completion of the Send shows
      // that the buffer is free again.
      post_data(messages.session(), WrOpcode::kWrite, SendFlags::kNone, index,
                ring[index].sge(octets.size()), *window);
      messages.send_invalidate(Piece{window->offset}, window->memory.stag, index);
      written += octets.size();
    }
  }
  const auto digest = sha.finish();
  messages.send(Done{digest});
  while (!ring.all_free()) {
    if (const auto wc = next_receive(messages, windows)) ring.release(wc->wr_id);
  }
  return digest;
}

Digest receive_file(MessageStream& messages, BufferRing& ring, std::uint64_t size, NewFile& file) {
  Windows windows(size);
  ring.open(messages.session(), size, Access::kLocalWrite);
  struct Reading {
    Window window;
    std::uint64_t index;
  };
  std::deque<Reading> reading;
  Sha256 sha;
  std::uint64_t pulled = 0;
  while (pulled < size) {
    const auto wc = next_receive(messages, windows);
    if (wc && wc->opcode == verbs::WcOpcode::kRead) {
      const auto [window, index] = reading.front();
      reading.pop_front();
      const auto octets = ring[index].octets().first(window.memory.length);
      sha.update(octets);
      file.write_at(window.offset, octets);
      ring.release(index);
      pulled += octets.size();
      messages.send_invalidate(Piece{window.offset}, window.memory.stag, index);
    }
    while (ring.has_free()) {
      const auto window = windows.take();
      if (!window) break;
      const auto index = ring.take();
      post_data(messages.session(), WrOpcode::kRead, SendFlags::kSignaled, index,
                ring[index].sge(window->memory.length), *window);
      reading.push_back({*window, index});
    }
  }
  const auto digest = sha.finish();
  for (;;) {
    const auto event = messages.next();
    // The event is the completion of the Send that carried a Piece.
    if (std::holds_alternative<verbs::WorkCompletion>(event)) continue;
    const auto* finish = std::get_if<Finish>(&std::get<Message>(event));
    if (finish == nullptr) refuse_message(event);
    if (finish->digest != digest) {
      throw Error(
          "the SHA-256 of the received data differs from the client's; the file was discarded");
    }
    return digest;
  }
}

}  // namespace iwarp::apps
