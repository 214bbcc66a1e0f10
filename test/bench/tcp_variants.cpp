// SPDX-License-Identifier: Apache-2.0
// Compares ways to pass data to the kernel's TCP, without any iWARP: send(), send() with
// MSG_ZEROCOPY, io_uring, and io_uring without copies. rfc-notes/decisions uses the results to
// decide which of them the driver uses. A benchmark, not a test.
//
//   bench_tcp_variants serve PORT                                  serves one connection and exits
//   bench_tcp_variants send|zerocopy|uring|uring-zc HOST PORT SIZE SECONDS
#include <arpa/inet.h>
#include <liburing.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// Number of slots in a ring of messages, and maximum number of messages in flight.
constexpr std::size_t kSlots = 16;
constexpr std::size_t kBuffer = 256 * 1024;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int serve(std::uint16_t port) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in at{.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {}, .sin_zero = {}};
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) die("bind");
  if (listen(listener, 1) != 0) die("listen");
  const int s = accept(listener, nullptr, nullptr);
  std::vector<char> buffer(kBuffer);
  double octets = 0;
  for (ssize_t n = 1; n > 0; octets += static_cast<double>(n)) {
    n = recv(s, buffer.data(), buffer.size(), 0);
  }
  std::printf("  receiver %.3f CPU s/GB\n", cpu_seconds() * 1e9 / octets);
  return 0;
}

class Sender {
 public:
  Sender(const char* host, std::uint16_t port, std::size_t size)
      : size_(size), ring_(size * kSlots, 'a'), socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {}, .sin_zero = {}};
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1) die("address");
    if (connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) die("connect");
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Sender() { close(socket_); }

  void run(std::string_view method, double seconds) {
    const auto start = Clock::now();
    const auto end = start + std::chrono::milliseconds(static_cast<int>(seconds * 1000));
    const double before = cpu_seconds();
    if (method == "send") blocking(0, end);
    if (method == "zerocopy") blocking(MSG_ZEROCOPY, end);
    if (method == "uring") uring(false, end);
    if (method == "uring-zc") uring(true, end);
    const double octets = static_cast<double>(sent_);
    const std::chrono::duration<double> time = Clock::now() - start;
    std::printf("%-9.*s %7zu: %.2f GB/s, sender %.3f CPU s/GB, %.0f %% copied all the same\n",
                static_cast<int>(method.size()), method.data(), size_, octets / time.count() / 1e9,
                (cpu_seconds() - before) * 1e9 / octets,
                notices_ == 0
                    ? 100.0
                    : 100.0 * static_cast<double>(copied_) / static_cast<double>(notices_));
  }

 private:
  char* slot(std::size_t number) { return ring_.data() + (number % kSlots) * size_; }

  void blocking(int flags, Clock::time_point end) {
    const int on = 1;
    if (flags != 0 && setsockopt(socket_, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) != 0) {
      die("SO_ZEROCOPY");
    }
    std::size_t calls = 0;
    for (std::size_t i = 0; Clock::now() < end; ++i) {
      for (std::size_t done = 0; done < size_;) {
        // A slot may be reused only after the kernel has released it.
        while (flags != 0 && calls - notices_ >= kSlots) await_notice();
        const auto n = ::send(socket_, slot(i) + done, size_ - done, flags | MSG_NOSIGNAL);
        if (n < 0) die("send");
        ++calls;
        done += static_cast<std::size_t>(n);
      }
      sent_ += size_;
    }
  }

  void await_notice() {
    char control[128];
    msghdr message{};
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(socket_, &message, MSG_ERRQUEUE) < 0) return;
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    sock_extended_err error{};
    std::memcpy(&error, CMSG_DATA(header), sizeof error);
    const auto count = std::size_t{error.ee_data} - error.ee_info + 1;
    notices_ += count;
    if ((error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0) copied_ += count;
  }

  // Keeps one request in flight, so that the stream stays in order. A request completes only when
  // all of its bytes have been sent.
  void uring(bool zero_copy, Clock::time_point end) {
    io_uring ring{};
    if (const int error = io_uring_queue_init(64, &ring, 0); error < 0) {
      errno = -error;
      die("io_uring");
    }
    for (std::size_t i = 0; Clock::now() < end; ++i, sent_ += size_) {
      io_uring_sqe* request = io_uring_get_sqe(&ring);
      if (zero_copy) {
        io_uring_prep_send_zc(request, socket_, slot(i), size_, MSG_NOSIGNAL | MSG_WAITALL, 0);
      } else {
        io_uring_prep_send(request, socket_, slot(i), size_, MSG_NOSIGNAL | MSG_WAITALL);
      }
      io_uring_submit_and_wait(&ring, 1);
      for (bool complete = false; !complete;) {
        io_uring_cqe* result = nullptr;
        if (io_uring_wait_cqe(&ring, &result) != 0) continue;
        const bool notice = (result->flags & IORING_CQE_F_NOTIF) != 0;
        if (!notice && result->res != static_cast<int>(size_)) {
          errno = result->res < 0 ? -result->res : EIO;
          die("io_uring send");
        }
        complete = !notice;
        io_uring_cqe_seen(&ring, result);
      }
    }
    io_uring_queue_exit(&ring);
  }

  const std::size_t size_;
  std::vector<char> ring_;
  const int socket_;
  std::size_t sent_ = 0;
  std::size_t notices_ = 0;
  std::size_t copied_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "serve") {
    return serve(static_cast<std::uint16_t>(std::atoi(argv[2])));
  }
  if (argc != 6) {
    std::fputs("serve PORT | send|zerocopy|uring|uring-zc HOST PORT SIZE SECONDS\n", stderr);
    return 2;
  }
  Sender sender(argv[2], static_cast<std::uint16_t>(std::atoi(argv[3])),
                static_cast<std::size_t>(std::atol(argv[4])));
  sender.run(argv[1], std::atof(argv[5]));
}
