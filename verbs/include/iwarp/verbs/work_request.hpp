// SPDX-License-Identifier: Apache-2.0
// Access rights and work requests. Names and meanings follow the RDMA verbs draft and rdma-core.
#pragma once

#include <cstdint>
#include <span>

#include "iwarp/ddp/types.hpp"

namespace iwarp::verbs {

using ddp::Stag;

/// Number of a protection domain within its Rnic.
using PdId = std::uint32_t;
/// Number of a queue pair within its Rnic, 24 bits; 0 means no queue pair.
using QpNum = std::uint32_t;

/// Rights of a memory region or window; combine with |. Local reads are always allowed.
enum class Access : std::uint32_t {
  kNone = 0,              ///< local reads only
  kLocalWrite = 1 << 0,   ///< the memory may be a receive buffer, or the sink of a Read or atomic
  kRemoteWrite = 1 << 1,  ///< the peer may RDMA Write to the memory; implies no other right
  kRemoteRead = 1 << 2,   ///< the peer may RDMA Read from the memory
  kBindWindow = 1 << 3,   ///< memory windows may be bound to the region
  kZeroBased = 1 << 4,    ///< TOs count from 0 instead of being virtual addresses
  /// The peer's Send with Invalidate may invalidate the STag although all streams of the domain may
  /// use the STag. The application must ensure that only one stream uses it. Memory that is tied to
  /// one queue pair does not need this right.
  kRemoteInvalidate = 1 << 5,
  kRemoteAtomic = 1 << 6,  ///< the peer may execute atomics on the memory; implies no other right
};
/// Returns the union of two sets of rights.
constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
/// Returns whether `set` contains every right of `right`.
constexpr bool has(Access set, Access right) {
  const auto bits = static_cast<std::uint32_t>(right);
  return (static_cast<std::uint32_t>(set) & bits) == bits;
}

/// A piece of registered memory: a scatter/gather element.
struct Sge {
  /// Virtual address. In a region that was registered with an `iova`: `iova` plus the offset in the
  /// region.
  std::byte* address = nullptr;
  std::uint32_t length = 0;  ///< length in bytes; if 0, `lkey` is not checked
  Stag lkey{};               ///< STag of the region that contains the memory
};

/// An address in the peer's memory, as the peer advertised it.
struct RemoteAddress {
  Stag rkey{};
  std::uint64_t to = 0;  ///< tagged offset of the first byte
  bool operator==(const RemoteAddress&) const = default;
};

/// The operation of a send queue request. The last five values belong to RFC 7306: posting one of
/// them in RTS fails with Errc::kNotAgreed unless the peer agreed to RFC 7306
/// (QpAttributes::extensions). [EXT-1]
enum class WrOpcode : std::uint8_t {
  kSend,             ///< Send of `sgl` to the peer's next receive
  kSendInvalidate,   ///< Send that invalidates the peer's STag `invalidate` when it is delivered
  kWrite,            ///< RDMA Write of `sgl` to `remote`
  kRead,             ///< RDMA Read from `remote` to `sgl`
  kReadInvalidate,   ///< RDMA Read; invalidates the STag of its local buffer before it completes
  kLocalInvalidate,  ///< invalidates the STag `invalidate` of this end
  kFastRegister,     ///< makes the STag of an invalid region valid, see `registration`
  kBindWindow,       ///< binds a memory window, see `bind`
  kFetchAdd,         ///< adds to the word at `remote`; `sgl` receives the former value
  /// replaces the word at `remote` if it equals `atomic.compare`; `sgl` receives the former value
  kCmpSwap,
  kImmediate,       ///< sends `immediate`, which consumes one of the peer's receives
  kWriteImmediate,  ///< RDMA Write followed by an Immediate, with one completion for both
  /// Immediate followed by a Send. Both together consume one receive and have one completion.
  /// Requires StartupOptions::send_immediate at both ends (QpAttributes::send_immediate).
  kSendImmediate,
};

/// Flags of a send queue request; combine with |.
enum class SendFlags : std::uint8_t {
  kNone = 0,           ///< no flag
  kSignaled = 1 << 0,  ///< push a completion on success as well as on failure
  /// for a Send or Immediate: notify the peer even if its queue is armed with Notify::kSolicited
  kSolicited = 1 << 1,
  /// read fence: start this request only when all earlier Reads and atomics are complete
  kFence = 1 << 2,
  kInline = 1 << 3,      ///< copy the payload while posting; lkeys are not checked
  kLocalFence = 1 << 4,  ///< start this request only when all earlier requests are complete
};
/// Returns the union of two sets of flags.
constexpr SendFlags operator|(SendFlags a, SendFlags b) {
  return static_cast<SendFlags>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
/// Returns whether `set` contains any of the flags of `flag`.
constexpr bool has(SendFlags set, SendFlags flag) {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(flag)) != 0;
}

/// For kFastRegister: the memory to which the STag will refer.
struct Registration {
  Stag stag{};                    ///< STag from allocate_fast_region(); `key` replaces its key
  std::uint8_t key = 0;           ///< the application's new key [VRB-26]
  std::byte* address = nullptr;   ///< start of the memory, not null
  std::uint64_t length = 0;       ///< length in bytes, at least 1
  Access access = Access::kNone;  ///< rights of the region
};

/// For kBindWindow: the part of a region to which the window gives the peer access.
struct WindowBind {
  Stag window{};         ///< STag from allocate_window()
  std::uint8_t key = 0;  ///< the application's new key; the old one becomes invalid [VRB-36]
  Stag region{};         ///< STag of a valid region with Access::kBindWindow that is not zero-based
  std::byte* address = nullptr;  ///< start of the window in the region, as in Sge::address
  std::uint64_t length = 0;      ///< length in bytes, at least 1; see also `type_1`
  /// any of kRemoteRead, kRemoteWrite, kRemoteAtomic and kZeroBased
  Access access = Access::kNone;
  /// Whether the window is of type 1: every stream of the domain may use it, and it can be bound
  /// again without being invalidated first. For a window of type 1, `length` may be 0: the request
  /// then only unbinds the window.
  bool type_1 = false;
};

/// For kFetchAdd and kCmpSwap: the operands, in host byte order. With the default masks, the
/// operation is a plain 64-bit operation. The word's TO and its address must be multiples of 8,
/// otherwise the word is unchanged and the stream ends. Atomics on memory of one Rnic are
/// serialized, even if they come from different connections, and are atomic with respect to
/// std::atomic_ref in the peer's program. Atomics are not atomic with respect to RDMA Writes and
/// Reads: do not use both on the same word. [EXT-5] [EXT-7] [EXT-42]
struct Atomic {
  std::uint64_t add_or_swap = 0;  ///< kFetchAdd: the number to add; kCmpSwap: the new value
  /// kFetchAdd: a 1 at the top bit of each field that is added separately; 0: one field of 64 bits
  std::uint64_t add_mask = 0;
  std::uint64_t swap_mask = ~0ULL;     ///< kCmpSwap: the bits to replace
  std::uint64_t compare = 0;           ///< kCmpSwap: the value to compare with
  std::uint64_t compare_mask = ~0ULL;  ///< kCmpSwap: the bits to compare
};

/// Send queue work request. The memory that `sgl` names must stay registered and unchanged until
/// the request completes. Posting copies the array `sgl` and, with kInline, the payload.
struct SendWr {
  std::uint64_t wr_id = 0;  ///< chosen by the application; WorkCompletion::wr_id repeats it
  WrOpcode opcode = WrOpcode::kSend;
  SendFlags flags = SendFlags::kNone;
  /// Local buffers. A Send or Write reads them. A Read fills them: each element that is not empty
  /// is one Read Request on the wire, and kReadInvalidate takes exactly one element. An atomic
  /// takes one element, which receives the former value of the word.
  std::span<const Sge> sgl{};
  RemoteAddress remote{};       ///< remote memory of Writes, Reads and atomics
  Stag invalidate{};            ///< STag that kSendInvalidate or kLocalInvalidate invalidates
  Registration registration{};  ///< memory of a kFastRegister
  WindowBind bind{};            ///< window and memory of a kBindWindow
  Atomic atomic{};              ///< operands of kFetchAdd and kCmpSwap
  /// Value of the Immediate. kImmediate (which has an empty `sgl`) and kWriteImmediate: 64 bits.
  /// kSendImmediate: the upper 32 bits; the lower 32 bits are 0.
  std::uint64_t immediate = 0;
};

/// Receive queue work request. Posting copies the array `sgl`. The memory that `sgl` names needs
/// Access::kLocalWrite and must stay registered until the receive completes.
struct RecvWr {
  std::uint64_t wr_id = 0;     ///< chosen by the application; WorkCompletion::wr_id repeats it
  std::span<const Sge> sgl{};  ///< buffers that the message fills in order
};

}  // namespace iwarp::verbs
