// SPDX-License-Identifier: Apache-2.0
// Initializes types of the interface by naming some of their members, as a user of the library
// does. Must compile without a warning.
#include <iwarp/iwarp.hpp>
#include <iwarp/verbs/datagram_types.hpp>

namespace iwarp {

[[maybe_unused]] const verbs::ConnectionOptions kConnection{.max_ulpdu = 4096};
[[maybe_unused]] const verbs::QpLimits kLimits{.max_send_wr = 4};
[[maybe_unused]] const verbs::QpInit kQueuePair{.limits = kLimits};
[[maybe_unused]] const verbs::Sge kBuffer{.length = 8};
[[maybe_unused]] const verbs::RemoteAddress kRemote{.to = 8};
[[maybe_unused]] const verbs::SendWr kSend{.wr_id = 1};
[[maybe_unused]] const verbs::SendWr kWrite{.opcode = verbs::WrOpcode::kWrite, .remote = kRemote};
[[maybe_unused]] const verbs::RecvWr kReceive{.wr_id = 2};
[[maybe_unused]] const verbs::DatagramWr kDatagram{.wr_id = 3};
[[maybe_unused]] const net::Address kAddress{.port = 4791};
[[maybe_unused]] const net::ConnectOptions kConnect{.connection = kConnection};
[[maybe_unused]] const net::ListenOptions kListen{.connection = kConnection};
[[maybe_unused]] const net::RnicOptions kRnic{.reserved_descriptors = 8};

}  // namespace iwarp
