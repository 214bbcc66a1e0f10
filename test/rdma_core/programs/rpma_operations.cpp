// SPDX-License-Identifier: Apache-2.0
// A server and a client that use librpma, written like a program for persistent memory. The client
// writes, flushes, reads back, writes eight bytes atomically, and writes with immediate data. Both
// ends exchange messages, and each end checks its memory.
//   rpma_operations server ADDRESS PORT
//   rpma_operations client ADDRESS PORT
#include <arpa/inet.h>
#include <librpma.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

namespace {

constexpr std::size_t kSize = std::size_t{1} << 20;
constexpr std::size_t kAtomicAt = kSize - 8;
constexpr std::size_t kMessage = 4096;
constexpr std::uint32_t kImmediate = 0xC0FFEE42;
constexpr int kUsage = RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC |
                       RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
                       RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

void done(int status, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "%s: %s\n", what, rpma_err_2str(status));
  std::exit(1);
}

unsigned char noise(std::size_t n, unsigned seed) {
  return static_cast<unsigned char>((n * 2654435761U + seed) >> 13U);
}

void fill(std::span<unsigned char> memory, unsigned seed) {
  for (std::size_t n = 0; n < memory.size(); ++n) memory[n] = noise(n, seed);
}

bool has(std::span<const unsigned char> memory, unsigned seed) {
  std::size_t n = 0;
  return std::ranges::all_of(memory,
                             [&](unsigned char octet) { return octet == noise(n++, seed); });
}

/// One end: its device, its memory, and its connection once that is established.
struct End {
  rpma_peer* peer = nullptr;
  std::span<unsigned char> memory;
  rpma_mr_local* region = nullptr;
  rpma_conn* connection = nullptr;
  rpma_cq* completions = nullptr;

  End(const char* address, rpma_util_ibv_context_type type) {
    ibv_context* context = nullptr;
    done(rpma_utils_get_ibv_context(address, type, &context), "rpma_utils_get_ibv_context");
    done(rpma_peer_new(context, &peer), "rpma_peer_new");
    memory = {static_cast<unsigned char*>(std::aligned_alloc(4096, 2 * kSize)), 2 * kSize};
    std::ranges::fill(memory, 0);
    done(rpma_mr_reg(peer, memory.data(), memory.size(), kUsage, &region), "rpma_mr_reg");
  }

  void wait_for(rpma_conn_event wanted) {
    rpma_conn_event event{};
    done(rpma_conn_next_event(connection, &event), "rpma_conn_next_event");
    require(event == wanted, rpma_utils_conn_event_2str(event));
  }

  void established() {
    wait_for(RPMA_CONN_ESTABLISHED);
    done(rpma_conn_get_cq(connection, &completions), "rpma_conn_get_cq");
  }

  ibv_wc completion(ibv_wc_opcode wanted) {
    ibv_wc out{};
    int status = 0;
    while ((status = rpma_cq_get_wc(completions, 1, &out, nullptr)) == RPMA_E_NO_COMPLETION)
      done(rpma_cq_wait(completions), "rpma_cq_wait");
    done(status, "rpma_cq_get_wc");
    require(out.status == IBV_WC_SUCCESS, ibv_wc_status_str(out.status));
    require(out.opcode == wanted, "another opcode in the completion");
    return out;
  }

  void end() {
    done(rpma_conn_delete(&connection), "rpma_conn_delete");
    done(rpma_mr_dereg(&region), "rpma_mr_dereg");
    done(rpma_peer_delete(&peer), "rpma_peer_delete");
    std::free(memory.data());
  }
};

