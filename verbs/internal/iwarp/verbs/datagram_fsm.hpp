// SPDX-License-Identifier: Apache-2.0
// The state machine of a datagram queue pair as a table. It has InfiniBand's states of UD queue
// pairs except SQE, which DatagramQueuePair::send_failed() replaces. Data only; DatagramQueuePair
// runs the machine.
#pragma once

#include <cstdint>

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

// clang-format off
inline constexpr auto kDatagramEdges = bytes::machine<DatagramState::kReset, DatagramCause>({
    {DatagramState::kReset, DatagramCause::kInitAsked, DatagramState::kInit, "InfiniBand allows this transition"},
    {DatagramState::kReset, DatagramCause::kErrorAsked, DatagramState::kError, "allowed in every state"},
    {DatagramState::kReset, DatagramCause::kResetAsked, DatagramState::kReset, "allowed in every state"},
    {DatagramState::kReset, DatagramCause::kOverflow, DatagramState::kReset, "a flush that began before the reset overflowed a completion queue"},
    {DatagramState::kInit, DatagramCause::kInitAsked, DatagramState::kInit, "InfiniBand allows this transition"},
    {DatagramState::kInit, DatagramCause::kReceivingAsked, DatagramState::kReceiving, "InfiniBand allows this transition"},
    {DatagramState::kInit, DatagramCause::kErrorAsked, DatagramState::kError, "allowed in every state"},
    {DatagramState::kInit, DatagramCause::kResetAsked, DatagramState::kReset, "allowed in every state"},
    {DatagramState::kInit, DatagramCause::kOverflow, DatagramState::kError, "a completion queue overflowed and lost completions"},
    {DatagramState::kReceiving, DatagramCause::kReceivingAsked, DatagramState::kReceiving, "InfiniBand allows this transition"},
    {DatagramState::kReceiving, DatagramCause::kReadyAsked, DatagramState::kReady, "InfiniBand allows this transition"},
    {DatagramState::kReceiving, DatagramCause::kErrorAsked, DatagramState::kError, "allowed in every state"},
    {DatagramState::kReceiving, DatagramCause::kResetAsked, DatagramState::kReset, "allowed in every state"},
    {DatagramState::kReceiving, DatagramCause::kOverflow, DatagramState::kError, "a completion queue overflowed and lost completions"},
    {DatagramState::kReady, DatagramCause::kReadyAsked, DatagramState::kReady, "sending resumes after a failed Send"},
    {DatagramState::kReady, DatagramCause::kErrorAsked, DatagramState::kError, "allowed in every state"},
    {DatagramState::kReady, DatagramCause::kResetAsked, DatagramState::kReset, "allowed in every state"},
    {DatagramState::kReady, DatagramCause::kOverflow, DatagramState::kError, "a completion queue overflowed and lost completions"},
    {DatagramState::kError, DatagramCause::kErrorAsked, DatagramState::kError, "allowed in every state"},
    {DatagramState::kError, DatagramCause::kResetAsked, DatagramState::kReset, "allowed in every state"},
    {DatagramState::kError, DatagramCause::kOverflow, DatagramState::kError, "a completion queue overflowed and lost completions"},
});
// clang-format on

}  // namespace iwarp::verbs
