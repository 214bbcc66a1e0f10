// SPDX-License-Identifier: Apache-2.0
// Computes the processor time that one message costs both hosts, by component, for each way of
// moving it: kernel sockets, with three options of the kernel or without, software iWARP over them,
// a TCP offload engine (TOE) under the sockets API, and an RDMA card (RNIC).
// rfc-notes/offload-model.md explains the equations. A cost is processor time of the hosts, not
// elapsed time, and does not include the work of a card.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::offload_model {

inline constexpr double kBitsPerOctet = 8;

/// The ways of moving data.
enum class Mode : std::uint8_t {
  kSockets,          ///< (a) kernel sockets
  kTls,              ///< (a) with TLS in the kernel
  kZeroCopySend,     ///< (a) with MSG_ZEROCOPY
  kZeroCopyReceive,  ///< (a) with zero-copy receive of io_uring
  kSoftware,         ///< (b) software iWARP over kernel sockets
  kToe,              ///< (c) a TCP offload engine
  kRnic,             ///< (d) an RDMA card
};
inline constexpr std::array kModes{
    Mode::kSockets,  Mode::kTls, Mode::kZeroCopySend, Mode::kZeroCopyReceive,
    Mode::kSoftware, Mode::kToe, Mode::kRnic};
/// Returns for example "kernel sockets", "zero-copy send" or "RNIC".
std::string_view to_string(Mode mode);

/// How a program and the TCP of the kernel exchange the octets of a message. Every way over kernel
/// TCP is one row of a table, and one equation serves all rows.
struct Path {
  double copies_tx = 1;  ///< copies between the program and TCP
  double copies_rx = 1;
  /// Passes of a cipher at each end, each in records of TLS. The receiver decrypts into the buffer
  /// of the program.
  double ciphers = 0;
  double pins = 0;     ///< the sender pins its pages, and hears in a second call that they are free
  double buffers = 0;  ///< the receiver polls each buffer of the card, and returns it
};
/// Returns the row of a way. Software iWARP uses plain sockets; so does a way that has no row.
const Path& path_of(Mode mode);
/// Largest payload of a TLS record (RFC 8446, section 5.1).
inline constexpr double kTlsRecord = 16384;

/// The kinds of work that need processor time.
enum class Component : std::uint8_t {
  kCopy,          ///< copying payload
  kChecksum,      ///< Internet checksum and CRC32c
  kCipher,        ///< encrypting and authenticating payload
  kProtocol,      ///< segments, packets, acknowledgements, FPDUs, markers, descriptors
  kSyscall,       ///< system calls
  kInterrupt,     ///< interrupts
  kWakeup,        ///< waking up threads
  kRegistration,  ///< registering, pinning and looking up memory
  kPost,          ///< work requests, doorbells, completions
};
inline constexpr std::array kComponents{
    Component::kCopy,     Component::kChecksum,     Component::kCipher,
    Component::kProtocol, Component::kSyscall,      Component::kInterrupt,
    Component::kWakeup,   Component::kRegistration, Component::kPost};
/// Returns the name of the component in words.
std::string_view to_string(Component component);

/// Nanoseconds of processor time by component.
struct Ledger {
  std::array<double, kComponents.size()> ns{};
  /// Returns the nanoseconds of a component.
  double& operator[](Component c) { return ns[static_cast<std::size_t>(c)]; }
  double operator[](Component c) const { return ns[static_cast<std::size_t>(c)]; }
  /// Returns the sum of all components.
  double total() const;
  /// Adds each component of `o`.
  Ledger& operator+=(const Ledger& o);
  /// Multiplies each component by `factor`.
  Ledger& operator*=(double factor);
};

/// The cost of one message at both hosts. `tx` is the cost of the host that sends the data (in an
/// RDMA Read, the host whose memory is read), and `rx` the cost of the host that receives the data.
struct Cost {
  Ledger tx;
  Ledger rx;
  /// Returns the sum of both hosts by component.
  Ledger both() const;
  /// Returns the sum of both hosts in nanoseconds.
  double total() const { return tx.total() + rx.total(); }
};

/// What an RNIC does with a message. Only a Send, the default, completes at the target.
enum class Verb : std::uint8_t { kSend, kWrite, kRead, kAtomic };

