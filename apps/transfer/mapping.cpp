// SPDX-License-Identifier: Apache-2.0
// Maps files. Installs the SIGBUS handler, which reports that another program has truncated a
// mapped file.
#include "transfer/mapping.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>

#include "common/base/error.hpp"

namespace iwarp::apps {

namespace {

std::atomic<const char*> sigbus_line{nullptr};

void on_sigbus(int) {
  const char* line = sigbus_line.exchange(nullptr);
  // Several threads may access missing pages at the same time. The first one prints the line and
  // ends the program; the other threads wait here.
  while (line == nullptr) pause();
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line, std::strlen(line));
  _exit(kExitFailure);
}

}  // namespace

Mapping::Mapping(const SourceFile& file, std::uint64_t offset, std::size_t length) {
  void* at =
      mmap(nullptr, length, PROT_READ, MAP_SHARED, file.fd.get(), static_cast<off_t>(offset));
  if (at == MAP_FAILED) throw Error("cannot map the file: " + errno_text());
  octets_ = {static_cast<std::byte*>(at), length};
  // Tell the kernel that the pages are read once and in order. This is only a hint, so ignore an
  // error.
  madvise(at, length, MADV_SEQUENTIAL);
}

Mapping::~Mapping() {
  if (!octets_.empty()) munmap(octets_.data(), octets_.size());
}

void explain_sigbus(const char* line) {
  sigbus_line = line;
  struct sigaction action{};
  action.sa_handler = on_sigbus;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace iwarp::apps
