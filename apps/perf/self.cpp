// SPDX-License-Identifier: Apache-2.0
// Fork and end of the server process.
#include "perf/self.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "common/error.hpp"
#include "common/stop.hpp"
#include "perf/control.hpp"

namespace iwarp::apps::perf {

namespace {

// What goes wrong the client says.
int serve_parent(conform::Acceptor& acceptor, const std::string& host) {
  try {
    catch_stop_signals();
    auto link = acceptor.accept(Clock::now() + kPatience);
    if (link) serve_client(std::move(link), {.host = host});
    return 0;
  } catch (const std::exception&) {
    return kExitFailure;
  }
}

}  // namespace

ServerProcess::ServerProcess() {
  conform::Acceptor acceptor(address_);
  address_.port = acceptor.port();
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw Error("cannot start the server process: " + errno_text());
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have died before it could be watched.
    _exit(getppid() == parent ? serve_parent(acceptor, address_.host) : kExitFailure);
  }
}

ServerProcess::~ServerProcess() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace iwarp::apps::perf
