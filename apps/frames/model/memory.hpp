// SPDX-License-Identifier: Apache-2.0
// What frames do to the memory of their receiver, as far as the wire shows: STag and place for
// tagged segments, Reads and atomics; the message of the Send queue for Sends. Registrations are
// not on the wire: only the part of a buffer that was used is known.
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
  kRead,     ///< octets are read, by a Read Request
  kAtomic,
};

struct Access {
  AccessKind kind = AccessKind::kWrite;
  Side owner = Side::kFar;  ///< of the memory: the receiver of the frame
  std::uint32_t stag = 0;   ///< unless kReceive
  std::uint64_t to = 0;     ///< kReceive: the offset in the message
  std::uint64_t size = 0;
  std::uint32_t msn = 0;  ///< kReceive
  /// The frame breaks a rule: its receiver may have refused it.
  bool doubtful = false;
};

/// Returns the access of a frame; nullopt if it accesses no memory, is damaged, or is not an FPDU.
std::optional<Access> access_of(const Explained& explained);

/// The used buffers of both ends.
class MemoryBook {
 public:
  struct Region {
    std::uint64_t begin = 0;  ///< the lowest TO that was used
    std::uint64_t end = 0;    ///< after the highest
    std::uint64_t first = 0;  ///< number of the first frame that used it
    std::uint64_t uses = 0;
    std::optional<std::uint64_t> invalidated;  ///< the last frame that invalidated it
  };
  using Regions = std::map<std::uint32_t, Region>;  ///< by STag

  void see(const Explained& explained);
  const Regions& regions(Side owner) const { return regions_[static_cast<std::size_t>(owner)]; }

  static constexpr std::size_t kMaxRegions = 1024;  ///< of a side; later ones are left out

 private:
  std::array<Regions, 2> regions_;
};

}  // namespace iwarp::apps::frames
