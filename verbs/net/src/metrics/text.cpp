// SPDX-License-Identifier: Apache-2.0
// metrics_text(): writes Prometheus' text format, which contains, for each family of metrics, a
// help text, a type, and one line per series.
#include <fmt/format.h>

#include <iterator>

#include "iwarp/net/metrics.hpp"
#include "iwarp/rdmap/terminate.hpp"
#include "iwarp/verbs/counter_names.hpp"
#include "iwarp/version.hpp"

namespace iwarp::net {
namespace {

/// Returns `text`, escaped so that it can stand inside the quotes of a label.
std::string label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      out += {'\\', c};
    } else {
      out += c >= ' ' && c <= '~' ? c : '?';
    }
  }
  return out;
}

class Exposition {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(std::back_inserter(out_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  }
  void series(std::uint64_t value, std::string_view labels = {}) {
    const auto braced = labels.empty() ? std::string() : fmt::format("{{{}}}", labels);
    fmt::format_to(std::back_inserter(out_), "{}{} {}\n", name_, braced, value);
  }
  void counter(std::string_view name, std::uint64_t value, std::string_view help) {
    family(name, "counter", help);
    series(value);
  }
  void gauge(std::string_view name, std::uint64_t value, std::string_view help) {
    family(name, "gauge", help);
    series(value);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string name_;
  std::string out_;
};

void write_setups(Exposition& out, const Statistics& s) {
  const auto both = [&](auto figure) {
    out.series(figure(s.active), "side=\"active\"");
    out.series(figure(s.passive), "side=\"passive\"");
  };
  out.family("iwarp_setups_begun_total", "counter",
             "Connection set-ups begun by this program (active) or by peers (passive)");
  both([](const SetupStatistics& side) { return side.begun; });
  out.family("iwarp_setups_established_total", "counter", "Connection set-ups that succeeded");
  both([](const SetupStatistics& side) { return side.established; });
  out.family("iwarp_setups_failed_total", "counter", "Connection set-ups that failed, by reason");
  for (std::size_t i = 0; i < kSetupFailures; ++i) {
    const char* const reason = to_string(static_cast<SetupFailure>(i));
    out.series(s.active.failed[i], fmt::format("side=\"active\",reason=\"{}\"", reason));
    out.series(s.passive.failed[i], fmt::format("side=\"passive\",reason=\"{}\"", reason));
  }
  out.gauge("iwarp_setups_pending", s.pending_setups, "Passive connection set-ups in progress");
  out.counter("iwarp_accept_pauses_total", s.accept_pauses,
              "How often a listener ran out of file descriptors or memory");
}

void write_terminates(Exposition& out, const Statistics& s) {
  out.family("iwarp_terminates_total", "counter",
             "Terminate messages, by layer/type/code (RFC 5040 section 4.8)");
  const auto both = [&](const TerminateCount& count, const std::string& labels) {
    out.series(count.sent, "direction=\"sent\"," + labels);
    out.series(count.received, "direction=\"received\"," + labels);
  };
  for (const TerminateCount& count : s.terminates) {
    const auto& [layer, type, code, why] = count.fault;
    both(count,
         fmt::format("code=\"{:x}/{:x}/{:02x}\",meaning=\"{}\"", static_cast<unsigned>(layer), type,
                     code, label(rdmap::explain(layer, type, code))));
  }
  both(s.other_terminates, "code=\"other\",meaning=\"\"");
}

void write_datagrams(Exposition& out, const verbs::DatagramCounters& d) {
  out.counter("iwarp_datagrams_sent_total", d.sent,
              "Datagrams that the kernel accepted for sending");
  out.counter("iwarp_datagrams_unsent_total", d.unsent,
              "Datagrams that the kernel refused to send");
  out.counter("iwarp_datagrams_delivered_total", d.delivered,
              "Datagrams delivered to a posted receive");
  out.counter(
      "iwarp_datagrams_lost_total", d.lost,
      "Datagrams that the kernel dropped on arrival, usually because the socket buffer was full");
  out.counter("iwarp_datagram_groups_unjoined_total", d.unjoined,
              "Interfaces on which a multicast group could not be joined");
  out.counter("iwarp_datagram_send_calls_total", d.send_calls, "System calls that send datagrams");
  out.counter("iwarp_datagram_receive_calls_total", d.receive_calls,
              "System calls that receive datagrams");
  out.family("iwarp_datagrams_dropped_total", "counter", "Datagrams not delivered, by reason");
  for (std::size_t i = 0; i < verbs::kDatagramDrops; ++i) {
    out.series(d.dropped[i],
               fmt::format("reason=\"{}\"", to_string(static_cast<verbs::DatagramDrop>(i))));
  }
}

void write_devices(Exposition& out, const Statistics& s) {
  if (s.devices.empty()) return;
  for (const auto& [name, member, meaning] : verbs::counter_names()) {
    if (member == &verbs::Counters::registrations) continue;
    out.family(fmt::format("iwarp_device_{}_total", name), "counter", meaning);
    for (const auto& [device, counters] : s.devices) {
      out.series(counters.*member, fmt::format("device=\"{}\"", label(device)));
    }
  }
}

void write_connections(Exposition& out, const Statistics& s) {
  out.gauge("iwarp_connections_open", s.open_connections, "Established connections");
  out.gauge("iwarp_connections_unlisted", s.open_connections - s.connections.size(),
            "Established connections that have no time series of their own");
  const auto each = [&](const std::string& name, std::string_view help, auto figure) {
    out.family("iwarp_connection_" + name, "counter", help);
    for (const ConnectionStatistics& one : s.connections) {
      const auto device =
          one.device.empty() ? std::string() : fmt::format("device=\"{}\",", label(one.device));
      out.series(figure(one), fmt::format("{}qp=\"{}\",side=\"{}\",local=\"{}\",peer=\"{}\"",
                                          device, one.qp, one.is_outgoing ? "active" : "passive",
                                          label(to_string(one.local)), label(to_string(one.peer))));
    }
  };
  if (s.connections.empty()) return;
  for (const auto& [name, member, meaning] : verbs::counter_names()) {
    // registrations are counted only for the whole Rnic
    if (member == &verbs::Counters::registrations) continue;
    each(fmt::format("{}_total", name), meaning,
         [member](const ConnectionStatistics& one) { return one.counters.*member; });
  }
  each("receive_holds_total", "Messages that had to wait for a receive to be posted",
       [](const ConnectionStatistics& one) { return one.incidents.receive_holds; });
  each("pins_broken_total",
       "How often memory was deregistered or invalidated while this connection used it",
       [](const ConnectionStatistics& one) { return one.incidents.pins_broken; });
}

}  // namespace

std::string metrics_text(const Statistics& s) {
  Exposition out;
  out.family("iwarp_build_info", "gauge", "Always 1; the label is the version of this stack");
  out.series(1, fmt::format("version=\"{}\"", label(kVersion)));
  for (const auto& [name, member, meaning] : verbs::counter_names()) {
    out.counter(fmt::format("iwarp_{}_total", name), s.counters.*member, meaning);
  }
  write_setups(out, s);
  write_terminates(out, s);
  write_datagrams(out, s.datagrams);
  out.counter("iwarp_receive_holds_total", s.receive_holds,
              "Messages that had to wait for a receive to be posted");
  out.counter("iwarp_pins_broken_total", s.pins_broken,
              "How often memory was deregistered or invalidated while a connection used it");
  out.family("iwarp_objects", "gauge", "Verbs objects of the program, by kind");
  out.series(s.pds, "kind=\"pd\"");
  out.series(s.qps, "kind=\"qp\"");
  out.series(s.cqs, "kind=\"cq\"");
  out.series(s.srqs, "kind=\"srq\"");
  write_devices(out, s);
  write_connections(out, s);
  return out.take();
}

}  // namespace iwarp::net
