// SPDX-License-Identifier: Apache-2.0
// Parses the attributes of a request, and builds the messages of its answer. The order of
// attributes and the error codes are the kernel's.
#include "netlink/nldev.hpp"

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <concepts>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace iwarp::rdma_core::netlink {
namespace {

using View = std::span<const std::byte>;

constexpr std::uint32_t kPort = 1;  // the number of the only port of a device
constexpr std::uint8_t kActive = 4;
constexpr std::uint8_t kDown = 1;
constexpr std::uint8_t kLinkUp = 5;
constexpr std::uint8_t kDisabled = 3;
// All network namespaces share the devices.
constexpr std::uint8_t kShared = 1;
// RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE, which older headers do not define.
constexpr std::uint16_t kPrivilegedQkeyMode = 96;
// The maximum length of a device's name, and of the name of a type or of a network interface.
constexpr std::size_t kMaxName = 63;
constexpr std::size_t kMaxWord = 16;

std::size_t aligned(std::size_t size) { return NLMSG_ALIGN(size); }

template <typename T>
T read(View from) {
  T out{};
  std::memcpy(&out, from.data(), std::min(sizeof out, from.size()));
  return out;
}

/// The attributes of a request. Like the kernel, ignores unknown attributes and incomplete ones at
/// the end, and uses the last of several attributes of one type.
class Attributes {
 public:
  explicit Attributes(View from) {
    while (from.size() >= sizeof(nlattr)) {
      const auto header = read<nlattr>(from);
      if (header.nla_len < sizeof header || header.nla_len > from.size()) return;
      const std::size_t type = header.nla_type & NLA_TYPE_MASK;
      if (type < found_.size()) {
        found_[type] = from.subspan(sizeof header, header.nla_len - sizeof header);
      }
      from = from.subspan(std::min(from.size(), aligned(header.nla_len)));
    }
  }

  template <std::unsigned_integral T>
  std::optional<T> number(std::size_t type) const {
    if (!found_[type] || found_[type]->size() < sizeof(T)) return std::nullopt;
    return read<T>(*found_[type]);
  }

  /// Returns a text of at most `longest` characters that ends in a null character.
  std::optional<std::string> text(std::size_t type, std::size_t longest) const {
    if (!found_[type]) return std::nullopt;
    const std::string_view all(reinterpret_cast<const char*>(found_[type]->data()),
                               found_[type]->size());
    const auto end = all.find('\0');
    if (end == all.npos || end > longest) return std::nullopt;
    return std::string(all.substr(0, end));
  }

 private:
  std::array<std::optional<View>, RDMA_NLDEV_ATTR_MAX> found_;
};

class Message {
 public:
  Message(std::uint16_t type, std::uint16_t flags, const nlmsghdr& request, std::uint32_t port_id)
      : octets_(sizeof(nlmsghdr)),
        header_{.nlmsg_len = 0,
                .nlmsg_type = type,
                .nlmsg_flags = flags,
                .nlmsg_seq = request.nlmsg_seq,
                .nlmsg_pid = port_id} {}

  void append(View from) { octets_.insert(octets_.end(), from.begin(), from.end()); }
  template <typename T>
  void append(const T& value) {
    append(std::as_bytes(std::span(&value, 1)));
  }

  template <std::unsigned_integral T>
  void number(std::uint16_t type, T value) {
    attribute(type, std::as_bytes(std::span(&value, 1)));
  }
  /// Appends a text with a null character at its end.
  void text(std::uint16_t type, const std::string& value) {
    attribute(type, std::as_bytes(std::span(value.c_str(), value.size() + 1)));
  }

  Datagram finish() {
    header_.nlmsg_len = static_cast<std::uint32_t>(octets_.size());
    std::memcpy(octets_.data(), &header_, sizeof header_);
    octets_.resize(aligned(octets_.size()));
    return std::move(octets_);
  }

 private:
  void attribute(std::uint16_t type, View value) {
    append(nlattr{.nla_len = static_cast<std::uint16_t>(sizeof(nlattr) + value.size()),
                  .nla_type = type});
    append(value);
    octets_.resize(aligned(octets_.size()));
  }

  Datagram octets_;
  nlmsghdr header_;
};

void describe_device(Message& out, const LinkView& link) {
  out.number(RDMA_NLDEV_ATTR_DEV_INDEX, link.index);
  out.text(RDMA_NLDEV_ATTR_DEV_NAME, link.name);
  out.number(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);  // here, the number of ports
  out.number(RDMA_NLDEV_ATTR_CAP_FLAGS, link.caps);
  if (!link.firmware.empty()) out.text(RDMA_NLDEV_ATTR_FW_VERSION, link.firmware);
  out.number(RDMA_NLDEV_ATTR_NODE_GUID, link.node_guid);
  out.number(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, link.sys_image_guid);
  out.number(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, link.node_type);
  out.number(RDMA_NLDEV_ATTR_DEV_DIM, std::uint8_t{0});
  out.text(RDMA_NLDEV_ATTR_DEV_PROTOCOL, link.protocol);
}

void describe_port(Message& out, const LinkView& link) {
  out.number(RDMA_NLDEV_ATTR_DEV_INDEX, link.index);
  out.text(RDMA_NLDEV_ATTR_DEV_NAME, link.name);
  out.number(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  out.number(RDMA_NLDEV_ATTR_PORT_STATE, link.is_up ? kActive : kDown);
  out.number(RDMA_NLDEV_ATTR_PORT_PHYS_STATE, link.is_up ? kLinkUp : kDisabled);
  if (link.netdev.empty()) return;
  out.number(RDMA_NLDEV_ATTR_NDEV_INDEX, static_cast<std::uint32_t>(link.netdev_index));
  out.text(RDMA_NLDEV_ATTR_NDEV_NAME, link.netdev);
}

class Request {
 public:
  Request(View whole, Requester requester, Links& links, std::vector<Datagram>& out)
      : whole_(whole),
        header_(read<nlmsghdr>(whole)),
        requester_(requester),
        links_(links),
        out_(out),
        given_(whole.subspan(sizeof header_)) {}

  void answer() {
    int error = 0;
    if ((header_.nlmsg_flags & NLM_F_REQUEST) != 0 && header_.nlmsg_type >= NLMSG_MIN_TYPE) {
      error = carry_out();
    }
    // The end of a list takes the place of the acknowledgement.
    const bool is_asked = (header_.nlmsg_flags & NLM_F_ACK) != 0 && !is_listed_;
    if (error != 0 || is_asked) acknowledge(error);
  }

 private:
  /// Returns 0 or an errno.
  int carry_out() {
    const unsigned type = header_.nlmsg_type;
    const unsigned command = RDMA_NL_GET_OP(type);
    if (RDMA_NL_GET_CLIENT(type) != RDMA_NL_NLDEV || command == RDMA_NLDEV_CMD_UNSPEC ||
        command >= RDMA_NLDEV_NUM_OPS) {
      return EINVAL;
    }
    const bool wants_list = (header_.nlmsg_flags & NLM_F_DUMP) != 0;
    switch (command) {
      case RDMA_NLDEV_CMD_GET:
        return wants_list ? list(links_.list(), describe_device) : get_device();
      case RDMA_NLDEV_CMD_PORT_GET:
        return wants_list ? list_ports() : get_port();
      case RDMA_NLDEV_CMD_SYS_GET:
        return wants_list ? EINVAL : get_system();
      case RDMA_NLDEV_CMD_SYS_SET:
        return wants_list ? EINVAL : set_system();
      case RDMA_NLDEV_CMD_NEWLINK:
        return wants_list ? EINVAL : add_link();
      case RDMA_NLDEV_CMD_DELLINK:
        return wants_list ? EINVAL : remove_link();
      default:
        return EOPNOTSUPP;
    }
  }

  int get_device() {
    const auto link = named_device();
    if (!link) return EINVAL;
    Message out = reply(RDMA_NLDEV_CMD_GET);
    describe_device(out, *link);
    out_.push_back(out.finish());
    return 0;
  }

  int get_port() {
    const auto link = named_device();
    if (!link || given_.number<std::uint32_t>(RDMA_NLDEV_ATTR_PORT_INDEX) != kPort) return EINVAL;
    Message out = reply(RDMA_NLDEV_CMD_GET);  // as in the kernel
    describe_port(out, *link);
    out_.push_back(out.finish());
    return 0;
  }

  int list_ports() {
    const auto link = named_device();
    return link ? list({*link}, describe_port) : list({}, describe_port, EINVAL);
  }

  int get_system() {
    Message out = reply(RDMA_NLDEV_CMD_SYS_GET);
    out.number(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, kShared);
    out.number(kPrivilegedQkeyMode, std::uint8_t{0});
    out.number(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, std::uint8_t{1});
    out_.push_back(out.finish());
    return 0;
  }

  int set_system() const {
    const auto mode = given_.number<std::uint8_t>(RDMA_NLDEV_SYS_ATTR_NETNS_MODE);
    if (!mode) return EINVAL;
    return *mode == kShared ? 0 : EOPNOTSUPP;
  }

  int add_link() {
    const auto name = given_.text(RDMA_NLDEV_ATTR_DEV_NAME, kMaxName);
    const auto type = given_.text(RDMA_NLDEV_ATTR_LINK_TYPE, kMaxWord);
    const auto netdev = given_.text(RDMA_NLDEV_ATTR_NDEV_NAME, kMaxWord);
    return name && type && netdev ? links_.add(*name, *type, *netdev) : EINVAL;
  }

  int remove_link() {
    const auto index = given_.number<std::uint32_t>(RDMA_NLDEV_ATTR_DEV_INDEX);
    return index ? links_.remove(*index) : EINVAL;
  }

  std::optional<LinkView> named_device() {
    const auto index = given_.number<std::uint32_t>(RDMA_NLDEV_ATTR_DEV_INDEX);
    if (!index) return std::nullopt;
    auto all = links_.list();
    const auto found = std::ranges::find(all, *index, &LinkView::index);
    if (found == all.end()) return std::nullopt;
    return std::move(*found);
  }

  /// Sends a message for each device, several in a datagram, and then the end of the list. A list
  /// that fails ends with the errno `error`, and is acknowledged like one that does not.
  int list(const std::vector<LinkView>& links, void (*describe)(Message&, const LinkView&),
           int error = 0) {
    is_listed_ = true;
    Datagram part;
    for (const LinkView& link : links) {
      Message message(header_.nlmsg_type, NLM_F_MULTI, header_, requester_.port_id);
      describe(message, link);
      const Datagram octets = message.finish();
      if (part.size() + octets.size() > kMaxPart && !part.empty()) {
        out_.push_back(std::exchange(part, {}));
      }
      part.insert(part.end(), octets.begin(), octets.end());
    }
    if (!part.empty()) out_.push_back(std::move(part));
    Message end(NLMSG_DONE, NLM_F_MULTI, header_, requester_.port_id);
    end.append(-error);
    out_.push_back(end.finish());
    return 0;
  }

  Message reply(unsigned command) const {
    const auto type = static_cast<std::uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
    return {type, 0, header_, requester_.port_id};
  }

  /// An error contains the whole request unless the program has chosen otherwise. A success
  /// contains only the header of the request.
  void acknowledge(int error) {
    const bool is_capped = error == 0 || requester_.caps_errors;
    Message out(NLMSG_ERROR, is_capped ? NLM_F_CAPPED : 0, header_, requester_.port_id);
    out.append(-error);
    out.append(is_capped ? whole_.first(sizeof header_) : whole_);
    out_.push_back(out.finish());
  }

  const View whole_;
  const nlmsghdr header_;
  const Requester requester_;
  Links& links_;
  std::vector<Datagram>& out_;
  const Attributes given_;
  bool is_listed_ = false;
};

}  // namespace

std::vector<Datagram> answer(std::span<const std::byte> request, Requester requester,
                             Links& links) {
  std::vector<Datagram> out;
  std::size_t size = 0;
  while (request.size() >= sizeof(nlmsghdr) && size < kMaxAnswers) {
    const std::size_t length = read<nlmsghdr>(request).nlmsg_len;
    if (length < sizeof(nlmsghdr) || length > request.size()) break;
    const auto before = static_cast<std::ptrdiff_t>(out.size());
    Request(request.first(length), requester, links, out).answer();
    for (auto added = out.begin() + before; added != out.end(); ++added) size += added->size();
    request = request.subspan(std::min(request.size(), aligned(length)));
  }
  return out;
}

}  // namespace iwarp::rdma_core::netlink
