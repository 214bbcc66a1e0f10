// SPDX-License-Identifier: Apache-2.0
// A capture as JSON: one object to a line, each with a "type". The model is described in README.md;
// whoever draws a session (a page, the lab) reads these and decodes nothing.
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
  bool octets = false;  ///< each frame with its octets and its fields
  /// Of a longer frame only the first half of so many octets are given, and as many of its end.
  std::size_t max_octets = SIZE_MAX;
  /// Behind so many octets of JSON frames and what was skipped are counted only.
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

  /// Frames that max_size left out.
  std::uint64_t left_out() const { return left_out_; }

 private:
  /// What is known of a connection behind its last frame, wanted or not.
  struct Known {
    Ends ends;
    MemoryBook memory;
    std::optional<std::array<EndStates, 2>> told;
  };

  void introduce(const ConnectionInfo& info);
  bool is_full();
  /// Nanoseconds since the first frame that was written.
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
