// SPDX-License-Identifier: Apache-2.0
// Replaces functions of the C library. With --wrap, the linker redirects the calls in the stack's
// objects to this file. Shared libraries also allocate memory and start threads. They use these
// definitions because a program's definitions take precedence.
#include "calls.hpp"

#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace failing {
namespace {

std::atomic<bool> active{false};
Plan plan;
std::array<std::atomic<unsigned long>, kKinds> called{};
std::atomic<unsigned long> hit{0};

// Returns 0, or the errno with which this call must fail.
int failure(Kind kind) {
  if (!active.load(std::memory_order_acquire)) return 0;
  const auto n = ++called[static_cast<std::size_t>(kind)];
  if (kind != plan.kind || plan.nth == 0 || n < plan.nth || n - plan.nth >= plan.way.in_a_row) {
    return 0;
  }
  ++hit;
  return plan.way.code;
}

constexpr unsigned kMany = 2000;
constexpr Way kOctetByOctet{kOneOctet, true, kMany};

struct Row {
  std::string_view name;
  std::array<Way, 5> ways;
};

// clang-format off
constexpr std::array<Row, kKinds> kRows{{
    {"recv", {{{EAGAIN, true}, {EINTR, true}, {ECONNRESET}, {ENOMEM}, kOctetByOctet}}},
    {"recvmsg", {{{EAGAIN, true}, {EINTR, true}, {ECONNRESET}, {ENOMEM}, kOctetByOctet}}},
    {"send", {{{EINTR, true}, {EPIPE}, {ENOBUFS}, kOctetByOctet}}},
    {"sendmsg", {{{EINTR, true}, {EPIPE}, {ENOBUFS}, kOctetByOctet}}},
    {"epoll_ctl", {{{ENOSPC}, {ENOMEM}, {ENOSPC, false, kMany}}}},
    {"epoll_wait", {{{EINTR, true}}}},
    {"epoll_create1", {{{EMFILE}}}},
    {"eventfd", {{{EMFILE}}}},
    {"timerfd_create", {{{EMFILE}}}},
    {"socket", {{{EMFILE}, {ENOBUFS}}}},
    {"accept4", {{{EMFILE}, {ECONNABORTED, true}, {EINTR, true}, {ENOBUFS, false, 3}}}},
    {"connect", {{{ECONNREFUSED}, {EADDRNOTAVAIL}, {ENETUNREACH}}}},
    {"bind", {{{EADDRINUSE}, {ENOMEM}}}},
    {"listen", {{{EADDRINUSE}}}},
    {"setsockopt", {{{ENOBUFS}}}},
    {"getsockopt", {{{ENOBUFS}}}},
    {"getsockname", {{{ENOBUFS}}}},
    {"getpeername", {{{ENOBUFS}, {ENOTCONN}}}},
    {"shutdown", {{{ENOTCONN}}}},
    {"poll", {{{EINTR, true}, {ENOMEM}}}},
    {"read", {{{EINTR, true}}}},
    {"getaddrinfo", {{{EAI_AGAIN}, {EAI_MEMORY}}}},
    {"pthread_create", {{{EAGAIN}}}},
    {"operator new", {{{ENOMEM}, {ENOMEM, false, 2}, {ENOMEM, false, 5}}}},
}};
// clang-format on

const Row& row_of(Kind kind) { return kRows[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string_view name_of(Kind kind) { return row_of(kind).name; }

std::span<const Way> ways_of(Kind kind) {
  const auto& ways = row_of(kind).ways;
  std::size_t n = 0;
  while (n < ways.size() && ways[n].code != 0) ++n;
  return std::span(ways).first(n);
}

void begin(const Plan& what) {
  plan = what;
  hit = 0;
  for (auto& count : called) count = 0;
  active.store(true, std::memory_order_release);
}

bool end() { return active.exchange(false); }

void resume(bool again) { active.store(again, std::memory_order_release); }

bool may_break() {
  return active.load(std::memory_order_acquire) && plan.nth != 0 && !plan.way.is_harmless;
}

std::array<unsigned long, kKinds> counts() {
  std::array<unsigned long, kKinds> out{};
  for (std::size_t i = 0; i < kKinds; ++i) out[i] = called[i];
  return out;
}

unsigned long failed() { return hit; }

}  // namespace failing

using failing::failure;
using failing::Kind;
using failing::kOneOctet;

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's
#define WRAP(result, name, kind, parameters, arguments) \
  extern "C" result __real_##name parameters;           \
  extern "C" result __wrap_##name parameters {          \
    if (const int code = failure(kind)) {               \
      errno = code;                                     \
      return -1;                                        \
    }                                                   \
    return __real_##name arguments;                     \
  }

// clang-format off
WRAP(int, epoll_wait, Kind::kEpollWait, (int fd, epoll_event* events, int most, int timeout), (fd, events, most, timeout))
WRAP(int, epoll_create1, Kind::kEpollCreate, (int flags), (flags))
WRAP(int, eventfd, Kind::kEventfd, (unsigned value, int flags), (value, flags))
WRAP(int, timerfd_create, Kind::kTimerfd, (int clock, int flags), (clock, flags))
WRAP(int, socket, Kind::kSocket, (int domain, int type, int protocol), (domain, type, protocol))
WRAP(int, accept4, Kind::kAccept, (int fd, sockaddr* address, socklen_t* length, int flags), (fd, address, length, flags))
WRAP(int, connect, Kind::kConnect, (int fd, const sockaddr* address, socklen_t length), (fd, address, length))
WRAP(int, bind, Kind::kBind, (int fd, const sockaddr* address, socklen_t length), (fd, address, length))
WRAP(int, listen, Kind::kListen, (int fd, int backlog), (fd, backlog))
WRAP(int, setsockopt, Kind::kSetOption, (int fd, int level, int name, const void* value, socklen_t size), (fd, level, name, value, size))
WRAP(int, getsockopt, Kind::kGetOption, (int fd, int level, int name, void* value, socklen_t* size), (fd, level, name, value, size))
WRAP(int, getsockname, Kind::kLocalName, (int fd, sockaddr* address, socklen_t* length), (fd, address, length))
WRAP(int, getpeername, Kind::kPeerName, (int fd, sockaddr* address, socklen_t* length), (fd, address, length))
WRAP(int, shutdown, Kind::kShutdown, (int fd, int how), (fd, how))
WRAP(int, poll, Kind::kPoll, (pollfd* all, nfds_t count, int timeout), (all, count, timeout))
WRAP(ssize_t, read, Kind::kRead, (int fd, void* to, size_t size), (fd, to, size))
// clang-format on

/// Transfers what the caller wants with `whole`, or at most one octet with `one`, or fails.
template <typename Whole, typename One>
static ssize_t transfer(Kind kind, Whole whole, One one) {
  const int code = failure(kind);
  if (code == 0) return whole();
  if (code == kOneOctet) return one();
  errno = code;
  return -1;
}

extern "C" ssize_t __real_recv(int fd, void* to, size_t size, int flags);
extern "C" ssize_t __wrap_recv(int fd, void* to, size_t size, int flags) {
  return transfer(
      Kind::kRecv, [&] { return __real_recv(fd, to, size, flags); },
      [&] { return __real_recv(fd, to, std::min<size_t>(size, 1), flags); });
}

extern "C" ssize_t __real_recvmsg(int fd, msghdr* message, int flags);
extern "C" ssize_t __wrap_recvmsg(int fd, msghdr* message, int flags) {
  return transfer(
      Kind::kRecvmsg, [&] { return __real_recvmsg(fd, message, flags); },
      [&] { return __real_recv(fd, message->msg_iov[0].iov_base, 1, flags); });
}

extern "C" ssize_t __real_send(int fd, const void* from, size_t size, int flags);
extern "C" ssize_t __wrap_send(int fd, const void* from, size_t size, int flags) {
  return transfer(
      Kind::kSend, [&] { return __real_send(fd, from, size, flags); },
      [&] { return __real_send(fd, from, std::min<size_t>(size, 1), flags); });
}

extern "C" ssize_t __real_sendmsg(int fd, const msghdr* message, int flags);
extern "C" ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags) {
  return transfer(
      Kind::kSendmsg, [&] { return __real_sendmsg(fd, message, flags); },
      [&] { return __real_send(fd, message->msg_iov[0].iov_base, 1, flags); });
}

