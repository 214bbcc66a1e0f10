// SPDX-License-Identifier: Apache-2.0
// Connects queue pairs of two processes without rdma_cm. The processes exchange addresses, queue
// pair numbers and PSNs over a TCP connection. Each pair of queue pairs is used and destroyed
// before the next pair is created.
//   pairs PORT ADDRESS ROUNDS plain|lies|crossing [HOST]
// ADDRESS is an IPv4 address of this host, and also one of its GIDs. Without HOST, the program is
// the server. Each round reads one word of the peer's memory, which has a new value in each round.
// With `lies`, the client first creates queue pairs with a wrong number, a wrong PSN and a GID that
// no host has, and prints the result of a Read on each of them. With `crossing`, each round instead
// sends a message in each direction, and one end posts its receive only after its Send has
// completed.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "control.hpp"

namespace {

using rdma_core_test::check;

/// The data that one end sends to the other end over TCP.
struct Told {
  ibv_gid gid;
  std::uint32_t qpn;
  std::uint32_t psn;
  std::uint64_t address;
  std::uint32_t rkey;
};

struct Peer : Control {
  using Control::Control;
  Told exchange(const Told& own) const {
    send(own);
    return receive<Told>();
  }
};

/// A device on which many queue pairs are created. Does not use the queue pair of VerbsEnd.
struct Device : rdma_core_test::VerbsEnd {
  static constexpr rdma_core_test::EndOptions kSmall{
      .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}, .cqe = 16};
  explicit Device(const char* address)
      : VerbsEnd(kSmall), gid(rdma_core_test::gid_of(address)), index(index_of(gid)) {}
  ibv_qp* make() { return make_qp(kSmall); }
  int connect(ibv_qp* made, std::uint32_t psn, const Told& peer) const {
    ibv_qp_attr attr{.path_mtu = IBV_MTU_1024,
                     .rq_psn = peer.psn,
                     .sq_psn = psn,
                     .dest_qp_num = peer.qpn,
                     .qp_access_flags = IBV_ACCESS_REMOTE_READ,
                     .max_rd_atomic = 1,
                     .max_dest_rd_atomic = 1,
                     .port_num = 1,
                     .rnr_retry = 7};
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh = {
        .dgid = peer.gid, .sgid_index = static_cast<std::uint8_t>(index), .hop_limit = 64};
    for (const auto& [state, mask] : {std::pair{IBV_QPS_INIT, rdma_core_test::kToInit},
                                      {IBV_QPS_RTR, rdma_core_test::kToRtr},
                                      {IBV_QPS_RTS, rdma_core_test::kToRts}}) {
      attr.qp_state = state;
      if (const int code = ibv_modify_qp(made, &attr, mask)) return code;
    }
    return 0;
  }
  void read(ibv_qp* made, const Told& peer) {
    ibv_sge sge = this->sge(sizeof words[0], sizeof words[1]);
    ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ};
    wr.wr.rdma = {.remote_addr = peer.address, .rkey = peer.rkey};
    check(rdma_core_test::post_send(made, wr) == 0, "ibv_post_send");
  }
  ibv_wc next() const { return rdma_core_test::next(cq); }
  void receive(ibv_qp* made) {
    ibv_sge sge = this->sge(sizeof words[0], sizeof words[1]);
    check(rdma_core_test::post_recv(made, {.sg_list = &sge, .num_sge = 1}) == 0, "ibv_post_recv");
  }
  void send(ibv_qp* made) {
    ibv_sge sge = this->sge(0, sizeof words[0]);
    const ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
    check(rdma_core_test::post_send(made, wr) == 0, "ibv_post_send");
  }
  void complete(ibv_wc_opcode opcode) const {
    const ibv_wc wc = next();
    check(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
    check(wc.opcode == opcode, "a completion of the wrong request");
  }
  Told end(const ibv_qp* made, std::uint32_t psn) const {
    return {.gid = gid, .qpn = made->qp_num, .psn = psn, .address = remote(0), .rkey = mr->rkey};
  }

  ibv_gid gid;
  int index;
  /// words[0] is the word that the peer reads. words[1] is the word that was read from the peer.
  std::uint64_t* words = reinterpret_cast<std::uint64_t*>(memory);
};

