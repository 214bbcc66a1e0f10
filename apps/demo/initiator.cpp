// SPDX-License-Identifier: Apache-2.0
// iwarp demo: two processes show what an RNIC does. The initiator starts a target, connects to it,
// and narrates each step. The target advertises an STag, and the initiator writes and reads the
// target's memory with this STag. Then the STag is invalidated. A Write to the invalid STag ends
// the stream with the Terminate that RFC 5041 demands.
#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "common/connection/advert.hpp"
#include "common/connection/trace.hpp"
#include "demo/demo.hpp"
#include "demo/narrator.hpp"
#include "demo/target_process.hpp"
#include "iwarp/trace/tee_tap.hpp"

namespace iwarp::apps {

namespace {

using verbs::Access;
using verbs::SendFlags;
using verbs::WrOpcode;

class Initiator {
 public:
  Initiator(const DemoOptions& options, TargetProcess& target, Narrator& narrator)
      : options_(options),
        target_(target),
        narrator_(narrator),
        rnic_(open_rnic()),
        session_(*rnic_),
        inbox_(session_, kAdvertSize + kTextSize, Access::kLocalWrite),
        source_(session_, options.size, Access::kNone),
        sink_(session_, options.size, Access::kLocalWrite) {}

  void run() {
    connect();
    learn_stag();
    write();
    read_back();
    invalidate();
    write_to_dead_stag();
    target_.finish();
    check_counters();
    narrator_.summary(summary());
  }

 private:
  static constexpr std::size_t kTextSize = 64;

  void connect() {
    const auto port = std::stoul(target_.expect("port"));
    narrator_.step("Connect: TCP first, then the MPA Request and Reply (RFC 5044, section 7.1)");
    auto options = inbox_.octets();
    session_.post_recv(0, options.first(kAdvertSize), inbox_.stag());
    session_.post_recv(1, options.subspan(kAdvertSize), inbox_.stag());
    auto how = connect_options(options_.common);
    how.tap = [&, capture = how.tap](const net::Address& local, const net::Address& peer,
                                     bool outgoing) {
      std::vector<std::unique_ptr<verbs::WireTap>> taps;
      if (capture) taps.push_back(capture(local, peer, outgoing));
      taps.push_back(narrator_.frame_printer());
      return std::make_unique<trace::TeeTap>(std::move(taps));
    };
    session_.connect({.host = "127.0.0.1", .port = static_cast<std::uint16_t>(port)}, how);
  }

  void learn_stag() {
    narrator_.step(
        "Exchange an STag: the initiator asks with a Send, the target answers with {TO, STag, "
        "length}");
    session_.send_inline(std::as_bytes(std::span(std::string_view("may I have an STag?"))));
    receive();
    const auto advert = decode_advert(inbox_.octets().first(kAdvertSize));
    if (!advert || advert->length != options_.size)
      throw Error("the target sent an invalid STag advertisement");
    remote_ = *advert;
    narrator_.remark("target", target_.expect("registered"));
  }

  void write() {
    narrator_.step(fmt::format("RDMA Write: {} straight into the target's memory",
                               octets_text(options_.size)));
    fill_pattern(source_.octets(), kDemoFirstWrite);
    access_remote(WrOpcode::kWrite, source_);
  }

  void read_back() {
    narrator_.step("RDMA Read: fetch the same octets while the target's program still sleeps");
    access_remote(WrOpcode::kRead, sink_);
    check_pattern(sink_.octets(), kDemoFirstWrite, "the data read back");
    narrator_.remark("initiator", fmt::format("the data read back matches what was written ({})",
                                              octets_text(options_.size)));
  }

  void invalidate() {
    narrator_.step("Send with Invalidate: wake the target and invalidate its STag");
    const std::string_view text = "done with your STag";
    const verbs::Sge sge{reinterpret_cast<std::byte*>(const_cast<char*>(text.data())),
                         static_cast<std::uint32_t>(text.size()), verbs::Stag{}};
    session_.post_send({.opcode = WrOpcode::kSendInvalidate,
                        .flags = SendFlags::kInline,
                        .sgl = {&sge, 1},
                        .invalidate = remote_.stag});
    receive();
    narrator_.remark("target", target_.expect("checked"));
  }

