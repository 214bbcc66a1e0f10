// SPDX-License-Identifier: Apache-2.0
// This project's end in the interop tests with kernel siw. Performs the client's or the server's
// part of the sequence (sequence.hpp) over this stack, or the part of the other end of librdmacm's
// small examples. It has the options of every iwarp command, so that each way to set up a
// connection can be selected.
#include <fmt/format.h>

#include <cstdio>
#include <deque>

#include "command_line/parse.hpp"
#include "command_line/stop.hpp"
#include "common/base/log.hpp"
#include "common/connection/options.hpp"
#include "common/serving/server.hpp"
#include "common/serving/session.hpp"
#include "sequence.hpp"

namespace {

using namespace iwarp;
using namespace iwarp::apps;
using namespace iwarp::interop;
using verbs::Access;
using verbs::SendFlags;
using verbs::WcOpcode;
using verbs::WrOpcode;

constexpr Timeout kTimeout = 30s;

struct Options {
  CommonOptions common;
  std::string address;
  std::string cells;
  std::string ending = "close";
  unsigned connections = 1;
  unsigned messages = 0;  // number of Sends in each direction; 0 runs the sequence instead
  std::uint64_t size = 100;
};

class SessionLink final : public Link {
 public:
  explicit SessionLink(Session& session)
      : session_(session), local_(session, (kSlots + 2) * kBuffer, Access::kLocalWrite) {
    for (std::size_t i = 0; i < kSlots; ++i) post_receive(i);
  }

  std::span<std::byte> source() override { return buffer(kSlots); }
  std::span<std::byte> sink() override { return buffer(kSlots + 1); }
  std::span<std::byte> target() override { return target_; }
  Place advertise() override {
    if (!memory_) {
      memory_ = session_.register_memory(
          std::span(target_), Access::kLocalWrite | Access::kRemoteRead | Access::kRemoteWrite);
    }
    return {.stag = memory_->stag().value, .to = memory_->to(target_.data())};
  }
  void target_invalidated() override {
    if (memory_->valid()) throw Error("the target was invalidated and can still be used");
    memory_.reset();
  }

  void send_control(std::span<const std::byte, kControlSize> octets) override {
    session_.send_inline(octets);
  }
  void send(std::size_t size, const SendKind& kind) override {
    verbs::SendWr wr;
    if (kind.solicited) wr.flags = wr.flags | SendFlags::kSolicited;
    if (kind.fenced) wr.flags = wr.flags | SendFlags::kFence;
    if (kind.invalidate) {
      wr.opcode = WrOpcode::kSendInvalidate;
      wr.invalidate = verbs::Stag{*kind.invalidate};
    }
    post(wr, source(), size);
  }
  void write(std::size_t size, const Place& to) override {
    post({.opcode = WrOpcode::kWrite, .remote = remote(to)}, source(), size);
  }
  void read(std::size_t size, const Place& from) override {
    read_done_ = false;
    post({.opcode = WrOpcode::kRead, .flags = SendFlags::kSignaled, .remote = remote(from)}, sink(),
         size);
  }
  void wait_read() override {
    while (!read_done_) progress();
  }
  Received receive() override {
    if (taken_) post_receive(*taken_);
    taken_.reset();
    while (arrived_.empty()) progress();
    const auto wc = arrived_.front();
    arrived_.pop_front();
    taken_ = wc.wr_id;
    Received out{.octets = buffer(wc.wr_id).first(wc.byte_len),
                 .solicited = wc.solicited,
                 .tells_invalidated = true};
    if (wc.invalidated) out.invalidated = wc.invalidated_stag.value;
    return out;
  }
  std::string wait_end() override {
    try {
      for (;;) progress();
    } catch (const PeerGone&) {
      session_.await_close();  // The reason is known only after the queue pair has been closed.
      return end_reason(session_.qp());
    }
  }

 private:
  std::span<std::byte> buffer(std::size_t index) {
    return local_.octets().subspan(index * kBuffer, kBuffer);
  }
  static verbs::RemoteAddress remote(const Place& place) {
    return {.rkey = verbs::Stag{place.stag}, .to = place.to};
  }
  void post(verbs::SendWr wr, std::span<std::byte> from, std::size_t size) {
    const verbs::Sge sge{from.data(), static_cast<std::uint32_t>(size), local_.stag()};
    wr.sgl = {&sge, 1};
    session_.post_send(wr);
  }
  void post_receive(std::size_t slot) {
    session_.post_recv(slot, buffer(slot).first(kMaxSize), local_.stag());
  }
  void progress() {
    const auto wc = session_.wait(kTimeout);
    if (wc.opcode == WcOpcode::kRead) read_done_ = true;
    if (wc.opcode == WcOpcode::kRecv) arrived_.push_back(wc);
  }

