// SPDX-License-Identifier: Apache-2.0
// RDMA Write against the TCP under it: two processes on loopback move the same octets, once with
// plain send/recv and once with 64 KiB RDMA Writes (CRC on), in turns. Prints the median ratio.
// A benchmark, not a test: it judges nothing and always exits 0 when it could measure.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "iwarp/net/rnic.hpp"

using namespace iwarp;  // NOLINT
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kMessage = 64 * 1024;
constexpr std::size_t kSlots = 16;
constexpr std::uint64_t kMessages = 20'000;
constexpr auto kPatience = std::chrono::seconds(60);

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

/// Runs `serve` in a child that hands a port number back through a pipe.
struct Child {
  explicit Child(const std::function<void(int)>& serve) {
    int ends[2];
    if (pipe(ends) != 0) die("pipe");
    pid = fork();
    if (pid == 0) {
      close(ends[0]);
      serve(ends[1]);
      std::_Exit(0);
    }
    close(ends[1]);
    if (read(ends[0], &port, sizeof port) != sizeof port) die("server did not start");
    close(ends[0]);
  }
  ~Child() { waitpid(pid, nullptr, 0); }
  pid_t pid;
  std::uint16_t port = 0;
};

double rate(Clock::time_point start) {
  const std::chrono::duration<double> t = Clock::now() - start;
  return static_cast<double>(kMessages * kMessage) / t.count();
}

// Plain TCP ---------------------------------------------------------------------------------------

void tcp_server(int port_pipe) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), length) != 0) die("bind");
  if (listen(listener, 1) != 0) die("listen");
  getsockname(listener, reinterpret_cast<sockaddr*>(&at), &length);
  const std::uint16_t port = ntohs(at.sin_port);
  if (write(port_pipe, &port, sizeof port) != sizeof port) die("pipe");
  const int s = accept(listener, nullptr, nullptr);
  std::vector<char> buffer(kMessage * kSlots);
  std::uint64_t left = kMessages * kMessage;
  for (std::size_t at_slot = 0; left > 0;) {
    const auto n = recv(s, buffer.data() + at_slot * kMessage, kMessage, 0);
    if (n <= 0) die("recv");
    left -= static_cast<std::uint64_t>(n);
    at_slot = (at_slot + 1) % kSlots;
  }
  if (send(s, "x", 1, 0) != 1) die("send");
}

double tcp_run() {
  const Child child(tcp_server);
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(child.port);
  if (connect(s, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) die("connect");
  const int on = 1;
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::vector<char> buffer(kMessage * kSlots, 'a');
  const auto start = Clock::now();
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    const char* from = buffer.data() + (i % kSlots) * kMessage;
    for (std::size_t sent = 0; sent < kMessage;) {
      const auto n = send(s, from + sent, kMessage - sent, MSG_NOSIGNAL);
      if (n <= 0) die("send");
      sent += static_cast<std::size_t>(n);
    }
  }
  char done;
  if (recv(s, &done, 1, 0) != 1) die("recv");
  const double result = rate(start);
  close(s);
  return result;
}

// iWARP -------------------------------------------------------------------------------------------

template <typename T>
T must(net::Expected<T> value, const char* what) {
  if (!value) {
    std::fprintf(stderr, "%s: %s\n", what, value.error().message().c_str());
    std::_Exit(1);
  }
  return std::move(*value);
}

struct Node {
  explicit Node(std::size_t octets) : buffer(octets), message(64) {
    rnic = must(net::Rnic::open(), "open");
    pd = must(rnic->alloc_pd(), "pd");
    channel = must(rnic->create_channel(), "channel");
    cq = must(rnic->create_cq(256, channel.get()), "cq");
    qp = must(rnic->create_qp(*pd, {.send_cq = cq.get(), .recv_cq = cq.get()}), "qp");
    events = must(rnic->create_cm_channel(), "channel");
    using verbs::Access;
    data = must(
        rnic->register_memory(*pd, std::span(buffer), Access::kLocalWrite | Access::kRemoteWrite),
        "register");
    small = must(rnic->register_memory(*pd, std::span(message), Access::kLocalWrite), "register");
    const verbs::Sge sge = inbox(32);
    if (qp->post_recv({.wr_id = 1, .sgl = {&sge, 1}})) die("post_recv");
  }
  verbs::Sge inbox(std::size_t length) {
    return {message.data(), static_cast<std::uint32_t>(length), small.stag()};
  }
  void send(std::size_t length) {
    const verbs::Sge sge{message.data() + 32, static_cast<std::uint32_t>(length), small.stag()};
    if (qp->post_send({.wr_id = 2, .flags = verbs::SendFlags::kSignaled, .sgl = {&sge, 1}})) {
      die("post_send");
    }
  }
  verbs::WorkCompletion wait() {
    // Sleeps when there is nothing, as the TCP program does in send() and recv().
    verbs::WorkCompletion wc;
    while (cq->poll({&wc, 1}) == 0) {
      cq->arm(verbs::Notify::kNext);
      if (cq->poll({&wc, 1}) != 0) break;
      if (!channel->wait(kPatience)) die("no completion");
    }
    if (wc.status != verbs::WcStatus::kSuccess) {
      std::fprintf(stderr, "%s\n", std::string(to_string(wc.status)).c_str());
      std::_Exit(1);
    }
    return wc;
  }

