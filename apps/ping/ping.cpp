// SPDX-License-Identifier: Apache-2.0
// iwarp ping: transfers a text to the server and back by RDMA Read and RDMA Write, and measures the
// time. Speaks the protocol of rdma-core's rping, so either end may be rping. In each ping:
//   client advertises its source in a Send; server RDMA Reads it and Sends "go on";
//   client advertises its sink;             server RDMA Writes the text there and Sends "go on".
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "command_line/stop.hpp"
#include "commands.hpp"
#include "common/base/units.hpp"
#include "common/connection/advert.hpp"
#include "common/serving/metrics.hpp"
#include "common/serving/server.hpp"
#include "common/serving/session.hpp"
#include "ping/ping_messages.hpp"

namespace iwarp::apps {

namespace {

using Nanoseconds = std::chrono::nanoseconds;
using verbs::Access;
using verbs::SendFlags;
using verbs::WcOpcode;
using verbs::WrOpcode;

constexpr Timeout kTimeout = 10s;  // how long a client waits for the server's next message
constexpr Timeout kIdle = 10min;   // how long a server waits for its client's next ping
// Number of receives that each end posts: more than the two Sends that can be in flight to it.
constexpr std::size_t kReceives = 4;
// Access that both ends grant: the access that rping grants, plus atomics for peers that support
// RFC 7306.
constexpr auto kAccess =
    Access::kLocalWrite | Access::kRemoteRead | Access::kRemoteWrite | Access::kRemoteAtomic;

struct PingOptions {
  CommonOptions common;
  std::string host;
  std::uint64_t count = 10;
  std::uint64_t size = kPingDefaultSize;
  bool verify = false;
  bool verbose = false;
  bool quiet = false;
  bool server = false;
  std::string go_ahead = "send";
  std::string listen = ":7174";
  unsigned max_clients = 64;
  LogOptions log;
};

/// Sends and receives adverts and "go on" messages, for either end. Each of these messages has 16
/// octets.
class Exchange {
 public:
  explicit Exchange(Session& session)
      : session_(session), in_(session, kReceives * kAdvertSize, Access::kLocalWrite) {
    for (std::size_t i = 0; i < kReceives; ++i) post(i);
  }

  void send(const Advert& advert) { session_.send_inline(encode(advert)); }

  /// Sends the server's "go on"; only its arrival matters, not its content. `kind` is the value of
  /// --go-ahead. If `kind` asks for a Send with Invalidate, `used` is the STag that it invalidates.
  void go_ahead(const std::string& kind, verbs::Stag used) {
    auto octets = encode(Advert{});
    const verbs::Sge sge{octets.data(), kAdvertSize, verbs::Stag{}};
    verbs::SendWr wr{.flags = SendFlags::kInline, .sgl = {&sge, 1}};
    if (kind.starts_with("send-se")) wr.flags = wr.flags | SendFlags::kSolicited;
    if (kind.ends_with("inv")) {
      wr.opcode = WrOpcode::kSendInvalidate;
      wr.invalidate = used;
    }
    session_.post_send(wr);
  }

  /// Waits for the next Send of the other end, and returns its advert.
  Advert receive(Timeout time_limit) {
    for (;;) {
      const auto wc = session_.wait(time_limit);
      if (wc.opcode != WcOpcode::kRecv) continue;
      const auto advert =
          decode_advert(slot(wc.wr_id).first(std::min<std::size_t>(wc.byte_len, kAdvertSize)));
      if (!advert || wc.byte_len != kAdvertSize) {
        throw Error(fmt::format(
            "the peer sent {} octets instead of a 16-octet advertisement of memory", wc.byte_len));
      }
      post(wc.wr_id);
      return *advert;
    }
  }

  /// Posts an RDMA Read or Write of `length` bytes between `buffer` and the peer's memory, and
  /// waits for the completion.
  void transfer(WrOpcode opcode, Buffer& buffer, std::size_t length, const Advert& peer) {
    const auto sge = buffer.sge(length);
    session_.post_send({.opcode = opcode,
                        .flags = SendFlags::kSignaled,
                        .sgl = {&sge, 1},
                        .remote = {.rkey = peer.stag, .to = peer.to}});
    const auto wc = session_.wait(kTimeout);
    if (wc.opcode != (opcode == WrOpcode::kRead ? WcOpcode::kRead : WcOpcode::kWrite)) {
      throw Error("the peer sent an unexpected message");
    }
  }

