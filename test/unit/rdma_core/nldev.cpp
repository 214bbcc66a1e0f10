// SPDX-License-Identifier: Apache-2.0
// Tests the answers to requests of NETLINK_RDMA, octet by octet, with made-up devices.
#include "netlink/nldev.hpp"

#include <doctest/doctest.h>
#include <rdma/rdma_netlink.h>

#include <map>

#include "netlink_answers.hpp"

namespace {

using namespace iwarp::rdma_core::netlink;  // NOLINT(google-build-using-namespace): the tested code
using Texts = std::map<unsigned, std::string>;

constexpr std::uint32_t kPortId = 4711;
constexpr std::uint32_t kNumber = 7;
constexpr unsigned kList = NLM_F_REQUEST | NLM_F_DUMP;

template <typename T>
std::string octets(const T& value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

std::string attribute(unsigned type, const std::string& value) {
  const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + value.size()),
                      static_cast<std::uint16_t>(type)};
  return octets(header) + value + std::string(NLA_ALIGN(value.size()) - value.size(), '\0');
}
std::string attribute(unsigned type, const char* text) {
  return attribute(type, std::string(text) + '\0');
}
std::string attribute(unsigned type, std::uint32_t value) { return attribute(type, octets(value)); }

std::string request(unsigned type, unsigned flags, const std::string& attributes = "") {
  const nlmsghdr header{static_cast<std::uint32_t>(sizeof(nlmsghdr) + attributes.size()),
                        static_cast<std::uint16_t>(type), static_cast<std::uint16_t>(flags),
                        kNumber, 0};
  return octets(header) + attributes;
}
std::string command(unsigned number, unsigned flags, const std::string& attributes = "") {
  return request(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, number), flags, attributes);
}

/// An answer, with its attributes by their types.
struct Answer {
  unsigned type = 0;
  unsigned flags = 0;
  int error = 0;       ///< of NLMSG_ERROR and NLMSG_DONE: the errno, positive
  std::string inside;  ///< what follows the errno
  Texts attributes;

  template <typename T>
  T number(unsigned of) const {
    REQUIRE(attributes.at(of).size() == sizeof(T));
    T out;
    std::memcpy(&out, attributes.at(of).data(), sizeof out);
    return out;
  }
  std::string text(unsigned of) const { return attributes.at(of).c_str(); }
};

Answer parsed(const AnsweredMessage& message) {
  Answer out;
  out.type = message.header.nlmsg_type;
  out.flags = message.header.nlmsg_flags;
  std::string left(reinterpret_cast<const char*>(message.payload.data()), message.payload.size());
  if (out.type < NLMSG_MIN_TYPE) {
    std::memcpy(&out.error, left.data(), sizeof out.error);
    out.error = -out.error;
    out.inside = left.substr(sizeof out.error);
    return out;
  }
  while (!left.empty()) {
    nlattr header;
    std::memcpy(&header, left.data(), sizeof header);
    out.attributes[header.nla_type] = left.substr(sizeof header, header.nla_len - sizeof header);
    left.erase(0, NLA_ALIGN(header.nla_len));
  }
  return out;
}

std::vector<Answer> ask(Links& links, const std::string& sent) {
  const auto view = std::as_bytes(std::span(sent));
  const auto datagrams = answer(view, {kPortId}, links);
  const char* const broken = broken_rule(view, kPortId, datagrams);
  CHECK_MESSAGE(broken == nullptr, broken);
  std::vector<Answer> out;
  bool is_whole = false;
  for (const Datagram& datagram : datagrams) {
    for (const auto& message : messages_of(datagram, is_whole)) out.push_back(parsed(message));
  }
  return out;
}

/// Returns the errno of a request that gets no answer but an acknowledgement or an error.
int error_of(Links& links, const std::string& sent) {
  const auto answers = ask(links, sent);
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].type == NLMSG_ERROR);
  return answers[0].error;
}

