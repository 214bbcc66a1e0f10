// SPDX-License-Identifier: Apache-2.0
// Tests processes: fork with and without objects, exit with every object still alive, and memory
// that one process polls while the other one writes. This file does not run with ThreadSanitizer,
// which kills forked processes that create threads and reports such polling as a race.
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;

/// Runs `work` in a child process and returns its exit status. A timeout kills the child.
template <typename Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(kTimeoutMs / 1000);  // The default action of SIGALRM kills the child.
    work();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

/// Checks a condition in a child. doctest's macros work only in the parent, so the child reports a
/// failure by its exit status.
void require_in_child(bool condition) {
  if (!condition) ::_exit(99);
}

void ping(Pair& pair) {
  const Buffer out(pair.client.pd.get(), "ping");
  const Buffer in(pair.server.pd.get(), 8);
  require_in_child(pair.server.receive(in.sge()) == 0);
  require_in_child(pair.client.send(out.sge()) == 0);
  require_in_child(End::next(pair.server.receive_cq).status == IBV_WC_SUCCESS);
  require_in_child(in.text(4) == "ping");
  require_in_child(End::next(pair.client.send_cq).status == IBV_WC_SUCCESS);
}

// [IBV-70]
TEST_CASE("a child creates objects of its own, and those of the parent still work") {
  CHECK(ibv_fork_init() == 0);
  Pair pair;
  CHECK(in_child([] {
          Pair own;
          ping(own);
        }) == 0);
  ping(pair);
  CHECK(in_child([] {
          Pair own;
          ping(own);
        }) == 0);
}

TEST_CASE("a child that only exits does not disturb the parent's connection") {
  Pair pair;
  CHECK(in_child([] { std::exit(0); }) == 0);
  ping(pair);
}

TEST_CASE("a child forked while a request waits behind a disconnect does not reject it") {
  Pair pair;
  const Buffer out(pair.client.pd.get(), "last");
  const Buffer in(pair.server.pd.get(), 8);
  REQUIRE(pair.server.receive(in.sge()) == 0);
  REQUIRE(pair.client.send(out.sge()) == 0);
  End::done(pair.client.send_cq);
  // The server must poll this completion before it sees the disconnect event, and must handle that
  // event before it sees the new request.
  REQUIRE(rdma_disconnect(pair.client.id.get()) == 0);
  const Channel channel = make_channel();
  End client{.id = resolved(channel, Address("127.0.0.1", pair.port))};
  make_queue_pair(client);
  REQUIRE(rdma_connect(client.id.get(), nullptr) == 0);
  while (!is_readable(pair.server_channel->fd)) CHECK(in_child([] {}) == 0);
  expect(pair.server_channel, RDMA_CM_EVENT_DISCONNECTED);
  End server{.id = Id(expect(pair.server_channel, RDMA_CM_EVENT_CONNECT_REQUEST)->id)};
  make_queue_pair(server);
  REQUIRE(rdma_accept(server.id.get(), nullptr) == 0);
  expect(channel, RDMA_CM_EVENT_ESTABLISHED);
  expect(pair.server_channel, RDMA_CM_EVENT_ESTABLISHED);
}

TEST_CASE("a child cannot use the parent's ids, but can destroy them") {
  const Channel channel = make_channel();
  const Id unconnected = resolved(channel, Address("127.0.0.1", 7));
  Pair pair;
  CHECK(in_child([&] {
          const auto fails = [](int result) { require_in_child(result == -1 && errno == EINVAL); };
          rdma_conn_param param{};
          fails(rdma_disconnect(pair.client.id.get()));
          fails(rdma_accept(pair.server.id.get(), &param));
          fails(rdma_reject(pair.server.id.get(), nullptr, 0));
          fails(rdma_connect(unconnected.get(), &param));
          ibv_qp_init_attr init{.cap = {.max_send_wr = 1}, .qp_type = IBV_QPT_RC};
          fails(rdma_create_qp(unconnected.get(), nullptr, &init));
          rdma_destroy_qp(pair.client.id.get());
          require_in_child(rdma_destroy_id(pair.client.id.release()) == 0);
          Pair own;
          ping(own);
        }) == 0);
  ping(pair);
}