 private:
  bytes::Span slot(std::size_t index) {
    return in_.octets().subspan(index * kAdvertSize, kAdvertSize);
  }
  void post(std::size_t index) { session_.post_recv(index, slot(index), in_.stag()); }

  Session& session_;
  Buffer in_;
};

std::string_view text_in(bytes::View octets) {
  const auto* text = reinterpret_cast<const char*>(octets.data());
  return {text, strnlen(text, octets.size())};
}

// Client ------------------------------------------------------------------------------------------

/// Memory that the server accesses. If a Send with Invalidate from the server has invalidated the
/// STag, the client registers the memory again.
class Exposed {
 public:
  Exposed(Session& session, std::size_t size)
      : session_(session), size_(size), octets_(std::max<std::size_t>(size, 1)) {}
  std::span<std::byte> octets() { return std::span(octets_).first(size_); }
  Advert advert() {
    if (!memory_.valid()) memory_ = session_.register_memory(std::span(octets_), kAccess);
    return {memory_.to(octets_.data()), memory_.stag(), static_cast<std::uint32_t>(size_)};
  }

 private:
  Session& session_;
  std::size_t size_;
  // Contains at least one byte, because an empty region cannot be registered.
  std::vector<std::byte> octets_;
  net::Memory memory_;
};

Nanoseconds one_ping(Exchange& exchange, Exposed& source, Exposed& sink) {
  const auto start = std::chrono::steady_clock::now();
  exchange.send(source.advert());
  exchange.receive(kTimeout);
  exchange.send(sink.advert());
  exchange.receive(kTimeout);
  return std::chrono::steady_clock::now() - start;
}

void print_summary(std::vector<Nanoseconds> times, std::size_t size) {
  if (times.empty()) return;
  std::ranges::sort(times);
  fmt::print("{} ping{} of {} octet{}: min {}, median {}, max {}\n", times.size(),
             times.size() == 1 ? "" : "s", size, size == 1 ? "" : "s",
             format_duration(times.front()), format_duration(times[times.size() / 2]),
             format_duration(times.back()));
}

void ping_loop(const PingOptions& options, Session& session, std::vector<Nanoseconds>& times) {
  const auto size = static_cast<std::size_t>(options.size);
  Exchange exchange(session);
  Exposed source(session, size);
  Exposed sink(session, size);
  session.connect(address_argument(options.host, kPingPort), connect_options(options.common));
  for (std::uint64_t i = 0; options.count == 0 || i < options.count; ++i) {
    fill_ping(source.octets(), static_cast<std::uint32_t>(i));
    std::ranges::fill(sink.octets(), std::byte{0xFF});
    const auto time = one_ping(exchange, source, sink);
    if (times.size() < 10'000'000) times.push_back(time);
    if (options.verify && !std::ranges::equal(source.octets(), sink.octets())) {
      throw Error(fmt::format("ping {}: the returned text differs from the text that was sent", i));
    }
    if (options.verbose) fmt::print("ping data: {}\n", text_in(sink.octets()));
    if (!options.quiet && !options.verbose) {
      fmt::print("ping {}: {} octets, {}\n", i, size, format_duration(time));
    }
  }
  session.disconnect();
}

int run_client(const PingOptions& options) {
  catch_stop_signals();
  start_metrics(options.common.metrics);
  const auto rnic = open_rnic();
  const auto watch = watch_rnic(*rnic);
  std::vector<Nanoseconds> times;
  Session session(*rnic);
  try {
    ping_loop(options, session, times);
  } catch (const Interrupted&) {
    // A stop signal is the usual way to end an endless ping. This is not a failure if there are
    // results to report.
    if (times.empty()) throw;
  }
  print_summary(std::move(times), options.size);
  return 0;
}

// Server ------------------------------------------------------------------------------------------

std::uint32_t checked_size(const Advert& advert) {
  if (advert.length > kPingMaxSize) {
    throw Error(fmt::format("the client advertised {} octets; at most {} are allowed",
                            advert.length, kPingMaxSize));
  }
  return advert.length;
}

void serve_pings(const PingOptions& options, Session& session, Exchange& exchange) {
  std::unique_ptr<Buffer> buffer;
  for (;;) {
    const auto source = exchange.receive(kIdle);
    const auto size = checked_size(source);
    if (!buffer || buffer->octets().size() < size) {
      buffer = std::make_unique<Buffer>(session, std::max(size, 1U), kAccess);
    }
    exchange.transfer(WrOpcode::kRead, *buffer, size, source);
    if (options.verbose) {
      const std::string text(text_in(buffer->octets().first(size)));
      log_info("ping", "server ping data: " + text, {{"text", text}});
    }
    exchange.go_ahead(options.go_ahead, source.stag);
    const auto sink = exchange.receive(kTimeout);
    if (checked_size(sink) < size)
      throw Error("the client's sink buffer is smaller than its source buffer");
    exchange.transfer(WrOpcode::kWrite, *buffer, size, sink);
    exchange.go_ahead(options.go_ahead, sink.stag);
  }
}

void handle_client(const PingOptions& options, net::Rnic& rnic, net::ConnectRequest& request,
                   ClientSlot& slot) {
  Session session(rnic);
  Exchange exchange(session);
  session.accept(request, &slot);
  try {
    serve_pings(options, session, exchange);
  } catch (const PeerGone&) {
    // A client disconnects when it is done. Report the end as an error only after a Terminate.
    const auto attributes = session.qp().query();
    if (attributes.terminate_received || attributes.terminate_sent) throw;
  }
  session.await_close();
}

int run_ping(const PingOptions& options) {
  if (options.server && !options.host.empty()) throw UsageError("--server accepts no HOST");
  if (!options.server && options.host.empty())
    throw UsageError("HOST is missing (or use --server)");
  if (!options.server) return run_client(options);
  const ServerOptions server{.listen = address_argument(options.listen, kPingPort),
                             .max_clients = options.max_clients,
                             .metrics = options.common.metrics,
                             .log = options.log};
  run_server("ping", server, options.common,
             [&](net::Rnic& rnic, net::ConnectRequest& request, ClientSlot& slot) {
               handle_client(options, rnic, request, slot);
             });
  return 0;
}

}  // namespace

cli::Command ping_command() {
  auto options = std::make_shared<PingOptions>();
  cli::Command command(
      "ping", "Measure round-trip times: the server reads a text by RDMA Read and writes it back");
  command.argument("HOST", options->host, "HOST, HOST:PORT or [V6]:PORT; the default port is 7174");
  command.number("--count", "N", options->count, {0, 1e15},
                 "Number of pings; 0: until interrupted");
  command.size("--size", options->size, {0, kPingMaxSize},
               "Bytes per ping, up to 4M; rping accepts 26 to 65535");
  command.flag("--verify", options->verify,
               "Compare the returned text with the text that was sent");
  command.flag("-v,--verbose", options->verbose, "Show the text of each ping");
  command.flag("-q,--quiet", options->quiet, "Print only the summary");
  add_option(command, "IWARP_METRICS", options->common);
  command.begin_group("Server");
  command.flag("--server", options->server,
               "Run as a server, which answers many clients at the same time");
  command.text("--listen", "ADDR:PORT", options->listen, "Address to listen on");
  command.choice(
      "--go-ahead", options->go_ahead, {"send", "send-se", "send-inv", "send-se-inv"},
      "Kind of Send with which the server answers: with Solicited Event (se), with Invalidate "
      "(inv) of the client's STag, or with both; rping expects no Invalidate");
  command.number(
      "--max-clients", "N", options->max_clients, {1, 1024},
      "Maximum number of clients; a further client evicts an idle client or, if no client is "
      "idle, is rejected");
  add_log_options(command, options->log);
  add_common_options(command, options->common);
  add_tls_options(command, options->common);
  command.notes = "The protocol is that of rdma-core's rping, so either end may be rping.";
  command.shown = {"iwarp ping --server                 answer on port 7174 until interrupted",
                   "iwarp ping 192.0.2.7 --verify       check ten pings of 64 octets",
                   "iwarp ping [::1]:7174 --count 0 -v  until interrupted, with the data"};
  command.run = [options](const cli::Given& given) {
    if (given.has("--go-ahead") && !options->server)
      throw UsageError("--go-ahead requires --server");
    return run_ping(*options);
  };
  return command;
}

}  // namespace iwarp::apps
