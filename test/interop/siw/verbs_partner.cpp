// SPDX-License-Identifier: Apache-2.0
// The program at both ends of the matrix: an ordinary program for libibverbs and librdmacm that
// performs the client's or the server's part of the sequence over the RDMA device of ADDR. In the
// guest, the device is siw. On this machine, the program runs under `iwarp run`.
//   verbs_partner listen ADDR PORT        serves one client after the other, until it is killed
//   verbs_partner connect ADDR PORT CELLS [COUNT [ENDING]]    CELLS: out:write:4096,in:send:0,...
#include <cstdio>

#include "sequence.hpp"

namespace {

using namespace iwarp::interop;

constexpr std::uint8_t kReads = 16;

using EventChannel = std::unique_ptr<rdma_event_channel, decltype(&rdma_destroy_event_channel)>;

EventChannel make_channel() {
  return {must(rdma_create_event_channel()), rdma_destroy_event_channel};
}

/// Waits for the next connection event. Returns its id, which is a new one if the event is a
/// connect request.
rdma_cm_id* expect(const EventChannel& channel, rdma_cm_event_type type, int timeout = kTimeoutMs) {
  check(is_readable(channel->fd, timeout), "no connection event in time");
  rdma_cm_event* event = nullptr;
  check_status(rdma_get_cm_event(channel.get(), &event), "rdma_get_cm_event");
  const auto got = event->event;
  rdma_cm_id* const id = event->id;
  rdma_ack_cm_event(event);
  check(got == type, rdma_event_str(got));
  return id;
}

rdma_addrinfo* resolve(const char* host, const char* port, bool passive) {
  const rdma_addrinfo hints{.ai_flags = passive ? RAI_PASSIVE : 0, .ai_port_space = RDMA_PS_TCP};
  rdma_addrinfo* out = nullptr;
  check_status(rdma_getaddrinfo(host, port, &hints, &out), "rdma_getaddrinfo");
  return out;
}

struct Task {
  std::vector<Cell> cells;
  Ending ending = Ending::kClose;
};

bool one_connection(const rdma_addrinfo* to, const Task& task) {
  const auto channel = make_channel();
  rdma_cm_id* id = nullptr;
  check_status(rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
  check_status(rdma_resolve_addr(id, nullptr, to->ai_dst_addr, 2000), "rdma_resolve_addr");
  expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  check_status(rdma_resolve_route(id, 2000), "rdma_resolve_route");
  expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  Link link(id);
  rdma_conn_param wanted{.responder_resources = kReads, .initiator_depth = kReads};
  check_status(rdma_connect(id, &wanted), "rdma_connect");
  expect(channel, RDMA_CM_EVENT_ESTABLISHED);
  return lead(link, task.cells, task.ending);
}

void serve(rdma_cm_id* id) {
  const auto channel = make_channel();
  // Migrates the id to its own channel, so that the link is destroyed before that channel.
  check_status(rdma_migrate_id(id, channel.get()), "rdma_migrate_id");
  Link link(id);
  rdma_conn_param wanted{.responder_resources = kReads, .initiator_depth = kReads};
  check_status(rdma_accept(id, &wanted), "rdma_accept");
  expect(channel, RDMA_CM_EVENT_ESTABLISHED);
  follow(link);
  // Waits until the client closes the connection.
  expect(channel, RDMA_CM_EVENT_DISCONNECTED);
}

[[noreturn]] void run_server(const rdma_addrinfo* at) {
  const auto channel = make_channel();
  rdma_cm_id* listener = nullptr;
  check_status(rdma_create_id(channel.get(), &listener, nullptr, RDMA_PS_TCP), "rdma_create_id");
  check_status(rdma_bind_addr(listener, at->ai_src_addr), "rdma_bind_addr");
  check_status(rdma_listen(listener, 16), "rdma_listen");
  std::printf("listening on port :%d\n", ntohs(rdma_get_src_port(listener)));
  std::fflush(stdout);
  for (;;) {
    try {
      serve(expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST, -1));
    } catch (const std::runtime_error& error) {
      std::printf("server: %s\n", error.what());
      std::fflush(stdout);
    }
  }
}

int run(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "listen" && argc == 4) run_server(resolve(argv[2], argv[3], true));
  if (verb != "connect" || argc < 5 || argc > 7) {
    throw std::runtime_error(
        "usage: verbs_partner listen|connect ADDR PORT [CELLS [COUNT [ENDING]]]");
  }
  const Task task{.cells = parse_cells(argv[4]),
                  .ending = argc > 6 ? ending_named(argv[6]) : Ending::kClose};
  const rdma_addrinfo* const to = resolve(argv[2], argv[3], false);
  const int count = argc > 5 ? std::stoi(argv[5]) : 1;
  int done = 0;
  while (done < count && one_connection(to, task)) ++done;
  std::printf("connections %d of %d\n", done, count);
  return done == count ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::printf("verbs_partner: %s\n", error.what());
    return 1;
  }
}
