// SPDX-License-Identifier: Apache-2.0
// A client that breaks the rules of the file protocol: hostile_client HOST:PORT ATTACK [NAME].
// Prints the server's reaction: "refused: REASON", "gone: REASON", or an answer that the server
// should not have sent. The server must refuse the attack and continue to serve other clients.
#include <cstdio>
#include <string>

#include "common/connection/options.hpp"
#include "transfer/client.hpp"

namespace {

using namespace iwarp::apps;
namespace verbs = iwarp::verbs;

constexpr auto kTimeout = std::chrono::seconds(30);

class Attacker {
 public:
  explicit Attacker(const std::string& server)
      : client_(address_argument(server, kFilePort), options_),
        memory_(client_.session(), kMaxPiece,
                verbs::Access::kRemoteRead | verbs::Access::kRemoteWrite |
                    verbs::Access::kLocalWrite | verbs::Access::kRemoteInvalidate) {}

  void run(const std::string& attack, const std::string& name) {
    auto& messages = client_.messages();
    if (attack == "get") {
      messages.send(GetRequest{name});
    } else if (attack == "put") {
      messages.send(PutRequest{10, name});
    } else if (attack == "huge") {
      messages.send(PutRequest{~std::uint64_t{0}, name});
    } else if (attack == "garbage") {
      client_.session().send_inline(std::as_bytes(std::span(std::string_view("GET / HTTP/1.0"))));
    } else if (attack == "too-long") {
      const std::string text(500, 'x');
      client_.session().send_inline(std::as_bytes(std::span(text)));
    } else if (attack == "flood") {
      flood();
    } else if (attack == "immediate") {
      immediate_while_getting(name);
    } else if (attack == "out-of-turn") {
      messages.send(Finish{});
    } else {
      put_then(attack, name);
    }
    listen();
  }

 private:
  /// Begins to upload a file that needs two windows, and then breaks the protocol.
  void put_then(const std::string& attack, const std::string& name) {
    auto& messages = client_.messages();
    const std::uint64_t size = 2 * kMaxPiece;
    messages.send(PutRequest{size, name});
    messages.expect<Ready>();
    Window window{0, {memory_.to(), memory_.stag(), kMaxPiece}};
    if (attack == "wrong-offset") window.offset = kMaxPiece;
    if (attack == "short-window") window.memory.length = 1;
    if (attack == "dead-stag") window.memory.stag.value ^= 0x100;
    if (attack == "wrong-bounds") window.memory.to += 1;
    if (attack == "early-finish") {
      messages.send(Finish{});
    } else {
      messages.send(window);
    }
    if (attack == "wrong-digest") finish_badly(window);
  }

  void finish_badly(Window window) {
    auto& messages = client_.messages();
    messages.expect<Piece>();
    Buffer second(client_.session(), kMaxPiece,
                  verbs::Access::kRemoteRead | verbs::Access::kRemoteInvalidate);
    window.offset = kMaxPiece;
    window.memory.to = second.to();
    window.memory.stag = second.stag();
    messages.send(window);
    messages.expect<Piece>();
    messages.send(Finish{});
    listen();
  }

  /// Sends Immediate Data while the server waits for a Window message. Then requests, one after the
  /// other, more pieces of the file than the server has buffers.
  void immediate_while_getting(const std::string& name) {
    auto& messages = client_.messages();
    messages.send(GetRequest{name});
    messages.expect<Ready>();
    client_.session().post_send({.opcode = verbs::WrOpcode::kImmediate, .immediate = 7});
    for (std::size_t i = 0; i <= kMaxWindows; ++i) {
      Buffer window(client_.session(), kMaxPiece,
                    verbs::Access::kRemoteWrite | verbs::Access::kRemoteInvalidate);
      messages.send(Window{i * kMaxPiece, {window.to(), window.stag(), kMaxPiece}});
      messages.expect<Piece>();
    }
  }

  /// Keeps as many zero-length Reads in flight as possible, and does not stop. Such Reads require
  /// no access rights.
  void flood() {
    auto& session = client_.session();
    constexpr int kAtATime = 32;
    const auto post = [&session] {
      session.post_send({.opcode = verbs::WrOpcode::kRead, .flags = verbs::SendFlags::kSignaled});
    };
    for (int i = 0; i < kAtATime; ++i) post();
    session.wait(kTimeout);
    std::puts("flooding");
    std::fflush(stdout);
    for (;; post()) session.wait(std::chrono::hours(1));
  }

  void listen() {
    for (;;) {
      const auto event = client_.messages().next();
      if (std::holds_alternative<Message>(event)) refuse_message(event);
    }
  }

  ClientOptions options_;
  FileClient client_;
  Buffer memory_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return kExitUsage;
  try {
    Attacker(argv[1]).run(argv[2], argc > 3 ? argv[3] : "victim");
  } catch (const PeerGone& error) {
    std::printf("gone: %s\n", error.what());
  } catch (const Error& error) {
    std::printf("refused: %s\n", error.what());
  }
  return 0;
}
