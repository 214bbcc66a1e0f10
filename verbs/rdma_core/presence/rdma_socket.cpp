// SPDX-License-Identifier: Apache-2.0
// Replaces socket(2), so that NETLINK_RDMA exists and lists the devices of this library. The
// program gets a netlink socket of the protocol NETLINK_USERSOCK, over which processes send to each
// other: bind(), getsockname(), poll() and socket options work as usual. What the program sends on
// this socket, and to no other process, is answered here; the answers are sent to the socket.
//
// Replaces the functions that send, for the requests, and those that receive, which report that the
// kernel (address 0) has sent a datagram. Other sockets are unaffected. write(2) and copies of the
// descriptor made by dup(2) are not supported: sending with them fails with ECONNREFUSED.
#include <endian.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/port.hpp"
#include "iwarp/profiles/device_name.hpp"
#include "netlink/nldev.hpp"
#include "presence/inside.hpp"
#include "process/next.hpp"
#include "process/session.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::presence {
namespace {

using netlink::Datagram;
using netlink::LinkView;

constexpr std::size_t kMaxSockets = 64;
// The maximum number of answers that wait for a program that does not receive. Later answers are
// lost, as those of the kernel are when the receive buffer is full.
constexpr std::size_t kMaxPending = 1024;
// The maximum size of a request, as with the default send buffer of Linux.
constexpr std::size_t kMaxRequest = 212992 - 32;
// The addresses of the sockets that send answers begin here, because programs often use their
// process id as an address.
constexpr std::uint32_t kFirstAnswering = 0xF000'0000;

/// A socket of the program. A descriptor that the program has closed, and whose number it may have
/// reused, has another inode.
struct Entrance {
  std::atomic<int> fd{-1};
  ino_t inode = 0;
  std::deque<Datagram> pending;  ///< answers that did not fit in the receive buffer
};

std::array<Entrance, kMaxSockets> entrances;
// No element from this index on has ever been used. Most programs never use one.
std::atomic<std::size_t> used{0};
std::mutex entrances_mutex;

bool may_be_entrance(int fd) {
  const std::size_t count = used.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    if (entrances[i].fd.load(std::memory_order_relaxed) == fd) return fd >= 0;
  }
  return false;
}

ino_t inode_of(int fd) {
  struct stat about{};
  return ::fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode) ? about.st_ino : 0;
}

/// Returns the entrance with this descriptor, or null if it is another file by now. Call with the
/// mutex locked.
Entrance* entrance_of(int fd) {
  const auto found = std::ranges::find_if(entrances, [fd](const auto& it) { return it.fd == fd; });
  if (found == entrances.end()) return nullptr;
  if (inode_of(fd) == found->inode) return &*found;
  found->fd = -1;
  found->pending.clear();
  return nullptr;
}

/// Returns whether there was a free entrance for the socket.
bool add_entrance(int fd) {
  const std::lock_guard lock(entrances_mutex);
  for (Entrance& it : entrances) {
    const int before = it.fd;
    if (before >= 0 && before != fd && entrance_of(before) != nullptr) continue;
    it.inode = inode_of(fd);
    it.pending.clear();
    it.fd = fd;
    used = std::max(used.load(), static_cast<std::size_t>(&it - entrances.data()) + 1);
    return true;
  }
  return false;
}

/// Returns the netlink address of a socket. Binds the socket if it has none, as the kernel does
/// when a program sends. Returns 0 if this fails.
std::uint32_t port_id_of(int fd) {
  sockaddr_nl own{};
  for (int attempt = 0; attempt < 2; ++attempt) {
    socklen_t size = sizeof own;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
    if (own.nl_pid != 0) break;
    own = {.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = 0};
    call_next<"bind", int>(fd, reinterpret_cast<const sockaddr*>(&own), socklen_t{sizeof own});
  }
  return own.nl_pid;
}

bool caps_errors(int fd) {
  int is_on = 0;
  socklen_t size = sizeof is_on;
  return ::getsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &is_on, &size) == 0 && is_on != 0;
}

/// A socket that sends answers.
class Answering {
 public:
  Answering()
      : fd_(call_next<"socket", int>(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK)) {
    sockaddr_nl own{.nl_family = AF_NETLINK,
                    .nl_pad = 0,
                    .nl_pid = kFirstAnswering + static_cast<std::uint32_t>(::gettid()),
                    .nl_groups = 0};
    while (fd_ >= 0 && own.nl_pid >= kFirstAnswering &&
           call_next<"bind", int>(fd_, reinterpret_cast<const sockaddr*>(&own),
                                  socklen_t{sizeof own}) != 0 &&
           errno == EADDRINUSE) {
      ++own.nl_pid;
    }
  }
  ~Answering() {
    if (fd_ >= 0) ::close(fd_);
  }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  /// Returns whether the receive buffer of the socket `port_id` had no room.
  bool is_refused(const Datagram& answer, std::uint32_t port_id) const {
    const sockaddr_nl to{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = port_id, .nl_groups = 0};
    const auto sent = call_next<"sendto", ssize_t>(
        fd_, static_cast<const void*>(answer.data()), answer.size(), int{MSG_DONTWAIT},
        reinterpret_cast<const sockaddr*>(&to), socklen_t{sizeof to});
    return sent < 0 && (errno == EAGAIN || errno == ENOBUFS);
  }

