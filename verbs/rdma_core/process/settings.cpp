// SPDX-License-Identifier: Apache-2.0
// Reads the settings from the environment, replaces %p in paths with the process id, and reports
// invalid values on standard error.
#include "process/settings.hpp"

#include <fcntl.h>
#include <sys/select.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "process/session.hpp"

namespace iwarp::rdma_core {
namespace {

/// Replaces %p in `path` with the process id, so that each process of a job has a file of its own.
void put_pid(std::string& path) {
  const auto at = path.find("%p");
  if (at != path.npos) path.replace(at, 2, std::to_string(::getpid()));
}

}  // namespace

Settings read_settings(const Environment& environment,
                       const std::function<void(const std::string&)>& complain) {
  const auto value = [&](const char* variable) {
    const char* const text = environment(variable);
    return std::string(text != nullptr ? text : "");
  };
  // As on a machine without an RDMA card, a script that adds devices finds these devices, and no
  // other device unless the user has requested it.
  std::string devices = value("IWARP_DEVICE");
  std::string like = value("IWARP_LIKE");
  for (const AddedDevice& added : Session(value(kSessionVariable)).devices()) {
    devices += (devices.empty() ? "" : ",") + added.name + "=" + added.netdev;
    if (like.empty() && value("IWARP_AS").empty()) like = added.type;
  }
  const auto with_added = [&](const char* variable) {
    if (variable == std::string_view("IWARP_DEVICE") && !devices.empty()) return devices.c_str();
    if (variable == std::string_view("IWARP_LIKE") && !like.empty()) return like.c_str();
    return environment(variable);
  };
  Settings out = options::from_environment(with_added, complain);
  put_pid(out.trace);
  put_pid(out.fault_socket);
  return out;
}

Settings settings_now() {
  return read_settings([](const char* name) { return ::secure_getenv(name); }, [](const auto&) {});
}

const Settings& settings() {
  // The settings are never destroyed, because threads may read them while the process exits.
  static const Settings* const kSettings = [] {
    std::vector<std::string> complaints;
    auto* const out =
        new Settings(read_settings([](const char* name) { return ::secure_getenv(name); },
                                   [&](const std::string& line) { complaints.push_back(line); }));
    for (const std::string& line : complaints) {
      const verbs::LogRecord record{verbs::LogLevel::kWarning, "bad_setting", line, {}};
      std::fputs(line_of(record, out->log_format).c_str(), stderr);
    }
    return out;
  }();
  return *kSettings;
}

int high_duplicate(int fd) {
  const auto& chosen = settings().adversary;
  if (!chosen || !chosen->has(options::Freedom::kDescriptors)) return -1;
  return ::fcntl(fd, F_DUPFD_CLOEXEC, FD_SETSIZE);
}

std::string line_of(const verbs::LogRecord& record, verbs::LogFormat format) {
  const bool is_text = format == verbs::LogFormat::kText;
  const auto now = std::chrono::system_clock::now();
  return (is_text ? "iwarp: " : "") + verbs::log_line(record, format, now, ::getpid()) + "\n";
}

}  // namespace iwarp::rdma_core