std::string added(const char* name, const char* type, const char* netdev) {
  return command(RDMA_NLDEV_CMD_NEWLINK, NLM_F_REQUEST | NLM_F_ACK,
                 attribute(RDMA_NLDEV_ATTR_DEV_NAME, name) +
                     attribute(RDMA_NLDEV_ATTR_LINK_TYPE, type) +
                     attribute(RDMA_NLDEV_ATTR_NDEV_NAME, netdev));
}

}  // namespace

TEST_CASE("a list of devices has a message for each, and an end") {
  MadeUpLinks links(2);
  CHECK(links.add("rxe0", "rxe", "eth0") == 0);
  const auto answers = ask(links, command(RDMA_NLDEV_CMD_GET, kList | NLM_F_ACK));
  REQUIRE(answers.size() == 4);
  CHECK(answers[3].type == NLMSG_DONE);
  CHECK(answers[3].error == 0);
  const Answer& one = answers[1];
  CHECK(one.type == RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET));
  CHECK(one.flags == NLM_F_MULTI);
  CHECK(one.number<std::uint32_t>(RDMA_NLDEV_ATTR_DEV_INDEX) == 1);
  CHECK(one.text(RDMA_NLDEV_ATTR_DEV_NAME) == "dev1");
  CHECK(one.number<std::uint32_t>(RDMA_NLDEV_ATTR_PORT_INDEX) == 1);
  CHECK(one.number<std::uint64_t>(RDMA_NLDEV_ATTR_CAP_FLAGS) == 0x20000);
  CHECK(one.text(RDMA_NLDEV_ATTR_FW_VERSION) == "1.2");
  CHECK(one.number<std::uint64_t>(RDMA_NLDEV_ATTR_NODE_GUID) == 0x0102030405060708);
  CHECK(one.number<std::uint64_t>(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID) == 0x1112131415161718);
  CHECK(one.number<std::uint8_t>(RDMA_NLDEV_ATTR_DEV_NODE_TYPE) == 4);
  CHECK(one.text(RDMA_NLDEV_ATTR_DEV_PROTOCOL) == "iw");
  CHECK(answers[2].text(RDMA_NLDEV_ATTR_DEV_PROTOCOL) == "roce");
  CHECK_FALSE(answers[2].attributes.contains(RDMA_NLDEV_ATTR_FW_VERSION));
}

TEST_CASE("a long list comes in several datagrams") {
  MadeUpLinks links(300);
  const std::string sent = command(RDMA_NLDEV_CMD_GET, kList);
  CHECK(answer(std::as_bytes(std::span(sent)), {kPortId}, links).size() > 5);
  CHECK(ask(links, sent).size() == 301);
}

TEST_CASE("one device or port is found by its index") {
  MadeUpLinks links(3);
  links.links[2].is_up = false;
  const auto index = attribute(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{2});
  const auto port = attribute(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{1});
  auto answers = ask(links, command(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST | NLM_F_ACK, index));
  REQUIRE(answers.size() == 2);  // the device, and the acknowledgement
  CHECK(answers[0].text(RDMA_NLDEV_ATTR_DEV_NAME) == "dev2");
  CHECK(answers[0].flags == 0);
  CHECK(answers[1].error == 0);
  answers = ask(links, command(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST, index + port));
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].text(RDMA_NLDEV_ATTR_DEV_NAME) == "dev2");
  CHECK(answers[0].number<std::uint8_t>(RDMA_NLDEV_ATTR_PORT_STATE) == 1);
  CHECK(answers[0].number<std::uint8_t>(RDMA_NLDEV_ATTR_PORT_PHYS_STATE) == 3);
  CHECK(answers[0].number<std::uint32_t>(RDMA_NLDEV_ATTR_NDEV_INDEX) == 2);
  CHECK(answers[0].text(RDMA_NLDEV_ATTR_NDEV_NAME) == "eth0");
  answers = ask(links, command(RDMA_NLDEV_CMD_PORT_GET, kList,
                               attribute(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{0})));
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].number<std::uint8_t>(RDMA_NLDEV_ATTR_PORT_STATE) == 4);
  CHECK(answers[0].number<std::uint8_t>(RDMA_NLDEV_ATTR_PORT_PHYS_STATE) == 5);
  CHECK(answers[1].type == NLMSG_DONE);
}

