// SPDX-License-Identifier: Apache-2.0
// The carriers that the options of TLS ask for.
#pragma once

#include <memory>

#include "iwarp/net/carrier.hpp"
#include "iwarp/options/settings.hpp"

namespace iwarp::apps {

/// Null: no TLS. Error: what is wrong with the files.
std::shared_ptr<const net::CarrierFactory> connecting_carrier(const options::TlsSettings& tls);
std::shared_ptr<const net::CarrierFactory> listening_carrier(const options::TlsSettings& tls);

}  // namespace iwarp::apps
