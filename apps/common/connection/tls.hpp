// SPDX-License-Identifier: Apache-2.0
// Creates the carriers that the TLS options configure.
#pragma once

#include <memory>

#include "iwarp/net/carrier.hpp"
#include "iwarp/options/settings.hpp"

namespace iwarp::apps {

/// Each function returns the carrier for an end that connects or listens, respectively, or null if
/// TLS is off. Throws Error if a file is unusable.
std::shared_ptr<const net::CarrierFactory> connecting_carrier(const options::TlsSettings& tls);
std::shared_ptr<const net::CarrierFactory> listening_carrier(const options::TlsSettings& tls);

}  // namespace iwarp::apps
