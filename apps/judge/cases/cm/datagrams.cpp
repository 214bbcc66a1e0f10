// SPDX-License-Identifier: Apache-2.0
// Cases about ids for datagrams: look-ups of a service, datagrams, and multicast groups.
#include <array>
#include <cstring>

#include "judge/cases/cases.hpp"
#include "judge/tools/ids.hpp"

namespace iwarp::judge::cm_datagrams {
namespace {

constexpr std::size_t kMostOfLookUp = 180;  // rdma_connect(3)
constexpr std::size_t kMostOfAnswer = 136;  // rdma_accept(3)
constexpr std::size_t kGrh = 40;
constexpr std::uint32_t kQpOfGroups = 0xFFFFFF;
constexpr const char* kGroup = "239.1.2.3";

/// Memory of an id, registered for messages.
struct Buffer {
  Buffer(Judge& j, rdma_cm_id* of, const char* text) : id(of) {
    std::strncpy(bytes.data(), text, bytes.size() - 1);
    mr = rdma_reg_msgs(of, bytes.data(), bytes.size());
    must(j, "rdma_reg_msgs", errno_of(mr));
  }
  int receive(void* context = nullptr) {
    return errno_of(rdma_post_recv(id, context, bytes.data(), bytes.size(), mr));
  }
  int send(ibv_ah* to, std::uint32_t number) {
    return errno_of(rdma_post_ud_send(id, nullptr, bytes.data(), 8, mr, 0, to, number));
  }
  std::string_view payload() const { return bytes.data() + kGrh; }
  rdma_cm_id* id;
  std::array<char, 256> bytes{};
  ibv_mr* mr = nullptr;
};

template <rdma_port_space Space>
void look_up(Judge& j) {
  Ids ids(j, Space);
  const std::string question = "question";
  const std::string answer = "answer";
  rdma_conn_param parameters = with_data(question);
  j.require("rdma_connect", errno_of(rdma_connect(ids.client, &parameters)));
  const CmEvent request =
      expect_event(j, "event at the listener", ids.at_server, {RDMA_CM_EVENT_CONNECT_REQUEST});
  j.require_true("the new id", request.id != nullptr, "there");
  j.expect_text("its data", request.data.substr(0, question.size()), {question});
  ids.server = request.id;
  create_qp(j, ids.server);
  Buffer in(j, ids.server, "");
  must(j, "rdma_post_recv", in.receive());
  parameters = with_data(answer);
  j.require("rdma_accept", errno_of(rdma_accept(ids.server, &parameters)));
  const CmEvent event =
      expect_event(j, "event at the client", ids.at_client, {RDMA_CM_EVENT_ESTABLISHED});
  j.expect("its status", event.status);
  j.expect_text("data of the answer", event.data.substr(0, answer.size()), {answer});
  j.expect_true("qp_num", event.ud.qp_num == ids.server->qp->qp_num, "that of the server's");
  j.expect_equal("qkey", event.ud.qkey, kQKeyOfCm);
  expect_no_event(j, "events at the server", ids.at_server, Space);
  ibv_ah_attr way = event.ud.ah_attr;
  ibv_ah* const ah = ibv_create_ah(ids.client->pd, &way);
  j.require("ibv_create_ah with ah_attr", errno_of(ah));
  Buffer out(j, ids.client, "hello");
  j.expect("rdma_post_ud_send", out.send(ah, event.ud.qp_num));
  const ibv_wc wc = expect_completion(j, "the receive", ids.server->recv_cq);
  j.expect_equal("byte_len", wc.byte_len, kGrh + 8);
  j.expect_text("the datagram after the GRH", in.payload(), {"hello"});
  expect_completion(j, "the datagram's completion", ids.client->send_cq);
  rdma_destroy_qp(ids.client);
  j.expect("rdma_destroy_id of the client", errno_of(rdma_destroy_id(ids.client)));
  rdma_destroy_qp(ids.server);
  j.expect("rdma_destroy_id of the server", errno_of(rdma_destroy_id(ids.server)));
}

void data_of_look_up(Judge& j) {
  Ids ids(j, RDMA_PS_UDP);
  const std::string most(kMostOfLookUp, 'd');
  const std::string more(kMostOfLookUp + 1, 'd');
  rdma_conn_param parameters = with_data(more);
  j.expect("rdma_connect, 181 bytes", errno_of(rdma_connect(ids.client, &parameters)), {EINVAL});
  ids.renew_client();
  parameters = with_data(most);
  j.require("rdma_connect, 180 bytes", errno_of(rdma_connect(ids.client, &parameters)));
  const CmEvent request = await(j, ids.at_server, RDMA_CM_EVENT_CONNECT_REQUEST);
  j.expect_true("the data of the request", request.data.starts_with(most), "180 bytes");
}

void data_of_answer(Judge& j) {
  Ids ids(j, RDMA_PS_UDP);
  ids.request();
  create_qp(j, ids.server);
  const std::string more(kMostOfAnswer + 1, 'd');
  rdma_conn_param parameters = with_data(more);
  j.expect("rdma_accept, 137 bytes", errno_of(rdma_accept(ids.server, &parameters)), {EINVAL});
}

void longest_answer(Judge& j) {
  Ids ids(j, RDMA_PS_UDP);
  ids.request();
  const std::string most(kMostOfAnswer, 'd');
  rdma_conn_param parameters = with_data(most);
  j.expect_true("the data of the answer", ids.accept(&parameters).data.starts_with(most),
                "136 bytes");
}

void named_queue_pair(Judge& j) {
  Ids ids(j, RDMA_PS_UDP);
  ids.request();
  rdma_conn_param parameters{.qp_num = 0x12345};
  j.require("rdma_accept with qp_num", errno_of(rdma_accept(ids.server, &parameters)));
  const CmEvent event = await(j, ids.at_client, RDMA_CM_EVENT_ESTABLISHED);
  j.expect_equal("qp_num at the client", event.ud.qp_num, 0x12345);
}

void accept_without_qp(Judge& j) {
  Ids ids(j, RDMA_PS_UDP);
  ids.request();
  rdma_conn_param parameters{};
  j.expect("rdma_accept, qp_num 0", errno_of(rdma_accept(ids.server, &parameters)), {EINVAL});
}

void rejected(Judge& j) {
  Ids ids(j, RDMA_PS_UDP);
  ids.request();
  j.require("rdma_reject", errno_of(rdma_reject(ids.server, "why", 3)));
  const CmEvent event = expect_event(j, "event", ids.at_client, {RDMA_CM_EVENT_UNREACHABLE});
  j.expect_true("its status", event.status != 0, "not 0");
  j.expect_text("its data", event.data.substr(0, 3), {"why"});
}

void unanswered(Judge& j) {
  Ids ids(j, RDMA_PS_UDP);
  rdma_destroy_id(ids.listener);
  j.require("rdma_connect", errno_of(rdma_connect(ids.client, nullptr)));
  const CmEvent event = expect_event(j, "event", ids.at_client, {RDMA_CM_EVENT_UNREACHABLE},
                                     std::chrono::seconds(18));
  j.expect_true("its status", event.status != 0, "not 0");
}

void synchronous(Judge& j) {
  rdma_cm_id* const listener = new_listener(j, nullptr, Address(j.address()), 4, RDMA_PS_UDP);
  rdma_event_channel* const channel = new_channel(j);
  new_connecting(j, channel, Address(j.address(), rdma_get_src_port(listener)), RDMA_PS_UDP);
  rdma_cm_id* server = nullptr;
  j.require("rdma_get_request", errno_of(rdma_get_request(listener, &server)));
  create_qp(j, server);
  j.expect("rdma_accept", errno_of(rdma_accept(server, nullptr)));
  expect_event(j, "event at the client", channel, {RDMA_CM_EVENT_ESTABLISHED});
}

void refused_space(Judge& j) {
  rdma_cm_id* id = nullptr;
  const int code = errno_of(rdma_create_id(new_channel(j), &id, nullptr, RDMA_PS_UDP));
  // The kernel makes the id before it knows the device.
  if (code == 0) j.not_applicable("this host has another device with datagrams");
  j.expect("rdma_create_id, RDMA_PS_UDP", code, {EPROTONOSUPPORT});
}

/// Two members of a group, each with a queue pair, and memory to send from and to receive in.
struct Group {
  explicit Group(Judge& judge) : j(judge), channel(new_channel(judge)), a(member()), b(member()) {}
  rdma_cm_id* member() {
    rdma_cm_id* const id =
        new_client(j, channel, Address(j.address(), htons(kFreePort)), RDMA_PS_UDP);
    create_qp(j, id);
    return id;
  }
  CmEvent join(rdma_cm_id* id, void* context = nullptr) {
    must(j, "rdma_join_multicast", errno_of(rdma_join_multicast(id, group, context)));
    return await(j, channel, RDMA_CM_EVENT_MULTICAST_JOIN);
  }
  int join_with(rdma_cm_id* id, std::uint32_t flags, std::uint32_t mask = 3) {
    rdma_cm_join_mc_attr_ex attr{.comp_mask = mask, .join_flags = flags, .addr = group};
    return errno_of(rdma_join_multicast_ex(id, &attr, nullptr));
  }
  int leave(rdma_cm_id* id) { return errno_of(rdma_leave_multicast(id, group)); }
  ibv_ah* way(const CmEvent& event) {
    ibv_ah_attr attr = event.ud.ah_attr;
    ibv_ah* const ah = ibv_create_ah(a->pd, &attr);
    must(j, "ibv_create_ah", errno_of(ah));
    return ah;
  }
  Judge& j;
  Address group{kGroup};
  rdma_event_channel* channel;
  rdma_cm_id* a;
  rdma_cm_id* b;
};

void join(Judge& j) {
  Group group(j);
  int context = 0;
  rdma_cm_event* event = nullptr;
  j.require("rdma_join_multicast", errno_of(rdma_join_multicast(group.a, group.group, &context)));
  event = wait_event(group.channel);
  j.require_true("event", event != nullptr && event->event == RDMA_CM_EVENT_MULTICAST_JOIN,
                 "MULTICAST_JOIN");
  j.expect("its status", event->status);
  j.expect_true("its private_data", event->param.ud.private_data == &context, "the context");
  j.expect_equal("qp_num", event->param.ud.qp_num, kQpOfGroups);
  rdma_ack_cm_event(event);
  const CmEvent of_b = group.join(group.b);
  Buffer in(j, group.b, "");
  Buffer out(j, group.a, "group");
  must(j, "rdma_post_recv", in.receive());
  j.expect("rdma_post_ud_send", out.send(group.way(of_b), of_b.ud.qp_num));
  expect_completion(j, "the receive of the other member", group.b->recv_cq);
  j.expect_text("the datagram", in.payload(), {"group"});
}

/// Sends a datagram to the group, and then one to `id` itself: the first does not arrive.
void expect_not_member(Group& group, rdma_cm_id* id, rdma_cm_id* sender, const CmEvent& joined) {
  Judge& j = group.j;
  Buffer in(j, id, "");
  must(j, "rdma_post_recv", in.receive());
  Buffer to_group(j, sender, "group");
  must(j, "rdma_post_ud_send", to_group.send(group.way(joined), joined.ud.qp_num));
  ibv_ah_attr attr = joined.ud.ah_attr;
  const int index = attr.grh.sgid_index;
  must(j, "ibv_query_gid",
       errno_of(ibv_query_gid(sender->verbs, sender->port_num, index, &attr.grh.dgid)));
  ibv_ah* const self = ibv_create_ah(sender->pd, &attr);
  must(j, "ibv_create_ah", errno_of(self));
  Buffer direct(j, sender, "direct");
  must(j, "rdma_post_ud_send", direct.send(self, id->qp->qp_num));
  expect_completion(j, "a datagram to the queue pair itself", id->recv_cq);
  j.expect_text("the first datagram that arrives", in.payload(), {"direct"});
}

void leave(Judge& j) {
  Group group(j);
  const CmEvent joined = group.join(group.a);
  group.join(group.b);
  j.expect("rdma_leave_multicast", group.leave(group.b));
  expect_not_member(group, group.b, group.a, joined);
  j.expect("rdma_leave_multicast again", group.leave(group.b), {EADDRNOTAVAIL});
}

void leave_never_joined(Judge& j) {
  Group group(j);
  j.expect("with a queue pair", group.leave(group.a), {EADDRNOTAVAIL});
  rdma_destroy_qp(group.a);
  j.expect("without a queue pair", group.leave(group.a), {EADDRNOTAVAIL});
}

void send_only(Judge& j) {
  Group group(j);
  const CmEvent joined = group.join(group.b);
  const int code = group.join_with(group.a, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);
  if (code == EOPNOTSUPP) j.refuse("rdma_join_multicast_ex, SENDONLY_FULLMEMBER", code);
  j.require("rdma_join_multicast_ex, SENDONLY_FULLMEMBER", code);
  const CmEvent event = expect_event(j, "event", group.channel, {RDMA_CM_EVENT_MULTICAST_JOIN});
  Buffer in(j, group.b, "");
  Buffer out(j, group.a, "group");
  must(j, "rdma_post_recv", in.receive());
  j.expect("rdma_post_ud_send", out.send(group.way(event), event.ud.qp_num));
  expect_completion(j, "the receive of a member", group.b->recv_cq);
  expect_not_member(group, group.a, group.b, joined);
  j.expect("rdma_leave_multicast", group.leave(group.a));
}

void full_member(Judge& j) {
  Group group(j);
  j.require("rdma_join_multicast_ex, FULLMEMBER",
            group.join_with(group.b, RDMA_MC_JOIN_FLAG_FULLMEMBER));
  const CmEvent event = expect_event(j, "event", group.channel, {RDMA_CM_EVENT_MULTICAST_JOIN});
  Buffer in(j, group.b, "");
  Buffer out(j, group.a, "group");
  must(j, "rdma_post_recv", in.receive());
  must(j, "rdma_post_ud_send", out.send(group.way(event), event.ud.qp_num));
  expect_completion(j, "the receive of the member", group.b->recv_cq);
}

void own_attach(Judge& j) {
  Group group(j);
  ibv_qp* const qp = std::exchange(group.b->qp, nullptr);
  const CmEvent event = group.join(group.b);
  ibv_gid gid = event.ud.ah_attr.grh.dgid;
  group.b->qp = qp;
  j.expect("ibv_attach_mcast", errno_of(ibv_attach_mcast(qp, &gid, event.ud.ah_attr.dlid)));
  Buffer in(j, group.b, "");
  Buffer out(j, group.a, "group");
  must(j, "rdma_post_recv", in.receive());
  must(j, "rdma_post_ud_send", out.send(group.way(event), event.ud.qp_num));
  expect_completion(j, "the receive", group.b->recv_cq);
}

void join_refused(Judge& j) {
  Group group(j);
  constexpr std::uint32_t kUnknownFlag = 7;
  constexpr std::uint32_t kUnknownBit = 1 << 5;
  constexpr auto kFull = RDMA_MC_JOIN_FLAG_FULLMEMBER;
  j.expect("without an address", group.join_with(group.a, kFull, RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS),
           {EINVAL});
  j.expect("without flags", group.join_with(group.a, kFull, RDMA_CM_JOIN_MC_ATTR_ADDRESS),
           {EINVAL});
  j.expect("unknown flags", group.join_with(group.a, kUnknownFlag), {EINVAL});
  j.expect("unknown bits of comp_mask", group.join_with(group.a, kFull, 3 | kUnknownBit),
           {ENOTSUP});
  j.expect("without an address, rdma_join_multicast",
           errno_of(rdma_join_multicast(group.a, nullptr, nullptr)), {EINVAL});
  rdma_cm_id* const idle = new_id(j, group.channel, RDMA_PS_UDP);
  j.expect("on an idle id", errno_of(rdma_join_multicast(idle, group.group, nullptr)), {EINVAL});
  expect_no_event(j, "events of the failed calls", group.channel, RDMA_PS_UDP);
}

void join_connection(Judge& j) {
  Ids ids(j);
  Address group(kGroup);
  j.expect("rdma_join_multicast", errno_of(rdma_join_multicast(ids.client, group, nullptr)),
           {EINVAL, EOPNOTSUPP});
}

void leave_at_once(Judge& j) {
  Group group(j);
  j.require("rdma_join_multicast", errno_of(rdma_join_multicast(group.a, group.group, nullptr)));
  j.require("rdma_leave_multicast", group.leave(group.a));
  expect_no_event(j, "events of the group", group.channel, RDMA_PS_UDP);
}

void destroyed_member(Judge& j) {
  rdma_event_channel* const channel = new_channel(j);
  rdma_cm_id* const id =
      new_client(j, channel, Address(j.address(), htons(kFreePort)), RDMA_PS_UDP);
  ibv_pd* const pd = ibv_alloc_pd(id->verbs);
  ibv_qp_init_attr init = qp_init(id);
  must(j, "rdma_create_qp", errno_of(rdma_create_qp(id, pd, &init)));
  Address group(kGroup);
  must(j, "rdma_join_multicast", errno_of(rdma_join_multicast(id, group, nullptr)));
  await(j, channel, RDMA_CM_EVENT_MULTICAST_JOIN);
  rdma_destroy_qp(id);
  j.expect("rdma_destroy_id", errno_of(rdma_destroy_id(id)));
  j.expect("ibv_dealloc_pd", errno_of(ibv_dealloc_pd(pd)));
}

// clang-format off
constexpr Case kCases[] = {
    {"cm/look-up/udp", "RCM-29 RCM-114 RCM-285 RCM-345 RCM-346 RCM-347 RCM-348 RCM-356", "reports the server's queue pair to a UD client and delivers a datagram to it", look_up<RDMA_PS_UDP>, kCm | kUd},
    {"cm/look-up/ipoib", "RCM-361", "reports the server's queue pair to a client of RDMA_PS_IPOIB", look_up<RDMA_PS_IPOIB>, kCm | kUd},
    {"cm/look-up/data", "RCM-347 RCM-354", "sends 180 bytes of private data with rdma_connect() for UD", data_of_look_up, kCm | kUd},
    {"cm/look-up/long-answer", "RCM-355", "refuses 137 bytes of private data in rdma_accept() for UD", data_of_answer, kCm | kUd},
    {"cm/look-up/longest-answer", "RCM-347 RCM-355", "sends 136 bytes of private data with rdma_accept() for UD", longest_answer, kCm | kUd},
    {"cm/look-up/qp-num", "RCM-350", "reports qp_num of rdma_accept() to a UD client", named_queue_pair, kCm | kUd},
    {"cm/look-up/without-qp", "RCM-349", "refuses rdma_accept() for UD with qp_num 0", accept_without_qp, kCm | kUd},
    {"cm/look-up/reject", "RCM-351 RCM-352", "reports UNREACHABLE to a UD client that the server rejects", rejected, kCm | kUd},
    {"cm/look-up/no-listener", "RCM-353", "reports UNREACHABLE to a UD client if no server listens", unanswered, kCm | kUd},
    {"cm/look-up/synchronous", "RCM-360", "returns from rdma_accept() at once on a synchronous rdma_cm_id for UD", synchronous, kCm | kUd},
    {"cm/look-up/iwarp", "RCM-30", "refuses RDMA_PS_UDP on an iWARP device", refused_space, kCm | kIwarp},
    {"cm/group/join", "IBV-591 RCM-290 RCM-292 RCM-293 RCM-294", "joins a multicast group and delivers a datagram to a member", join, kCm | kUd},
    {"cm/group/own-attach", "RCM-295", "delivers datagrams of a group to a queue pair that the program attached", own_attach, kCm | kUd},
    {"cm/group/full-member", "RCM-299", "joins a multicast group with RDMA_MC_JOIN_FLAG_FULLMEMBER", full_member, kCm | kUd},
    {"cm/group/send-only", "RCM-300 RCM-304", "lets a send-only member send to a multicast group, but not receive", send_only, kCm | kUd},
    {"cm/group/leave", "RCM-303 RCM-305", "ends delivery with rdma_leave_multicast(), and refuses a second call", leave, kCm | kUd},
    {"cm/group/not-joined", "RCM-305", "refuses to leave a multicast group that was not joined", leave_never_joined, kCm | kUd},
    {"cm/group/leave-at-once", "RCM-306", "reports no event of a join if rdma_leave_multicast() follows at once", leave_at_once, kCm | kUd},
    {"cm/group/refused", "RCM-291 RCM-296 RCM-301 RCM-302", "refuses invalid attributes of a multicast join", join_refused, kCm | kUd},
    {"cm/group/connection", "RCM-297", "refuses rdma_join_multicast() on an rdma_cm_id for connections", join_connection, kCm},
    {"cm/group/destroy", "RCM-307", "leaves the multicast groups of a destroyed rdma_cm_id", destroyed_member, kCm | kUd},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::cm_datagrams

iwarp::judge::Table iwarp::judge::cm_datagrams_cases() { return cm_datagrams::kCases; }
