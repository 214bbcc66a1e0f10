// SPDX-License-Identifier: Apache-2.0
// JsonReport: writes a capture as JSON, with one object per line; each object has a "type".
// README.md describes the objects. The pages of `iwarp explain` and `iwarp lab` draw sessions from
// these objects and decode no octets themselves.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "frames/connections/connections.hpp"
#include "frames/model/ends.hpp"
#include "frames/model/memory.hpp"
#include "frames/report/filter.hpp"
#include "frames/report/out.hpp"

namespace iwarp::apps::frames {

struct JsonOptions {
  bool octets = false;  ///< whether to write each frame's octets and fields
  /// Maximum number of octets that are written of each frame. For a longer frame, the first and the
  /// last max_octets / 2 octets are written.
  std::size_t max_octets = SIZE_MAX;
  /// Maximum size of the JSON in octets. When it is reached, further frames and skipped octets are
  /// counted but not written.
  std::uint64_t max_size = UINT64_MAX;
};

class JsonReport final : public ConnectionListener {
 public:
  JsonReport(const JsonOptions& options, const Filter& filter, Out out);

  void frame(const ConnectionInfo& info, const Explained& explained,
             const PacketMark& mark) override;
  void skipped(const ConnectionInfo& info, const Skipped& skipped) override;
  void closed(const ConnectionInfo& info, const Closed& closed, const PacketMark& mark) override;
  void local(const ConnectionInfo& info, Side end, const verbs::LocalEvent& event,
             const PacketMark& mark) override;
  void datagram(const SeenDatagram& seen, const PacketMark& mark) override;
  void summary(const Connections::Counts& counts);

  /// Returns the number of frames and skipped ranges that were not written because of max_size.
  std::uint64_t left_out() const { return left_out_; }
  /// Returns the number of violations so far, also those in frames that are not shown.
  std::uint64_t violations() const { return violations_; }

 private:
  /// The state of a connection after its last frame, including frames that were filtered out.
  struct Known {
    Ends ends;
    MemoryBook memory;
    std::optional<std::array<EndStates, 2>> written;
  };

  void introduce(const ConnectionInfo& info);
  bool is_full();
  /// Returns the time in nanoseconds since the first frame that was written.
  std::int64_t after(const PacketMark& mark);
  void write(const std::string& line);

  JsonOptions options_;
  Filter filter_;
  Out out_;
  std::set<std::uint64_t> introduced_;
  std::map<std::uint64_t, Known> known_;
  std::optional<std::int64_t> start_;
  std::uint64_t size_ = 0;
  std::uint64_t left_out_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t violations_ = 0;
};

}  // namespace iwarp::apps::frames
