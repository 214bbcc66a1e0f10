// SPDX-License-Identifier: Apache-2.0
// Writes a capture as text: a line for each FPDU, below this line the rules that the FPDU breaks,
// and more detail on request.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "frames/connections/connections.hpp"
#include "frames/report/filter.hpp"
#include "frames/report/out.hpp"

namespace iwarp::apps::explain {

enum class Detail : std::uint8_t { kLine, kLayers, kOctets };

struct TextOptions {
  Detail detail = Detail::kLine;
  bool colour = false;
};

class TextReport final : public frames::ConnectionListener {
 public:
  TextReport(const TextOptions& options, const frames::Filter& filter, frames::Out out);

  void frame(const frames::ConnectionInfo& info, const frames::Explained& explained,
             const frames::PacketMark& mark) override;
  void skipped(const frames::ConnectionInfo& info, const frames::Skipped& skipped) override;
  void closed(const frames::ConnectionInfo& info, const frames::Closed& closed,
              const frames::PacketMark& mark) override;
  void local(const frames::ConnectionInfo& info, trace::Side end, const verbs::LocalEvent& event,
             const frames::PacketMark& mark) override;
  void datagram(const frames::SeenDatagram& seen, const frames::PacketMark& mark) override;
  /// Writes the totals of the capture.
  void summary(const frames::Connections::Counts& counts);

  std::uint64_t violations() const { return violations_; }

 private:
  /// Writes the heading of a connection. `log` is true if the connection comes from a log. A log
  /// always contains the beginning of its connection.
  void introduce(const frames::ConnectionInfo& info, bool log = false);
  /// Sets the origin of all times to the first frame, even if this frame is not shown.
  void start(const frames::PacketMark& mark);
  std::string time(const frames::PacketMark& mark);
  std::string red(std::string text) const;
  void octets(bytes::View octets);

  TextOptions options_;
  frames::Filter filter_;
  frames::Out out_;
  std::int64_t start_ = -1;
  bool legend_shown_ = false;
  /// Numbers of those open connections whose heading has been written.
  std::set<std::uint64_t> introduced_;
  /// Violations that have been written in full, by connection, side and rule.
  std::set<std::tuple<std::uint64_t, trace::Side, frames::Rule>> reported_;
  /// Streams for which the remark about uncertain framing has been written.
  std::set<std::pair<std::uint64_t, trace::Side>> unsure_;
  std::uint64_t frames_ = 0;
  std::uint64_t violations_ = 0;
};

}  // namespace iwarp::apps::explain
