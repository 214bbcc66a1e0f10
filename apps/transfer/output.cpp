// SPDX-License-Identifier: Apache-2.0
// Writes a regular file through NewFile. Writes to any other file, such as a device or a FIFO, as a
// stream.
#include "transfer/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>

#include "command_line/stop.hpp"
#include "common/base/error.hpp"

namespace iwarp::apps {

namespace {

constexpr int kMostLinks = 40;  // maximum number of symbolic links to follow, as in the kernel

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Resolves the symbolic links in `path`. Its last component need not exist.
std::string follow_links(std::string path) {
  const auto given = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::array<char, PATH_MAX> to{};
    const auto size = readlink(path.c_str(), to.data(), to.size());
    if (size < 0) return path;
    const std::string target(to.data(), static_cast<std::size_t>(size));
    path = target.starts_with('/') ? target : directory_of(path).append("/").append(target);
  }
  throw Error(given + ": too many symbolic links");
}

class RegularOutput final : public Output {
 public:
  RegularOutput(const Fd& directory, std::string name, std::uint64_t size)
      : file_(directory, size), name_(std::move(name)) {}
  void write_at(std::uint64_t offset, bytes::View octets) override {
    file_.write_at(offset, octets);
  }
  void commit() override { file_.commit(name_); }

 private:
  NewFile file_;
  const std::string name_;
};

/// Writes to a device or a FIFO. A stop signal can interrupt both open() and write().
class StreamOutput final : public Output {
 public:
  explicit StreamOutput(const std::string& path)
      : fd_(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)), path_(path) {
    if (fd_) return;
    throw Error(path + ": " +
                (errno == ENXIO ? "no process has this FIFO open for reading" : errno_text()));
  }

  void write_at(std::uint64_t, bytes::View octets) override {
    while (!octets.empty()) {
      const auto n = ::write(fd_.get(), octets.data(), octets.size());
      if (n >= 0) {
        octets = octets.subspan(static_cast<std::size_t>(n));
      } else if (errno == EAGAIN) {
        wait();
      } else if (errno != EINTR) {
        throw Error("cannot write to " + path_ + ": " + errno_text());
      }
    }
  }
  void commit() override {}

 private:
  void wait() const {
    std::array<pollfd, 2> on{pollfd{.fd = fd_.get(), .events = POLLOUT, .revents = 0},
                             pollfd{.fd = stop_fd(), .events = POLLIN, .revents = 0}};
    poll(on.data(), on.size(), -1);
    if (stop_requested()) throw Interrupted();
  }

  const Fd fd_;
  const std::string path_;
};

}  // namespace

OutputPath::OutputPath(std::string path, const std::string& name) {
  struct stat info{};
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) path += "/" + name;
  path_ = path;
  const bool is_there = stat(path.c_str(), &info) == 0;
  is_stream_ = is_there && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
  if (is_stream_) return;
  path_ = follow_links(path);
  const auto slash = path_.rfind('/');
  name_ = slash == std::string::npos ? path_ : path_.substr(slash + 1);
  if (name_.empty() || name_ == "." || name_ == "..") {
    throw UsageError("OUT: \"" + path + "\" is not a file name");
  }
  directory_ = open_directory(directory_of(path_));
}

std::unique_ptr<Output> OutputPath::open(std::uint64_t size) const {
  if (!is_stream_) return std::make_unique<RegularOutput>(directory_, name_, size);
  // Ignore SIGPIPE, which would kill this program if the reader of a FIFO closes it. write() then
  // fails with EPIPE.
  std::signal(SIGPIPE, SIG_IGN);
  return std::make_unique<StreamOutput>(path_);
}

}  // namespace iwarp::apps
