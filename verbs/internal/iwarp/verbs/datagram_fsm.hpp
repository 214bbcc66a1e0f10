// SPDX-License-Identifier: Apache-2.0
// The state machine of a datagram queue pair as a table. It has InfiniBand's states of UD queue
// pairs except SQE, which DatagramQueuePair::send_failed() replaces. Data only; DatagramQueuePair
// runs the machine.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "iwarp/bytes/fsm.hpp"
#include "iwarp/verbs/datagram_types.hpp"

namespace iwarp::verbs {

/// What moves a datagram queue pair from one state to the next. Every cause except kOverflow is a
/// call of set_state() by the application.
enum class DatagramCause : std::uint8_t {
  kInitAsked,       ///< set_state(kInit)
  kReceivingAsked,  ///< set_state(kReceiving)
  kReadyAsked,      ///< set_state(kReady)
  kErrorAsked,      ///< set_state(kError)
  kResetAsked,      ///< set_state(kReset)
  kOverflow,        ///< a completion queue was full
};
/// Returns the cause's name.
inline std::string_view to_string(DatagramCause cause) { return bytes::name_of(cause); }

/// An edge of the machine; `rfc` says why the edge exists.
using DatagramEdge = bytes::Edge<DatagramState, DatagramCause>;

// clang-format off
inline constexpr std::array kDatagramEdges{
    DatagramEdge{DatagramState::kReset, DatagramCause::kInitAsked, DatagramState::kInit, "InfiniBand allows this transition"},
    DatagramEdge{DatagramState::kReset, DatagramCause::kErrorAsked, DatagramState::kError, "allowed in every state"},
    DatagramEdge{DatagramState::kReset, DatagramCause::kResetAsked, DatagramState::kReset, "allowed in every state"},
    DatagramEdge{DatagramState::kReset, DatagramCause::kOverflow, DatagramState::kReset, "a flush that began before the reset overflowed a completion queue"},
    DatagramEdge{DatagramState::kInit, DatagramCause::kInitAsked, DatagramState::kInit, "InfiniBand allows this transition"},
    DatagramEdge{DatagramState::kInit, DatagramCause::kReceivingAsked, DatagramState::kReceiving, "InfiniBand allows this transition"},
    DatagramEdge{DatagramState::kInit, DatagramCause::kErrorAsked, DatagramState::kError, "allowed in every state"},
    DatagramEdge{DatagramState::kInit, DatagramCause::kResetAsked, DatagramState::kReset, "allowed in every state"},
    DatagramEdge{DatagramState::kInit, DatagramCause::kOverflow, DatagramState::kError, "a completion queue overflowed and lost completions"},
    DatagramEdge{DatagramState::kReceiving, DatagramCause::kReceivingAsked, DatagramState::kReceiving, "InfiniBand allows this transition"},
    DatagramEdge{DatagramState::kReceiving, DatagramCause::kReadyAsked, DatagramState::kReady, "InfiniBand allows this transition"},
    DatagramEdge{DatagramState::kReceiving, DatagramCause::kErrorAsked, DatagramState::kError, "allowed in every state"},
    DatagramEdge{DatagramState::kReceiving, DatagramCause::kResetAsked, DatagramState::kReset, "allowed in every state"},
    DatagramEdge{DatagramState::kReceiving, DatagramCause::kOverflow, DatagramState::kError, "a completion queue overflowed and lost completions"},
    DatagramEdge{DatagramState::kReady, DatagramCause::kReadyAsked, DatagramState::kReady, "sending resumes after a failed Send"},
    DatagramEdge{DatagramState::kReady, DatagramCause::kErrorAsked, DatagramState::kError, "allowed in every state"},
    DatagramEdge{DatagramState::kReady, DatagramCause::kResetAsked, DatagramState::kReset, "allowed in every state"},
    DatagramEdge{DatagramState::kReady, DatagramCause::kOverflow, DatagramState::kError, "a completion queue overflowed and lost completions"},
    DatagramEdge{DatagramState::kError, DatagramCause::kErrorAsked, DatagramState::kError, "allowed in every state"},
    DatagramEdge{DatagramState::kError, DatagramCause::kResetAsked, DatagramState::kReset, "allowed in every state"},
    DatagramEdge{DatagramState::kError, DatagramCause::kOverflow, DatagramState::kError, "a completion queue overflowed and lost completions"},
};
// clang-format on
static_assert(bytes::deterministic(kDatagramEdges));
static_assert(bytes::all_reachable(kDatagramEdges, DatagramState::kReset));

}  // namespace iwarp::verbs
