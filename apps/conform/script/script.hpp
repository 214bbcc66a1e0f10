// SPDX-License-Identifier: Apache-2.0
// Script: the tools of a conformance case. Connects to the peer under test, sends valid and invalid
// frames, decodes the peer's frames and checks expectations. Every wait ends at the case's
// deadline. An unmet expectation throws Failed; a missing optional feature throws Skipped. The
// peer's program speaks rping's protocol; see exchange.hpp.
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

/// How to reach the peer under test, and the limits of a case.
struct Target {
  net::Address address;          ///< address of the peer, if it listens
  Acceptor* acceptor = nullptr;  ///< accepts the peer's connections, if it connects
  std::function<void()> call;    ///< makes a connecting peer connect again; may be empty
  /// Returns why the last `call` failed, or "" if the peer may still connect. Null is allowed.
  std::function<std::string()> call_failure;
  std::uint8_t revision = 2;         ///< highest revision of Requests to a listening peer
  bool waits_without_limit = false;  ///< whether to wait without a limit for a peer that connects
  std::chrono::milliseconds time_limit{5000};     ///< time limit of a case
  std::chrono::milliseconds first_fpdu_delay{0};  ///< pause between Reply and first FPDU
  bool verbose = false;                           ///< whether to record the frames, layer by layer
  PeerRole peer_role() const {
    return acceptor != nullptr ? PeerRole::kInitiator : PeerRole::kResponder;
  }
};

/// The content of the tester's startup frame: a Request if the tester connects, else a Reply. A
/// Reply never offers more than the peer's Request allows, unless the case requires it.
struct Setup {
  std::uint8_t revision = 2;
  bool crc = true;
  bool markers = false;
  bool peer_to_peer = false;
  mpa::Rtr rtr = mpa::Rtr::kWrite;  ///< the only kind of RTR to offer, if peer_to_peer is true
  std::uint16_t ird = 16;
  std::uint16_t ord = 16;
  bool extensions = false;  ///< whether to request RFC 7306 (see rfc-notes/decisions/0010)
  Octets private_data;
  std::optional<mpa::EnhancedWord> word;  ///< if set, replaces the word built from the fields above
};

class Recorder;

class Script {
 public:
  explicit Script(const Target& target);
  ~Script();

  const Target& target() const { return target_; }
  PeerRole peer_role() const { return target_.peer_role(); }

  // TCP -----------------------------------------------------------------------------------------
  /// Closes the previous connection and opens a new one. Restarts the deadline of the case.
  void open();
  /// Limits the MSS that the tester's SYN advertises. Takes effect at the next open().
  void advertise_mss(int octets) { mss_ = octets; }
  /// Returns the upper limit of the peer's EMSS: the MSS that the tester advertised, less the size
  /// of the TCP options.
  std::uint32_t advertised_mss() const { return link_.advertised_mss(); }
  void octets(bytes::View octets);
  void half_close();
  void reset();
  void close();
  /// Waits at most `at_most` for the peer to connect again by itself. Returns false if it does not.
  bool reopened(std::chrono::milliseconds at_most);
  /// Extends the deadline, for a peer whose time limits are longer than a case usually waits.
  void extend(std::chrono::milliseconds time) { deadline_ += time; }

  // MPA startup ---------------------------------------------------------------------------------
  /// Returns the peer's Request or Reply, even if it is invalid. Throws Failed if none arrives. The
  /// private data in the frame is valid until the next open().
  mpa::StartupFrame expect_startup();
  /// Same as expect_startup(), but returns nullopt if the connection ends before a frame arrives.
  std::optional<mpa::StartupFrame> startup_or_end();
  /// Expects the connection to end before a frame arrives.
  void expect_refusal();
  void send_startup(const mpa::StartupFrame& frame);
  /// Sends the frame that `setup` describes: a Request or a Reply, depending on the tester's role.
  void send_startup(const Setup& setup);
  /// Calls open(), receives the Request of a connecting peer, and returns `setup` adapted to it.
  /// Calling await_peer(), make_startup(), octets(), expect_accept() and begin() in this order does
  /// the same as establish().
  Setup await_peer(const Setup& setup = {});
  /// Returns the frame for `setup` without sending it, so that a case can split or corrupt it.
  Octets make_startup(const Setup& setup);
  /// Returns the Reply of a listening peer, which must have R=0. If the peer connects, returns the
  /// peer's Request, which await_peer() has received.
  mpa::StartupFrame expect_accept();
  /// Enters full operation: sends the RTR or expects it from the peer, unless `rtr` is kNone.
  void begin(mpa::Rtr rtr = mpa::Rtr::kNone);
  /// Performs all of startup: open(), both frames, the tester's RTR if it is due, and
  /// first_fpdu_delay. Returns the peer's frame. Throws Failed if the peer refuses.
  mpa::StartupFrame establish(const Setup& setup = {});
  /// Same as establish(), but throws Skipped if the peer does not offer `feature`.
  mpa::StartupFrame establish_or_skip(const Setup& setup, std::string_view feature);
  /// Returns whether the FPDUs have CRCs. Valid after establish() has returned.
  bool crc() const { return framing_.crc; }
  /// Returns the state of the tester's framing, including the stream position of its next FPDU.
  const Framing& framing() const { return framing_; }
  const mpa::EnhancedWord& peer_word() const { return peer_word_; }
  const Octets& peer_startup_octets() const { return peer_startup_octets_; }

