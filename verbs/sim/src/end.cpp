// SPDX-License-Identifier: Apache-2.0
// The calls between a connection and its driver; the memory and the queues of an end.
#include "iwarp/sim/end.hpp"

#include <cstring>
#include <random>
#include <utility>

#include "iwarp/rdmap/faults.hpp"

namespace iwarp::sim {
namespace {

constexpr std::size_t kGuard = 64;
constexpr std::byte kGuardOctet{0xA5};
constexpr std::size_t kRegions = 1024;
constexpr std::size_t kCompletions = 4096;

}  // namespace

void Driver::open(mpa::Role role, verbs::QueuePair& qp, const verbs::ConnectionOptions& options) {
  const bool initiates = role == mpa::Role::kInitiator;
  connection = std::make_unique<verbs::Connection>(role, initiates ? &qp : nullptr, *this, options,
                                                   tap.get());
  if (!initiates) connection->listen(now);
}

std::size_t Driver::receive(View octets) {
  std::size_t n = 0;
  for (const bytes::Span space : connection->receive_plan()) {
    const auto part = octets.subspan(n, std::min(space.size(), octets.size() - n));
    if (part.empty()) break;
    std::memcpy(space.data(), part.data(), part.size());
    n += part.size();
  }
  if (n != 0) connection->received(n, now);
  return n;
}

bool Driver::wake() {
  for (const auto stag : std::exchange(to_break_, {})) {
    const auto held = stags_.hold_invalid(stag);
    if (held.region() != nullptr) connection->withdraw(*held.region(), now);
  }
  if (!std::exchange(resume_due_, false)) return false;
  connection->resume(now);
  return true;
}

bool Driver::expire() {
  const auto due = connection->timeout();
  if (!due || *due > now) return false;
  connection->handle_timeout(now);
  return true;
}

void Driver::terminate() { connection->terminate(rdmap::kLocalCatastrophic, now); }

End::End(std::uint32_t seed, const TimePoint& clock, verbs::QpInit init)
    : Driver(stags, clock),
      stags(
          kRegions,
          [random = std::mt19937(seed)]() mutable { return static_cast<std::uint32_t>(random()); }),
      cq(kCompletions, [this] {
        ++notifications;
        if (on_notify) on_notify();
      }) {
  init.pd = 1;
  if (init.send_cq == nullptr) init.send_cq = &cq;
  if (init.recv_cq == nullptr) init.recv_cq = &cq;
  qp = std::make_unique<verbs::QueuePair>(
      7, init, stags, [this](const verbs::AsyncEvent& e) { async.push_back(e); });
}

End::~End() { connection.reset(); }  // It refers to the queue pair.

verbs::Region* End::memory(std::size_t octets, verbs::Access access, bool only_for_qp) {
  auto& block = blocks_.emplace_back(octets + 2 * kGuard, kGuardOctet);
  std::fill_n(block.data() + kGuard, octets, std::byte{0});
  const auto region = stags.create({.kind = verbs::Region::Kind::kRegion,
                                    .pd = 1,
                                    .qp = only_for_qp ? qp->num() : 0,
                                    .address = block.data() + kGuard,
                                    .length = octets,
                                    .access = access});
  return *region;
}

bool End::guards_intact() const {
  const auto intact = [](View guard) {
    return std::ranges::all_of(guard, [](std::byte octet) { return octet == kGuardOctet; });
  };
  return std::ranges::all_of(blocks_, [&intact](View block) {
    return intact(block.first(kGuard)) && intact(block.last(kGuard));
  });
}

std::vector<verbs::WorkCompletion> End::completions() {
  std::vector<verbs::WorkCompletion> out(256);
  out.resize(cq.poll(out));
  return out;
}

std::optional<verbs::ConnectionEvent::Type> End::event() {
  const auto e = connection->event();
  if (!e) return std::nullopt;
  last_failure = e->failure;
  return e->type;
}

}  // namespace iwarp::sim
