// SPDX-License-Identifier: Apache-2.0
// Makes the carrier factories of clients and servers.
#include "iwarp/tls/tls.hpp"

#include <openssl/ssl.h>

#include <algorithm>

#include "context.hpp"

namespace iwarp::tls {
namespace {

std::expected<Factory, std::string> make(Side side, const TlsOptions& options) {
  auto context = std::make_shared<Context>(side, options);
  if (auto wrong = context->set_up(); !wrong.empty()) return std::unexpected(std::move(wrong));
  return context;
}

}  // namespace

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < list.size();) {
    const auto end = std::min(list.find(',', at), list.size());
    out.emplace_back(list.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::expected<Factory, std::string> connecting(const TlsOptions& options) {
  return make(Side::kConnects, options);
}

std::expected<Factory, std::string> listening(const TlsOptions& options) {
  return make(Side::kListens, options);
}

void stay_usable_at_exit() { OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr); }

}  // namespace iwarp::tls
