// SPDX-License-Identifier: Apache-2.0
// The table of completion statuses, and the search for a code: by name, text or number, as a
// vendor_err, or as layer, type and code of a Terminate.
#include "explain_error/error_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "iwarp/rdmap/terminate.hpp"
#include "iwarp/verbs/error_guide.hpp"

namespace iwarp::apps {
namespace {

using bytes::Fault;
using bytes::Layer;

/// A value of ibv_wc_status. The table lists the values in numerical order. `text` is what
/// ibv_wc_status_str(3) returns. `asked` and `causes` are those of an ErrorCode.
struct Status {
  std::string_view name;
  std::string_view text;
  std::string_view meaning;
  std::string_view advice;
  int asked = 0;
  Causes causes = {};
};
/// A command that lets a completion fail with the status `{}`.
constexpr std::string_view kInject =
    "echo 'after 1 completion status {}' > plan; iwarp run ibv_rc_pingpong -g 1 & sleep 1; iwarp "
    "run --fault plan ibv_rc_pingpong -g 1 127.0.0.1";
constexpr std::string_view kNever = "the device of iwarp run never reports this status";
constexpr std::array kStatuses{
    Status{"SUCCESS", "success", "the request was completed", ""},
    Status{"LOC_LEN_ERR",
           "local length error",
           "a message did not fit into the posted receive, or a request is longer than max_msg_sz",
           "post receives as long as the longest message that the peer sends; split requests that "
           "are longer than max_msg_sz",
           0,
           {"the receive is shorter than the message",
            "the program posts receives of one size and sends messages of another",
            "on a card: the receive has no room for the 40 bytes of header in front of each "
            "datagram"}},
    Status{"LOC_QP_OP_ERR",
           "local QP operation error",
           "this queue pair cannot execute the request, for example an RDMA Read if max_rd_atomic "
           "is 0, or an atomic operation if the peer does not support it",
           "use ibv_query_qp() to check the attributes that both ends agreed on",
           0,
           {"the request is a Read or an atomic operation, but max_rd_atomic is 0",
            "the peer supports no atomic operations",
            "on a card: the queue pair was created with fewer SGEs than the request has"}},
    Status{"LOC_EEC_OP_ERR", "local EE context operation error", kNever, ""},
    Status{"LOC_PROT_ERR",
           "local protection error",
           "an SGE of the request or receive names memory that is not registered, belongs to "
           "another protection domain, is shorter than the SGE, or lacks IBV_ACCESS_LOCAL_WRITE",
           "check lkey, addr and length of every SGE, and keep the region registered until the "
           "completion",
           6,
           {"an SGE holds the rkey, or the key of another region, instead of the lkey",
            "the region was deregistered before the completion",
            "the SGE ends past the region: the region was registered with sizeof of a pointer, or "
            "the buffer grew later",
            "a receive or Read names memory that lacks IBV_ACCESS_LOCAL_WRITE",
            "the region and the queue pair are of different protection domains"}},
    Status{"WR_FLUSH_ERR",
           "Work Request Flushed Error",
           "the request was not executed because its queue pair had left RTS; this status is a "
           "consequence, not the cause",
           "look at the first completion that failed with a different status, at its vendor_err, "
           "and at the line that the library printed when the connection ended",
           0,
           {"an earlier request failed", "the peer disconnected, or exited",
            "the program itself moved the queue pair to ERR, or called rdma_disconnect()",
            "a receive was outstanding when the connection ended, which is normal"}},
    Status{
        "MW_BIND_ERR",
        "memory management operation error",
        "a memory window could not be bound, or a key could not be invalidated",
        "bind only to regions with IBV_ACCESS_MW_BIND, and invalidate only keys of this queue pair",
        0,
        {"the region lacks IBV_ACCESS_MW_BIND",
         "the window is of type 1, or belongs to another queue pair",
         "the window exceeds the region"}},
    Status{"BAD_RESP_ERR", "bad response error", "the peer sent a response that matches no request",
           "capture the connection and run iwarp explain on the capture"},
    Status{"LOC_ACCESS_ERR",
           "local access error",
           "the access rights of the local memory do not permit placing the peer's message; the "
           "device "
           "of iwarp run never reports this status",
           "on a card: check the access rights of the region that the receive names",
           0,
           {"the region of a receive lacks IBV_ACCESS_LOCAL_WRITE",
            "a memory window was invalidated while a request used it"}},
    Status{"REM_INV_REQ_ERR",
           "remote invalid request error",
           "the peer could not execute the request: the message is longer than the peer's receive, "
           "or the address of an atomic operation is not a multiple of 8",
           "compare the length of the message with the length of the peer's receives; align the "
           "address of an atomic operation to 8 bytes",
           0,
           {"the message is longer than the peer's receive",
            "the address of an atomic operation is not a multiple of 8",
            "qp_access_flags of the peer's queue pair lacks the right for this operation"}},
    Status{
        "REM_ACCESS_ERR",
        "remote access error",
        "the peer refused access to its memory: the rkey is wrong, the address range is outside "
        "the region, or an access right is missing",
        "compare rkey, address and length with what the peer registered; vendor_err shows which of "
        "these is wrong",
        3,
        {"the peer sent its lkey instead of its rkey; on most cards both keys are equal, so the "
         "program worked there by luck",
         "the address was cut to 32 bits, or the address or key is in the byte order of the peer",
         "the region lacks IBV_ACCESS_REMOTE_WRITE, _READ or _ATOMIC",
         "the request ends past the region",
         "the peer deregistered the memory, or exited and registered it again under a new key"}},
    Status{"REM_OP_ERR",
           "remote operation error",
           "the peer ended the connection, but not because of a memory access or a missing receive",
           "look at vendor_err and at the messages that the peer printed",
           0,
           {"the peer deregistered the memory of a posted receive too early",
            "the peer's device failed"}},
    Status{
        "RETRY_EXC_ERR",
        "transport retry counter exceeded",
        "the peer did not acknowledge the request in time, or the connection was lost",
        "check that the peer's process is alive and that the network reaches it; timeout and "
        "retry_cnt set how long this end waits",
        8,
        {"the peer's process ended, or destroyed its queue pair",
         "the two ends use GIDs of different networks or RoCE versions: see gid_index in exercise "
         "2 of iwarp learn",
         "the peer's queue pair is not in RTR yet", "the ends exchanged a wrong dest_qp_num or PSN",
         "a firewall drops UDP port 4791 (RoCE) or the TCP port (iWARP)"}},
    Status{"RNR_RETRY_EXC_ERR",
           "RNR retry counter exceeded",
           "the peer had no receive posted for the message in time",
           "have the peer post enough receives before this end sends; rnr_retry and min_rnr_timer "
           "set how long the message waits",
           2,
           {"the peer posts a receive only after the message arrives",
            "the peer does not post a receive again after each completion",
            "a Write with immediate data consumes a receive, too",
            "the peer consumes messages more slowly than they arrive, and the program has no flow "
            "control",
            "rnr_retry is below 7, and min_rnr_timer is short"}},
    Status{"LOC_RDD_VIOL_ERR", "local RDD violation error", kNever, ""},
    Status{"REM_INV_RD_REQ_ERR", "remote invalid RD request", kNever, ""},
    Status{"REM_ABORT_ERR", "aborted error", kNever, ""},
    Status{"INV_EECN_ERR", "invalid EE context number", kNever, ""},
    Status{"INV_EEC_STATE_ERR", "invalid EE context state", kNever, ""},
    Status{"FATAL_ERR", "fatal error", "the device failed",
           "look at the line that the library printed before this completion"},
    Status{"RESP_TIMEOUT_ERR", "response timeout error", kNever, ""},
    Status{"GENERAL_ERR", "general error", kNever, ""},
    Status{"TM_ERR", "TM error", kNever, ""},
    Status{"TM_RNDV_INCOMPLETE", "TM software rendezvous", kNever, ""},
};

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool is_same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

ErrorCode about(const Status& status) {
  const auto value = &status - kStatuses.data();
  const bool is_error = value != 0 && status.meaning != kNever;
  return {.title = fmt::format("IBV_WC_{} ({}), \"{}\"", status.name, value, status.text),
          .meaning = std::string(status.meaning),
          .advice = std::string(status.advice),
          .asked = status.asked,
          .causes = status.causes,
          .command = is_error ? fmt::format(kInject, status.name) : "",
          .prints = is_error ? fmt::format("Failed status {} ({})", status.text, value) : ""};
}

std::string_view name_of(Layer layer) {
  switch (layer) {
    case Layer::kRdma:
      return "RDMAP";
    case Layer::kDdp:
      return "DDP";
    case Layer::kMpa:
      return "MPA";
  }
  return "an unknown layer";
}

ErrorCode about(const Fault& fault) {
  const auto known = verbs::guidance(fault);
  return {.title = fmt::format("vendor_err {:#x}: Terminate {}, detected by {}",
                               verbs::vendor_error(fault), bytes::to_string(fault),
                               name_of(fault.layer)),
          .meaning = known.meaning,
          .advice = known.advice};
}

ErrorCode injected() {
  return {
      .title = fmt::format("vendor_err {:#x}", verbs::kInjectedVendorError),
      .meaning = "a rule of iwarp fault, or of a --fault file, set the status of this completion",
      .advice = "nothing: the request is valid, and the error was injected to test the program"};
}

ErrorCode without_detail() {
  return {.title = "vendor_err 0x0",
          .meaning =
              "the device has no detail beyond the status of the completion: no Terminate ended "
              "the connection",
          .advice =
              "look for the first completion that failed, explain its status (for example, iwarp "
              "explain-error RETRY_EXC_ERR), and read what the library printed at both ends"};
}

std::optional<std::uint32_t> parse_number(std::string_view word, int base) {
  std::uint32_t out = 0;
  const char* const begin = word.data();
  const char* const end = begin + word.size();
  const auto [last, error] = std::from_chars(begin, end, out, base);
  if (word.empty() || error != std::errc() || last != end) return std::nullopt;
  return out;
}

std::optional<Fault> parse_terminate(std::string_view word) {
  const auto first = word.find('/');
  const auto second = word.find('/', first == word.npos ? first : first + 1);
  if (second == word.npos) return std::nullopt;
  const auto layer = parse_number(word.substr(0, first), 16);
  const auto type = parse_number(word.substr(first + 1, second - first - 1), 16);
  const auto code = parse_number(word.substr(second + 1), 16);
  if (!layer || !type || !code || *layer > 0xF || *type > 0xF || *code > 0xFF) return std::nullopt;
  return verbs::fault_of_vendor_error(0x10000 | *layer << 12 | *type << 8 | *code);
}

std::optional<ErrorCode> by_number(std::uint32_t number) {
  if (number < kStatuses.size()) return about(kStatuses[number]);
  if (number == verbs::kInjectedVendorError) return injected();
  const auto fault = verbs::fault_of_vendor_error(number);
  return fault ? std::optional(about(*fault)) : std::nullopt;
}

}  // namespace

std::optional<ErrorCode> find_error_code(std::string_view word) {
  for (const Status& status : kStatuses) {
    const auto full = fmt::format("IBV_WC_{}", status.name);
    if (is_same(word, status.name) || is_same(word, full) || is_same(word, status.text)) {
      return about(status);
    }
  }
  if (const auto fault = parse_terminate(word)) return about(*fault);
  const bool is_hex = word.starts_with("0x") || word.starts_with("0X");
  const auto number = is_hex ? parse_number(word.substr(2), 16) : parse_number(word, 10);
  if (is_hex && number == 0U) return without_detail();
  return number ? by_number(*number) : std::nullopt;
}

std::vector<ErrorCode> all_error_codes() {
  std::vector<ErrorCode> out;
  out.reserve(std::size(kStatuses));
  for (const Status& status : kStatuses) out.push_back(about(status));
  out.push_back(without_detail());
  for (const Fault& fault : rdmap::known_faults()) out.push_back(about(fault));
  out.push_back(injected());
  return out;
}

}  // namespace iwarp::apps
