// SPDX-License-Identifier: Apache-2.0
// JsonReport: a capture as JSON, one object to a line, each with a "type". README.md describes the
// model; a program that draws a session (a page, the lab) reads these objects and decodes nothing.
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
  /// A longer frame is given by its first and its last max_octets / 2 octets.
  std::size_t max_octets = SIZE_MAX;
  /// After this many octets of JSON, frames and skipped octets are only counted.
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

  /// Returns the number of frames that max_size left out.
  std::uint64_t left_out() const { return left_out_; }

 private:
  /// What is known about a connection after its last frame, shown or not.
  struct Known {
    Ends ends;
    MemoryBook memory;
    std::optional<std::array<EndStates, 2>> told;
  };

  void introduce(const ConnectionInfo& info);
  bool is_full();
  /// Returns the nanoseconds since the first frame that was written.
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
