// SPDX-License-Identifier: Apache-2.0
// Creates the carriers that the TLS options configure.
#pragma once

#include <memory>

#include "iwarp/net/carrier.hpp"
#include "iwarp/options/settings.hpp"

namespace iwarp::apps {

/// Each function returns the factory that puts TLS between MPA and TCP: the first function for an
/// end that connects, the second for an end that listens. Returns null if TLS is off. Throws Error
/// if a file is unusable.
std::shared_ptr<const net::CarrierFactory> connecting_carrier(const options::TlsSettings& tls);
std::shared_ptr<const net::CarrierFactory> listening_carrier(const options::TlsSettings& tls);

}  // namespace iwarp::apps
