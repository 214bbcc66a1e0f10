// SPDX-License-Identifier: Apache-2.0
// What frames do to the memory of their receiver, as far as the wire tells: which STag and where
// for tagged segments, Reads and atomics, which message of the Send queue for Sends. The ends'
// registrations are not on the wire: of a buffer only the part that was used is known.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

enum class AccessKind : std::uint8_t {
  kWrite,    ///< payload is placed at TO, by an RDMA Write or a Read Response
  kReceive,  ///< payload is placed in the buffer of a Receive
  kRead,     ///< a Read Request: the octets will be sent
  kAtomic,
};

struct Access {
  AccessKind kind = AccessKind::kWrite;
  Side owner = Side::kFar;  ///< of the memory: the receiver of the frame
  std::uint32_t stag = 0;   ///< not kReceive
  std::uint64_t to = 0;     ///< kReceive: the offset in the message
  std::uint64_t size = 0;
  std::uint32_t msn = 0;  ///< kReceive
  /// The frame breaks a rule: its receiver may have refused it.
  bool doubtful = false;
};

/// nullopt: it touches no memory, is damaged, or is no FPDU.
std::optional<Access> access_of(const Explained& explained);

/// The buffers of both ends that were used.
class MemoryBook {
 public:
  struct Region {
    std::uint64_t begin = 0;  ///< the lowest TO that was used
    std::uint64_t end = 0;    ///< behind the highest
    std::uint64_t first = 0;  ///< number of the first frame that used it
    std::uint64_t uses = 0;
    std::optional<std::uint64_t> invalidated;  ///< in that frame, the last time
  };
  using Regions = std::map<std::uint32_t, Region>;  ///< by STag

  void see(const Explained& explained);
  const Regions& regions(Side owner) const { return regions_[static_cast<std::size_t>(owner)]; }

  static constexpr std::size_t kMaxRegions = 1024;  ///< of a side; what comes later is left out

 private:
  std::array<Regions, 2> regions_;
};

}  // namespace iwarp::apps::frames
