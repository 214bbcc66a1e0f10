// SPDX-License-Identifier: Apache-2.0
// Sends and receives lines of JSON over a socket. Parses and checks each line before using it.
// Reads from all clients of a Lobby in one thread, with epoll and non-blocking sockets.
#include "measure/basics/control.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"

namespace iwarp::apps::measure {

namespace {

using Json = nlohmann::json;

// Maximum size of a line in bytes. 1024 adverts need a tenth of it.
constexpr std::size_t kMaxLine = 256 * 1024;
constexpr const char* kOtherProtocol = "the peer does not speak the protocol of iwarp perf";

}  // namespace

void check_stop(Clock::time_point now) {
  const auto asked = finish_requested();
  if (stop_requested() || (asked && now - *asked > kFinishTimeout)) throw Interrupted();
}

void Control::send(const Json& object) {
  const auto line = object.dump() + "\n";
  socket_.send(std::as_bytes(std::span(line)), Clock::now() + kTimeout);
}

Json Control::receive(Clock::duration time_limit) {
  const auto deadline = Clock::now() + time_limit;
  while (!has_line()) socket_.await(EPOLLIN, deadline);
  const auto end = received_.find('\n');
  const auto object = Json::parse(received_.substr(0, end), nullptr, false);
  if (end == std::string::npos || !object.is_object()) throw Error(kOtherProtocol);
  received_.erase(0, end + 1);
  if (const auto error = object.find("error"); error != object.end()) {
    throw Error("the peer reports: " +
                printable(error->is_string() ? error->get<std::string>() : ""));
  }
  return object;
}

std::uint16_t Control::receive_port() {
  const auto object = receive();
  const auto port = object.find("port");
  if (port == object.end() || !port->is_number_unsigned() || *port > 65535) {
    throw Error(kOtherProtocol);
  }
  return port->get<std::uint16_t>();
}

std::string Control::complaint(const std::string& otherwise) {
  try {
    // Skip other messages that the other end may have sent before the error.
    for (;;) receive(std::chrono::seconds(1));
  } catch (const PeerGone&) {
    return otherwise;
  } catch (const Error& error) {
    const std::string_view what = error.what();
    return what.starts_with("the peer reports: ") ? std::string(what) : otherwise;
  }
}

// Reads what has arrived, and returns whether it contains a line. A line that is too long counts,
// because receive() reports it.
bool Control::has_line() {
  while (received_.size() <= kMaxLine && !received_.contains('\n')) {
    std::array<std::byte, 4096> chunk;
    const auto size = socket_.receive_now(chunk);
    if (size == 0) return false;
    received_.append(reinterpret_cast<const char*>(chunk.data()), size);
  }
  return true;
}

Control::State Control::look() {
  try {
    return has_line() ? State::kHasLine : State::kWaits;
  } catch (const PeerGone&) {
    return State::kGone;
  }
}

Control Lobby::next() {
  for (;;) {
    std::erase_if(waiting_, [](Control& c) { return c.look() == Control::State::kGone; });
    const auto ready = std::ranges::find(waiting_, Control::State::kHasLine, &Control::look);
    if (ready != waiting_.end()) {
      Control out = std::move(*ready);
      waiting_.erase(ready);
      return out;
    }
    set_.wait(Epoll::kNoLimit);
    if (auto socket = listener_.accept(Clock::now())) {
      if (waiting_.size() == kMost) waiting_.pop_front();
      set_.watch(socket->fd(), EPOLLIN);
      waiting_.emplace_back(std::move(*socket));
    }
  }
}

}  // namespace iwarp::apps::measure
