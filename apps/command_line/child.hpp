// SPDX-License-Identifier: Apache-2.0
// Child: owns a forked process. The destructor kills and reaps the process, and the kernel kills it
// if its parent ends. Create children before starting any thread: of the threads, only the one that
// forks exists in the child, and a lock that another thread holds stays locked there.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <optional>
#include <utility>

namespace iwarp::apps {

/// How a process ended.
struct Ending {
  int status = 0;  ///< the exit status, or 128 plus the number of the signal
  int signal = 0;  ///< the signal that ended the process; 0 if it exited
};

class Child {
 public:
  enum class Group : bool { kOfParent, kOwn };

  /// Runs `work` in a new process, whose exit status is the return value of `work`, or 1 if `work`
  /// throws. With kOwn, the process leads a process group, and signals go to the whole group.
  /// Throws Error if no process can be created; the text begins with `failure`.
  explicit Child(const std::function<int()>& work, const char* failure = "cannot start a process",
                 Group group = Group::kOfParent);
  Child(Child&& o) noexcept : pid_(std::exchange(o.pid_, -1)), group_(o.group_) {}
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  /// Sends the signal to the process, or to its own group.
  void kill(int signal = SIGKILL) const;
  /// Returns how the process ended, or nullopt if it is running. The destructor reaps the process,
  /// so until then no other process and no other group gets its number.
  std::optional<Ending> ending() const;
  /// Waits until the process ends by itself or by a signal.
  Ending wait() const;

 private:
  pid_t pid_ = -1;
  Group group_;
};

}  // namespace iwarp::apps