  std::vector<std::byte> buffer;
  std::vector<std::byte> message;
  std::unique_ptr<net::Rnic> rnic;
  std::unique_ptr<net::ProtectionDomain> pd;
  net::CmChannelHandle events;
  std::unique_ptr<net::CompletionChannel> channel;
  net::CqHandle cq;
  net::Memory data;
  net::Memory small;
  net::QpHandle qp;
};

struct Advert {
  std::uint32_t stag;
  std::uint64_t to;
};

void iwarp_server(int port_pipe) {
  Node node(kMessage * kSlots);
  const auto listener = must(node.rnic->listen({"127.0.0.1", 0}, {}, *node.events), "listen");
  const std::uint16_t port = listener->local().port;
  if (write(port_pipe, &port, sizeof port) != sizeof port) die("pipe");
  auto request = node.events->wait(kPatience);
  if (!request || !request->request || request->request->accept(*node.qp)) die("accept");
  node.wait();  // the client's first Send: now this end may speak
  const Advert advert{node.data.stag().value, node.data.to(node.buffer.data())};
  std::memcpy(node.message.data() + 32, &advert, sizeof advert);
  const verbs::Sge sge = node.inbox(32);
  if (node.qp->post_recv({.wr_id = 1, .sgl = {&sge, 1}})) die("post_recv");
  node.send(sizeof advert);
  while (node.wait().opcode != verbs::WcOpcode::kRecv) {
  }
  node.send(1);  // everything before the client's last Send is in place
  node.events->wait(kPatience);
  node.events->wait(kPatience);
}

double iwarp_run() {
  const Child child(iwarp_server);
  Node node(kMessage * kSlots);
  net::ConnectOptions options;
  options.connection.max_ulpdu = 64'000;
  const auto connected =
      must(node.rnic->connect_wait(*node.qp, {"127.0.0.1", child.port}, options, *node.events),
           "connect");
  if (connected.type != net::CmEvent::Type::kEstablished) die("connect");
  node.send(1);
  while (node.wait().opcode != verbs::WcOpcode::kRecv) {
  }
  Advert advert;
  std::memcpy(&advert, node.message.data(), sizeof advert);
  const verbs::Sge ack = node.inbox(32);
  if (node.qp->post_recv({.wr_id = 1, .sgl = {&ack, 1}})) die("post_recv");

  const auto start = Clock::now();
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  while (done < kMessages) {
    for (; posted < kMessages && posted - done < kSlots; ++posted) {
      const auto slot = (posted % kSlots) * kMessage;
      const verbs::Sge sge{node.buffer.data() + slot, kMessage, node.data.stag()};
      if (node.qp->post_send({.wr_id = 3,
                              .opcode = verbs::WrOpcode::kWrite,
                              .flags = verbs::SendFlags::kSignaled,
                              .sgl = {&sge, 1},
                              .remote = {verbs::Stag{advert.stag}, advert.to + slot}})) {
        die("post_send");
      }
    }
    node.wait();
    ++done;
  }
  node.send(1);
  while (node.wait().opcode != verbs::WcOpcode::kRecv) {
  }
  const double result = rate(start);
  const auto c = node.rnic->counters(*node.qp);
  std::printf(
      "  per message: %.2f sends, %.2f receives, %.2f wake-ups, %.2f FPDUs, %.0f octets copied\n",
      static_cast<double>(c.send_calls) / kMessages,
      static_cast<double>(c.receive_calls) / kMessages, static_cast<double>(c.wakeups) / kMessages,
      static_cast<double>(c.fpdus_sent) / kMessages,
      static_cast<double>(c.octets_copied) / kMessages);
  node.qp->disconnect();
  node.events->wait(kPatience);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 5;
  std::vector<double> ratios;
  for (int i = 0; i < pairs; ++i) {
    const double tcp = tcp_run();
    const double iwarp = iwarp_run();
    ratios.push_back(iwarp / tcp);
    std::printf("tcp %6.2f GB/s   RDMA Write 64 KiB, CRC on %6.2f GB/s   ratio %.2f\n", tcp / 1e9,
                iwarp / 1e9, iwarp / tcp);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("median ratio %.2f (%.2f to %.2f) of %d pairs\n", ratios[ratios.size() / 2],
              ratios.front(), ratios.back(), pairs);
  return 0;
}