TEST_CASE("a device or port that does not exist is EINVAL") {
  MadeUpLinks links(1);
  const auto index = attribute(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{0});
  const auto other = attribute(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{1});
  const auto port = attribute(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{2});
  CHECK(error_of(links, command(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST)) == EINVAL);
  CHECK(error_of(links, command(RDMA_NLDEV_CMD_GET, NLM_F_REQUEST, other)) == EINVAL);
  CHECK(error_of(links, command(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST, index)) == EINVAL);
  CHECK(error_of(links, command(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST, index + port)) == EINVAL);
  const auto answers = ask(links, command(RDMA_NLDEV_CMD_PORT_GET, kList, other));
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].type == NLMSG_DONE);
  CHECK(answers[0].error == EINVAL);
}

TEST_CASE("all network namespaces share the devices, which cannot be changed") {
  MadeUpLinks links(0);
  const auto answers = ask(links, command(RDMA_NLDEV_CMD_SYS_GET, NLM_F_REQUEST));
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].number<std::uint8_t>(RDMA_NLDEV_SYS_ATTR_NETNS_MODE) == 1);
  const auto set = [&](const std::string& attributes) {
    return error_of(links, command(RDMA_NLDEV_CMD_SYS_SET, NLM_F_REQUEST | NLM_F_ACK, attributes));
  };
  CHECK(set(attribute(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, std::string("\1"))) == 0);
  CHECK(set(attribute(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, std::string(1, '\0'))) == EOPNOTSUPP);
  CHECK(set("") == EINVAL);
}

TEST_CASE("devices are added and removed") {
  MadeUpLinks links(1);
  CHECK(error_of(links, added("rxe0", "rxe", "eth0")) == 0);
  CHECK(error_of(links, added("rxe0", "rxe", "eth0")) == EEXIST);
  CHECK(error_of(links, added("x", "rxe", "eth1")) == ENODEV);
  CHECK(error_of(links, added("x", "irdma", "eth0")) == EINVAL);
  CHECK(error_of(links, added(std::string(64, 'x').c_str(), "rxe", "eth0")) == EINVAL);
  const auto named = attribute(RDMA_NLDEV_ATTR_DEV_NAME, "y");
  CHECK(error_of(links, command(RDMA_NLDEV_CMD_NEWLINK, NLM_F_REQUEST, named)) == EINVAL);
  const auto removed = command(RDMA_NLDEV_CMD_DELLINK, NLM_F_REQUEST | NLM_F_ACK,
                               attribute(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{1}));
  CHECK(links.links.size() == 2);
  CHECK(error_of(links, removed) == 0);
  CHECK(links.links.size() == 1);
  CHECK(error_of(links, removed) == EINVAL);
  CHECK(error_of(links, command(RDMA_NLDEV_CMD_DELLINK, NLM_F_REQUEST)) == EINVAL);
}

TEST_CASE("other requests are refused as the kernel does, or are not requests") {
  MadeUpLinks links(1);
  CHECK(error_of(links, command(RDMA_NLDEV_CMD_RES_QP_GET, kList)) == EOPNOTSUPP);
  CHECK(error_of(links, command(RDMA_NLDEV_CMD_SYS_GET, kList)) == EINVAL);
  CHECK(error_of(links, command(1000, NLM_F_REQUEST)) == EINVAL);
  CHECK(error_of(links, request(RDMA_NL_GET_TYPE(RDMA_NL_LS, 1), NLM_F_REQUEST)) == EINVAL);
  CHECK(error_of(links, request(NLMSG_NOOP, NLM_F_REQUEST | NLM_F_ACK)) == 0);
  CHECK(ask(links, request(NLMSG_NOOP, NLM_F_REQUEST)).empty());
  CHECK(ask(links, command(RDMA_NLDEV_CMD_GET, 0)).empty());
  CHECK(ask(links, "").empty());
}

