// SPDX-License-Identifier: Apache-2.0
// Scrape: answers requests with the subset of HTTP/1.0 that metrics need. Boost.Beast parses the
// requests.
#include "metrics/scrape.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cerrno>

namespace iwarp::net {
namespace {

namespace http = boost::beast::http;

bool would_wait(ssize_t n) { return n < 0 && (errno == EAGAIN || errno == EINTR); }

std::string reply(std::string_view status, std::string_view body, bool with_body = true) {
  return fmt::format(
      "HTTP/1.0 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
      status, body.size(), with_body ? body : "");
}

/// Returns whether `host`, from the Host field of a request, names this machine. An empty `host`
/// counts as this machine.
bool is_this_machine(std::string_view host) {
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  if (host.empty() || host == "localhost") return true;
  boost::system::error_code not_numeric;
  const auto address = asio::ip::make_address(std::string(host), not_numeric);
  return !not_numeric && address.is_loopback();
}

}  // namespace

std::string http_answer(std::string_view request, bool names_host,
                        const std::function<std::string()>& text) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(Scrape::kMaxRequest);
  boost::system::error_code error;
  parser.put(asio::buffer(request.data(), request.size()), error);
  if (!parser.is_header_done()) {
    if (error && error != http::error::need_more) return reply("400 Bad Request", "not HTTP\n");
    if (request.size() < Scrape::kMaxRequest) return {};
    return reply("431 Request Header Fields Too Large", "too long\n");
  }
  const auto& header = parser.get();
  const auto view = [](const auto& part) { return std::string_view(part.data(), part.size()); };
  if (names_host && !is_this_machine(view(header[http::field::host]))) {
    return reply("403 Forbidden",
                 "the Host header must name this machine (localhost or a loopback address)\n");
  }
  const bool is_head = header.method() == http::verb::head;
  if (!is_head && header.method() != http::verb::get) {
    return reply("405 Method Not Allowed", "only GET and HEAD are allowed\n");
  }
  const auto target = view(header.target());
  if (target != "/metrics" && target != "/") {
    return reply("404 Not Found", "the metrics are at /metrics\n");
  }
  return reply("200 OK", text(), !is_head);
}

Scrape::Scrape(Worker& worker, UniqueFd socket, bool names_host, std::function<std::string()> text)
    : socket_(std::move(socket)),
      names_host_(names_host),
      text_(std::move(text)),
      readiness_(worker.context()),
      timer_(worker.context()) {}

void Scrape::start() {
  boost::system::error_code failed;
  readiness_.assign(socket_.get(), failed);
  if (failed) return end();
  timer_.expires_after(kTimeout);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
    if (!cancelled) self->end();
  });
  wait(Readiness::wait_read);
}

void Scrape::end() {
  timer_.cancel();
  if (readiness_.is_open()) readiness_.release();
  socket_.reset();
}

void Scrape::wait(Readiness::wait_type what) {
  readiness_.async_wait(
      what, [self = shared_from_this(), what](const boost::system::error_code& cancelled) {
        if (cancelled || self->is_over()) return;
        what == Readiness::wait_read ? self->read() : self->write();
      });
}

void Scrape::read() {
  const auto n =
      ::recv(socket_.get(), request_.data() + received_, request_.size() - received_, MSG_DONTWAIT);
  if (would_wait(n)) return wait(Readiness::wait_read);
  if (n <= 0) return end();
  received_ += static_cast<std::size_t>(n);
  answer_ = http_answer({request_.data(), received_}, names_host_, text_);
  answer_.empty() ? wait(Readiness::wait_read) : write();
}

void Scrape::write() {
  const auto n = ::send(socket_.get(), answer_.data() + sent_, answer_.size() - sent_,
                        MSG_DONTWAIT | MSG_NOSIGNAL);
  if (would_wait(n)) return wait(Readiness::wait_write);
  if (n < 0) return end();
  sent_ += static_cast<std::size_t>(n);
  sent_ == answer_.size() ? end() : wait(Readiness::wait_write);
}

}  // namespace iwarp::net
