// SPDX-License-Identifier: Apache-2.0
// StagBook: which payload advertised an STag of one end. Applications advertise STags in messages
// of their own format, so the STag's octets are searched for in what that end sent last: a guess,
// and reported as one.
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
  /// The end has sent this payload, in that frame.
  void told(std::uint64_t frame, bool startup, bytes::View payload);
  /// The STag was invalidated in that frame.
  void invalidated(std::uint32_t stag, std::uint64_t frame);

  struct Use {
    std::optional<StagOrigin> origin;
    std::uint64_t invalidated = 0;  ///< the frame that did, if not advertised since; 0: none
  };
  /// The STag is used at this TO, which some applications advertise with it.
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
