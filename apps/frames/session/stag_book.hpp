// SPDX-License-Identifier: Apache-2.0
// StagBook: finds the payload in which one end advertised an STag. Applications advertise STags in
// their own message formats, so StagBook searches that end's last payloads for the octets of the
// STag. The result is a guess, and is reported as a guess.
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
  /// Records that the end has sent this payload in frame number `frame`. `startup` is true for the
  /// private data of a startup frame.
  void sent(std::uint64_t frame, bool startup, bytes::View payload);
  /// Records that frame number `frame` invalidated the STag.
  void invalidated(std::uint32_t stag, std::uint64_t frame);

  struct Use {
    std::optional<StagOrigin> origin;
    /// Number of the frame that invalidated the STag. 0 if no frame did, or if the STag has been
    /// advertised again since.
    std::uint64_t invalidated = 0;
  };
  /// Looks up the payload that advertised an STag, which the peer uses with this TO. Some
  /// applications advertise the TO together with the STag, so a payload that contains both is
  /// preferred to one that contains only the STag.
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
    /// Number of the latest frame whose payload has been searched for this STag.
    std::uint64_t looked_at = 0;
  };

  std::optional<StagOrigin> search(std::uint32_t stag, std::uint64_t to,
                                   std::uint64_t behind) const;

  std::deque<Payload> payloads_;
  std::map<std::uint32_t, Entry> entries_;
};

}  // namespace iwarp::apps::frames