extern "C" int __real_epoll_ctl(int set, int what, int fd, epoll_event* event);
extern "C" int __wrap_epoll_ctl(int set, int what, int fd, epoll_event* event) {
  // Only EPOLL_CTL_ADD can fail, because it needs memory and one of the user's epoll watches.
  const int code = what == EPOLL_CTL_ADD ? failure(Kind::kEpollAdd) : 0;
  if (code == 0) return __real_epoll_ctl(set, what, fd, event);
  errno = code;
  return -1;
}

extern "C" int __real_getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                                  addrinfo** list);
extern "C" int __wrap_getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                                  addrinfo** list) {
  const int code = failure(Kind::kLookup);
  return code != 0 ? code : __real_getaddrinfo(host, service, hints, list);
}
// NOLINTEND(bugprone-reserved-identifier)

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) noexcept {
  if (const int code = failure(Kind::kThread)) return code;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto kCreate = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  return kCreate(thread, attributes, function, argument);
}

namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  if (failure(Kind::kMemory) != 0) throw std::bad_alloc();
  const auto whole = (size + alignment - 1) / alignment * alignment;
  void* const out = std::aligned_alloc(alignment, whole == 0 ? alignment : whole);
  if (out == nullptr) throw std::bad_alloc();
  return out;
}

constexpr std::size_t kAligned = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(std::size_t size) { return allocate(size, kAligned); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
