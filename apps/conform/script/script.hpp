// SPDX-License-Identifier: Apache-2.0
// Script: what a conformance case has in its hands: connections to the peer under test, frames to
// send (right or wrong), what the peer says decoded, and the expectations. Everything waits at most
// until the deadline of the case. An expectation that is not met throws Failed; a feature that the
// peer does not offer throws Skipped. The peer's program speaks rping's protocol; see exchange.hpp.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conform/script/case.hpp"
#include "conform/script/fpdu.hpp"
#include "conform/script/link.hpp"
#include "conform/script/peer_reader.hpp"
#include "iwarp/mpa/startup_types.hpp"
#include "iwarp/rdmap/terminate.hpp"

namespace iwarp::apps::conform {

/// How connections to the peer under test come about, and how long a case waits.
struct Target {
  net::Address address;          ///< peer listens
  Acceptor* acceptor = nullptr;  ///< peer connects: where
  std::function<void()> call;    ///< peer connects: makes it connect once more; may be empty
  /// Peer connects: why the last call came to nothing; "" or empty: it may come still.
  std::function<std::string()> call_failure;
  std::uint8_t revision = 2;         ///< peer listens: the highest that our Requests say
  bool waits_without_limit = false;  ///< peer connects when it likes: no time limit for that
  std::chrono::milliseconds time_limit{5000};     ///< of a case
  std::chrono::milliseconds first_fpdu_delay{0};  ///< between Reply and our first FPDU
  bool verbose = false;                           ///< record the frames in layers
  PeerRole peer_role() const {
    return acceptor != nullptr ? PeerRole::kInitiator : PeerRole::kResponder;
  }
};

/// What our startup frame says. As initiator: the Request; as responder: the Reply, which never
/// offers more than the peer's Request allows unless a case wants it so.
struct Setup {
  std::uint8_t revision = 2;
  bool crc = true;
  bool markers = false;
  bool peer_to_peer = false;
  mpa::Rtr rtr = mpa::Rtr::kWrite;  ///< the only kind offered, when peer_to_peer
  std::uint16_t ird = 16;
  std::uint16_t ord = 16;
  bool extensions = false;  ///< ask for RFC 7306 (see rfc-notes/decisions/0010)
  Octets private_data;
  std::optional<mpa::EnhancedWord> word;  ///< said instead of what the fields above make
};

class Recorder;

class Script {
 public:
  explicit Script(const Target& target);
  ~Script();

  const Target& target() const { return target_; }
  PeerRole peer_role() const { return target_.peer_role(); }

  // TCP -----------------------------------------------------------------------------------------
  /// A new TCP connection, the old one (if any) is closed. The case's deadline starts anew.
  void open();
  /// From the next open() on, our SYN asks for TCP segments no larger than this.
  void advertise_mss(int octets) { mss_ = octets; }
  /// The EMSS of the peer at most: the MSS that we advertised less TCP options.
  std::uint32_t advertised_mss() const { return link_.advertised_mss(); }
  void octets(bytes::View octets);
  void half_close();
  void reset();
  void close();
  /// True: the peer has connected once more by itself; that connection is the current one.
  bool reopened(std::chrono::milliseconds at_most);
  /// For peers whose time limits are longer than a case usually waits.
  void extend(std::chrono::milliseconds time) { deadline_ += time; }

  // MPA startup ---------------------------------------------------------------------------------
  /// The peer's Request or Reply, whatever it says. Failed: none came. The private data lives until
  /// the next open().
  mpa::StartupFrame expect_startup();
  /// The same; nullopt when the connection ends with no frame before it.
  std::optional<mpa::StartupFrame> startup_or_end();
  /// Nothing but the end of the connection, with no frame before it.
  void expect_refusal();
  void send_startup(const mpa::StartupFrame& frame);
  /// The frame that `setup` describes, as this side's role has it.
  void send_startup(const Setup& setup);
  /// open(), and the Request of a peer that connects: `setup` as the answer to it has to be. Then
  /// make_startup(), octets(), expect_accept() and begin() are establish() step by step.
  Setup await_peer(const Setup& setup = {});
  /// The octets of the frame that `setup` describes, not sent: for cases that split or spoil it.
  Octets make_startup(const Setup& setup);
  /// The Reply of a peer that listens, with R=0; of a peer that connects its Request, received
  /// before.
  mpa::StartupFrame expect_accept();
  /// Full operation. The RTR of that kind, when it is one, is sent or expected.
  void begin(mpa::Rtr rtr = mpa::Rtr::kNone);
  /// open(), both frames, our RTR where one is due, first-FPDU delay. The peer's frame. Failed: it
  /// refused.
  mpa::StartupFrame establish(const Setup& setup = {});
  /// The same for what a peer need not offer: Skipped with `feature` when it refuses or says no.
  mpa::StartupFrame establish_or_skip(const Setup& setup, std::string_view feature);
  /// After establish(): in force.
  bool crc() const { return framing_.crc; }
  /// How our FPDUs are framed, and where the next one begins.
  const Framing& framing() const { return framing_; }
  const mpa::EnhancedWord& peer_word() const { return peer_word_; }
  /// The peer's Request or Reply as it was on the wire.
  const Octets& peer_startup_octets() const { return peer_startup_octets_; }