  Session& session_;
  Buffer local_;
  std::vector<std::byte> target_ = std::vector<std::byte>(kBuffer);
  std::optional<net::Memory> memory_;
  std::deque<verbs::WorkCompletion> arrived_;
  std::optional<std::size_t> taken_;
  bool read_done_ = false;
};

/// Does what rdma_client, rdma_server and ucmatose do: each end sends `messages` messages and
/// receives the same number.
class Exchange {
 public:
  Exchange(Session& session, const Options& options)
      : session_(session), options_(options), buffer_(session, options.size, Access::kLocalWrite) {
    for (unsigned i = 0; i < options.messages; ++i) {
      session.post_recv(i, buffer_.octets(), buffer_.stag());
    }
  }
  void run() {
    const auto sge = buffer_.sge(options_.size);
    for (unsigned i = 0; i < options_.messages; ++i) session_.post_send({.sgl = {&sge, 1}});
    for (unsigned got = 0; got < options_.messages; ++got) {
      const auto wc = session_.wait(kTimeout);
      if (wc.byte_len == options_.size) continue;
      throw Error(fmt::format("{} octets came instead of {}", wc.byte_len, options_.size));
    }
  }

 private:
  Session& session_;
  const Options& options_;
  Buffer buffer_;
};

bool lead_connection(const Options& options, net::Rnic& rnic) {
  Session session(rnic);
  const auto to = address_argument(options.address, 0);
  if (options.messages > 0) {
    Exchange exchange(session, options);
    session.connect(to, connect_options(options.common));
    exchange.run();
    session.disconnect();
    return true;
  }
  const auto ending = ending_named(options.ending);
  if (!ending) throw UsageError("there is no ending " + options.ending);
  SessionLink link(session);
  session.connect(to, connect_options(options.common));
  std::string end;
  const bool fine = lead(link, parse_cells(options.cells), *ending, print_cell, end);
  if (!end.empty()) fmt::print("end {}\n", end);
  session.disconnect();
  return fine;
}

int run_connect(const Options& options) {
  catch_stop_signals();
  const auto rnic = open_rnic();
  unsigned done = 0;
  while (done < options.connections && lead_connection(options, *rnic)) ++done;
  fmt::print("connections {} of {}\n", done, options.connections);
  return done == options.connections ? 0 : 1;
}

void follow_connection(const Options& options, net::Rnic& rnic, net::ConnectRequest& request) {
  Session session(rnic);
  // The buffer of the exchange must outlive run(), because the last Send may still be in flight
  // when run() returns.
  std::optional<Exchange> exchange;
  if (options.messages > 0) {
    exchange.emplace(session, options);
    session.accept(request);
    exchange->run();
  } else {
    SessionLink link(session);
    session.accept(request);
    follow(link);
  }
  session.await_close();
  const auto ended = session.qp().query();
  if (ended.terminate_sent || ended.terminate_received) {
    log_info("terminated", "end " + end_reason(session.qp()));
  } else if (exchange) {
    log_info("exchanged", "exchanged");
  }
}

int run_listen(const Options& options) {
  const ServerOptions server{.listen = address_argument(options.address, 0)};
  run_server("siw_matrix", server, options.common,
             [&](net::Rnic& rnic, net::ConnectRequest& request, ClientSlot&) {
               follow_connection(options, rnic, request);
             });
  return 0;
}

void describe(cli::Command& command, Options& options) {
  command.argument("ADDRESS", options.address, "HOST:PORT").required();
  command.number("--messages", "N", options.messages, {0, 1e6},
                 "Instead of the sequence: Sends each way");
  command.size("--size", options.size, {0, 1 << 20}, "With --messages: octets of each");
  add_common_options(command, options.common);
}

cli::Command connect_command(Options& options) {
  cli::Command connect("connect", "Lead");
  describe(connect, options);
  connect.text("--cells", "CELLS", options.cells, "out:write:4096,in:send:0,...");
  connect.number("--connections", "N", options.connections, {1, 1e6}, "One after the other");
  connect.text("--ending", "HOW", options.ending,
               "close, write-unknown, read-unknown or write-dead");
  connect.run = [&options](const cli::Given&) { return run_connect(options); };
  return connect;
}

cli::Command listen_command(Options& options) {
  cli::Command listen("listen", "Follow, until interrupted");
  describe(listen, options);
  listen.run = [&options](const cli::Given&) { return run_listen(options); };
  return listen;
}

int run(int argc, char** argv) {
  Options options;
  cli::Command root("siw_matrix", "Our end of the interop tests with kernel siw");
  root.commands = {connect_command(options), listen_command(options)};
  const auto invocation = cli::parse(root, argc, argv);
  if (!invocation) throw UsageError(invocation.error().text);
  return invocation->path.back()->run(invocation->given);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "siw_matrix: %s\n", error.what());
    return 1;
  }
}
