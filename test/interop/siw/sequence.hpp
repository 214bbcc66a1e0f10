// SPDX-License-Identifier: Apache-2.0
// The sequence of the matrix: what two ends do on one connection so that every kind of message in
// every size is moved in both directions and checked by both. Written once, on top of an abstract
// Link, so that our stack and libibverbs run the same steps. Uses no sockets, no verbs and no time.
//
// Per cell, with M the end that moves the data and O the other one:
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

inline constexpr std::size_t kMaxSize = std::size_t{1} << 20;  ///< octets of one message
inline constexpr std::size_t kGuard = 16;  ///< octets after a message that must not change
inline constexpr std::size_t kBuffer = kMaxSize + kGuard;
inline constexpr std::size_t kControlSize = 32;
/// Number of posted receives: the most messages that either end may have outstanding.
inline constexpr std::size_t kSlots = 4;

/// A place in the peer's memory, as the peer advertises it.
struct Place {
  std::uint32_t stag = 0;
  std::uint64_t to = 0;
};

struct SendKind {
  bool solicited = false;
  bool fenced = false;  ///< the request starts after earlier Reads have completed
  std::optional<std::uint32_t> invalidate;
};

/// A received Send. Fields that an end cannot see (siw's library shows neither bit) are nullopt.
struct Received {
  std::span<const std::byte> octets;  ///< valid until the next receive()
  std::optional<bool> solicited;
  std::optional<std::uint32_t> invalidated;
  bool tells_invalidated = false;  ///< whether `invalidated` is meaningful
};

/// One connected end with three buffers of kBuffer octets and kSlots receives. Each receive is
/// posted again after it was consumed. Functions throw std::runtime_error when the stream is over,
/// or on a timeout.
class Link {
 public:
  virtual ~Link() = default;
  virtual std::span<std::byte> source() = 0;  ///< the octets that send() and write() send
  virtual std::span<std::byte> sink() = 0;    ///< memory in which read() places the data
  virtual std::span<std::byte> target() = 0;  ///< memory that the peer may read and write
  /// Registers the target again if its STag was invalidated.
  virtual Place advertise() = 0;
  virtual void target_invalidated() = 0;

  virtual void send_control(std::span<const std::byte, kControlSize> octets) = 0;
  virtual void send(std::size_t size, const SendKind& kind) = 0;
  virtual void write(std::size_t size, const Place& to) = 0;
  virtual void read(std::size_t size, const Place& from) = 0;
  virtual void wait_read() = 0;
  virtual Received receive() = 0;
  /// Waits until the peer ends the stream. Returns the reason, as far as this end knows it.
  virtual std::string wait_end() = 0;
};

enum class Kind : std::uint8_t {
  kSend,
  kSendSe,
  kSendInvalidate,
  kSendSeInvalidate,
  kWrite,
  kRead,
  kMixed,  ///< Write, Read it back, Send with SE, fenced Send with Invalidate; all posted at once
};

struct Cell {
  Kind kind = Kind::kSend;
  std::uint32_t size = 0;
  bool client_moves = true;
};

/// "out:write:4096": a Write of 4096 octets by the client; "in:...": by the server.
std::vector<Cell> parse_cells(const std::vector<std::string>& texts);

/// How a client ends: with a message that the server must refuse, or in order. kClose is the
/// orderly end.
enum class Ending : std::uint8_t { kClose, kWriteUnknownStag, kReadUnknownStag, kWriteDeadStag };
std::optional<Ending> ending_named(const std::string& name);

/// Called once per cell; `problem` is empty if both ends found the right data.
using Report = std::function<void(const Cell&, const std::string& problem)>;

/// Prints the line that the runner reads from standard output: "cell out:write:4096 ok".
void print_cell(const Cell& cell, const std::string& problem);

/// Leads the sequence. Returns false if a cell failed. After a bad ending, sets `end_text` to the
/// reason as far as this end knows it.
bool lead(Link& link, const std::vector<Cell>& cells, Ending ending, const Report& report,
          std::string& end_text);
/// Follows the sequence until the client ends it, or its bad ending has ended the stream.
void follow(Link& link);

}  // namespace iwarp::interop