 private:
  const int fd_;
};

void send_pending(int fd, Entrance& entrance) {
  if (entrance.pending.empty()) return;
  const std::uint32_t port_id = port_id_of(fd);
  const Answering answering;
  while (!entrance.pending.empty() && !answering.is_refused(entrance.pending.front(), port_id)) {
    entrance.pending.pop_front();
  }
}

LinkView view_of(const DeviceSpec& device) {
  const Port port = look_at_port(device);
  LinkView out;
  out.index = device.index;
  out.name = device.name;
  out.firmware = firmware(*device.profile);
  out.node_type = static_cast<std::uint8_t>(device.profile->node_type);
  out.node_guid = be64toh(port.guid);
  out.sys_image_guid = out.node_guid;
  out.caps = device_attributes(*device.profile).device_cap_flags;
  out.netdev = port.interface;
  out.netdev_index = ::if_nametoindex(out.netdev.c_str());
  out.is_up = port.is_up();
  out.protocol = device.persona() == Persona::kRoce ? "roce" : "iw";
  return out;
}

/// The devices of this process, including those that processes of the session have added with
/// `rdma link add`.
class OwnLinks final : public netlink::Links {
 public:
  explicit OwnLinks(Session& session) : session_(session) {}

  std::vector<LinkView> list() override {
    std::vector<LinkView> out;
    for (const DeviceSpec& device : device_specs(settings_now())) out.push_back(view_of(device));
    return out;
  }
  int add(const std::string& name, const std::string& type, const std::string& netdev) override {
    if (!profiles::is_device_name(name)) return EINVAL;
    if (::if_nametoindex(netdev.c_str()) == 0) return ENODEV;
    if (type != "rxe" && type != "siw") return EINVAL;
    const Settings now = settings_now();
    const Persona persona = type == "rxe" ? Persona::kRoce : Persona::kIwarp;
    const auto same = std::ranges::find(now.devices, name, &options::DeviceChoice::name);
    if (same != now.devices.end()) {
      // A set-up script may add the device that the user has already chosen with --device.
      const auto added = session_.devices();
      const bool is_added = std::ranges::find(added, name, &AddedDevice::name) != added.end();
      return is_added || now.persona != persona ? EEXIST : 0;
    }
    // All devices of a process have one profile.
    const bool is_chosen = now.profile != nullptr || ::secure_getenv("IWARP_AS") != nullptr;
    if (is_chosen && now.persona != persona) return EOPNOTSUPP;
    return session_.add(name, type, netdev);
  }
  int remove(std::uint32_t index) override {
    const auto now = list();
    const auto link = std::ranges::find(now, index, &LinkView::index);
    if (link == now.end()) return EINVAL;
    const auto added = session_.devices();
    const auto device = std::ranges::find(added, link->name, &AddedDevice::name);
    return device != added.end() ? session_.remove(device->number) : EINVAL;
  }

 private:
  Session& session_;
};

/// Answers a request that the program sends to the kernel over the entrance.
void answer_request(int fd, Entrance& entrance, std::span<const std::byte> request) {
  const char* const path = ::secure_getenv(kSessionVariable);
  Session session(path != nullptr ? path : "");
  OwnLinks links(session);
  const netlink::Requester requester{.port_id = port_id_of(fd), .caps_errors = caps_errors(fd)};
  for (Datagram& it : netlink::answer(request, requester, links)) {
    if (entrance.pending.size() < kMaxPending) entrance.pending.push_back(std::move(it));
  }
  send_pending(fd, entrance);
}

/// Returns whether the destination is the kernel.
bool is_kernel(const void* name, socklen_t size) {
  if (name == nullptr || size == 0) return true;
  sockaddr_nl to{};
  if (size < sizeof to) return false;
  std::memcpy(&to, name, sizeof to);
  return to.nl_family == AF_NETLINK && to.nl_pid == 0 && to.nl_groups == 0;
}

