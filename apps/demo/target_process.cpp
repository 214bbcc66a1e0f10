// SPDX-License-Identifier: Apache-2.0
// Starts the second process of the demonstration and reads its reports from a pipe.
#include "demo/target_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>

namespace iwarp::apps {

TargetProcess::TargetProcess(const DemoOptions& options) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("cannot create a pipe: " + errno_text());
  pipe_ = net::UniqueFd(ends[0]);
  const net::UniqueFd reports(ends[1]);
  child_.emplace([&] { return run_demo_target(options, reports.get()); },
                 "cannot start the target process");
}

std::string TargetProcess::expect(const std::string& word) {
  const auto line = next_line();
  if (line == word) return "";
  if (line.starts_with(word + " ")) return line.substr(word.size() + 1);
  if (line.starts_with("failed ")) throw Error("target process: " + line.substr(7));
  throw Error("the target process reported \"" + line + "\" instead of \"" + word + "\"");
}

void TargetProcess::finish() {
  expect("done");
  if (child_->wait().status != 0) throw Error("the target process failed");
}

std::string TargetProcess::next_line() {
  for (;;) {
    if (const auto end = received_.find('\n'); end != std::string::npos) {
      auto line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    pollfd on{.fd = pipe_.get(), .events = POLLIN, .revents = 0};
    const int ready = poll(&on, 1, static_cast<int>(kDemoPatience.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) throw Error("the target process did not report in time");
    std::array<char, 512> chunk{};
    const auto n = read(pipe_.get(), chunk.data(), chunk.size());
    if (n <= 0) throw Error("the target process ended early");
    received_.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace iwarp::apps
