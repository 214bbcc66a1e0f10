// SPDX-License-Identifier: Apache-2.0
// Tests rules about one of two devices. The traffic of the other device must not change.
#include "rules.hpp"
#include "support.hpp"

using namespace data;
using faults::rule;

[[maybe_unused]] static const int kSet =
    setenv("IWARP_AS", "roce", 1) + setenv("IWARP_DEVICE", "left,right", 1);

namespace {

ibv_device* find(const std::string& name) {
  ibv_device** const list = must(ibv_get_device_list(nullptr));
  ibv_device* out = nullptr;
  for (int i = 0; list[i] != nullptr; ++i) {
    if (ibv_get_device_name(list[i]) == name) out = list[i];
  }
  ibv_free_device_list(list);
  return out;
}

/// A device with two connected queue pairs and a datagram queue pair.
struct Side {
  explicit Side(const std::string& name, const Timeouts& timeouts = {})
      : context(must(ibv_open_device(must(find(name))))),
        pair(options(IBV_QPT_RC), options(IBV_QPT_RC), timeouts) {}
  ~Side() { CHECK(datagrams.destroy()); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  Options options(ibv_qp_type type) const { return {.type = type, .context = context, .pd = pd}; }
  ibv_port_state port() const {
    ibv_port_attr attr{};
    REQUIRE_EQ(ibv_query_port(context, 1, &attr), 0);
    return attr.state;
  }
  void expect(ibv_event_type type) const { CHECK_EQ(pair.a.take_async_event().event_type, type); }
  bool has_event() const { return is_readable(context->async_fd); }
  void post() { REQUIRE_EQ(pair.a.post_rdma(IBV_WR_RDMA_WRITE, pair.b, 0, 8, 8), 0); }
  ibv_wc_status write() {
    post();
    return next(pair.a.cq).status;
  }
  /// Sends a datagram with this text to the queue pair itself.
  void send(const std::string& text) const {
    std::memcpy(datagrams.memory, text.data(), text.size());
    ibv_sge sge = datagrams.sge(0, text.size());
    REQUIRE_EQ(post_send(datagrams.qp, datagram(sge, home, datagrams.qp->qp_num)), 0);
    success(datagrams.cq);
  }
  void await_receive() const { REQUIRE_EQ(datagrams.receive(datagrams.sge(64, 64)), 0); }
  std::string received() const {
    const ibv_wc wc = success(datagrams.receive_cq);
    return {datagrams.memory + 64 + kGrh, wc.byte_len - kGrh};
  }

  ibv_context* context;
  ibv_pd* pd = must(ibv_alloc_pd(context));
  SettledPair pair;
  VerbsEnd datagrams{[this] {
    Options out = options(IBV_QPT_UD);
    out.own_receive_cq = true;
    return out;
  }()};
  ibv_ah* home = [this] {
    datagrams.bring_up();
    return datagrams.way_home();
  }();
};

}  // namespace

TEST_CASE("while the port of a device is down, connections and datagrams of another device pass") {
  Side left("left");
  Side right("right");
  left.await_receive();
  right.await_receive();
  rule("now device right port down");
  CHECK_EQ(left.port(), IBV_PORT_ACTIVE);
  CHECK_EQ(right.port(), IBV_PORT_DOWN);
  right.expect(IBV_EVENT_PORT_ERR);
  right.send("lost");
  left.send("arrives");
  CHECK_EQ(left.received(), "arrives");
  right.pair.b.write(8, "before  ");
  right.pair.a.write(0, "written!");
  right.post();
  CHECK_EQ(left.write(), IBV_WC_SUCCESS);
  CHECK_EQ(right.pair.b.text(8, 8), "before  ");

  rule("now device right port up");
  CHECK_EQ(right.port(), IBV_PORT_ACTIVE);
  right.expect(IBV_EVENT_PORT_ACTIVE);
  success(right.pair.a.cq);
  CHECK_EQ(right.pair.b.text(8, 8), "written!");
  right.send("later");
  CHECK_EQ(right.received(), "later");
  CHECK_FALSE(left.has_event());
}

TEST_CASE("a port that is down for a time comes up by itself, whatever another port does") {
  Side left("left");
  Side right("right");
  rule("now device left port down");
  rule("now device right port down 1ms");
  right.expect(IBV_EVENT_PORT_ERR);
  right.expect(IBV_EVENT_PORT_ACTIVE);
  CHECK_EQ(right.write(), IBV_WC_SUCCESS);
  CHECK_EQ(left.port(), IBV_PORT_DOWN);
  left.expect(IBV_EVENT_PORT_ERR);
  rule("now port up");
  left.expect(IBV_EVENT_PORT_ACTIVE);
  CHECK_FALSE(right.has_event());
}

TEST_CASE("a rule about a device counts the events of this device, and affects only this device") {
  Side left("left");
  Side right("right");
  SUBCASE("completions") {
    rule("after 2 completions device right status REM_OP_ERR");
    CHECK_EQ(left.write(), IBV_WC_SUCCESS);
    CHECK_EQ(right.write(), IBV_WC_SUCCESS);
    CHECK_EQ(left.write(), IBV_WC_SUCCESS);
    CHECK_EQ(right.write(), IBV_WC_REM_OP_ERR);
  }
  SUBCASE("an error") {
    rule("now device right error");
    for (const End* end : {&right.pair.a, &right.pair.b}) CHECK_EQ(end->state(), IBV_QPS_ERR);
    CHECK_EQ(right.datagrams.state(), IBV_QPS_ERR);
    for (int i = 0; i != 3; ++i) right.expect(IBV_EVENT_QP_FATAL);
  }
  SUBCASE("registrations") {
    rule("after 1 registration device right fail ENOMEM");
    ibv_mr* const mr = must(ibv_reg_mr(left.pd, left.pair.a.memory, 8, 0));
    CHECK_EQ(ibv_dereg_mr(mr), 0);
    CHECK_EQ(error_of(ibv_reg_mr(right.pd, right.pair.a.memory, 8, 0)), ENOMEM);
  }
  SUBCASE("an event") {
    rule("now device right tell GID_CHANGE");
    right.expect(IBV_EVENT_GID_CHANGE);
  }
  CHECK_EQ(left.write(), IBV_WC_SUCCESS);
  CHECK_FALSE(left.has_event());
}

TEST_CASE("a reset of the connections of a device ends no connection of another device") {
  Side left("left");
  Side right("right", kShort);
  rule("now device right connection any reset");
  CHECK_EQ(right.write(), IBV_WC_RETRY_EXC_ERR);
  CHECK_EQ(left.write(), IBV_WC_SUCCESS);
}

TEST_CASE("a rule about a device that does not exist is refused") {
  const Side left("left");
  CHECK_EQ(faults::Socket().say("now device middle port down\n"),
           "error: no device is named \"middle\" (use one of left, right)");
}

TEST_CASE("a removed device is gone, and another device works as before") {
  Side left("left");
  Side right("right");
  ibv_device* const gone = find("right");
  rule("now device right remove device");
  right.expect(IBV_EVENT_DEVICE_FATAL);
  CHECK_EQ(right.pair.a.post({.opcode = IBV_WR_SEND}, 0, 8), EIO);
  CHECK_EQ(ibv_alloc_pd(right.context), nullptr);
  CHECK_EQ(find("right"), nullptr);
  CHECK_EQ(error_of(ibv_open_device(gone)), ENODEV);
  CHECK_EQ(left.write(), IBV_WC_SUCCESS);
  CHECK_FALSE(left.has_event());
  CHECK_NE(find("left"), nullptr);
}