void serve(const char* address, const char* port) {
  End end{address, RPMA_UTIL_IBV_CONTEXT_LOCAL};
  std::array<char, 64> descriptor{};
  std::size_t size = 0;
  done(rpma_mr_get_descriptor_size(end.region, &size), "rpma_mr_get_descriptor_size");
  require(size <= descriptor.size(), "a descriptor that fits");
  done(rpma_mr_get_descriptor(end.region, descriptor.data()), "rpma_mr_get_descriptor");

  rpma_ep* endpoint = nullptr;
  done(rpma_ep_listen(end.peer, address, port, &endpoint), "rpma_ep_listen");
  rpma_conn_req* request = nullptr;
  done(rpma_ep_next_conn_req(endpoint, nullptr, &request), "rpma_ep_next_conn_req");
  for (int n = 0; n < 2; ++n)  // One receive is for the immediate data, and one for the message.
    done(rpma_conn_req_recv(request, end.region, kSize, kMessage, nullptr), "rpma_conn_req_recv");
  const rpma_conn_private_data own{descriptor.data(), static_cast<std::uint8_t>(size)};
  done(rpma_conn_req_connect(&request, &own, &end.connection), "rpma_conn_req_connect");
  end.established();

  const ibv_wc immediate = end.completion(IBV_WC_RECV_RDMA_WITH_IMM);
  require(ntohl(immediate.imm_data) == kImmediate, "the immediate data");
  require(has(end.memory.first(kAtomicAt), 1), "what was written");
  require(std::memcmp(&end.memory[kAtomicAt], "8 octets", 8) == 0, "what was written atomically");
  require(end.completion(IBV_WC_RECV).byte_len == kMessage, "the message's length");
  require(has(end.memory.subspan(kSize, kMessage), 2), "the message");
  fill(end.memory.subspan(kSize, kMessage), 3);
  done(rpma_send(end.connection, end.region, kSize, kMessage, RPMA_F_COMPLETION_ALWAYS, nullptr),
       "rpma_send");
  end.completion(IBV_WC_SEND);

  end.wait_for(RPMA_CONN_CLOSED);
  done(rpma_conn_disconnect(end.connection), "rpma_conn_disconnect");
  end.end();
  done(rpma_ep_shutdown(&endpoint), "rpma_ep_shutdown");
  std::puts("server: all payload right");
}

/// Writes to the peer's memory, flushes, and reads the data back into the upper half of the
/// client's own memory.
void use_remote_memory(End& end, rpma_mr_remote* remote) {
  constexpr int kAlways = RPMA_F_COMPLETION_ALWAYS;
  constexpr int kOnError = RPMA_F_COMPLETION_ON_ERROR;
  fill(end.memory.first(kAtomicAt), 1);
  done(rpma_write(end.connection, remote, 0, end.region, 0, kAtomicAt, kOnError, nullptr),
       "rpma_write");
  done(rpma_flush(end.connection, remote, 0, kAtomicAt, RPMA_FLUSH_TYPE_VISIBILITY, kAlways,
                  nullptr),
       "rpma_flush");
  end.completion(IBV_WC_RDMA_READ);
  done(rpma_atomic_write(end.connection, remote, kAtomicAt, "8 octets", kAlways, nullptr),
       "rpma_atomic_write");
  end.completion(IBV_WC_RDMA_WRITE);
  done(rpma_read(end.connection, end.region, kSize, remote, 0, kSize, kAlways, nullptr),
       "rpma_read");
  end.completion(IBV_WC_RDMA_READ);
  require(has(end.memory.subspan(kSize, kAtomicAt), 1), "what was read");
  require(std::memcmp(&end.memory[kSize + kAtomicAt], "8 octets", 8) == 0,
          "what was read behind it");
  done(rpma_write_with_imm(end.connection, remote, 0, end.region, 0, 4096, kAlways, kImmediate,
                           nullptr),
       "rpma_write_with_imm");
  end.completion(IBV_WC_RDMA_WRITE);
}

void exchange_messages(End& end) {
  const auto message = end.memory.subspan(kSize, kMessage);
  done(rpma_recv(end.connection, end.region, kSize + kMessage, kMessage, nullptr), "rpma_recv");
  fill(message, 2);
  done(rpma_send(end.connection, end.region, kSize, kMessage, RPMA_F_COMPLETION_ALWAYS, nullptr),
       "rpma_send");
  end.completion(IBV_WC_SEND);
  end.completion(IBV_WC_RECV);
  require(has(end.memory.subspan(kSize + kMessage, kMessage), 3), "the answer");
}

void call(const char* address, const char* port) {
  End end{address, RPMA_UTIL_IBV_CONTEXT_REMOTE};
  rpma_conn_req* request = nullptr;
  done(rpma_conn_req_new(end.peer, address, port, nullptr, &request), "rpma_conn_req_new");
  done(rpma_conn_req_connect(&request, nullptr, &end.connection), "rpma_conn_req_connect");
  end.established();
  rpma_conn_private_data theirs{};
  done(rpma_conn_get_private_data(end.connection, &theirs), "rpma_conn_get_private_data");
  rpma_mr_remote* remote = nullptr;
  done(rpma_mr_remote_from_descriptor(theirs.ptr, theirs.len, &remote),
       "rpma_mr_remote_from_descriptor");

  use_remote_memory(end, remote);
  exchange_messages(end);

  done(rpma_conn_disconnect(end.connection), "rpma_conn_disconnect");
  end.wait_for(RPMA_CONN_CLOSED);
  done(rpma_mr_remote_delete(&remote), "rpma_mr_remote_delete");
  end.end();
  std::puts("client: all payload right");
}

}  // namespace

int main(int count, char** words) {
  require(count == 4, "usage: rpma_operations server|client ADDRESS PORT");
  (std::string_view{words[1]} == "server" ? serve : call)(words[2], words[3]);
}
