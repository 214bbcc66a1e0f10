// SPDX-License-Identifier: Apache-2.0
// iwarp fault: adds fault rules to a program that runs under `iwarp run --fault-socket PATH`, or
// lists the program's rules. It talks only to programs of the same user.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "commands.hpp"
#include "common/base/error.hpp"
#include "iwarp/net/unique_fd.hpp"
#include "rdma_core/faults/plan.hpp"

namespace iwarp::apps {

namespace {

struct FaultOptions {
  std::string socket;
  std::vector<std::string> rules;
};

net::UniqueFd connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw UsageError(path + ": too long for a socket path");
  std::memcpy(address.sun_path, path.data(), path.size());
  net::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw Error(path + ": " + errno_text());
  }
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
      peer.uid != ::geteuid()) {
    throw Error(path +
                ": the socket belongs to a program of another user (run iwarp fault as that user)");
  }
  return socket;
}

/// Sends a rule, and returns the lines that precede "ok" in the answer. If the answer is "error:
/// TEXT", throws Error with TEXT.
std::string ask(int socket, const std::string& rule) {
  const std::string line = rule + '\n';
  if (::send(socket, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
    throw Error("the program closed the socket");
  }
  std::string answer;
  for (char octet = 0; ::recv(socket, &octet, 1, 0) == 1;) {
    answer += octet;
    if (octet != '\n') continue;
    const auto begin = answer.rfind('\n', answer.size() - 2);
    const auto last = answer.substr(begin == answer.npos ? 0 : begin + 1);
    if (last == "ok\n") return answer.substr(0, answer.size() - last.size());
    constexpr std::string_view kError = "error: ";
    if (last.starts_with(kError)) {
      throw Error(rule + ": " +
                  printable(last.substr(kError.size(), last.size() - kError.size() - 1)));
    }
  }
  throw Error("the program closed the socket");
}

int run_fault(const FaultOptions& options) {
  for (const std::string& rule : options.rules) {
    const auto parsed = rdma_core::fault::parse_rule(rule);
    if (!parsed) throw UsageError(rule + ": " + parsed.error());
  }
  const auto socket = connect_to(options.socket);
  for (const std::string& rule : options.rules) ask(socket.get(), rule);
  if (options.rules.empty()) fmt::print("{}", ask(socket.get(), "list"));
  return 0;
}

}  // namespace

cli::Command fault_command() {
  auto options = std::make_shared<FaultOptions>();
  cli::Command command("fault", "Inject faults into a program under iwarp run --fault-socket");
  command
      .argument("SOCKET", options->socket,
                "Socket of the program: the PATH that iwarp run --fault-socket was given")
      .required()
      .completes(cli::Completion::kFile);
  command.arguments(
      "RULE", options->rules,
      "Rules in the format of a --fault file, each quoted as one argument; without a rule, the "
      "command lists the rules in effect");
  command.notes =
      "A rule says when a fault occurs, on which device and queue pair, and which fault it is:\n"
      "  now | after N EVENTS | every N EVENTS | from N to N EVENTS | chance P% EVENTS |\n"
      "  after TIME | every TIME\n"
      "  device NAME\n"
      "  qp any | qp each | qp N | connection any | connection each | connection N\n"
      "  status STATUS | error | rnr TIME | reset | fail ERRNO | lose | delay TIME |\n"
      "  port down [TIME] | port up | tell EVENT | remove device\n"
      "EVENTS: completions, sends, receives, registrations, creations, octets, datagrams.";
  command.shown = {"iwarp run --fault-socket /tmp/job.sock rping -s &",
                   "iwarp fault /tmp/job.sock 'now port down 500ms' 'after 3 sends qp any error'",
                   "iwarp fault /tmp/job.sock"};
  command.run = [options](const cli::Given&) { return run_fault(*options); };
  return command;
}

}  // namespace iwarp::apps
