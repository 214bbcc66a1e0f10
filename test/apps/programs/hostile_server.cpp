// SPDX-License-Identifier: Apache-2.0
// A file server that attacks its only client: hostile_server ATTACK. Prints its port, and then the
// outcome: "gone: REASON", or "done" if the client tolerated the attack. An attack that reads
// memory without permission prints "read: OCTETS" if it got any of the client's octets.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "transfer/message_stream.hpp"

namespace {

using namespace iwarp::apps;
namespace net = iwarp::net;
namespace verbs = iwarp::verbs;
using namespace verbs;

constexpr auto kLimit = std::chrono::seconds(30);
constexpr std::uint32_t kSize = 100'000;
constexpr std::byte kTrue{'A'};
constexpr std::byte kFalse{'B'};
constexpr std::byte kUntouched{0x5C};

class Attacker {
 public:
  explicit Attacker(net::Rnic& rnic)
      : session_(rnic),
        messages_(session_, kLimit),
        memory_(session_, kSize + 1, verbs::Access::kLocalWrite) {}

  void serve(net::ConnectRequest& request) {
    session_.accept(request);
    messages_.next();  // the client's request
    messages_.send(Ready{kSize});
    window_ = messages_.expect<Window>();
  }

  // Operations on the client's window. `off` is relative to the start of the window.
  void write(std::byte what, std::uint64_t off = 0, std::uint32_t size = kSize) {
    std::ranges::fill(memory_.octets(), what);
    run(WrOpcode::kWrite, off, size, window_.memory.stag);
  }
  void read(std::uint64_t off = 0, std::uint32_t size = kSize) {
    std::ranges::fill(memory_.octets(), kUntouched);
    try {
      run(WrOpcode::kRead, off, size, window_.memory.stag);
    } catch (const PeerGone&) {
      tell_what_came();
      throw;
    }
    tell_what_came();
  }
  void add() { run(WrOpcode::kFetchAdd, (8 - window_.memory.to % 8) % 8, 8, window_.memory.stag); }
  void guess() { run(WrOpcode::kWrite, 0, kSize, verbs::Stag{window_.memory.stag.value ^ 1}); }

  // Notifies the client that the piece is complete and now belongs to the client. This Send does
  // not revoke the access rights, whereas the Send of a correct server would.
  void say_piece() { messages_.send(Piece{0}); }
  void say_done() {
    const std::vector<std::byte> octets(kSize, kTrue);
    Sha256 sha;
    sha.update(octets);
    messages_.send(Done{sha.finish()});
  }
  void await_finish() { messages_.expect<Finish>(); }
  void keep_writing(std::byte what) {
    for (;;) write(what);
  }

 private:
  void run(WrOpcode opcode, std::uint64_t off, std::uint32_t size, verbs::Stag stag) {
    const auto sge = memory_.sge(size);
    session_.post_send({.wr_id = 1,
                        .opcode = opcode,
                        .flags = SendFlags::kSignaled,
                        .sgl = {&sge, 1},
                        .remote = {.rkey = stag, .to = window_.memory.to + off},
                        .atomic = {.add_or_swap = 1}});
    // A Write completes before the client has checked the access rights. The completion of a Read
    // reports whether the client has permitted the access.
    while (session_.wait(kLimit).opcode == verbs::WcOpcode::kRecv) {
    }
  }
  void tell_what_came() {
    const auto is_untouched = [](std::byte octet) { return octet == kUntouched; };
    const auto octets = memory_.octets();
    const auto came =
        octets.size() - static_cast<std::size_t>(std::ranges::count_if(octets, is_untouched));
    if (came != 0) std::printf("read: %zu\n", came);
  }

  Session session_;
  MessageStream messages_;
  Buffer memory_;
  Window window_;
};

struct Attack {
  std::string_view name;
  void (*run)(Attacker& a);
};

constexpr std::uint64_t kBefore = ~std::uint64_t{0};

constexpr std::array kAttacks{
    // Attacks on `iwarp get`, which permits the server to write to its windows.
    Attack{"read", [](Attacker& a) { a.read(); }},
    Attack{"add", [](Attacker& a) { a.add(); }},
    Attack{"guess", [](Attacker& a) { a.guess(); }},
    Attack{"write-before", [](Attacker& a) { a.write(kTrue, kBefore, 1); }},
    Attack{"write-behind", [](Attacker& a) { a.write(kTrue, 0, kSize + 1); }},
    Attack{"write-after-piece",
           [](Attacker& a) {
             a.write(kTrue);
             a.say_piece();
             a.write(kFalse);
             a.say_done();
             a.keep_writing(kFalse);
           }},
    Attack{"write-after-done",
           [](Attacker& a) {
             a.write(kTrue);
             a.say_piece();
             a.say_done();
             a.keep_writing(kFalse);
           }},
    // Attacks on `iwarp put`, which permits the server to read its windows.
    Attack{"write", [](Attacker& a) { a.write(kFalse); }},
    Attack{"read-before", [](Attacker& a) { a.read(kBefore, 1); }},
    Attack{"read-behind", [](Attacker& a) { a.read(0, kSize + 1); }},
    Attack{"read-after-piece",
           [](Attacker& a) {
             a.say_piece();
             a.await_finish();  // The client reports that it no longer needs the window.
             a.read();
           }},
};

void attack(const Attack& how) {
  const auto rnic = open_rnic();
  const auto events = check(rnic->create_cm_channel(), "no channel");
  const auto listener = check(rnic->listen({"127.0.0.1", 0}, {}, *events), "cannot listen");
  std::printf("%u\n", static_cast<unsigned>(listener->local().port));
  std::fflush(stdout);
  const auto event = events->wait(kLimit);
  if (!event || event->request == nullptr) throw Error("nobody came");
  Attacker attacker(*rnic);
  try {
    attacker.serve(*event->request);
    how.run(attacker);
    attacker.await_finish();  // The client sends no Finish, so this waits until the stream ends.
    std::puts("done");
  } catch (const PeerGone& error) {
    std::printf("gone: %s\n", error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  const auto* const how = std::ranges::find(kAttacks, name, &Attack::name);
  if (how == kAttacks.end()) return kExitUsage;
  try {
    attack(*how);
  } catch (const Error& error) {
    std::printf("error: %s\n", error.what());
  }
  return 0;
}