/// Sends the message if the descriptor is an entrance and the destination is the kernel. Otherwise
/// returns nullopt. Returns the number of bytes, or -1 with errno set.
std::optional<ssize_t> try_entrance(int fd, const msghdr& message) {
  if (!is_kernel(message.msg_name, message.msg_namelen)) return std::nullopt;
  int error = 0;
  Datagram request;
  {
    const Inside guard;
    const std::lock_guard lock(entrances_mutex);
    Entrance* const entrance = entrance_of(fd);
    if (entrance == nullptr) return std::nullopt;
    for (std::size_t i = 0; error == 0 && i < message.msg_iovlen; ++i) {
      const auto& piece = message.msg_iov[i];
      if (piece.iov_len > kMaxRequest - request.size()) {
        error = EMSGSIZE;
      } else {
        const auto* const from = static_cast<const std::byte*>(piece.iov_base);
        request.insert(request.end(), from, from + piece.iov_len);
      }
    }
    if (error == 0) answer_request(fd, *entrance, request);
  }
  if (error == 0) return static_cast<ssize_t>(request.size());
  errno = error;
  return -1;
}

/// Does the same as try_entrance(). If memory runs out, fails with ENOMEM.
[[gnu::noinline]] std::optional<ssize_t> send_to_entrance(int fd, const msghdr& message) {
  return or_no_memory([&] { return try_entrance(fd, message); });
}

/// Call after the program has received from the entrance. Reports the kernel as the sender, and
/// sends answers for which there is room now.
[[gnu::noinline]] void received_from_entrance(int fd, void* name, socklen_t size) {
  const Inside guard;
  const std::lock_guard lock(entrances_mutex);
  Entrance* const entrance = entrance_of(fd);
  if (entrance == nullptr) return;
  sockaddr_nl from{};
  if (name != nullptr && size >= sizeof from) {
    std::memcpy(&from, name, sizeof from);
    if (from.nl_pid >= kFirstAnswering) from.nl_pid = 0;
    std::memcpy(name, &from, sizeof from);
  }
  send_pending(fd, *entrance);
}

int open_entrance(int type) {
  int fd = -1;
  int error = EPROTONOSUPPORT;
  {
    const Inside guard;
    fd = call_next<"socket", int>(AF_NETLINK, type, NETLINK_USERSOCK);
    if (fd >= 0 && !add_entrance(fd)) {
      ::close(std::exchange(fd, -1));
      error = EMFILE;
    } else if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ESOCKTNOSUPPORT)) {
      error = errno;
    }
  }
  if (fd < 0) errno = error;
  return fd;
}

bool has_presence() {
  const Inside guard;
  return settings_now().presence;
}

}  // namespace
}  // namespace iwarp::rdma_core::presence

// NOLINTNEXTLINE(google-build-using-namespace): the rest of this file is the C interface.
using namespace iwarp::rdma_core::presence;
using iwarp::rdma_core::call_next;

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  const bool is_rdma = domain == AF_NETLINK && protocol == NETLINK_RDMA;
  return or_no_memory([=] {
    if (is_rdma && has_presence()) return open_entrance(type);
    return call_next<"socket", int>(domain, type, protocol);
  });
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (may_be_entrance(fd) && message != nullptr) {
    if (const auto sent = send_to_entrance(fd, *message)) return *sent;
  }
  return call_next<"sendmsg", ssize_t>(fd, message, flags);
}
ssize_t sendto(int fd, const void* octets, std::size_t size, int flags, const sockaddr* to,
               socklen_t to_size) {
  if (may_be_entrance(fd)) {
    iovec piece{const_cast<void*>(octets), size};
    msghdr message{};
    message.msg_name = const_cast<sockaddr*>(to);
    message.msg_namelen = to_size;
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (const auto sent = send_to_entrance(fd, message)) return *sent;
  }
  return call_next<"sendto", ssize_t>(fd, octets, size, flags, to, to_size);
}
ssize_t send(int fd, const void* octets, std::size_t size, int flags) {
  if (may_be_entrance(fd)) return sendto(fd, octets, size, flags, nullptr, 0);
  return call_next<"send", ssize_t>(fd, octets, size, flags);
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  const auto received = call_next<"recvmsg", ssize_t>(fd, message, flags);
  if (may_be_entrance(fd) && received >= 0) {
    received_from_entrance(fd, message->msg_name, message->msg_namelen);
  }
  return received;
}
ssize_t recvfrom(int fd, void* octets, std::size_t size, int flags, sockaddr* from,
                 socklen_t* from_size) {
  const socklen_t room = from_size != nullptr ? *from_size : 0;
  const auto received = call_next<"recvfrom", ssize_t>(fd, octets, size, flags, from, from_size);
  if (may_be_entrance(fd) && received >= 0) {
    received_from_entrance(fd, from, from_size != nullptr ? std::min(room, *from_size) : 0);
  }
  return received;
}
ssize_t recv(int fd, void* octets, std::size_t size, int flags) {
  const auto received = call_next<"recv", ssize_t>(fd, octets, size, flags);
  if (may_be_entrance(fd) && received >= 0) received_from_entrance(fd, nullptr, 0);
  return received;
}

}  // extern "C"
