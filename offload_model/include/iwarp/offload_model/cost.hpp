// SPDX-License-Identifier: Apache-2.0
// What moving one message costs the processors of both hosts, by component, for four ways of moving
// it: kernel sockets, software iWARP over them, a TCP offload engine (TOE) under the sockets API,
// and an RDMA card (RNIC). The equations are explained in rfc-notes/offload-model.md.
// Costs are processor time, not elapsed time; what a card does on its own is not in them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "iwarp/offload_model/parameters.hpp"

namespace iwarp::offload_model {

enum class Mode : std::uint8_t { kSockets, kSoftware, kToe, kRnic };
inline constexpr std::array kModes{Mode::kSockets, Mode::kSoftware, Mode::kToe, Mode::kRnic};
std::string_view to_string(Mode mode);
/// "a" to "d", as the tables have it.
std::string_view letter(Mode mode);

enum class Component : std::uint8_t {
  kCopy,
  kChecksum,  ///< Internet checksum and CRC32c
  kProtocol,  ///< segments, packets, acknowledgements, FPDUs, markers, descriptors
  kSyscall,
  kInterrupt,
  kWakeup,
  kRegistration,
  kPost,  ///< work requests, doorbells, completions
};
inline constexpr std::size_t kComponentCount = 8;
inline constexpr std::array kComponents{
    Component::kCopy,      Component::kChecksum, Component::kProtocol,     Component::kSyscall,
    Component::kInterrupt, Component::kWakeup,   Component::kRegistration, Component::kPost};
std::string_view to_string(Component component);

/// Nanoseconds of processor time by component.
struct Ledger {
  std::array<double, kComponentCount> ns{};
  double& operator[](Component c) { return ns[static_cast<std::size_t>(c)]; }
  double operator[](Component c) const { return ns[static_cast<std::size_t>(c)]; }
  double total() const;
  Ledger& operator+=(const Ledger& o);
  Ledger& operator*=(double factor);
};

/// Of one message: the host it leaves (Read: the host that has the data) and the host it goes to.
struct Cost {
  Ledger tx;
  Ledger rx;
  Ledger both() const;
  double total() const { return tx.total() + rx.total(); }
};

/// What the program does, whatever carries it.
struct Workload {
  double size = 65536;         ///< octets of one message, at least 1
  double reuse = 1;            ///< transfers per registration, at least 1
  double advertise = 1;        ///< transfers per STag advertisement, at least 1
  double hit_rate = 0;         ///< of a registration cache: 0..1
  double sleeps = 1;           ///< share of the receiver's waits that sleep: 0..1
  bool events = false;         ///< RNIC: sleep on completions instead of polling
  bool crc = true;             ///< software iWARP
  bool markers = false;        ///< software iWARP
  double fpdu = 0;             ///< payload of an FPDU; 0: what fits into one TCP segment
  double software_copies = 1;  ///< software iWARP, receiver: 1 stage and place, 0 straight
  double toe_copies = 1;       ///< TOE: 1 ordinary receive, 0 posted buffers
  bool one_sided = false;      ///< RNIC: the target is not told
};

/// FPDUs, octets on the TCP stream and packets of one message.
struct Wire {
  double fpdus = 0;  ///< 0: no iWARP
  double markers = 0;
  double octets = 0;  ///< n', TCP payload
  double packets = 0;
  double efficiency = 0;  ///< message octets over octets on the link
};
Wire wire_of(Mode mode, const Parameters& p, const Workload& w);

/// A(n), B(n), C(n), D(n).
Cost message_cost(Mode mode, const Parameters& p, const Workload& w);
/// Of `octets` in messages of the workload's size; the last one is as long as what remains.
Cost transfer_cost(Mode mode, const Parameters& p, const Workload& w, double octets);

/// R(n): registering and releasing the buffer of one message.
double registration_ns(const Parameters& p, double size);

/// Copying's share of mode (a), both hosts; 0..1.
double copy_share(const Cost& cost);

/// GHz per Gb/s, which is cycles per bit, of `ns` for a message of `size` octets.
double ghz_per_gbps(const Parameters& p, double ns, double size);

}  // namespace iwarp::offload_model
