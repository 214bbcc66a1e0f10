// SPDX-License-Identifier: Apache-2.0
// The states of a queue pair of datagrams, as a table: those of InfiniBand's queue pairs of type
// UD, whose send queue stops apart from them. Data only: DatagramQueuePair is the one owner of a
// machine of this kind.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "iwarp/bytes/fsm.hpp"

namespace iwarp::verbs {

enum class DatagramState : std::uint8_t {
  kReset,      ///< nothing can be posted
  kInit,       ///< takes receives
  kReceiving,  ///< and datagrams
  kReady,      ///< and sends
  kError,      ///< everything is flushed
};
std::string_view to_string(DatagramState state);

enum class DatagramCause : std::uint8_t {
  kInitAsked,  ///< by the consumer, as the next three
  kReceivingAsked,
  kReadyAsked,
  kErrorAsked,
  kResetAsked,
  kOverflow,  ///< a completion queue was full
};
std::string_view to_string(DatagramCause cause);

inline constexpr std::array kDatagramStates{DatagramState::kReset, DatagramState::kInit,
                                            DatagramState::kReceiving, DatagramState::kReady,
                                            DatagramState::kError};
inline constexpr std::array kDatagramCauses{
    DatagramCause::kInitAsked,  DatagramCause::kReceivingAsked, DatagramCause::kReadyAsked,
    DatagramCause::kErrorAsked, DatagramCause::kResetAsked,     DatagramCause::kOverflow,
};

using DatagramEdge = bytes::Edge<DatagramState, DatagramCause>;

// clang-format off
inline constexpr std::array kDatagramEdges{
    DatagramEdge{DatagramState::kReset, DatagramCause::kInitAsked, DatagramState::kInit, "as InfiniBand has it"},
    DatagramEdge{DatagramState::kReset, DatagramCause::kErrorAsked, DatagramState::kError, "from everywhere"},
    DatagramEdge{DatagramState::kReset, DatagramCause::kResetAsked, DatagramState::kReset, "from everywhere"},
    DatagramEdge{DatagramState::kReset, DatagramCause::kOverflow, DatagramState::kReset, "of a flush that the reset overtook"},
    DatagramEdge{DatagramState::kInit, DatagramCause::kInitAsked, DatagramState::kInit, "as InfiniBand has it"},
    DatagramEdge{DatagramState::kInit, DatagramCause::kReceivingAsked, DatagramState::kReceiving, "as InfiniBand has it"},
    DatagramEdge{DatagramState::kInit, DatagramCause::kErrorAsked, DatagramState::kError, "from everywhere"},
    DatagramEdge{DatagramState::kInit, DatagramCause::kResetAsked, DatagramState::kReset, "from everywhere"},
    DatagramEdge{DatagramState::kInit, DatagramCause::kOverflow, DatagramState::kError, "completions are lost"},
    DatagramEdge{DatagramState::kReceiving, DatagramCause::kReceivingAsked, DatagramState::kReceiving, "as InfiniBand has it"},
    DatagramEdge{DatagramState::kReceiving, DatagramCause::kReadyAsked, DatagramState::kReady, "as InfiniBand has it"},
    DatagramEdge{DatagramState::kReceiving, DatagramCause::kErrorAsked, DatagramState::kError, "from everywhere"},
    DatagramEdge{DatagramState::kReceiving, DatagramCause::kResetAsked, DatagramState::kReset, "from everywhere"},
    DatagramEdge{DatagramState::kReceiving, DatagramCause::kOverflow, DatagramState::kError, "completions are lost"},
    DatagramEdge{DatagramState::kReady, DatagramCause::kReadyAsked, DatagramState::kReady, "sends go on after one that failed"},
    DatagramEdge{DatagramState::kReady, DatagramCause::kErrorAsked, DatagramState::kError, "from everywhere"},
    DatagramEdge{DatagramState::kReady, DatagramCause::kResetAsked, DatagramState::kReset, "from everywhere"},
    DatagramEdge{DatagramState::kReady, DatagramCause::kOverflow, DatagramState::kError, "completions are lost"},
    DatagramEdge{DatagramState::kError, DatagramCause::kErrorAsked, DatagramState::kError, "from everywhere"},
    DatagramEdge{DatagramState::kError, DatagramCause::kResetAsked, DatagramState::kReset, "from everywhere"},
    DatagramEdge{DatagramState::kError, DatagramCause::kOverflow, DatagramState::kError, "completions are lost"},
};
// clang-format on
static_assert(bytes::deterministic(kDatagramEdges));
static_assert(bytes::all_reachable(kDatagramEdges, DatagramState::kReset));

}  // namespace iwarp::verbs
