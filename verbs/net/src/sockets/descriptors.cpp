// SPDX-License-Identifier: Apache-2.0
// The set of open descriptors of this layer: one bit for each descriptor, in atomic integers. A
// lock could not protect the bits, because a fork may happen while another thread holds the lock,
// and the child's copy would never be released.
#include "sockets/descriptors.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "iwarp/net/fork.hpp"
#include "iwarp/net/unique_fd.hpp"

namespace iwarp::net {
namespace {

using Word = std::uint64_t;

constexpr std::size_t kBits = 64;
constexpr std::size_t kMost = 1 << 20;  // Linux's default maximum per process

// The array has 128 KiB, but pages that are never touched cost no memory.
constinit std::array<std::atomic<Word>, kMost / kBits> open_now{};

constexpr bool counted(int fd) { return fd >= 0 && static_cast<std::size_t>(fd) < kMost; }
std::atomic<Word>& word_of(int fd) { return open_now[static_cast<std::size_t>(fd) / kBits]; }
constexpr Word bit_of(int fd) { return Word{1} << (static_cast<std::size_t>(fd) % kBits); }

}  // namespace

void remember(int fd) noexcept {
  if (counted(fd)) word_of(fd).fetch_or(bit_of(fd), std::memory_order_relaxed);
}

bool forget(int fd) noexcept {
  if (!counted(fd)) return fd >= 0;
  return (word_of(fd).fetch_and(~bit_of(fd), std::memory_order_relaxed) & bit_of(fd)) != 0;
}

UniqueFd::UniqueFd(int fd) : fd_(fd) { remember(fd); }

int UniqueFd::release() {
  forget(fd_);
  return std::exchange(fd_, -1);
}

void UniqueFd::reset() {
  if (forget(fd_)) ::close(fd_);  // closed after forget(), because the number may be reused at once
  fd_ = -1;
}

std::size_t open_descriptors(int newest) noexcept {
  // Linux 6.2 and later count: the size of this directory is the number of descriptors.
  struct stat directory{};
  if (::stat("/proc/thread-self/fd", &directory) == 0 && directory.st_size > 0) {
    return static_cast<std::size_t>(directory.st_size);
  }
  return known_descriptors(newest);
}

// The kernel assigns the lowest free number, so every number below `newest` is open.
std::size_t known_descriptors(int newest) noexcept {
  const auto below = static_cast<std::size_t>(newest) + 1;  // 0 if there is no `newest`
  auto count = below;
  for (std::size_t i = below / kBits; i < open_now.size(); ++i) {
    Word above = open_now[i].load(std::memory_order_relaxed);
    if (i == below / kBits) above &= ~Word{0} << (below % kBits);
    count += static_cast<std::size_t>(std::popcount(above));
  }
  return count;
}

void close_inherited() noexcept {
  for (std::size_t i = 0; i < open_now.size(); ++i) {
    if (open_now[i].load(std::memory_order_relaxed) == 0) continue;
    for (Word left = open_now[i].exchange(0, std::memory_order_relaxed); left != 0;
         left &= left - 1) {
      ::close(static_cast<int>(i * kBits) + std::countr_zero(left));
    }
  }
}

}  // namespace iwarp::net
