// SPDX-License-Identifier: Apache-2.0
// Mode (b): RDMA Writes of this stack into one buffer of the other process, whose program sleeps.
// A phase ends with a Send each way; both consumers sleep on their completion channel.
#include <chrono>

#include "common/advert.hpp"
#include "common/session.hpp"
#include "cost/measure.hpp"

namespace iwarp::apps::cost {

namespace {

using verbs::Access;

constexpr std::uint64_t kWindow = 16;  // Writes under way
constexpr std::uint64_t kWriteId = 1;
constexpr std::uint64_t kReceives = 2;
constexpr Timeout kPatienceMs = 100s;

net::ListenOptions listening(const Job& job) {
  net::ListenOptions out;
  out.connection.startup.crc = job.crc != "off";
  out.connection.startup.markers = job.markers;
  out.connection.max_ulpdu = job.fpdu;
  out.congestion = kCongestion;
  return out;
}

net::ConnectOptions connecting(const Job& job) {
  net::ConnectOptions out;
  out.connection = listening(job).connection;
  out.congestion = kCongestion;
  return out;
}

/// Short Sends of either end.
class Notes {
 public:
  explicit Notes(Session& session)
      : session_(session), in_(session, kReceives * kAdvertSize, Access::kLocalWrite) {
    for (std::uint64_t i = 0; i < kReceives; ++i) post(i);
  }
  void send(const Advert& advert = {}) { session_.send_inline(encode(advert)); }
  Advert receive() {
    for (;;) {
      const auto wc = session_.wait(kPatienceMs);
      if (wc.opcode == verbs::WcOpcode::kRecv) return take(wc);
    }
  }

 private:
  Advert take(const verbs::WorkCompletion& wc) {
    const auto advert = decode_advert(slot(wc.wr_id));
    post(wc.wr_id);
    if (!advert) throw Error("not an advert");
    return *advert;
  }
  std::span<std::byte> slot(std::uint64_t i) {
    return in_.octets().subspan(i * kAdvertSize, kAdvertSize);
  }
  void post(std::uint64_t i) { session_.post_recv(i, slot(i), in_.stag()); }

  Session& session_;
  Buffer in_;
};

Observed observed(const Session& session, net::Rnic& rnic) {
  auto out = used_so_far();
  out.counters = rnic.counters(session.qp());
  return out;
}

/// As many Writes under way as the window holds.
void write_all(Session& session, const Job& job, std::uint64_t messages, Buffer& from,
               const Advert& to) {
  const auto sge = from.sge(job.size);
  const verbs::SendWr write{.wr_id = kWriteId,
                            .opcode = verbs::WrOpcode::kWrite,
                            .flags = verbs::SendFlags::kSignaled,
                            .sgl = {&sge, 1},
                            .remote = {.rkey = to.stag, .to = to.to}};
  std::uint64_t posted = 0;
  for (std::uint64_t done = 0; done < messages;) {
    for (; posted < messages && posted - done < kWindow; ++posted) session.post_send(write);
    if (session.wait(kPatienceMs).wr_id == kWriteId) ++done;
  }
}

}  // namespace

Observed send_by_iwarp(const Job& job, const Peer& peer, double& seconds) {
  const auto rnic = open_rnic();
  Session session(*rnic);
  Notes notes(session);
  const auto port = peer.hear();
  if (port.empty()) throw Error("the receiver has gone");
  session.connect({"127.0.0.1", static_cast<std::uint16_t>(std::stoi(port))}, connecting(job));
  Buffer from(session, job.size, Access::kNone);
  notes.send();  // The side that connects speaks first.
  const auto to = notes.receive();
  const auto phase = [&](std::uint64_t messages) {
    write_all(session, job, messages, from, to);
    notes.send();
    notes.receive();
  };
  phase(warm_up(job));
  const auto start = std::chrono::steady_clock::now();
  const auto before = observed(session, *rnic);
  phase(job.messages);
  const auto after = observed(session, *rnic);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  session.disconnect();
  return difference(after, before);
}

Observed receive_by_iwarp(const Job& job, const Peer& peer) {
  const auto rnic = open_rnic();
  const auto requests = check(rnic->create_cm_channel(), "cannot create a connection channel");
  const auto listener =
      check(rnic->listen({"127.0.0.1", 0}, listening(job), *requests), "cannot listen");
  peer.say(std::to_string(listener->local().port));
  const auto request = requests->wait(kPatienceMs);
  if (!request || request->request == nullptr) throw Error("nobody connected");
  Session session(*rnic);
  Notes notes(session);
  session.accept(*request->request);
  Buffer into(session, job.size, Access::kRemoteWrite);
  notes.receive();
  notes.send({into.to(), into.stag(), static_cast<std::uint32_t>(job.size)});
  notes.receive();
  const auto before = observed(session, *rnic);
  notes.send();
  notes.receive();
  const auto after = observed(session, *rnic);
  notes.send();
  session.await_close();
  return difference(after, before);
}

}  // namespace iwarp::apps::cost
