// SPDX-License-Identifier: Apache-2.0
// StagBook: which payload told an STag of one end. Programs tell them in messages of their own
// making, so the octets of the STag are looked for in what that end sent last: a guess, and given
// as one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

class StagBook {
 public:
  /// The end sent this, in the frame of that number.
  void told(std::uint64_t frame, bool startup, bytes::View payload);
  /// The STag was invalidated in that frame.
  void invalidated(std::uint32_t stag, std::uint64_t frame);

  struct Use {
    std::optional<StagOrigin> origin;
    std::uint64_t invalidated = 0;  ///< in that frame, and not told since; 0: not
  };
  /// The STag is used at this TO, which some programs tell with it.
  Use used(std::uint32_t stag, std::uint64_t to);

 private:
  struct Payload {
    std::uint64_t frame;
    bool startup;
    std::vector<std::byte> octets;
  };
  struct Entry {
    std::optional<StagOrigin> origin;
    std::uint64_t invalidated = 0;
    std::uint64_t looked_at = 0;  ///< frame of the last payload that was searched
  };

  std::optional<StagOrigin> search(std::uint32_t stag, std::uint64_t to,
                                   std::uint64_t behind) const;

  std::deque<Payload> payloads_;
  std::map<std::uint32_t, Entry> entries_;
};

}  // namespace iwarp::apps::frames
