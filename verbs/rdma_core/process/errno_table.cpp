// SPDX-License-Identifier: Apache-2.0
// The table of errnos. An error that is in no row, and is no errno itself, becomes EIO.
#include "process/errno_table.hpp"

#include <array>

#include "iwarp/verbs/errors.hpp"

namespace iwarp::rdma_core {
namespace {

using verbs::Errc;

struct Row {
  Errc error;
  int code;
};

// The errno in each row is the one that rdma-core's providers and the kernel return for the same
// error.
constexpr std::array kRows{
    Row{Errc::kInvalidArgument, EINVAL},
    Row{Errc::kQueueFull, ENOMEM},
    Row{Errc::kTooManySge, EINVAL},
    Row{Errc::kInlineTooLong, EINVAL},
    Row{Errc::kMessageTooLong, EINVAL},
    Row{Errc::kInvalidLkey, EINVAL},
    Row{Errc::kWrongState, EINVAL},
    Row{Errc::kWrongPd, EINVAL},
    Row{Errc::kBusy, EBUSY},
    Row{Errc::kLimitReached, ENOMEM},
    Row{Errc::kPrivateDataTooLong, EINVAL},
    Row{Errc::kReadNeedsOneSge, EINVAL},
    Row{Errc::kNotBindable, EINVAL},
    Row{Errc::kOrdTooLarge, EINVAL},
    Row{Errc::kConnectionRefused, ECONNREFUSED},
    Row{Errc::kConnectionReset, ECONNRESET},
    Row{Errc::kTimedOut, ETIMEDOUT},
    Row{Errc::kRejected, ECONNREFUSED},
    Row{Errc::kMpaProtocol, EPROTO},
    Row{Errc::kAddressInUse, EADDRINUSE},
    Row{Errc::kAddressInvalid, EADDRNOTAVAIL},
    Row{Errc::kSystem, EIO},
    Row{Errc::kAtomicNeedsOneWord, EINVAL},
    Row{Errc::kNotAgreed, EOPNOTSUPP},
    Row{Errc::kCarrierFailed, ECONNREFUSED},
};

}  // namespace

int to_errno(const std::error_code& error) {
  if (!error) return 0;
  if (error.category() != verbs::verbs_category()) {
    const auto& category = error.category();
    const bool is_errno = category == std::generic_category() || category == std::system_category();
    return is_errno ? error.value() : EIO;
  }
  for (const Row& row : kRows) {
    if (error == row.error) return row.code;
  }
  return EIO;
}

}  // namespace iwarp::rdma_core
