// SPDX-License-Identifier: Apache-2.0
// Sends and receives lines of JSON over a socket. Parses and checks each line before using it.
#include "measure/basics/control.hpp"

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
  const auto line = receive_line(Clock::now() + time_limit);
  auto object = Json::parse(line, nullptr, false);
  if (!object.is_object()) throw Error("the peer does not speak the protocol of iwarp perf");
  if (const auto error = object.find("error"); error != object.end()) {
    throw Error("the peer reports: " +
                printable(error->is_string() ? error->get<std::string>() : ""));
  }
  return object;
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

// A line that is too long counts, because receive() reports it.
bool Control::has_line() const { return received_.size() > kMaxLine || received_.contains('\n'); }

Control::State Control::look() {
  while (!has_line()) {
    std::array<std::byte, 4096> chunk;
    try {
      const auto size = socket_.receive_now(chunk);
      if (size == 0) return State::kWaits;
      received_.append(reinterpret_cast<const char*>(chunk.data()), size);
    } catch (const PeerGone&) {
      return State::kGone;
    }
  }
  return State::kHasLine;
}

std::string Control::receive_line(Clock::time_point deadline) {
  for (;;) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      auto line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (received_.size() > kMaxLine)
      throw Error("the peer does not speak the protocol of iwarp perf");
    std::array<std::byte, 4096> chunk;
    const auto size = socket_.receive(chunk, deadline);
    received_.append(reinterpret_cast<const char*>(chunk.data()), size);
  }
}

}  // namespace iwarp::apps::measure
