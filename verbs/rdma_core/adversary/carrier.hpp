// SPDX-License-Identifier: Apache-2.0
// Makes carriers that delay what a connection sends and receives. While a carrier holds its output
// back, the connection does not look at its requests, so that these are executed late. With TLS,
// they are put above the carriers of TLS.
#pragma once

#include <memory>

#include "iwarp/net/carrier.hpp"
#include "process/settings.hpp"

namespace iwarp::rdma_core::adversary {

/// `below` makes the carriers below; null for plain TCP.
std::shared_ptr<const net::CarrierFactory> make_carriers(
    std::uint64_t seed, std::shared_ptr<const net::CarrierFactory> below);

}  // namespace iwarp::rdma_core::adversary