  void write_to_dead_stag() {
    narrator_.step(
        "RDMA Write to the invalidated STag: the target must refuse it and terminate the stream");
    fill_pattern(source_.octets(), kDemoSecondWrite);
    const auto sge = source_.sge(options_.size);
    session_.post_send({.opcode = WrOpcode::kWrite,
                        .sgl = {&sge, 1},
                        .remote = {.rkey = remote_.stag, .to = remote_.to}});
    terminate_ = await_terminate(session_, verbs::AsyncEventType::kTerminateReceived);
    narrator_.remark("target", target_.expect("terminated"));
    session_.await_close();
    if (session_.qp().state() == verbs::QpState::kRts)
      throw Error("the initiator's queue pair is still in RTS after a Terminate");
    narrator_.remark("initiator",
                     fmt::format("I received the Terminate, and my queue pair is in state {}",
                                 verbs::to_string(session_.qp().state())));
  }

  void access_remote(WrOpcode opcode, Buffer& buffer) {
    const auto sge = buffer.sge(options_.size);
    session_.post_send({.opcode = opcode,
                        .flags = SendFlags::kSignaled,
                        .sgl = {&sge, 1},
                        .remote = {.rkey = remote_.stag, .to = remote_.to}});
    const auto wc = session_.wait(kDemoPatience);
    if (wc.opcode == verbs::WcOpcode::kRecv) throw Error("the target sent an unexpected message");
  }

  void receive() {
    if (session_.wait(kDemoPatience).opcode != verbs::WcOpcode::kRecv) {
      throw Error("unexpected completion");
    }
  }

  /// Checks the counters, which show whether the options took effect. Successful transfers do not
  /// show this, because transfers succeed with any options.
  void check_counters() {
    const auto counters = rnic_->counters(session_.qp());
    const auto expect = [](std::uint64_t count, bool wanted, const char* what) {
      if ((count > 0) == wanted) return;
      throw Error(
          fmt::format("the initiator counted {} {}, which contradicts the options", count, what));
    };
    expect(counters.markers_received, options_.common.connection.startup.markers,
           "markers received");
    expect(counters.markers_sent, options_.peer_markers, "markers sent");
    expect(counters.octets_crced, options_.common.connection.startup.crc,
           "octets covered by a CRC");
  }

  std::string summary() const {
    const auto& common = options_.common;
    return fmt::format(
        "demo passed: {} written, read back and checked on both sides; a Write to the "
        "invalidated STag refused with Terminate {} (MPA revision {}, CRC {}, incoming markers "
        "{}, outgoing markers {}, RTR {})",
        octets_text(options_.size), terminate_, shown("IWARP_MPA_REV", common),
        shown("IWARP_CRC", common), shown("IWARP_MARKERS", common),
        options_.peer_markers ? "on" : "off", shown("IWARP_RTR", common));
  }

  const DemoOptions& options_;
  TargetProcess& target_;
  Narrator& narrator_;
  std::unique_ptr<net::Rnic> rnic_;
  Session session_;
  Buffer inbox_;
  Buffer source_;
  Buffer sink_;
  Advert remote_;
  std::string terminate_;
};

int run_demo(const DemoOptions& options) {
  // Check the options before anything is started: connection_options() throws UsageError if they
  // contradict each other.
  connection_options(options.common);
  Narrator narrator(options.quiet);
  TargetProcess target(options);
  Initiator(options, target, narrator).run();
  return 0;
}

}  // namespace

cli::Command demo_command() {
  auto options = std::make_shared<DemoOptions>();
  cli::Command command("demo", "Watch two processes exchange an STag and use it, frame by frame");
  command.size("--size", options->size, {1, kDemoMaxSize}, "Bytes to write and read, at most 64M");
  command.flag("--peer-markers", options->peer_markers, "Make the target request markers");
  command.flag("-q,--quiet", options->quiet, "Print only the last line");
  add_common_options(command, options->common);
  command.notes =
      "Shows each frame layer by layer: MPA, DDP, RDMAP and verbs.\n"
      "The last line lists the checks. Exit status 0 means that all of them passed.";
  command.shown = {"iwarp demo                                all steps, with the default options",
                   "iwarp demo --mpa-rev 1 --markers          RFC 5044 only, with markers",
                   "iwarp demo --size 1M --quiet --trace demo.pcap"};
  command.run = [options](const cli::Given&) { return run_demo(*options); };
  return command;
}

}  // namespace iwarp::apps
