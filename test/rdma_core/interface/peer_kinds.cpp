// SPDX-License-Identifier: Apache-2.0
// Tests immediate data with three kinds of peers: a peer without RFC 7306, a peer with it, and a
// peer that runs this stack and therefore also accepts a Send with Immediate that has payload. Each
// peer is a TCP socket for which the test encodes MPA, so that the test sees the octets on the
// wire. The connections have no CRC. The library reads the CRC option once per process, so these
// cases are a separate program.
#include <endian.h>

#include <cstdlib>

#include "../support/raw_client.hpp"
#include "endpoint.hpp"

namespace {

using namespace rdma_core_test;
using namespace std::string_literals;

const int kSet = ::setenv("IWARP_CRC", "off", 1);

constexpr std::uint32_t kData = 0x01020304;

std::string hex(std::string_view octets) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : octets) {
    const auto octet = static_cast<unsigned char>(c);
    out += kDigits[octet >> 4];
    out += kDigits[octet & 15];
  }
  return out;
}

/// Returns the ULPDU of a message on queue 0 that has one segment, in hexadecimal digits.
std::string untagged(const std::string& opcode, char msn, const std::string& payload) {
  return "414" + opcode + "00000000" + "00000000" + "0000000" + msn + "00000000" + payload;
}

/// An initiator that is a plain TCP socket.
struct Peer : RawClient {
  using RawClient::RawClient;
  /// Sends a plain Request of revision 1.
  void request(const std::string& data) {
    send("MPA ID Req Frame\0\1\0"s + static_cast<char>(data.size()) + data);
  }
  /// Returns the private data of the Reply.
  std::string reply() {
    const std::string head = receive(20);
    CHECK(head.substr(0, 16) == "MPA ID Rep Frame");
    return receive(static_cast<unsigned char>(head[19]));
  }
  /// Sends a zero-length Write, after which the responder may send.
  void ready() { send("\0\x0e\xc1\x40\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0"s); }
  /// Returns the ULPDU of the next FPDU.
  std::string ulpdu() {
    const std::string length = receive(2);
    const std::size_t octets = static_cast<unsigned char>(length[1]);
    const std::string out = receive(octets);
    receive((4 - (2 + octets) % 4) % 4 + 4);
    return out;
  }
};

/// A server of the C interface to which a Peer is connected.
struct Server {
  explicit Server(const std::string& tag) : channel(make_channel()) {
    listener = listening(channel);
    peer.emplace(port_of(listener));
    peer->request("hi" + tag);
    const Event request = expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    seen = private_data(request);
    numbers = request->param.conn;
    end.id.reset(request->id);
    make_queue_pair(end, {.all_signaled = true});
    rdma_conn_param param{.private_data = "ho", .private_data_len = 2};
    REQUIRE(rdma_accept(end.id.get(), &param) == 0);
    reply = peer->reply();
    peer->ready();
    expect(channel, RDMA_CM_EVENT_ESTABLISHED);
  }
  ~Server() { peer.reset(); }

  int post(ibv_wr_opcode opcode, const Buffer* from = nullptr) {
    ibv_sge sge = from != nullptr ? from->sge() : ibv_sge{};
    ibv_send_wr wr{.sg_list = &sge,
                   .num_sge = from != nullptr ? 1 : 0,
                   .opcode = opcode,
                   .imm_data = htobe32(kData)};
    return post_send(end.id->qp, wr);
  }

  Channel channel;
  Id listener;
  std::optional<Peer> peer;
  End end;
  std::string seen, reply;
  rdma_conn_param numbers{};
};

TEST_CASE("a peer without RFC 7306 gets plain requests, and immediate data is refused") {
  Server server("");
  CHECK(server.seen == "hi");
  CHECK(server.reply == "ho");
  const Buffer text(server.end.pd.get(), "abc");
  CHECK(server.post(IBV_WR_SEND_WITH_IMM, &text) == EOPNOTSUPP);
  CHECK(server.post(IBV_WR_SEND_WITH_IMM) == EOPNOTSUPP);
  CHECK(server.post(IBV_WR_RDMA_WRITE_WITH_IMM, &text) == EOPNOTSUPP);
  REQUIRE(server.post(IBV_WR_SEND, &text) == 0);
  CHECK(hex(server.peer->ulpdu()) == untagged("3", '1', "616263"));
}

TEST_CASE("a peer with RFC 7306 gets its messages, but no Send with payload and immediate data") {
  Server server("RFC 7306");
  CHECK(server.seen == "hi");
  CHECK(server.reply == "ho7306 too");
  const Buffer text(server.end.pd.get(), "abc");
  CHECK(server.post(IBV_WR_SEND_WITH_IMM, &text) == EOPNOTSUPP);
  REQUIRE(server.post(IBV_WR_SEND_WITH_IMM) == 0);
  REQUIRE(server.post(IBV_WR_RDMA_WRITE_WITH_IMM, &text) == 0);
  CHECK(hex(server.peer->ulpdu()) == untagged("8", '1', "0102030480000000"));
  CHECK(hex(server.peer->ulpdu()) == "c140000000000000000000000000616263");
  CHECK(hex(server.peer->ulpdu()) == untagged("8", '2', "0102030400000003"));
}

TEST_CASE("a peer with this stack gets the immediate data and then the Send as two messages") {
  Server server("7306 imm");
  CHECK(server.seen == "hi");
  CHECK(server.reply == "hoimm. too");
  const Buffer text(server.end.pd.get(), "abc");
  REQUIRE(server.post(IBV_WR_SEND_WITH_IMM, &text) == 0);
  CHECK(hex(server.peer->ulpdu()) == untagged("8", '1', "01020304c0000000"));
  CHECK(hex(server.peer->ulpdu()) == untagged("3", '2', "616263"));
  CHECK(End::done(server.end.send_cq).opcode == IBV_WC_SEND);
  CHECK(is_empty(server.end.send_cq.get()));
}

TEST_CASE("numbers of rdma_cm behind the private data are for the library, and are answered") {
  const std::string numbers = "cm.q\3\4\x56\1\0\0\1\2"s;
  Server server(numbers + "7306 imm");
  CHECK(server.seen == "hi");
  CHECK(server.numbers.responder_resources == 4);
  CHECK(server.numbers.initiator_depth == 3);
  const std::string own = "cm.p\0\0\0\0"s;
  CHECK(server.reply.substr(0, 2 + own.size()) == "ho" + own);
  CHECK(server.reply.size() == 2 + numbers.size() + 8);
}

TEST_CASE("a peer that announces a Send and then announces another gets a Terminate") {
  Server server("7306 imm");
  Buffer inbox(server.end.pd.get(), 16);
  REQUIRE(server.end.receive(inbox.sge(), 9) == 0);
  for (const char msn : {'\1', '\2'}) {
    server.peer->send("\0\x1a\x41\x48\0\0\0\0\0\0\0\0\0\0\0"s + msn +
                      "\0\0\0\0\1\2\3\4\xc0\0\0\0\0\0\0\0"s);
  }
  const ibv_wc wc = End::next(server.end.receive_cq);
  CHECK(wc.wr_id == 9);
  CHECK(wc.status == IBV_WC_WR_FLUSH_ERR);
  const std::string terminate = server.peer->ulpdu();
  CHECK(hex(terminate.substr(0, 2)) == "4147");
  CHECK(hex(terminate.substr(18, 2)) == "0206");  // The Terminate means "unexpected opcode".
  CHECK(inbox.text(16) == std::string(16, '\0'));
}

}  // namespace
