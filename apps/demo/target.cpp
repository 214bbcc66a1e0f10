// SPDX-License-Identifier: Apache-2.0
// The target of the demonstration, which owns the memory. It advertises the STag and sleeps while
// the initiator writes and reads the memory. Then it checks every byte, and checks that a Write is
// refused once the STag has been invalidated.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "common/connection/advert.hpp"
#include "demo/demo.hpp"

namespace iwarp::apps {

namespace {

// Number of guard bytes before and after the region. They must not change.
constexpr std::size_t kGuard = 64;
constexpr std::byte kGuardOctet{0xA5};
constexpr std::size_t kSendSize = 128;

/// Writes lines of text to the narrating process.
class Reporter {
 public:
  explicit Reporter(int fd) : fd_(fd) {}
  void line(const std::string& text) const {
    const auto whole = text + "\n";
    // write() puts a short line into the pipe as a whole. If the narrating process is gone, ignore
    // the error.
    [[maybe_unused]] const auto written = write(fd_, whole.data(), whole.size());
  }

 private:
  int fd_;
};

class Target {
 public:
  Target(const DemoOptions& options, const Reporter& report)
      : report_(report),
        rnic_(open_rnic()),
        events_(check(rnic_->create_cm_channel(), "cannot create an event channel")),
        session_(*rnic_),
        storage_(options.size + 2 * kGuard, kGuardOctet),
        octets_(std::span(storage_).subspan(kGuard, options.size)),
        region_(session_.register_memory(
            octets_, verbs::Access::kLocalWrite | verbs::Access::kRemoteWrite |
                         verbs::Access::kRemoteRead | verbs::Access::kRemoteInvalidate)),
        inbox_(session_, 2 * kSendSize, verbs::Access::kLocalWrite),
        options_{.connection = connection_options(options.common),
                 .congestion = options.common.congestion} {
    options_.connection.startup.markers = options.peer_markers;
    // The initiator requests the RTR, so the target must not.
    options_.connection.startup.rtr = mpa::Rtr::kNone;
  }

  void run() {
    accept();
    advertise();
    check_after_invalidate();
    session_.send_inline(std::as_bytes(std::span(std::string_view("all octets match"))));
    const auto terminate = await_terminate(session_, verbs::AsyncEventType::kTerminateSent);
    check_memory();
    report_.line("terminated " +
                 fmt::format("I sent Terminate {}, and no octet has changed", terminate));
    session_.await_close();
  }

 private:
  void accept() {
    for (std::size_t i = 0; i < 2; ++i) {
      session_.post_recv(i, inbox_.octets().subspan(i * kSendSize, kSendSize), inbox_.stag());
    }
    const auto listener =
        check(rnic_->listen({.host = "127.0.0.1", .port = 0}, options_, *events_), "cannot listen");
    report_.line(fmt::format("port {}", listener->local().port));
    while (auto event = events_->wait(kDemoPatience)) {
      if (event->type == net::CmEvent::Type::kEstablished) return;
      if (event->type == net::CmEvent::Type::kConnectRequest) session_.accept(*event->request);
      if (event->type == net::CmEvent::Type::kConnectFailed) throw Error(to_text(*event));
    }
    throw Error("the initiator did not connect in time");
  }

  void advertise() {
    receive();
    const Advert advert{region_.to(octets_.data()), region_.stag(),
                        static_cast<std::uint32_t>(octets_.size())};
    session_.send_inline(encode(advert));
    report_.line("registered " +
                 fmt::format("I registered {} and now sleep", octets_text(octets_.size())));
  }

  void check_after_invalidate() {
    const auto wc = receive();
    if (!wc.invalidated || wc.invalidated_stag != region_.stag()) {
      throw Error("the Send did not invalidate the STag");
    }
    if (region_.valid()) throw Error("the invalidated STag still permits access to the memory");
    check_memory();
    report_.line(
        "checked " +
        fmt::format("I woke up: my region contains what was written ({}), the memory around it is "
                    "unchanged, and STag {:#010x} is invalid",
                    octets_text(octets_.size()), region_.stag().value));
  }

  void check_memory() const {
    check_pattern(octets_, kDemoFirstWrite, "the target's memory");
    const auto guard = [](std::byte octet) { return octet == kGuardOctet; };
    const std::span all(storage_);
    if (!std::ranges::all_of(all.first(kGuard), guard) ||
        !std::ranges::all_of(all.last(kGuard), guard)) {
      throw Error("memory outside the region was modified");
    }
  }

  verbs::WorkCompletion receive() {
    for (;;) {
      const auto wc = session_.wait(kDemoPatience);
      if (wc.opcode == verbs::WcOpcode::kRecv) return wc;
    }
  }

  const Reporter& report_;
  std::unique_ptr<net::Rnic> rnic_;
  // Must be declared before session_, so that it is destroyed later: the connection reports events
  // to this channel until session_ is destroyed.
  net::CmChannelHandle events_;
  Session session_;
  std::vector<std::byte> storage_;
  std::span<std::byte> octets_;
  net::Memory region_;
  Buffer inbox_;
  net::ListenOptions options_;
};

}  // namespace

int run_demo_target(const DemoOptions& options, int report_fd) {
  const Reporter report(report_fd);
  try {
    Target(options, report).run();
  } catch (const std::exception& error) {
    report.line(std::string("failed ") + error.what());
    return kExitFailure;
  }
  report.line("done");
  return 0;
}

}  // namespace iwarp::apps
