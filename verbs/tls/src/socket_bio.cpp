// SPDX-License-Identifier: Apache-2.0
// SocketBio: the functions that OpenSSL calls to read and write, which must not throw, and flush(),
// which sends what OpenSSL has written.
#include "socket_bio.hpp"

#include <cerrno>
#include <new>
#include <utility>

namespace iwarp::tls {
namespace {

// Maximum number of octets that OpenSSL has written and the socket has not accepted yet. The octets
// that MPA sends never reach this maximum. Only OpenSSL's own answers to the peer can reach it;
// OpenSSL then has to wait until the peer reads.
constexpr std::size_t kMostCollected = 256 * 1024;

bool would_block(int code) { return code == EAGAIN || code == EWOULDBLOCK; }

SocketBio& of(BIO* bio) { return *static_cast<SocketBio*>(BIO_get_data(bio)); }

}  // namespace

const BIO_METHOD* SocketBio::method() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* out = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "iwarp socket");
    if (out == nullptr) return out;
    BIO_meth_set_write_ex(out, &SocketBio::write);
    BIO_meth_set_read_ex(out, &SocketBio::read);
    BIO_meth_set_ctrl(out, &SocketBio::control);
    return out;
  }();
  return kMethod;
}

BioPtr SocketBio::make() {
  if (method() == nullptr) return nullptr;
  BioPtr out(BIO_new(method()));
  if (out == nullptr) return out;
  BIO_set_data(out.get(), this);
  BIO_set_init(out.get(), 1);
  return out;
}

// Collects octets that OpenSSL writes. Must not throw, because the caller is OpenSSL.
int SocketBio::write(BIO* bio, const char* octets, std::size_t size, std::size_t* written) {
  SocketBio& self = of(bio);
  BIO_clear_retry_flags(bio);
  if (self.collected() + size > kMostCollected) {
    BIO_set_retry_write(bio);
    return 0;
  }
  if (!self.collect({reinterpret_cast<const std::byte*>(octets), size})) return 0;
  *written = size;
  return 1;
}

bool SocketBio::collect(std::span<const std::byte> octets) {
  try {
    out_.insert(out_.end(), octets.begin(), octets.end());
  } catch (const std::bad_alloc&) {
    error_ = ENOMEM;
    return false;
  }
  return true;
}

int SocketBio::read(BIO* bio, char* octets, std::size_t size, std::size_t* taken) {
  SocketBio& self = of(bio);
  BIO_clear_retry_flags(bio);
  ssize_t n = 0;
  do {
    n = self.socket_.receive({reinterpret_cast<std::byte*>(octets), size});
  } while (n < 0 && errno == EINTR);
  self.is_dry_ = n < 0 && would_block(errno);
  if (n > 0) {
    *taken = static_cast<std::size_t>(n);
    return 1;
  }
  if (n == 0) {
    self.ended_ = true;
  } else if (self.is_dry_) {
    BIO_set_retry_read(bio);
  } else {
    self.error_ = errno;
  }
  return 0;
}

long SocketBio::control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return of(bio).ended_ ? 1 : 0;
  return 0;
}

bool SocketBio::flush() {
  while (collected() != 0) {
    const auto n = socket_.send(std::span(out_).subspan(sent_));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && would_block(errno)) return false;
    if (n < 0) {
      error_ = errno;
      break;
    }
    sent_ += static_cast<std::size_t>(n);
    if (collected() != 0) return false;
  }
  out_.clear();
  sent_ = 0;
  return error_ == 0;
}

std::vector<std::byte> SocketBio::take() {
  out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent_));
  sent_ = 0;
  return std::exchange(out_, {});
}

}  // namespace iwarp::tls
