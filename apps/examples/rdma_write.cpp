// SPDX-License-Identifier: Apache-2.0
// One-sided: a client writes into a server's memory and reads it back while the server's program
// does nothing at all. The STag travels in the private data of the connection set-up, as many
// programs do it. Both ends are in this process, over a real TCP connection.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "iwarp/bytes/cursor.hpp"
#include "iwarp/net/rnic.hpp"

namespace net = iwarp::net;
namespace verbs = iwarp::verbs;
using verbs::Access;

namespace {

constexpr std::size_t kSize = 1 << 20;

template <typename T>
T must(std::expected<T, std::error_code> value) {
  if (value) return std::move(*value);
  std::fprintf(stderr, "rdma_write: %s\n", value.error().message().c_str());
  std::exit(1);
}

void must(std::error_code error) {
  if (!error) return;
  std::fprintf(stderr, "rdma_write: %s\n", error.message().c_str());
  std::exit(1);
}

/// Posts one signalled RDMA Write or Read between `buffer` and the peer, and polls until it is
/// done.
bool transfer(net::QueuePair& qp, verbs::CompletionQueue& cq, verbs::WrOpcode opcode,
              const verbs::Sge& buffer, const verbs::RemoteAddress& remote) {
  must(qp.post_send({.opcode = opcode,
                     .flags = verbs::SendFlags::kSignaled,
                     .sgl = {&buffer, 1},
                     .remote = remote}));
  verbs::WorkCompletion wc;
  while (cq.poll({&wc, 1}) == 0) {
  }
  return wc.status == verbs::WcStatus::kSuccess;
}

/// {TO, STag}: what a peer must know to use a region.
std::vector<std::byte> advert_of(const net::Memory& region) {
  std::vector<std::byte> octets(12);
  iwarp::bytes::Writer out(octets);
  out.u64(region.to(region.address()));
  out.u32(region.stag().value);
  return octets;
}

verbs::RemoteAddress read_advert(iwarp::bytes::View octets) {
  iwarp::bytes::Reader in(octets);
  const auto to = in.u64();
  return {.rkey = verbs::Stag{in.u32()}, .to = to};
}

}  // namespace

int main() {
  const auto rnic = must(net::Rnic::open());
  const auto requests = must(rnic->create_cm_channel());
  const auto outcomes = must(rnic->create_cm_channel());

  // The server: memory that others may use, and a queue pair on which it will never post anything.
  const auto server_pd = must(rnic->alloc_pd());
  const auto server_cq = must(rnic->create_cq(16));
  std::vector<std::byte> shared(kSize);
  const auto shared_region =
      must(rnic->register_memory(*server_pd, std::span(shared),
                                 Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead));
  const auto server =
      must(rnic->create_qp(*server_pd, {.send_cq = server_cq.get(), .recv_cq = server_cq.get()}));
  const auto listener = must(rnic->listen({.host = "127.0.0.1"}, {}, *requests));

  // The client: a source to write from and a sink to read into.
  const auto pd = must(rnic->alloc_pd());
  const auto cq = must(rnic->create_cq(16));
  const auto client = must(rnic->create_qp(*pd, {.send_cq = cq.get(), .recv_cq = cq.get()}));
  std::vector<std::byte> source(kSize, std::byte{0x5A});
  std::vector<std::byte> sink(kSize);
  const auto source_region = must(rnic->register_memory(*pd, std::span(source), Access::kNone));
  const auto sink_region = must(rnic->register_memory(*pd, std::span(sink), Access::kLocalWrite));

  must(rnic->connect(*client, listener->local(), {}, *outcomes));
  const auto request = requests->wait(std::chrono::seconds(5));
  if (!request || !request->request) return 1;
  must(request->request->accept(*server, 16, 16, advert_of(shared_region)));
  const auto outcome = outcomes->wait(std::chrono::seconds(5));
  if (!outcome || outcome->type != net::CmEvent::Type::kEstablished) return 1;

  // From here on the server's side of this program does nothing: its Rnic does the work.
  const auto remote = read_advert(outcome->private_data);
  const verbs::Sge from{source.data(), kSize, source_region.stag()};
  const verbs::Sge into{sink.data(), kSize, sink_region.stag()};
  if (!transfer(*client, *cq, verbs::WrOpcode::kWrite, from, remote)) return 1;
  if (!transfer(*client, *cq, verbs::WrOpcode::kRead, into, remote)) return 1;

  const bool same = std::ranges::equal(source, sink) && std::ranges::equal(source, shared);
  std::printf("%zu octets written and read back: %s\n", kSize, same ? "equal" : "DIFFERENT");
  return same ? 0 : 1;
}
