// SPDX-License-Identifier: Apache-2.0
// MetricsServer: parses its address, accepts clients, and limits the number of clients at a time.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cerrno>
#include <charconv>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "driver/with_resources.hpp"
#include "driver/worker.hpp"
#include "iwarp/net/bound_socket.hpp"
#include "iwarp/net/metrics.hpp"
#include "iwarp/net/unix_socket.hpp"
#include "metrics/scrape.hpp"
#include "sockets/sockets.hpp"

namespace iwarp::net {
namespace {

constexpr std::string_view kUnix = "unix:";
// maximum number of clients at a time; a further client evicts the oldest client
constexpr std::size_t kMaxScrapes = 8;
// maximum number of connections that have time series of their own
constexpr std::size_t kMaxConnections = 256;
constexpr int kScrapeBacklog = 16;

}  // namespace

std::expected<MetricsAddress, std::string> parse_metrics_address(std::string_view text) {
  MetricsAddress out;
  if (text.starts_with(kUnix)) {
    out.path = text.substr(kUnix.size());
    const auto at = out.path.find("%p");
    if (at != std::string::npos) out.path.replace(at, 2, std::to_string(::getpid()));
    if (unix_address(out.path)) return out;
    return std::unexpected(fmt::format("the path of a Unix socket must be 1 to {} bytes long",
                                       sizeof(sockaddr_un::sun_path) - 1));
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.tcp.port);
  if (error == std::errc{} && end == text.data() + text.size()) {
    out.tcp.host = "127.0.0.1";
    return out;
  }
  const auto address = parse_address(text, 0);
  if (!address || address->host.empty() || !text.ends_with(fmt::format(":{}", address->port))) {
    return std::unexpected("must be PORT, ADDR:PORT or unix:PATH");
  }
  boost::system::error_code not_numeric;
  const auto numeric = asio::ip::make_address(address->host, not_numeric);
  if (not_numeric || !numeric.is_loopback()) {
    return std::unexpected("not a loopback address (use 127.0.0.1, [::1] or unix:PATH)");
  }
  out.tcp = *address;
  return out;
}

std::string to_string(const MetricsAddress& address) {
  if (!address.path.empty()) return std::string(kUnix) + address.path;
  return fmt::format("http://{}/metrics", to_string(address.tcp));
}

struct MetricsServer::Impl {
  Impl(MetricsAddress at, UniqueFd bound)
      : address(std::move(at)), socket(std::move(bound)), readiness(worker.context()) {
    struct stat about{};
    if (!address.path.empty() && ::stat(address.path.c_str(), &about) == 0) inode = about.st_ino;
  }
  // If Asio cannot release a descriptor, it throws, and the process ends.
  ~Impl() {  // NOLINT(bugprone-exception-escape)
    worker.join();
    unlink();
    if (readiness.is_open()) readiness.release();
    for (const auto& one : scrapes) one->end();
  }

  // Removes the Unix socket, unless another process has since put another file at the same path.
  void unlink() const noexcept {
    struct stat about{};
    if (inode && ::lstat(address.path.c_str(), &about) == 0 && about.st_ino == *inode) {
      ::unlink(address.path.c_str());
    }
  }

  void accept() {
    readiness.async_wait(asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& cancelled) {
                           if (!cancelled) accept_one();
                         });
  }
  void accept_one() {
    UniqueFd peer(::accept4(socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!peer && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) return pause();
    if (peer) take(std::move(peer));
    accept();
  }
  // Stops accepting for 100 ms, because the process probably has no free descriptors.
  void pause() {
    timer.expires_after(std::chrono::milliseconds(100));
    timer.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled) accept();
    });
  }
  void take(UniqueFd peer) {
    std::erase_if(scrapes, [](const auto& one) { return one->is_over(); });
    if (scrapes.size() == kMaxScrapes) {
      scrapes.front()->end();
      scrapes.pop_front();
    }
    scrapes.push_back(std::make_shared<Scrape>(worker, std::move(peer), address.path.empty(),
                                               [this] { return metrics_text(statistics()); }));
    scrapes.back()->start();
  }
  Statistics statistics() const {
    const std::lock_guard lock(mutex);
    Statistics out = past;
    for (const Rnic* rnic : rnics) {
      auto one = rnic->statistics(kMaxConnections - out.connections.size());
      out += one;
      std::ranges::move(one.connections, std::back_inserter(out.connections));
    }
    return out;
  }

  Worker worker{std::chrono::microseconds(0)};
  const MetricsAddress address;
  const UniqueFd socket;
  std::optional<ino_t> inode;  ///< inode of the Unix socket, if there is one
  asio::posix::stream_descriptor readiness;
  asio::steady_timer timer{worker.context()};
  /// sorted by age; only the worker thread uses this member
  std::deque<std::shared_ptr<Scrape>> scrapes;

  mutable std::mutex mutex;  ///< locked before the locks of an Rnic
  std::vector<const Rnic*> rnics;
  Statistics past;  ///< totals of Rnics that are no longer watched
};

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsServer::~MetricsServer() = default;
const MetricsAddress& MetricsServer::address() const { return impl_->address; }
void MetricsServer::unlink() const noexcept { impl_->unlink(); }

Expected<std::unique_ptr<MetricsServer>> MetricsServer::open(const MetricsAddress& at) {
  return with_resources([&]() -> Expected<std::unique_ptr<MetricsServer>> {
    MetricsAddress where = at;
    UniqueFd socket;
    if (!at.path.empty()) {
      auto bound = listen_unix(at.path, kScrapeBacklog);
      if (!bound) return std::unexpected(bound.error());
      socket = std::move(*bound);
    } else {
      auto bound = bind_tcp(at.tcp);
      if (!bound) return std::unexpected(bound.error());
      if (const auto error = start_listening(bound->fd(), kScrapeBacklog)) {
        return std::unexpected(to_errc(error));
      }
      where.tcp = bound->local();
      socket = bound->release();
    }
    auto impl = std::make_unique<Impl>(std::move(where), std::move(socket));
    boost::system::error_code failed;
    impl->readiness.assign(impl->socket.get(), failed);
    if (failed) return std::unexpected(failed);
    impl->worker.post([server = impl.get()] { server->accept(); });
    return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(impl)));
  });
}

MetricsServer::Watch MetricsServer::watch(const Rnic& rnic) {
  const std::lock_guard lock(impl_->mutex);
  impl_->rnics.push_back(&rnic);
  return {*this, rnic};
}

MetricsServer::Watch::~Watch() {
  if (server_ != nullptr) server_->forget(*rnic_);
}

void MetricsServer::forget(const Rnic& rnic) {
  const std::lock_guard lock(impl_->mutex);
  std::erase(impl_->rnics, &rnic);
  auto last = rnic.statistics(0);
  last.pending_setups = last.open_connections = 0;
  last.qps = last.cqs = last.srqs = last.pds = 0;
  impl_->past += last;
}

}  // namespace iwarp::net