/// Each end destroys its queue pair before the pair is connected. Before that, only one end has
/// called connect(): the client in even rounds, and the server in odd rounds.
void give_up(Device& device, Peer& peer, int round, bool client) {
  ibv_qp* const qp = device.make();
  const Told other = peer.exchange(device.end(qp, 7));
  if (client == (round % 2 == 0)) check(device.connect(qp, 7, other) == 0, "to be given up");
  check(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
}

// The first message of one end waits for a receive, which the other end posts only after its own
// Send, which is posted later, has completed.
void cross(Device& device, Peer& peer, ibv_qp* qp, bool is_first) {
  if (is_first) {
    device.receive(qp);
    device.send(qp);
    peer.exchange({});
    device.complete(IBV_WC_RECV);
    device.complete(IBV_WC_SEND);
  } else {
    peer.exchange({});
    device.send(qp);
    device.complete(IBV_WC_SEND);
    device.receive(qp);
    device.complete(IBV_WC_RECV);
  }
}

void one_round(Device& device, Peer& peer, int round, bool client, bool crosses) {
  if (round % 3 == 0) give_up(device, peer, round, client);
  const std::uint32_t psn = round % 2 == 0 ? 0 : static_cast<std::uint32_t>(random()) & 0xFFFFFF;
  ibv_qp* const qp = device.make();
  device.words[0] = static_cast<std::uint64_t>(round) * 2 + (client ? 1 : 0);
  const Told other = peer.exchange(device.end(qp, psn));
  check(device.connect(qp, psn, other) == 0, "connect");
  if (crosses) {
    cross(device, peer, qp, client == (round % 2 == 0));
  } else {
    device.read(qp, other);
    device.complete(IBV_WC_RDMA_READ);
  }
  check(device.words[1] == static_cast<std::uint64_t>(round) * 2 + (client ? 0 : 1),
        "another pair's memory");
  peer.exchange({});  // Waits until both ends are done.
  check(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
}

void lie(Device& device, const Told& good) {
  std::array<Told, 3> lies{good, good, good};
  lies[0].qpn += 77 << 16;
  lies[1].psn += 1;
  lies[2].gid.raw[15] += 77;
  std::vector<ibv_qp*> made;
  for (const Told& told : lies) {
    made.push_back(device.make());
    check(device.connect(made.back(), 7, told) == 0, "lie");
    device.read(made.back(), told);
  }
  Told nowhere = good;
  nowhere.gid = {};
  ibv_qp* const refused = device.make();
  std::printf("a GID of zeros: %d\n", device.connect(refused, 7, nowhere));
  made.push_back(refused);
  for (std::size_t i = 0; i < lies.size(); ++i) {
    std::printf("a lie: %s\n", ibv_wc_status_str(device.next().status));
  }
  for (ibv_qp* const qp : made) check(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const char* const host = argc > 5 ? argv[5] : nullptr;
  const bool client = host != nullptr;
  try {
    Device device(argv[2]);
    Peer peer(host, argv[1]);
    if (std::string(argv[4]) == "lies") {
      ibv_qp* const qp = device.make();
      const Told other = peer.exchange(device.end(qp, 7));
      // The server connects its queue pair to the queue pair of the client. It must not receive
      // anything from the queue pairs with wrong values.
      client ? lie(device, other) : check(device.connect(qp, 7, other) == 0, "connect");
      peer.exchange({});
      check(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
    }
    for (int round = 0; round < std::atoi(argv[3]); ++round) {
      one_round(device, peer, round, client, std::string(argv[4]) == "crossing");
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pairs: %s\n", error.what());
    return 1;
  }
  std::puts("done");
  return 0;
}