// [RCM-37]
TEST_CASE("the peer sees the end of a connection although a child of its owner is still running") {
  Pair pair;
  int hold[2];
  REQUIRE(::pipe(hold) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::close(hold[1]);
    char octet = 0;
    // The child lives until the parent closes its end of the pipe.
    ::_exit(::read(hold[0], &octet, 1) == 0 ? 0 : 1);
  }
  ::close(hold[0]);
  pair.client.id.reset();
  expect(pair.server_channel, RDMA_CM_EVENT_DISCONNECTED);
  ::close(hold[1]);
  int status = 1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a process exits while all its objects exist") {
  CHECK(in_child([] {
          auto* const pair = new Pair;
          const auto* const buffer = new Buffer(pair->server.pd.get(), 64);
          require_in_child(pair->server.receive(buffer->sge()) == 0);
          require_in_child(ibv_req_notify_cq(pair->server.receive_cq.get(), 0) == 0);
          std::exit(0);
        }) == 0);
}

TEST_CASE("a process exits while its threads wait for events") {
  CHECK(in_child([] {
          auto* const pair = new Pair;
          std::atomic<int> waiting = 0;
          std::thread([&] {
            ++waiting;
            ibv_cq* cq = nullptr;
            void* context = nullptr;
            ibv_get_cq_event(pair->server.receive_channel.get(), &cq, &context);
          }).detach();
          std::thread([&] {
            ++waiting;
            rdma_cm_event* event = nullptr;
            rdma_get_cm_event(pair->channel.get(), &event);
          }).detach();
          std::thread([&] {
            ++waiting;
            ibv_wc wc{};
            for (;;) ibv_poll_cq(pair->client.send_cq.get(), 1, &wc);
          }).detach();
          while (waiting < 3) std::this_thread::yield();
          std::exit(0);
        }) == 0);
}

TEST_CASE("a program that closes all descriptors before it starts still works") {
  CHECK(in_child([] {
          for (int fd = 3; fd < 1024; ++fd) ::close(fd);
          Pair pair;
          ping(pair);
        }) == 0);
}

TEST_CASE("a setgid program opens no file that its caller names") {
  constexpr ::gid_t kOther = 65534;
  std::string folder = "/tmp/iwarp-set-id.XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string program = folder + "/program";
  std::filesystem::copy_file("/proc/self/exe", program);
  struct statvfs mount{};
  REQUIRE(::statvfs(folder.c_str(), &mount) == 0);
  const bool can_try = ::chown(program.c_str(), ::geteuid(), kOther) == 0 &&
                       (mount.f_flag & ST_NOSUID) == 0 && ::getgid() != kOther;
  const auto output_as = [&](mode_t mode) {
    REQUIRE(::chmod(program.c_str(), mode) == 0);
    const std::string call = "IWARP_LOG=info IWARP_METRICS=unix:" + folder + "/metrics " + program +
                             " --test-case='a child that only exits*' 2>&1";
    std::FILE* const pipe = ::popen(call.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string out;
    for (std::array<char, 256> line{}; std::fgets(line.data(), line.size(), pipe) != nullptr;) {
      out += line.data();
    }
    CHECK(::pclose(pipe) == 0);
    return out;
  };
  if (can_try) {
    CHECK(output_as(0755).contains("metrics at unix:"));
    CHECK_FALSE(output_as(S_ISGID | 0755).contains("metrics at unix:"));
  } else {
    MESSAGE("not tried: no right to make such a program, or none that the system would heed");
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("when the last octet of a Write is visible, so are all others") {
  constexpr std::size_t kSize = 1000;
  constexpr int kRounds = 200;
  Pair pair;
  Buffer out(pair.client.pd.get(), kSize);
  Buffer in(pair.server.pd.get(), kSize, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  for (int round = 1; round <= kRounds; ++round) {
    const auto mark = static_cast<std::uint8_t>(round);
    std::fill(out.octets.begin(), out.octets.end(), mark);
    REQUIRE(pair.client.write(out.sge(), in) == 0);
    const std::atomic_ref last(in.octets.back());
    while (last.load(std::memory_order_acquire) != mark) std::this_thread::yield();
    CHECK(std::ranges::count(in.octets, mark) == kSize);
    End::done(pair.client.send_cq);
  }
}

}  // namespace
