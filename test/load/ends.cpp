// SPDX-License-Identifier: Apache-2.0
// Both ends of the load. The client checks the work itself: it reads back what it has written, and
// compares.
#include "ends.hpp"

#include <poll.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace iwarp::load {
namespace {

using std::chrono::milliseconds;
using namespace verbs;

constexpr std::size_t kSend = 64;        // bytes of a Send
constexpr std::size_t kReceives = 4096;  // number of receives that are posted at a time
constexpr std::size_t kQueue = 1 << 17;  // entries of a completion queue
// Number of loopback addresses. Each has its own set of ports.
constexpr std::size_t kAddresses = 64;
constexpr std::uint32_t kSizes[] = {1, 64, 1024, 4096, 30'000};

// Returns limits that no run reaches, so that the test measures a steady state.
net::RnicOptions options() {
  net::RnicOptions out;
  out.max_regions = 1024;  // an STag is reused only after half of all STags have been used
  out.max_pending_connects = 4096;
  out.max_pending_per_source = 4096;
  out.max_pending_per_listener = 4096;
  return out;
}

// Waits until one of the descriptors is readable.
void wait_for(int one, int other, milliseconds timeout) {
  pollfd set[] = {{one, POLLIN, 0}, {other, POLLIN, 0}};
  ::poll(set, 2, static_cast<int>(timeout.count()));
}

std::size_t drain(verbs::CompletionQueue& cq, net::CompletionChannel& channel,
                  std::span<verbs::WorkCompletion> out) {
  while (channel.poll()) {
  }
  auto n = cq.poll(out);
  if (n != 0) return n;
  cq.arm(verbs::Notify::kNext);
  return cq.poll(out);
}

void report(Shared& shared, std::size_t open) {
  const auto used = usage();
  shared.memory = used.memory;
  shared.descriptors = used.descriptors;
  shared.open = open;
  shared.processor_ms = static_cast<std::uint64_t>(processor_time().count() * 1000);
  ++shared.samples;
}

}  // namespace

End::End(std::size_t slots, std::size_t receives)
    : rnic(must(net::Rnic::open(options()))),
      cm(must(rnic->create_cm_channel())),
      pd(must(rnic->alloc_pd())),
      channel(must(rnic->create_channel())),
      cq(must(rnic->create_cq(kQueue, channel.get()))),
      srq(must(rnic->create_srq(*pd, {.max_wr = kReceives, .max_sge = 1}))),
      memory(slots * kSlot),
      inbox(kReceives * kSend),
      region(must(
          rnic->register_memory(*pd, std::span(memory),
                                Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead))),
      inbox_region(must(rnic->register_memory(*pd, std::span(inbox), Access::kLocalWrite))) {
  for (std::size_t i = 0; i < receives; ++i) post_receive(i);
}

net::QpHandle End::make_qp() {
  verbs::QpInit init{.send_cq = cq.get(), .recv_cq = cq.get(), .srq = srq.get()};
  init.limits = {
      .max_send_wr = 16, .max_recv_wr = 0, .max_send_sge = 1, .max_recv_sge = 1, .max_inline = 64};
  init.drop_failed = true;
  return must(rnic->create_qp(*pd, init));
}

void End::post_receive(std::uint64_t id) {
  const verbs::Sge into{inbox.data() + id * kSend, kSend, inbox_region.stag()};
  must(srq->post_recv({.wr_id = id, .sgl = {&into, 1}}));
}

// --- The passive end: accepts connections and serves them. ---

void serve(Shared& shared, std::size_t slots) {
  End end(slots, kReceives);
  const auto listener = must(end.rnic->listen({"0.0.0.0", 0}, {.backlog = 8192}, *end.cm));
  std::unordered_map<const verbs::QueuePair*, net::QpHandle> open;
  shared.port = listener->local().port;
  std::vector<verbs::WorkCompletion> completions(256);
  auto next_report = Clock::now();
  while (!shared.stop) {
    for (int taken = 0; taken < 256; ++taken) {
      auto event = end.cm->poll();
      if (!event) break;
      if (event->type == net::CmEvent::Type::kConnectRequest) {
        auto qp = end.make_qp();
        if (!event->request->accept(*qp, 16, 16, advert_of(end.region)))
          open[qp.get()] = std::move(qp);
      } else if (event->type != net::CmEvent::Type::kEstablished) {
        open.erase(event->qp);
      }
    }
    const auto n = drain(*end.cq, *end.channel, completions);
    for (std::size_t i = 0; i < n; ++i) {
      if (completions[i].status == verbs::WcStatus::kSuccess)
        end.post_receive(completions[i].wr_id);
    }
    const auto now = Clock::now();
    if (now >= next_report) {
      report(shared, open.size());
      next_report = now + milliseconds(200);
    }
    if (n == 0) wait_for(end.cm->fd(), end.channel->fd(), milliseconds(50));
  }
}

// --- The active end: connects and does the work. ---

Client::Client(Shared& shared, std::size_t slots) : End(slots, 0), shared_(shared) {
  for (std::size_t i = 0; i < slots; ++i) free_slots_.push_back(i);
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<std::byte>(i * 13 + (i >> 9));
}

Connection& Client::connect() {
  auto made = std::make_unique<Connection>();
  made->qp = make_qp();
  // Connects to several addresses, because one address does not have enough ports.
  const auto host = "127.0.0." + std::to_string(1 + next_address_++ % kAddresses);
  net::ConnectOptions how;
  how.fall_back_to_revision_1 = false;
  made->since = Clock::now();
  must(rnic->connect(*made->qp, {host, shared_.port.load()}, how, *cm));
  ++connecting_;
  auto& connection = *made;
  by_number_[connection.qp->num()] = &connection;
  connections_[connection.qp.get()] = std::move(made);
  return connection;
}

bool Client::take_events(milliseconds timeout) {
  auto event = timeout.count() == 0 ? cm->poll() : cm->wait(timeout);
  if (!event) return false;
  for (; event; event = cm->poll()) {
    const auto found = connections_.find(event->qp);
    if (found == connections_.end()) continue;
    Connection& connection = *found->second;
    const bool was_connecting = !connection.established;
    if (was_connecting) --connecting_;
    connection.established = event->type == net::CmEvent::Type::kEstablished;
    if (connection.established) {
      const auto advert = read_advert(event->private_data);
      if (!advert) throw std::runtime_error("the peer opened no memory");
      rkey_ = advert->rkey;
      remote_base_ = advert->to;
      if (on_connected) on_connected(connection, true);
      continue;
    }
    if (was_connecting) {
      ++failed_;
      if (on_connected) on_connected(connection, false);
    }
    if (connections_.contains(event->qp)) close(connection);
  }
  return true;
}

void Client::settle() {
  while (connecting_ != 0) {
    if (!take_events(std::chrono::seconds(30))) throw std::runtime_error("no event for 30 s");
  }
}

void Client::close(Connection& connection) {
  if (connection.slot) free_slots_.push_back(*connection.slot);
  by_number_.erase(connection.qp->num());
  connections_.erase(connection.qp.get());
}

std::vector<Connection*> Client::established() {
  std::vector<Connection*> out;
  for (const auto& [qp, connection] : connections_) {
    if (connection->established) out.push_back(connection.get());
  }
  return out;
}

Connection* Client::any_established(std::size_t turn) {
  if (connections_.empty()) return nullptr;
  const auto at = static_cast<std::ptrdiff_t>(turn % connections_.size());
  Connection& one = *std::next(connections_.begin(), at)->second;
  return one.established ? &one : nullptr;
}

void Client::work(Connection& c) {
  if (!c.slot) {
    // Takes the slot that has been unused for the longest time, so that all Writes of its previous
    // user have arrived.
    c.slot = free_slots_.front();
    free_slots_.pop_front();
  }
  constexpr auto kSignaled = SendFlags::kSignaled;
  drawn_ = drawn_ * 6364136223846793005U + 1442695040888963407U;
  if (c.step % 3 == 0) c.length = kSizes[(drawn_ >> 33) % std::size(kSizes)];
  auto* const source = memory.data() + *c.slot * kSlot;
  const verbs::RemoteAddress there{rkey_, remote_base_ + *c.slot * kSlot};
  c.since = Clock::now();
  const auto post = [&](WrOpcode opcode, std::byte* at, std::uint32_t length) {
    const verbs::Sge one{at, length, region.stag()};
    must(c.qp->post_send({.wr_id = c.qp->num(),
                          .opcode = opcode,
                          .flags = kSignaled,
                          .sgl = {&one, 1},
                          .remote = there}));
    octets_ += length;
  };
  // Writes the first half of a slot, and reads it back into the second half.
  switch (c.step % 3) {
    case 0:
      std::memcpy(source, &drawn_, sizeof drawn_);
      return post(WrOpcode::kWrite, source, c.length);
    case 1:
      return post(WrOpcode::kRead, source + kSlot / 2, c.length);
    default:
      return post(WrOpcode::kSend, source, kSend);
  }
}

void Client::step_done(Connection& c) {
  const auto* const source = memory.data() + *c.slot * kSlot;
  if (c.step % 3 == 1 && std::memcmp(source, source + kSlot / 2, c.length) != 0) {
    throw std::runtime_error("a Read brought other octets than those written");
  }
  ++c.step;
  if (!resting_) work(c);
}

std::size_t Client::take_completions(Latencies& latencies, milliseconds timeout) {
  std::array<verbs::WorkCompletion, 256> completions;
  const auto n = drain(*cq, *channel, completions);
  if (n == 0 && timeout.count() != 0) wait_for(cm->fd(), channel->fd(), timeout);
  const auto now = Clock::now();
  for (std::size_t i = 0; i < n; ++i) {
    const auto found = by_number_.find(static_cast<std::uint32_t>(completions[i].wr_id));
    if (found == by_number_.end()) continue;
    if (completions[i].status != verbs::WcStatus::kSuccess) {
      throw std::runtime_error(std::string(to_string(completions[i].status)));
    }
    latencies.add(now - found->second->since);
    step_done(*found->second);
  }
  return n;
}

}  // namespace iwarp::load
