// SPDX-License-Identifier: Apache-2.0
// The value of --adversary: a seed or a range of seeds, and the freedoms of which the device makes
// use. rfc-notes/adversary.md says what each freedom is, and which source permits it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace iwarp::options {

/// What the standards leave open to a device, and what an adversarial device makes use of.
enum class Freedom : std::uint8_t {
  kKeys,         ///< lkey and rkey of a region differ, and neither is valid as the other
  kLate,         ///< completions are visible late, few at a time, or many at once
  kOrder,        ///< completions of different queues are visible in another order
  kEvents,       ///< completion events are late or spurious
  kPlacement,    ///< payload of a Write becomes visible late, in any order of its octets
  kReads,        ///< the memory of a Read is read and written in any order of its octets
  kAtomics,      ///< an atomic is not atomic with the CPU and with Writes
  kWire,         ///< requests, responses and received octets are delayed
  kSegments,     ///< messages are cut into segments of other sizes
  kBatches,      ///< a list of requests is posted in parts
  kDispatch,     ///< events of connections and asynchronous events are late
  kSizes,        ///< queues are larger than requested, by odd numbers
  kDescriptors,  ///< descriptors of channels are too large for select(2)
  kReceives,     ///< a message without a receive fails the connection as early as permitted
  kDatagrams,    ///< datagrams change places, and a few are lost
};
inline constexpr std::array<std::string_view, 15> kFreedoms{
    "keys",     "late",    "order",    "events", "placement",   "reads",    "atomics",  "wire",
    "segments", "batches", "dispatch", "sizes",  "descriptors", "receives", "datagrams"};

struct Adversary {
  std::uint64_t first = 1;  ///< the first seed
  std::uint64_t last = 1;   ///< the last seed; a process uses only the first one
  /// Bit `Freedom` for each in use. kDatagrams is in use only if it is named, because many programs
  /// rely on a network that loses no datagrams.
  std::uint32_t freedoms = (1U << static_cast<unsigned>(Freedom::kDatagrams)) - 1;

  bool has(Freedom freedom) const { return (freedoms >> static_cast<unsigned>(freedom) & 1U) != 0; }
};

/// Parses "SEED", "FIRST..LAST" or "on", which is seed 1, and then names of freedoms, each after a
/// comma. Without names, all freedoms but kDatagrams are in use. Returns nullopt if the text is
/// invalid.
std::optional<Adversary> parse_adversary(std::string_view text);
/// Returns the text for one seed, which parse_adversary() accepts.
std::string to_string(const Adversary& adversary);

}  // namespace iwarp::options