  // Sending -------------------------------------------------------------------------------------
  /// An FPDU with this ULPDU. Octets that TCP no longer takes are not an error.
  void fpdu(bytes::View ulpdu, const Tamper& tamper = {});
  /// The octets of that FPDU, not sent: for cases that split, join or cut. Counts as sent for the
  /// marker positions.
  Octets make(bytes::View ulpdu, const Tamper& tamper = {});
  /// Messages of one segment; untagged ones take the next MSN of their queue.
  void send(bytes::View payload, rdmap::Opcode opcode = rdmap::Opcode::kSend,
            std::uint32_t inv_stag = 0);
  void read_request(const rdmap::ReadRequest& request);
  /// These two in several segments when they are long.
  void write(std::uint32_t stag, std::uint64_t to, bytes::View payload);
  void read_response(std::uint32_t stag, std::uint64_t to, bytes::View payload);
  void terminate(const bytes::Fault& fault);
  /// The MSN that the next message on this queue has; take it for messages made by hand.
  std::uint32_t next_msn(rdmap::Opcode opcode) const { return msn_[rdmap::info(opcode).qn]; }
  std::uint32_t take_msn(rdmap::Opcode opcode) { return msn_[rdmap::info(opcode).qn]++; }

  // Listening -----------------------------------------------------------------------------------
  /// The next FPDU of the peer, or how the connection ended, or silence at the deadline. Read
  /// Requests to our memory are answered, and Writes into it placed, while this waits; they are not
  /// returned unless `serve_memory(false)`. Read Requests for no octets, by which a peer finds out
  /// what has arrived here, are answered even then, unless `serve(Serve::kNothing)`.
  Received receive();
  Received receive(std::chrono::milliseconds at_most);
  enum class Serve : std::uint8_t { kNothing, kEmptyReads, kMemory };
  void serve(Serve what) { serve_ = what; }
  void serve_memory(bool on) { serve_ = on ? Serve::kMemory : Serve::kEmptyReads; }
  /// Called with every FPDU of the peer, those included that receive() keeps to itself.
  void watch(std::function<void(const Segment&)> watcher) { watcher_ = std::move(watcher); }
  /// The next message of the peer (all its segments) has this opcode. The payload of the message.
  Message expect(rdmap::Opcode opcode);
  /// The peer ends the stream with one of these, then closes. Messages that were on their way
  /// before it do not count. The Terminate as it came.
  ReceivedTerminate expect_terminate(std::initializer_list<bytes::Fault> any_of);
  /// The peer ends the stream with any Terminate or none.
  void expect_end();
  /// Nothing comes for a while, and the connection stays.
  void expect_silence(std::chrono::milliseconds time = std::chrono::milliseconds(300));

  // Our memory, as we advertise it --------------------------------------------------------------
  static constexpr std::uint32_t kOurStag = 0x00C0DE01;
  static constexpr std::uint64_t kOurTo = 0x10000;
  Octets& memory() { return memory_; }

  /// What passed, in layers; empty unless target().verbose.
  std::string record() const;

 private:
  Received hear_until(Clock::time_point deadline);
  void tagged_message(ddp::SegmentHeader header, bytes::View payload);
  bool is_served(const Received& received);
  void place(const Segment& write);
  void answer(const rdmap::ReadRequest& request);
  void start_connection();
  void take_connection();
  Link wait_for_peer(Clock::time_point deadline);
  Octets make_startup(const mpa::StartupFrame& frame);
  mpa::StartupFrame take_startup(Received received);
  void take_rtr(mpa::Rtr kind);
  void send_rtr(mpa::Rtr kind);

  Target target_;
  Link link_;
  Clock::time_point deadline_;
  PeerReader peer_reader_;
  Framing framing_;
  std::array<std::uint32_t, ddp::kQueues> msn_{1, 1, 1, 1};
  int mss_ = 0;
  std::function<void(const Segment&)> watcher_;
  bool met_ = false;  ///< it has had a connection
  Serve serve_ = Serve::kMemory;
  Octets memory_;
  std::optional<mpa::StartupFrame> our_startup_;
  std::optional<mpa::StartupFrame> peer_startup_;
  Octets our_private_;
  Octets peer_private_;
  Octets peer_startup_octets_;
  mpa::EnhancedWord peer_word_;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace iwarp::apps::conform
