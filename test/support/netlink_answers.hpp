// SPDX-License-Identifier: Apache-2.0
// For tests of netlink/nldev.hpp: devices that exist only in the test, and rules that the answers
// to any request must obey.
#pragma once

#include <linux/netlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>

#include "netlink/nldev.hpp"

namespace iwarp::rdma_core::netlink {

/// Devices 0 to `count` - 1, of which the first cannot be removed. Only the interface "eth0"
/// exists.
class MadeUpLinks final : public Links {
 public:
  explicit MadeUpLinks(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) put("dev" + std::to_string(i), "siw");
  }
  std::vector<LinkView> list() override { return links; }
  int add(const std::string& name, const std::string& type, const std::string& netdev) override {
    longest_name = std::max(longest_name, name.size());
    if (netdev != "eth0") return ENODEV;
    if (type != "rxe" && type != "siw") return EINVAL;
    if (std::ranges::find(links, name, &LinkView::name) != links.end()) return EEXIST;
    put(name, type);
    return 0;
  }
  int remove(std::uint32_t index) override {
    return index != 0 &&
                   std::erase_if(links, [&](const auto& it) { return it.index == index; }) != 0
               ? 0
               : EINVAL;
  }

  std::vector<LinkView> links;
  std::size_t longest_name = 0;

 private:
  void put(const std::string& name, const std::string& type) {
    LinkView link;
    link.index = next_++;
    link.name = name;
    link.firmware = type == "siw" ? "1.2" : "";
    link.node_type = type == "siw" ? 4 : 1;
    link.node_guid = 0x0102030405060708;
    link.sys_image_guid = 0x1112131415161718;
    link.caps = 0x20000;
    link.netdev = "eth0";
    link.netdev_index = 2;
    link.is_up = true;
    link.protocol = type == "siw" ? "iw" : "roce";
    links.push_back(link);
  }

  std::uint32_t next_ = 0;
};

struct AnsweredMessage {
  nlmsghdr header;
  std::span<const std::byte> payload;
};

/// Splits a datagram into messages. `is_whole` reports whether nothing remains.
inline std::vector<AnsweredMessage> messages_of(std::span<const std::byte> left, bool& is_whole) {
  std::vector<AnsweredMessage> out;
  while (left.size() >= sizeof(nlmsghdr)) {
    nlmsghdr header;
    std::memcpy(&header, left.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > left.size()) break;
    out.push_back({header, left.subspan(sizeof header, header.nlmsg_len - sizeof header)});
    left = left.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), left.size()));
  }
  is_whole = left.empty();
  return out;
}

/// Returns whether the octets are attributes, each complete.
inline bool are_attributes(std::span<const std::byte> left) {
  while (left.size() >= sizeof(nlattr)) {
    nlattr header;
    std::memcpy(&header, left.data(), sizeof header);
    if (header.nla_len < sizeof header || header.nla_len > left.size()) return false;
    left = left.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), left.size()));
  }
  return left.empty();
}

/// Returns the rule that the answers break, or null.
inline const char* broken_rule(std::span<const std::byte> request, std::uint32_t port_id,
                               const std::vector<Datagram>& answers) {
  bool is_whole = false;
  std::set<std::uint32_t> asked;
  for (const auto& it : messages_of(request, is_whole)) asked.insert(it.header.nlmsg_seq);
  bool is_open = false;  // whether a list has begun and not ended
  std::size_t size = 0;
  for (const Datagram& datagram : answers) {
    if (size >= kMaxAnswers + request.size()) return "the answers have a limited size";
    const auto messages = messages_of(datagram, is_whole);
    if (!is_whole || messages.empty()) return "a datagram consists of whole messages";
    if (messages.size() > 1 && datagram.size() > kMaxPart) return "parts of a list fit in a page";
    for (const auto& [header, payload] : messages) {
      if (header.nlmsg_pid != port_id) return "an answer has the address of the program";
      if (!asked.contains(header.nlmsg_seq)) return "an answer has the number of a request";
      const bool is_part = (header.nlmsg_flags & NLM_F_MULTI) != 0;
      if (is_open && !is_part) return "a list ends before the next answer";
      is_open = is_part && header.nlmsg_type != NLMSG_DONE;
      const bool is_control = header.nlmsg_type < NLMSG_MIN_TYPE;
      if (!is_control && !are_attributes(payload)) return "attributes are complete";
      if (header.nlmsg_type == NLMSG_ERROR && payload.size() < sizeof(nlmsgerr)) {
        return "an error contains the header of its request";
      }
    }
    size += datagram.size();
  }
  return is_open ? "a list ends" : nullptr;
}

}  // namespace iwarp::rdma_core::netlink