  // Sending -------------------------------------------------------------------------------------
  /// Sends an FPDU with this ULPDU. Discards the octets that TCP no longer accepts.
  void fpdu(bytes::View ulpdu, const Tamper& tamper = {});
  /// Returns the FPDU without sending it, so that a case can split, join or truncate it. Advances
  /// the marker position as if the FPDU had been sent.
  Octets make(bytes::View ulpdu, const Tamper& tamper = {});
  /// Sends a message in one segment. An untagged message uses the next MSN of its queue.
  void send(bytes::View payload, rdmap::Opcode opcode = rdmap::Opcode::kSend,
            std::uint32_t inv_stag = 0);
  void read_request(const rdmap::ReadRequest& request);
  /// Each function sends a message, in several segments if the payload is long.
  void write(std::uint32_t stag, std::uint64_t to, bytes::View payload);
  void read_response(std::uint32_t stag, std::uint64_t to, bytes::View payload);
  void terminate(const bytes::Fault& fault);
  /// Returns the MSN of the next message on the queue of `opcode`. take_msn() also consumes it.
  std::uint32_t next_msn(rdmap::Opcode opcode) const { return msn_[rdmap::info(opcode).qn]; }
  std::uint32_t take_msn(rdmap::Opcode opcode) { return msn_[rdmap::info(opcode).qn]++; }

  // Listening -----------------------------------------------------------------------------------
  /// Returns the peer's next FPDU, how the connection ended, or nothing if the deadline passes.
  /// Answers the peer's RDMA Reads and places its RDMA Writes, without returning them, unless
  /// serve_memory(false) was called. Answers zero-length Reads, which show a peer that its earlier
  /// messages have arrived, even after serve_memory(false), but not after serve(Serve::kNothing).
  Received receive();
  Received receive(std::chrono::milliseconds at_most);
  enum class Serve : std::uint8_t { kNothing, kEmptyReads, kMemory };
  void serve(Serve what) { serve_ = what; }
  void serve_memory(bool on) { serve_ = on ? Serve::kMemory : Serve::kEmptyReads; }
  /// Calls `watcher` with every FPDU of the peer, including those that receive() does not return.
  void watch(std::function<void(const Segment&)> watcher) { watcher_ = std::move(watcher); }
  /// Receives all segments of the peer's next message, which must have this opcode.
  Message expect(rdmap::Opcode opcode);
  /// Expects the peer to send a Terminate with one of these faults and to close the connection.
  /// Skips messages that precede the Terminate. Returns the Terminate.
  ReceivedTerminate expect_terminate(std::initializer_list<bytes::Fault> any_of);
  /// Expects the peer to end the stream, with or without a Terminate.
  void expect_end();
  /// Expects that no message arrives for `time` and that the connection remains open.
  void expect_silence(std::chrono::milliseconds time = std::chrono::milliseconds(300));

  // The tester's memory, as its adverts describe it ---------------------------------------------
  static constexpr std::uint32_t kOurStag = 0x00C0DE01;
  static constexpr std::uint64_t kOurTo = 0x10000;
  Octets& memory() { return memory_; }

  /// Returns the first octets that the peer has sent on this connection, at most kHeard.
  bytes::View heard() const { return heard_; }
  static constexpr std::size_t kHeard = 64;

  /// Returns the recorded frames, layer by layer. Empty unless target().verbose is set.
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
  Octets heard_;
  Framing framing_;
  std::array<std::uint32_t, ddp::kQueues> msn_{1, 1, 1, 1};
  int mss_ = 0;
  std::function<void(const Segment&)> watcher_;
  bool met_ = false;  ///< whether this case has established a connection
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
