// SPDX-License-Identifier: Apache-2.0
// The two processes of a measurement: forked before there is any thread, joined by a pair of
// sockets for set-up, each with a pipe to the parent for its result.
#include "cost/measure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "common/counter_names.hpp"
#include "common/error.hpp"
#include "iwarp/crc32c/crc32c.hpp"

namespace iwarp::apps::cost {

namespace {

constexpr unsigned kPatience = 120;  // seconds; a child that hangs is ended by its alarm

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw Error("the other process of the measurement has gone");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// Up to the end of the line, or of everything when `end` is 0.
std::string read_until(int fd, char end) {
  std::string out;
  for (char c = 0;;) {
    const auto n = ::read(fd, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || (end != 0 && c == end)) return out;
    out += c;
  }
}

void pin_to(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  // Refused in some containers; then the scheduler chooses, and the record says what was asked.
  sched_setaffinity(0, sizeof set, &set);
}

/// The processors this process may use.
std::vector<unsigned> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<unsigned> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
  }
  return out;
}

void place(const Job& job, bool sender) {
  if (job.cpus == "any") return;
  const auto cpus = allowed_cpus();
  pin_to(sender || job.cpus == "same" ? cpus.front() : cpus.back());
}

void choose_crc(const Job& job) {
  if (job.crc == "off" || job.crc == "best") return;
  for (const auto& kernel : crc32c::kernels()) {
    if (job.crc == kernel.name && kernel.supported()) return crc32c::use(kernel);
  }
  throw Error("there is no CRC32c kernel " + job.crc + " here");
}

/// One end in the child: its result, or its error, as one JSON text.
std::string child_text(const Job& job, bool sender, const Peer& peer) {
  try {
    place(job, sender);
    choose_crc(job);
    const bool iwarp = job.mode == "iwarp";
    double seconds = 0;
    const auto end = sender ? (iwarp ? send_by_iwarp : send_by_sockets)(job, peer, seconds)
                            : (iwarp ? receive_by_iwarp : receive_by_sockets)(job, peer);
    Record record;
    record.seconds = seconds;
    (sender ? record.tx : record.rx) = end;
    return to_json(record).dump();
  } catch (const std::exception& error) {
    return Json{{"error", error.what()}}.dump();
  }
}

struct Child {
  pid_t pid;
  Descriptor result;
};

Child start(const Job& job, bool sender, int own_end, int other_end) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("pipe: " + errno_text());
  Descriptor in(ends[0]);
  Descriptor out(ends[1]);
  const auto pid = fork();
  if (pid < 0) throw Error("fork: " + errno_text());
  if (pid > 0) return {pid, std::move(in)};
  signal(SIGPIPE, SIG_IGN);
  signal(SIGALRM, SIG_DFL);
  alarm(kPatience);
  ::close(other_end);  // The other process's end must be its own, or its death goes unnoticed.
  const Peer peer{[own_end](const std::string& line) { write_all(own_end, line + "\n"); },
                  [own_end] { return read_until(own_end, '\n'); }};
  try {
    write_all(out.get(), child_text(job, sender, peer));
  } catch (const Error&) {
    _exit(1);  // The parent has gone.
  }
  _exit(0);
}

Json result_of(Child& child) {
  const auto text = read_until(child.result.get(), 0);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  const auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw Error("a process of the measurement died");
  if (json.contains("error")) throw Error(json["error"].get<std::string>());
  return json;
}

/// Some hundred thousand small ones or some hundred large ones: a guess that only sets how long it
/// takes.
std::uint64_t messages_for(const Job& job) {
  constexpr double kGuessedPerMessage = 2e-6;  // seconds
  constexpr double kGuessedPerOctet = 0.5e-9;
  const auto each = kGuessedPerMessage + static_cast<double>(job.size) * kGuessedPerOctet;
  return static_cast<std::uint64_t>(std::clamp(job.seconds / each, 16.0, 1e6));
}

}  // namespace

std::uint64_t warm_up(const Job& job) { return std::max<std::uint64_t>(job.messages / 10, 4); }

Observed used_so_far() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
  };
  Observed out;
  out.cpu_ns = ns(usage.ru_utime) + ns(usage.ru_stime);
  out.switches = static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw);
  out.segments_sent = tcp_segments_sent();
  return out;
}

Observed difference(const Observed& after, const Observed& before) {
  auto out = after;
  for (const auto& counter : counter_names()) {
    out.counters.*counter.member -= before.counters.*counter.member;
  }
  out.segments_sent -= before.segments_sent;
  out.segments_received -= before.segments_received;
  out.switches -= before.switches;
  out.cpu_ns -= before.cpu_ns;
  return out;
}

Record measure(const Job& asked) {
  auto job = asked;
  if (job.messages == 0) job.messages = messages_for(job);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Error("socketpair: " + errno_text());
  }
  Descriptor left(ends[0]);
  Descriptor right(ends[1]);
  std::fflush(nullptr);  // Or the children would print what is buffered here once more.
  auto receiver = start(job, false, left.get(), right.get());
  auto sender = start(job, true, right.get(), left.get());
  left.close();
  right.close();
  std::optional<std::string> failure;
  std::array<Json, 2> results;
  for (auto* child : {&sender, &receiver}) {
    try {
      results[child == &sender ? 0 : 1] = result_of(*child);
    } catch (const Error& error) {
      if (!failure) failure = error.what();
    }
  }
  if (failure) throw Error(fmt::format("{} of {} octets: {}", job.mode, job.size, *failure));
  auto out = record_from(results[0]);
  out.rx = record_from(results[1]).rx;
  // Nothing is lost on loopback.
  out.tx.segments_received = out.rx.segments_sent;
  out.rx.segments_received = out.tx.segments_sent;
  out.mode = job.mode;
  out.crc = job.crc == "best" && job.mode == "iwarp" ? crc32c::active().name : job.crc;
  if (job.mode == "sockets") out.crc = "off";
  out.markers = job.markers;
  out.size = job.size;
  out.messages = job.messages;
  out.fpdu = job.fpdu;
  out.read = job.mode == "sockets" ? job.read : 0;
  out.cpus = job.cpus;
  return out;
}

}  // namespace iwarp::apps::cost
