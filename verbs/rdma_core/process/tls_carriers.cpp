// SPDX-License-Identifier: Apache-2.0
// Makes the carriers from the settings, and logs peers whose TLS was refused: each host and reason
// once as a warning.
#include "process/tls_carriers.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <utility>

#include "iwarp/net/statistics.hpp"
#include "iwarp/tls/tls.hpp"
#include "process/refusal.hpp"

namespace iwarp::rdma_core {
namespace {

constexpr std::size_t kMaxRefusals = 256;

[[noreturn]] void refuse_tls(const std::string& why) {
  log_refusal("cannot set up TLS: " + why);
  fail(EINVAL);
}

bool is_on(const std::string& demand) { return demand.empty() || demand == "on" || demand == "1"; }

/// The refusals that were already logged as a warning: for each one, the host of the refused peer
/// and the reason.
struct Refusals {
  std::mutex mutex;
  std::set<std::pair<std::string, std::string>> said;

  bool first_time(const std::string& host, const std::string& why) {
    const std::lock_guard lock(mutex);
    return said.size() < kMaxRefusals && said.emplace(host, why).second;
  }
};

}  // namespace

TlsCarriers::TlsCarriers(const TlsSettings& settings) {
  if (!settings.wanted()) return;
  if (!is_on(settings.demand)) refuse_tls("IWARP_TLS=" + settings.demand + " is not on or off");
  tls::stay_usable_at_exit();
  tls::TlsOptions options;
  options.certificate = settings.certificate;
  options.key = settings.key;
  options.authorities = settings.authorities;
  options.peer_names = tls::split_names(settings.peers);
  options.shared_keys = settings.shared_keys;
  auto connecting = tls::connecting(options);
  if (!connecting) refuse_tls(connecting.error());
  connecting_ = std::move(*connecting);
  auto listening = tls::listening(options);
  if (listening) {
    listening_ = std::move(*listening);
  } else {
    why_none_listens_ = listening.error();
  }
}

const TlsCarriers::Factory& TlsCarriers::listening() const {
  if (!why_none_listens_.empty()) refuse_tls(why_none_listens_);
  return listening_;
}

decltype(net::ListenOptions::setup_failed) log_refused_peers() {
  return [refusals = std::make_shared<Refusals>()](
             const net::Address& peer, net::SetupFailure reason, const std::string& why) {
    if (reason != net::SetupFailure::kCarrier && reason != net::SetupFailure::kNoRoom) return;
    const bool is_new = refusals->first_time(peer.host, why);
    log_event({.level = is_new ? verbs::LogLevel::kWarning : verbs::LogLevel::kInfo,
               .event = "peer_refused",
               .message = fmt::format("{} is refused: {}", to_string(peer), why),
               .fields = {{"peer", to_string(peer)}, {"why", why}}});
  };
}

}  // namespace iwarp::rdma_core
