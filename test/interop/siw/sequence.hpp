// SPDX-License-Identifier: Apache-2.0
// The sequence of the matrix: the steps that two ends perform on one connection, so that every kind
// of message is transferred with every size in both directions, and checked at both ends. The steps
// are written once for an abstract Link, so that this stack and libibverbs perform the same steps.
// Uses no sockets, no verbs and no time.
//
// A cell is one kind of message with one size in one direction. Each cell consists of the following
// messages. M is the end that moves the data, and O is the other end:
//   client -> server  kBegin {kind, size, seed, who moves}
//   O -> M            kReady {STag, TO of O's target}
//   M -> O            the messages of the kind, then kDone {what M found}
//   O -> M            kResult {what O found}
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace iwarp::interop {

/// Maximum number of octets of one message.
inline constexpr std::size_t kMaxSize = std::size_t{1} << 20;
/// Number of guard octets after the memory of a message. They must not change.
inline constexpr std::size_t kGuard = 16;
inline constexpr std::size_t kBuffer = kMaxSize + kGuard;
inline constexpr std::size_t kControlSize = 32;
/// Number of posted receives, and therefore the maximum number of messages that either end may have
/// outstanding.
inline constexpr std::size_t kSlots = 4;

/// A place in the peer's memory, as the peer advertises it.
struct Place {
  std::uint32_t stag = 0;
  std::uint64_t to = 0;
};

struct SendKind {
  bool solicited = false;
  bool fenced = false;  ///< whether the request starts only after earlier Reads have completed
  std::optional<std::uint32_t> invalidate;
};

/// A received Send. A field that an end cannot observe is nullopt. siw's library reports neither
/// `solicited` nor `invalidated`.
struct Received {
  std::span<const std::byte> octets;  ///< valid until the next receive()
  std::optional<bool> solicited;
  std::optional<std::uint32_t> invalidated;
  bool tells_invalidated = false;  ///< whether this end can observe `invalidated`
};

/// One connected end with three buffers of kBuffer octets and kSlots receives. Each receive is
/// posted again after it was consumed. Functions throw std::runtime_error if the stream has ended,
/// or on a timeout.
class Link {
 public:
  virtual ~Link() = default;
  virtual std::span<std::byte> source() = 0;  ///< the octets that send() and write() send
  virtual std::span<std::byte> sink() = 0;    ///< the memory in which read() places data
  virtual std::span<std::byte> target() = 0;  ///< the memory that the peer may read and write
  /// Returns the place of the target. Registers the target again if its STag was invalidated.
  virtual Place advertise() = 0;
  virtual void target_invalidated() = 0;

  virtual void send_control(std::span<const std::byte, kControlSize> octets) = 0;
  virtual void send(std::size_t size, const SendKind& kind) = 0;
  virtual void write(std::size_t size, const Place& to) = 0;
  virtual void read(std::size_t size, const Place& from) = 0;
  virtual void wait_read() = 0;
  virtual Received receive() = 0;
  /// Waits until the peer ends the stream. Returns the reason, if this end knows it.
  virtual std::string wait_end() = 0;
};

enum class Kind : std::uint8_t {
  kSend,
  kSendSe,
  kSendInvalidate,
  kSendSeInvalidate,
  kWrite,
  kRead,
  /// A Write, a Read of the same data, a Send with SE and a fenced Send with Invalidate. All four
  /// are posted at once.
  kMixed,
};

struct Cell {
  Kind kind = Kind::kSend;
  std::uint32_t size = 0;
  bool client_moves = true;
};

/// Parses a list of cells, such as "out:write:4096,in:send:0": a Write of 4096 octets by the
/// client, and then an empty Send by the server.
std::vector<Cell> parse_cells(const std::string& list);

/// How a client ends the sequence: with an orderly close (kClose), or with a message that the
/// server must refuse.
enum class Ending : std::uint8_t { kClose, kWriteUnknownStag, kReadUnknownStag, kWriteDeadStag };
std::optional<Ending> ending_named(const std::string& name);

/// Called once for each cell. `problem` is empty if both ends found the right data.
using Report = std::function<void(const Cell&, const std::string& problem)>;

/// Prints a line such as "cell out:write:4096 ok", which the runner reads from standard output.
void print_cell(const Cell& cell, const std::string& problem);

/// Performs the client's part of the sequence. Returns false if a cell failed. If `ending` is a
/// message that the server must refuse, sets `end_text` to the reason, if this end knows it.
bool lead(Link& link, const std::vector<Cell>& cells, Ending ending, const Report& report,
          std::string& end_text);
/// Performs the server's part of the sequence until the client ends it, or until a message that the
/// server must refuse has ended the stream.
void follow(Link& link);

}  // namespace iwarp::interop
