// SPDX-License-Identifier: Apache-2.0
// What a program asks for: access rights and work requests. Names and meaning follow the RDMA verbs
// literature and rdma-core: who knows ibverbs knows these.
#pragma once

#include <cstdint>
#include <span>

#include "iwarp/rdmap/message_header.hpp"

namespace iwarp::verbs {

using rdmap::Stag;

/// Rights of a memory region or window; combine with |. Reading locally is always allowed.
enum class Access : std::uint32_t {
  kNone = 0,
  kLocalWrite = 1 << 0,   ///< may be a Receive buffer or the sink of an RDMA Read
  kRemoteWrite = 1 << 1,  ///< the peer may RDMA Write into it; implies nothing else
  kRemoteRead = 1 << 2,   ///< the peer may RDMA Read from it
  kBindWindow = 1 << 3,   ///< memory windows may be bound to it
  kZeroBased = 1 << 4,    ///< TO counts from 0 instead of being the virtual address
  /// The peer's Send with Invalidate may end it although its PD has several streams. The consumer
  /// makes sure that only one stream uses it. An STag tied to a single QP needs no such right.
  kRemoteInvalidate = 1 << 5,
  kRemoteAtomic = 1 << 6,  ///< the peer may FetchAdd and CmpSwap its 8-octet words; nothing else
};
constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr bool has(Access set, Access right) {
  const auto bits = static_cast<std::uint32_t>(right);
  return (static_cast<std::uint32_t>(set) & bits) == bits;
}

/// A piece of registered memory.
struct Sge {
  /// The virtual address; of a region registered with an `iova`, a number that counts from that.
  std::byte* address = nullptr;
  std::uint32_t length = 0;  ///< octets
  Stag lkey;
};

/// Where in the peer's memory: what its owner advertised.
struct RemoteAddress {
  Stag rkey;
  std::uint64_t to = 0;
  bool operator==(const RemoteAddress&) const = default;
};

enum class WrOpcode : std::uint8_t {
  kSend,
  kSendInvalidate,  ///< Send; the peer's STag `invalidate` is dead when it is delivered
  kWrite,
  kRead,
  kReadInvalidate,   ///< RDMA Read; the local sink's STag is invalidated before completion
  kLocalInvalidate,  ///< of `invalidate`
  kFastRegister,     ///< `registration` makes the STag of an invalid region valid
  kBindWindow,       ///< `bind` opens a type 2 memory window
  // RFC 7306: Errc::kNotAgreed unless the peer agreed to it (QpAttributes::extensions). [EXT-1]
  kFetchAdd,   ///< adds `atomic` to the remote word; its old value goes to the local word
  kCmpSwap,    ///< swaps the remote word if it compares equal; its old value goes to the local word
  kImmediate,  ///< `immediate` arrives in the completion of one of the peer's receives
  kWriteImmediate,  ///< RDMA Write with an Immediate right behind it; one completion for both
  /// Send with an Immediate right in front of it; one receive and one completion for both, at
  /// either end. Only where both ends set StartupOptions::send_immediate
  /// (QpAttributes::send_immediate).
  kSendImmediate,
};

enum class SendFlags : std::uint8_t {
  kNone = 0,
  kSignaled = 1 << 0,   ///< completes with a WC also when it succeeds
  kSolicited = 1 << 1,  ///< Sends and Immediates: raise the peer's solicited event
  kFence = 1 << 2,      ///< read fence: starts only when all earlier Reads and atomics are complete
  kInline = 1 << 3,     ///< payload is copied while posting; lkeys are not looked at
  kLocalFence = 1 << 4,  ///< invalidates: starts only when all earlier requests are complete
};
constexpr SendFlags operator|(SendFlags a, SendFlags b) {
  return static_cast<SendFlags>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr bool has(SendFlags set, SendFlags flag) {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(flag)) != 0;
}

/// For kFastRegister: what the STag shall stand for.
struct Registration {
  Stag stag;             ///< region from allocate_fast_region(); its key octet is replaced
  std::uint8_t key = 0;  ///< the consumer's key [VRB-26]
  std::byte* address = nullptr;
  std::uint64_t length = 0;
  Access access = Access::kNone;
};

/// For kBindWindow: which part of which region the window shall open.
struct WindowBind {
  Stag window;           ///< from allocate_window()
  std::uint8_t key = 0;  ///< the consumer's new key; the old one is dead [VRB-36]
  Stag region;
  std::byte* address = nullptr;  ///< inside the region, named as an Sge names it
  std::uint64_t length = 0;
  Access access = Access::kNone;  ///< kRemoteRead, kRemoteWrite, kRemoteAtomic, kZeroBased
  /// Type 1: for every stream of the domain, and bound anew without being invalidated before.
  /// Length 0 unbinds it.
  bool type_1 = false;
};

/// For kFetchAdd and kCmpSwap: the operands, as numbers of both hosts. Left as they are, the masks
/// make it the plain operation on 64 bits. The word is a multiple of 8 in TO and in memory, or
/// nothing is changed and the stream ends. One Atomic at a time works on memory of the peer's Rnic,
/// whatever its connection. Its program's own std::atomic_ref on the word is safe against them too.
/// RDMA Writes and Reads of the same word are not: do not mix them. [EXT-5] [EXT-7] [EXT-42]
struct Atomic {
  std::uint64_t add_or_swap = 0;
  std::uint64_t add_mask = 0;          ///< kFetchAdd: the top bit of each field
  std::uint64_t swap_mask = ~0ULL;     ///< kCmpSwap: the bits to replace
  std::uint64_t compare = 0;           ///< kCmpSwap
  std::uint64_t compare_mask = ~0ULL;  ///< kCmpSwap: the bits to compare
};

/// Send queue work request. Everything it points to must stay until its completion, except the
/// arrays `sgl` and, with kInline, the payload: those are copied while posting.
struct SendWr {
  std::uint64_t wr_id = 0;
  WrOpcode opcode = WrOpcode::kSend;
  SendFlags flags = SendFlags::kNone;
  /// Source; for atomics a word; for Reads the sink, a Read Request for each element that is not
  /// empty. kReadInvalidate has one.
  std::span<const Sge> sgl;
  RemoteAddress remote;  ///< Write, Read, atomics
  Stag invalidate;       ///< kSendInvalidate, kLocalInvalidate
  Registration registration;
  WindowBind bind;
  Atomic atomic;
  /// kImmediate (no sgl), kWriteImmediate; kSendImmediate: the first 4 octets, the others are 0.
  std::uint64_t immediate = 0;
};

struct RecvWr {
  std::uint64_t wr_id = 0;
  std::span<const Sge> sgl;
};

}  // namespace iwarp::verbs
