// SPDX-License-Identifier: Apache-2.0
// The texts of Errc, and the std::error_category that returns them.
#include "iwarp/verbs/errors.hpp"

#include <array>
#include <string>

namespace iwarp::verbs {
namespace {

constexpr std::array kTexts{
    "success",
    "invalid argument",
    "the queue is full",
    "too many scatter/gather elements",
    "inline payload longer than the queue pair allows",
    "message of 2^32 octets or more",
    "a local buffer lies outside its region, or the region lacks an access right",
    "not allowed in this state of the queue pair",
    "the objects belong to different protection domains",
    "still in use by other objects",
    "the device limit for this kind of object is reached",
    "private data too long (at most 512 octets, or 508 with MPA revision 2)",
    "an RDMA Read with Invalidate requires exactly one local buffer",
    "the window cannot be bound: the window is in use, or the region is invalid, too small, or "
    "lacks an access right",
    "IRD or ORD exceeds the limit or the negotiated value",
    "connection refused",
    "connection reset by peer",
    "timed out",
    "rejected by the peer",
    "the peer violated the MPA startup protocol",
    "address in use",
    "invalid address",
    "a system call failed",
    "an atomic operation requires exactly one local buffer of 8 octets",
    "the peer did not agree to use RFC 7306 (atomics and immediate data)",
    "transport (TLS) setup failed",
};

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "iwarp"; }
  std::string message(int value) const override {
    const auto index = static_cast<std::size_t>(value);
    return index < kTexts.size() ? kTexts[index] : "unknown error";
  }
};

}  // namespace

const std::error_category& verbs_category() {
  static const Category category;
  return category;
}

}  // namespace iwarp::verbs
