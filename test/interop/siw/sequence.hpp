// SPDX-License-Identifier: Apache-2.0
// The sequence of the matrix: the steps that two ends perform on one connection, so that every kind
// of message is transferred with every size in both directions, and checked at both ends.
//
// A cell is one kind of message with one size in one direction. Each cell consists of the following
// messages. M is the end that moves the data, and O is the other end:
//   client -> server  kBegin {kind, size, seed, who moves}
//   O -> M            kReady {STag, TO of O's target}
//   M -> O            the messages of the kind, then kDone {what M found}
//   O -> M            kResult {what O found}
#pragma once

#include <string>

#include "link.hpp"

namespace iwarp::interop {

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
Ending ending_named(const std::string& name);

/// Performs the client's part of the sequence. Prints a line such as "cell out:write:4096 ok" for
/// each cell, which the runner reads. Returns false if a cell failed.
bool lead(Link& link, const std::vector<Cell>& cells, Ending ending);
/// Performs the server's part of the sequence until the client ends it, or until a message that the
/// server must refuse has ended the stream.
void follow(Link& link);

}  // namespace iwarp::interop
