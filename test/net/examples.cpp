// SPDX-License-Identifier: Apache-2.0
// The examples at the beginning of the public headers, which rfc-notes/figures.py copies. Here they
// work together: two programs exchange a Write and a datagram over the loopback interface.
#include <doctest/doctest.h>

#include <stdexcept>

#include "iwarp/iwarp.hpp"
#include "iwarp/net/datagram_qp.hpp"

using namespace iwarp::net;
using namespace iwarp::verbs;
using iwarp::must;
using iwarp::next_event;

namespace {

constexpr auto kLimit = std::chrono::seconds(60);

/// What a program needs before it connects. The members are destroyed in reverse order.
struct Program {
  std::unique_ptr<Rnic> rnic = must(Rnic::open());
  CmChannelHandle events = must(rnic->create_cm_channel());
  std::unique_ptr<ProtectionDomain> pd = must(rnic->alloc_pd());
  std::unique_ptr<CompletionChannel> channel = must(rnic->create_channel());
  CqHandle cq = must(rnic->create_cq(16, channel.get()));
  QpHandle qp = must(rnic->create_qp(*pd, {.send_cq = cq.get(), .recv_cq = cq.get()}));
};

void connect(const Program& client, const Program& server) {
  const auto listener = must(server.rnic->listen({"127.0.0.1", 0}, {}, *server.events));
  must(client.rnic->connect(*client.qp, listener->local(), {}, *client.events));
  must(next_event(*server.events, kLimit).request->accept(*server.qp));
  const auto outcome = next_event(*client.events, kLimit);
  if (outcome.type != CmEvent::Type::kEstablished) throw std::runtime_error(outcome.why);
}

Memory open_to_peer(const Program& program, std::span<std::byte> buffer) {
  // The peer needs the region's STag and TO, which iwarp::advert_of() encodes.
  return must(program.rnic->register_memory(*program.pd, buffer,
                                            Access::kLocalWrite | Access::kRemoteWrite));
}

void write_and_notify(QueuePair& qp, const Memory& from, RemoteAddress to) {
  const Sge piece{.address = from.address(),
                  .length = static_cast<std::uint32_t>(from.length()),
                  .lkey = from.stag()};
  // The Send arrives after the Write, and consumes a receive that the peer has posted.
  const std::array requests{
      SendWr{.wr_id = 1, .opcode = WrOpcode::kWrite, .sgl = {&piece, 1}, .remote = to},
      SendWr{.wr_id = 2, .opcode = WrOpcode::kSend, .flags = SendFlags::kSignaled}};
  must(qp.post_all(requests));
}

WorkCompletion sleep_until_completion(CompletionQueue& cq, CompletionChannel& channel) {
  for (WorkCompletion wc;;) {
    if (cq.poll({&wc, 1}) == 1) return wc;
    cq.arm(Notify::kNext);
    // A completion that was pushed before arm() causes no event, so poll once more.
    if (cq.poll({&wc, 1}) == 1) return wc;
    (void)channel.wait(kLimit);
  }
}

std::unique_ptr<DatagramQp> open_datagrams(const Program& program, std::uint32_t q_key) {
  const DatagramQpInit init{.send_cq = program.cq.get(), .recv_cq = program.cq.get()};
  auto qp = must(program.rnic->create_datagram_qp(*program.pd, {.init = init}));
  qp->set_q_key(q_key);
  for (const auto state :
       {DatagramState::kInit, DatagramState::kReceiving, DatagramState::kReady}) {
    must(qp->set_state(state));
  }
  return qp;
}

}  // namespace

TEST_CASE("the examples in the public headers work together") {
  constexpr std::size_t kSize = 64;
  const Program client;
  const Program server;
  connect(client, server);
  std::array<std::byte, kSize> from{std::byte{1}, std::byte{2}};
  std::array<std::byte, kGrhSize + kSize> to{};
  const auto source = open_to_peer(client, from);
  const auto target = open_to_peer(server, to);
  must(server.qp->post_recv({.wr_id = 3}));
  write_and_notify(*client.qp, source, {.rkey = target.stag(), .to = target.to(to.data())});
  CHECK_EQ(sleep_until_completion(*server.cq, *server.channel).wr_id, 3);
  CHECK(std::ranges::equal(from, std::span(to).first<kSize>()));
  CHECK_EQ(sleep_until_completion(*client.cq, *client.channel).wr_id, 2);

  constexpr std::uint32_t kKey = 0x1234;
  constexpr IpAddress kThisHost{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1};
  const auto sender = open_datagrams(client, kKey);
  const auto receiver = open_datagrams(server, kKey);
  const Sge into{.address = to.data(), .length = to.size(), .lkey = target.stag()};
  must(receiver->post_recv({.wr_id = 4, .sgl = {&into, 1}}));
  const Sge piece{.address = from.data(), .length = kSize, .lkey = source.stag()};
  const DatagramWr wr{
      .wr_id = 5,
      .sgl = {&piece, 1},
      .to = {.path = {.own = kThisHost, .peer = kThisHost}, .qp = receiver->num(), .q_key = kKey}};
  must(sender->post_all({&wr, 1}));
  CHECK_EQ(sleep_until_completion(*server.cq, *server.channel).byte_len, to.size());
  CHECK(std::ranges::equal(from, std::span(to).subspan<kGrhSize>()));
}
