// SPDX-License-Identifier: Apache-2.0
// The smallest program: sends one message from one queue pair to another over a real TCP
// connection. Both queue pairs are in this process. The program shows the steps that every program
// needs: register, create, post receives, connect, post, poll. Any error ends the program; `iwarp
// ping` shows how to handle errors.
#include <array>
#include <cstdio>
#include <cstring>

#include "iwarp/iwarp.hpp"

namespace net = iwarp::net;
namespace verbs = iwarp::verbs;
using iwarp::must;

int main() try {
  const auto rnic = must(net::Rnic::open());
  // Channels must outlive the connections that report to them, so create the channels first.
  const auto requests = must(rnic->create_cm_channel());
  const auto outcomes = must(rnic->create_cm_channel());
  const auto pd = must(rnic->alloc_pd());
  const auto cq = must(rnic->create_cq(16));
  verbs::QpInit init{.send_cq = cq.get(), .recv_cq = cq.get()};
  const auto client = must(rnic->create_qp(*pd, init));
  const auto server = must(rnic->create_qp(*pd, init));

  // Post the receiver's buffer before the sender sends.
  std::array<std::byte, 64> inbox{};
  const auto region =
      must(rnic->register_memory(*pd, std::span<std::byte>(inbox), verbs::Access::kLocalWrite));
  const verbs::Sge into{inbox.data(), inbox.size(), region.stag()};
  must(server->post_recv({.wr_id = 1, .sgl = {&into, 1}}));

  // RDMA ports are TCP ports; 0 selects a free port.
  const auto listener = must(rnic->listen({.host = "127.0.0.1"}, {}, *requests));
  must(rnic->connect(*client, listener->local(), {}, *outcomes));
  must(iwarp::next_event(*requests, std::chrono::seconds(5)).request->accept(*server));
  const auto outcome = iwarp::next_event(*outcomes, std::chrono::seconds(5));
  if (outcome.type != net::CmEvent::Type::kEstablished) return 1;

  // kInline copies the text during the call, so the text need not be registered.
  char text[] = "hello, iWARP";
  const verbs::Sge from{reinterpret_cast<std::byte*>(text), sizeof(text), {}};
  must(client->post_send({.wr_id = 2, .flags = verbs::SendFlags::kInline, .sgl = {&from, 1}}));

  const auto wc = iwarp::next_completion(*cq);
  if (wc.status != verbs::WcStatus::kSuccess || wc.wr_id != 1) return 1;
  std::printf("received %u octets: %s\n", wc.byte_len, reinterpret_cast<const char*>(inbox.data()));
  return std::strcmp(text, reinterpret_cast<const char*>(inbox.data())) == 0 ? 0 : 1;
} catch (const std::system_error& error) {
  std::fprintf(stderr, "hello_send: %s\n", error.what());
  return 1;
}