/// Describes what the application does. The same Workload serves all modes.
struct Workload {
  double size = 65536;    ///< octets of one message, at least 1
  double reuse = 1;       ///< transfers per registration, at least 1
  double advertise = 1;   ///< transfers per STag advertisement, at least 1
  double hit_rate = 0;    ///< share of registrations that a registration cache contains: 0..1
  double sleeps = 1;      ///< share of the receiver's waits in which it sleeps: 0..1
  bool events = false;    ///< RNIC: the receiver sleeps until a completion instead of polling
  double signalled = 1;   ///< RNIC: completions per request, 0..1; the rest are unsignalled
  double moderation = 1;  ///< RNIC, with `events`: completions per interrupt, at least 1
  bool inlined = false;   ///< RNIC: the payload is in the work request, so it is not read by DMA
  bool crc = true;        ///< software iWARP: computes and checks CRCs
  bool markers = false;   ///< software iWARP: inserts and strips markers
  double batch = 1;       ///< software iWARP: messages that one system call sends, at least 1
  double fpdu = 0;        ///< payload octets of an FPDU; 0: as many as fit into a TCP segment
  double depth = 0;       ///< messages in flight per connection; 0: as many as it takes
  double qps = 1;         ///< connections; on an RNIC, each has a queue pair
  double burst = 1;       ///< RNIC: messages that follow each other on a queue pair, at least 1
  double regions = 1;     ///< RNIC: memory regions that messages use at random
  double memory = 0;      ///< RNIC: octets of registered memory that messages use at random
  /// Software iWARP: number of copies at the receiver, 1 if payload is staged and 0 if it is placed
  /// directly.
  double software_copies = 1;
  /// TOE: number of copies at each end, 1 with plain calls and 0 with posted buffers.
  double toe_copies = 1;
  Verb verb = Verb::kSend;
  /// RNIC: memory is not pinned, so that the first access faults, once in `reuse` transfers.
  bool on_demand = false;

  /// Returns whether the initiator fetches data from the target.
  bool fetches() const { return verb == Verb::kRead || verb == Verb::kAtomic; }
};

/// The packets and octets on the wire for one message.
struct Wire {
  double fpdus = 0;       ///< number of FPDUs; 0 in modes without iWARP
  double markers = 0;     ///< number of MPA markers
  double octets = 0;      ///< TCP payload, n' in rfc-notes/offload-model.md
  double packets = 0;     ///< TCP segments on the link
  double efficiency = 0;  ///< message octets divided by all octets on the link
};
/// Returns the packets and octets on the wire for a message of the workload that begins at
/// `position` of the stream, which determines where its markers are.
Wire wire_of(Mode mode, const Parameters& p, const Workload& w, double position = 0);

/// What software iWARP does for one message at one end, in addition to the work of TCP. A test
/// compares these counts with those of the stack (test/unit/offload_model/work.cpp).
struct Work {
  double calls = 0;   ///< system calls that move octets, if TCP always accepts and has all octets
  double pieces = 0;  ///< elements of gather lists, without the first one of each call
  double copied = 0;  ///< octets copied inside the program
  double crced = 0;   ///< octets over which a CRC is computed
  /// Number of passes that compute a CRC. Markers cut the sender's passes; these are not counted.
  double crc_passes = 0;
  double fpdus = 0;
  double markers = 0;
};
/// Returns the work for a message of the workload at the sender and at the receiver. If the batch
/// is larger than 1, the counts are shares of the work for the batch.
std::array<Work, 2> stack_work(const Parameters& p, const Workload& w, double position = 0);
/// Returns the cost of the work. The sender copies and computes the CRC in one pass; the receiver
/// first computes the CRC and then copies. Does not include the cost of the system calls.
Ledger price(const Parameters& p, const Work& work, bool sends);

/// Returns what software iWARP costs in addition to system calls and TCP: the passes over payload,
/// FPDUs and markers at both ends, and the request. Costs and latencies both contain it.
Cost framing_cost(const Parameters& p, const Workload& w);

/// Returns the cost of TCP for `octets` octets in this many segments: each costs `small`, and 64
/// KiB in one segment cost `large`.
double segments_ns(double small, double large, double octets, double segments);

/// Returns what `octets` octets cost while they pass between the program and TCP: copies, checksum,
/// cipher, pinned pages and buffers. Costs and latencies both contain it.
Cost path_cost(const Path& path, const Parameters& p, double octets);

/// Returns the cost of one message: A(n), B(n), C(n) or D(n) in rfc-notes/offload-model.md.
Cost message_cost(Mode mode, const Parameters& p, const Workload& w);
/// Returns the cost of moving `octets` octets in messages of the workload's size; the last message
/// is shorter if the size does not divide `octets`.
Cost transfer_cost(Mode mode, const Parameters& p, const Workload& w, double octets);

/// Returns R(n): nanoseconds to register and deregister a buffer of `size` octets.
double registration_ns(const Parameters& p, double size);
/// Returns the nanoseconds that each end spends for one message on registering memory, on finding
/// it in a cache, or on page faults.
double memory_ns(const Parameters& p, const Workload& w);

/// Returns the share of copying in the cost of both hosts, 0..1.
double copy_share(const Cost& cost);

/// Converts `ns` for a message of `size` octets to GHz per Gb/s, which is cycles per bit.
double ghz_per_gbps(const Parameters& p, double ns, double size);

}  // namespace iwarp::offload_model