TEST_CASE("an error contains the request, and a success its header") {
  MadeUpLinks links(1);
  const auto sent = added("a", "rxe", "eth1");
  CHECK(ask(links, sent)[0].inside == sent);
  CHECK(ask(links, sent)[0].flags == 0);
  const auto good = added("a", "rxe", "eth0");
  const auto answers = ask(links, good);
  CHECK(answers[0].inside == good.substr(0, sizeof(nlmsghdr)));
  CHECK(answers[0].flags == NLM_F_CAPPED);
  // With NETLINK_CAP_ACK, an error does, too.
  const auto capped = answer(std::as_bytes(std::span(sent)), {kPortId, true}, links);
  REQUIRE(capped.size() == 1);
  bool is_whole = false;
  const Answer error = parsed(messages_of(capped[0], is_whole)[0]);
  CHECK(error.error == ENODEV);
  CHECK(error.inside == sent.substr(0, sizeof(nlmsghdr)));
  CHECK(error.flags == NLM_F_CAPPED);
}

TEST_CASE("the octets are those of Linux 6.1 with rxe") {
  MadeUpLinks links(0);
  LinkView rxe;
  rxe.index = 1;
  rxe.name = "rxe0";
  rxe.node_type = 1;
  rxe.node_guid = rxe.sys_image_guid = 0x505400fffe517701;
  rxe.caps = 0x01223c76;
  rxe.netdev = "eth0";
  rxe.netdev_index = 2;
  rxe.is_up = true;
  rxe.protocol = "roce";
  links.links.push_back(rxe);
  const auto index = attribute(RDMA_NLDEV_ATTR_DEV_INDEX, std::uint32_t{1});
  const auto port = attribute(RDMA_NLDEV_ATTR_PORT_INDEX, std::uint32_t{1});
  const auto hex = [&](const std::string& sent) {
    std::string out;
    const auto answers = answer(std::as_bytes(std::span(sent)), {kPortId}, links);
    for (const std::byte octet : answers.at(0)) {
      constexpr const char* kDigits = "0123456789abcdef";
      out += kDigits[std::to_integer<unsigned>(octet) >> 4U];
      out += kDigits[std::to_integer<unsigned>(octet) & 15U];
    }
    return out;
  };
  // Recorded with strace, except the sequence number and the address.
  CHECK(hex(command(RDMA_NLDEV_CMD_GET, kList)) ==
        "6c00000001140200"
        "0700000067120000"
        "080001000100000009000200727865300000000008000300010000000c000400"
        "763c2201000000000c000600017751feff0054500c000700017751feff005450"
        "05000e0001000000050054000000000009004300726f636500000000");
  CHECK(hex(command(RDMA_NLDEV_CMD_PORT_GET, NLM_F_REQUEST | NLM_F_ACK, index + port)) ==
        "5000000001140000"
        "0700000067120000"
        "0800010001000000090002007278653000000000080003000100000005000c00"
        "0400000005000d00050000000800320002000000090033006574683000000000");
  CHECK(hex(command(RDMA_NLDEV_CMD_SYS_GET, NLM_F_REQUEST | NLM_F_ACK)) ==
        "2800000006140000"
        "0700000067120000"
        "0500420001000000050060000000000005005d0001000000");
}

TEST_CASE("several requests in one datagram are answered in their order") {
  MadeUpLinks links(1);
  const auto answers = ask(links, command(RDMA_NLDEV_CMD_GET, kList) + added("a", "rxe", "eth0") +
                                      command(RDMA_NLDEV_CMD_GET, kList) + std::string(5, '\1'));
  REQUIRE(answers.size() == 6);
  CHECK(answers[2].type == NLMSG_ERROR);
  CHECK(answers[4].text(RDMA_NLDEV_ATTR_DEV_NAME) == "a");
}

TEST_CASE("the answers to one datagram have a limited size") {
  MadeUpLinks links(300);
  std::string sent;
  for (int i = 0; i < 1000; ++i) sent += command(RDMA_NLDEV_CMD_GET, kList);
  std::size_t size = 0;
  for (const Datagram& it : answer(std::as_bytes(std::span(sent)), {kPortId}, links)) {
    size += it.size();
  }
  CHECK(size >= kMaxAnswers);
  CHECK(size < kMaxAnswers + 300 * 200);
}
