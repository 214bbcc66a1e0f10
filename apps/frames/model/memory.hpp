// SPDX-License-Identifier: Apache-2.0
// How a frame accesses the memory of its receiver, as far as the wire shows this. For tagged
// segments, Reads and atomics, the wire shows the STag and the position; for Sends, the number of
// the message. Registrations are not visible on the wire, so only the part of a region that was
// used is known.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

enum class AccessKind : std::uint8_t {
  kWrite,    ///< an RDMA Write or a Read Response places its payload in a region
  kReceive,  ///< a Send places its payload in the buffer of a Receive
  kRead,     ///< a Read Request reads octets of a region
  kAtomic,
};

struct Access {
  AccessKind kind = AccessKind::kWrite;
  Side owner = Side::kFar;  ///< the end that owns the memory: the receiver of the frame
  std::uint32_t stag = 0;   ///< not set for kReceive
  std::uint64_t to = 0;     ///< TO in the region; for kReceive, the offset in the message
  std::uint64_t size = 0;
  std::uint32_t msn = 0;  ///< only set for kReceive
  /// Whether the frame violates a rule, in which case its receiver may have refused the access.
  bool doubtful = false;
};

/// Returns the memory access of a frame. Returns nullopt if the frame accesses no memory, has a
/// wrong CRC, or is not an FPDU.
std::optional<Access> access_of(const Explained& explained);

/// Records which memory of both ends has been accessed.
class MemoryBook {
 public:
  struct Region {
    std::uint64_t begin = 0;  ///< the lowest TO that was used
    std::uint64_t end = 0;    ///< the TO that follows the highest octet that was used
    std::uint64_t first = 0;  ///< number of the first frame that used the region
    std::uint64_t uses = 0;
    /// Number of the last frame that invalidated the STag, if there is one.
    std::optional<std::uint64_t> invalidated;
  };
  using Regions = std::map<std::uint32_t, Region>;  ///< maps STags to regions

  void see(const Explained& explained);
  const Regions& regions(Side owner) const { return regions_[static_cast<std::size_t>(owner)]; }

  /// Maximum number of regions of one side; further STags are ignored.
  static constexpr std::size_t kMaxRegions = 1024;

 private:
  std::array<Regions, 2> regions_;
};

}  // namespace iwarp::apps::frames
