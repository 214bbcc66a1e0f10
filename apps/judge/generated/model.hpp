// SPDX-License-Identifier: Apache-2.0
// Model: what two connected RC queue pairs do, without threads, sockets and time. Each call of the
// C interface has a function here that returns what the call must return, and records what must
// follow: completions in order, the contents of memory, the states of both ends and asynchronous
// events. Where the specifications permit several outcomes, the model expects one of a set, and
// what is observed decides.
//
// The rules and their sources are in the table kRules and in the comments of model.cpp. IBTA means
// the InfiniBand Architecture Specification, volume 1, release 1.4.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace iwarp::judge::generated {

inline constexpr std::size_t kMemory = 1 << 17;        ///< bytes of memory of each end
inline constexpr std::size_t kShort = kMemory - 4096;  ///< bytes of the region kShortRegion
/// Regions of each end. Each begins where the memory begins. kStale was deregistered, and
/// kUnknownKey never existed.
enum Region : std::uint8_t {
  kAll,
  kNoRemoteRights,
  kNoLocalWrite,
  kShortRegion,
  kStale,
  kUnknownKey
};

struct Sge {
  std::uint32_t at = 0;  ///< offset in the memory of the end
  std::uint32_t length = 0;
  Region region = kAll;
};

struct Request {
  std::uint64_t id = 0;
  ibv_wr_opcode opcode = IBV_WR_SEND;
  unsigned flags = 0;  ///< as in ibv_send_wr::send_flags
  std::vector<Sge> sges;
  std::uint32_t imm = 0;
  std::uint32_t remote_at = 0;  ///< offset in the memory of the peer
  Region remote_region = kAll;
  std::uint64_t operand = 0;  ///< the number to add, or the number to swap in
  std::uint64_t compare = 0;
};

struct Receive {
  std::uint64_t id = 0;
  std::vector<Sge> sges;
};

inline bool is_send(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
}
inline bool is_write(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}
inline bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
inline bool is_answered(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_READ || is_atomic(opcode);
}
inline bool consumes_receive(ibv_wr_opcode opcode) {
  return is_send(opcode) || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}
inline std::uint32_t length_of(std::span<const Sge> sges) {
  std::uint32_t total = 0;
  for (const Sge& sge : sges) total += sge.length;
  return total;
}

/// What a connection is made with; see ibv_create_qp(3) and ibv_modify_qp(3).
struct QpOptions {
  ibv_qp_cap cap{};
  bool signal_all = false;
  unsigned rights = 0;     ///< qp_access_flags
  std::uint8_t reads = 4;  ///< max_dest_rd_atomic, and max_rd_atomic of the peer
};

/// A completion that must come, or may come if `is_optional`.
struct Expected {
  std::uint64_t id = 0;
  std::vector<ibv_wc_status> statuses;  ///< what the status may be
  ibv_wc_opcode opcode{};               ///< compared after success
  std::optional<std::uint32_t> length;  ///< byte_len, if it is defined
  std::optional<std::uint32_t> imm;
  bool is_signaled = true;  ///< if not set, success has no completion
  std::uint64_t number = 0;
  std::vector<Sge> sges;  ///< of a receive
};

struct PostResult {
  int code = 0;
  std::size_t bad = 0;  ///< index of the element at which bad_wr must point if `code` is not 0
};

struct Rule;

class Model {
 public:
  /// `as_roce` selects the persona. Without it, requests complete when they are sent.
  explicit Model(bool as_roce) : as_roce_(as_roce) {}

  /// A new queue pair in RESET. Its predecessor, if any, was destroyed.
  void create(int end, const QpOptions& options);
  void destroy(int end);
  void modify(int end, ibv_qp_state to, const QpOptions& options);
  PostResult post_send(int end, std::span<const Request> list);
  PostResult post_recv(int end, std::span<const Receive> list);

  /// Compares a completion with what must come next. Returns a difference, or an empty string.
  std::string completed(int end, bool is_receive, const ibv_wc& wc);
  /// Compares the state that ibv_query_qp() returned. The first call after an error decides.
  std::string observed(int end, ibv_qp_state state);
  std::string reported(int end, ibv_event_type event);
  /// Returns the first completion that must still come, or nullptr.
  const Expected* awaited(int end, bool is_receive) const;
  /// Returns the opcode of a request whose completion proves that the peer has carried out all
  /// earlier requests, or nullopt if the end cannot post one.
  std::optional<ibv_wr_opcode> barrier(int end) const;
  /// Returns whether the send queue has no room for another request.
  bool is_full(int end) const { return is_full(ends_[at(end)]); }
  /// Returns whether the end must leave its present state without another call.
  bool is_leaving(int end) const { return ends_[at(end)].is_leaving; }
  bool may_leave(int end) const { return ends_[at(end)].may_leave; }
  ibv_qp_state state(int end) const { return ends_[at(end)].state; }
  /// Returns the first byte of the end's memory that differs from what it must be.
  std::optional<std::size_t> differs(int end, std::span<const std::uint8_t> memory) const;
  std::vector<std::uint8_t>& memory(int end) { return ends_[at(end)].memory; }
  /// Events that must still come.
  const std::vector<ibv_event_type>& events(int end) const { return ends_[at(end)].events; }

 private:
  struct End {
    QpOptions options;
    ibv_qp_state state = IBV_QPS_RESET;
    bool is_leaving = false;  ///< the state becomes ERR without a call of the program
    bool may_leave = false;   ///< as is_leaving, but the state may also remain
    std::deque<Receive> receives;
    std::array<std::deque<Expected>, 2> expected;  ///< of requests, of receives
    bool sends_late = false;    ///< while leaving, later requests may complete as sent
    bool may_overtake = false;  ///< while leaving, later requests may be carried out
    std::uint64_t consumed = 0;
    std::array<std::uint64_t, 2> posted{};   ///< requests, receives
    std::array<std::uint64_t, 2> retired{};  ///< slots that polling has freed
    std::vector<ibv_event_type> events;      ///< must come
    std::vector<ibv_event_type> may_events;  ///< may come
    std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(kMemory);
    std::vector<std::uint8_t> is_unknown = std::vector<std::uint8_t>(kMemory);
  };
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  int refuse(const End& end, const Request& request) const;
  static bool is_full(const End& end);
  void execute(int end, const Request& request);
  const Rule* judge(const End& peer, const Request& request) const;
  void fail(int end, const Request& request, const Rule& rule);
  void succeed(int end, const Request& request);
  static void succeed(Expected& receive, const Request& request);
  static void overtake(End& peer, const Request& request);
  static void leave(End& end);
  static void forget(End& end, std::span<const Sge> sges);
  static void scatter(End& end, std::span<const Sge> sges, std::span<const std::uint8_t> payload);
  static bool is_optional(const Expected& expected);
  static Expected& expect(End& own, const Request& request, std::vector<ibv_wc_status> statuses);
  static Expected& expect(End& own, const Receive& receive, ibv_wc_status status);

  bool as_roce_;
  bool is_connected_ = false;  ///< both ends reached RTS, and neither has left it
  std::array<End, 2> ends_;
};

}  // namespace iwarp::judge::generated
