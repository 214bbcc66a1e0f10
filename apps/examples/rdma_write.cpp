// SPDX-License-Identifier: Apache-2.0
// One-sided operations: a client writes into a server's memory and reads it back, while the
// server's program does nothing. The server passes the STag to the client in the private data of
// connection setup, as many programs do. Both ends are in this process and use a real TCP
// connection.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "iwarp/iwarp.hpp"

namespace net = iwarp::net;
namespace verbs = iwarp::verbs;
using iwarp::must;
using verbs::Access;

namespace {

constexpr std::size_t kSize = 1 << 20;

/// Posts one signaled RDMA Write or Read between `buffer` and the peer, and polls until it
/// completes.
bool transfer(net::QueuePair& qp, verbs::CompletionQueue& cq, verbs::WrOpcode opcode,
              const verbs::Sge& buffer, const verbs::RemoteAddress& remote) {
  must(qp.post_send({.opcode = opcode,
                     .flags = verbs::SendFlags::kSignaled,
                     .sgl = {&buffer, 1},
                     .remote = remote}));
  return iwarp::next_completion(cq).status == verbs::WcStatus::kSuccess;
}

}  // namespace

int main() try {
  const auto rnic = must(net::Rnic::open());
  const auto requests = must(rnic->create_cm_channel());
  const auto outcomes = must(rnic->create_cm_channel());

  // The server registers memory that peers may access. It never posts to its queue pair.
  const auto server_pd = must(rnic->alloc_pd());
  const auto server_cq = must(rnic->create_cq(16));
  std::vector<std::byte> shared(kSize);
  const auto shared_region =
      must(rnic->register_memory(*server_pd, std::span(shared),
                                 Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead));
  const auto server =
      must(rnic->create_qp(*server_pd, {.send_cq = server_cq.get(), .recv_cq = server_cq.get()}));
  const auto listener = must(rnic->listen({.host = "127.0.0.1"}, {}, *requests));

  // The client has a source to write from and a sink to read into.
  const auto pd = must(rnic->alloc_pd());
  const auto cq = must(rnic->create_cq(16));
  const auto client = must(rnic->create_qp(*pd, {.send_cq = cq.get(), .recv_cq = cq.get()}));
  std::vector<std::byte> source(kSize, std::byte{0x5A});
  std::vector<std::byte> sink(kSize);
  const auto source_region = must(rnic->register_memory(*pd, std::span(source), Access::kNone));
  const auto sink_region = must(rnic->register_memory(*pd, std::span(sink), Access::kLocalWrite));

  must(rnic->connect(*client, listener->local(), {}, *outcomes));
  const auto request = iwarp::next_event(*requests, std::chrono::seconds(5)).request;
  must(request->accept(*server, 16, 16, iwarp::advert_of(shared_region)));
  const auto outcome = iwarp::next_event(*outcomes, std::chrono::seconds(5));

  // From here on, the server's part of the program does nothing: its Rnic serves the Write and the
  // Read.
  const auto remote = iwarp::read_advert(outcome.private_data);
  if (!remote) return 1;
  const verbs::Sge from{source.data(), kSize, source_region.stag()};
  const verbs::Sge into{sink.data(), kSize, sink_region.stag()};
  if (!transfer(*client, *cq, verbs::WrOpcode::kWrite, from, *remote)) return 1;
  if (!transfer(*client, *cq, verbs::WrOpcode::kRead, into, *remote)) return 1;

  const bool same = std::ranges::equal(source, sink) && std::ranges::equal(source, shared);
  std::printf("%zu octets written and read back: %s\n", kSize, same ? "equal" : "DIFFERENT");
  return same ? 0 : 1;
} catch (const std::system_error& error) {
  std::fprintf(stderr, "rdma_write: %s\n", error.what());
  return 1;
}
