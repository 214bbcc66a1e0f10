// SPDX-License-Identifier: Apache-2.0
// NameLookup: the detached thread, and the state that it shares with its owner. The last of the two
// frees the state.
#include "iwarp/net/name_lookup.hpp"

#include <netdb.h>

#include <array>
#include <atomic>
#include <cassert>

#include "iwarp/net/channel.hpp"
#include "iwarp/net/quiet_thread.hpp"

namespace iwarp::net {
namespace {

class LookupCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "getaddrinfo"; }
  std::string message(int code) const override { return ::gai_strerror(code); }
};

const LookupCategory& lookup_category() {
  static const LookupCategory kCategory;
  return kCategory;
}

}  // namespace

struct NameLookup::State {
  void look_up(const std::string& host) {
    try {
      resolve(host);
    } catch (const std::bad_alloc&) {
      code = EAI_MEMORY;
    }
    is_done.store(true, std::memory_order_release);
    done.signal();
  }

  void resolve(const std::string& host) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* list = nullptr;
    code = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), "0", &hints, &list);
    if (code != 0) return;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(list, ::freeaddrinfo);
    for (const addrinfo* a = list; a != nullptr && code == 0; a = a->ai_next) {
      std::array<char, NI_MAXHOST> text{};
      code = ::getnameinfo(a->ai_addr, a->ai_addrlen, text.data(), text.size(), nullptr, 0,
                           NI_NUMERICHOST);
      addresses.emplace_back(text.data());
    }
  }

  EventFd done;
  std::atomic<bool> is_done{false};
  // Until is_done is true, only the lookup thread uses the members below.
  int code = 0;
  std::vector<std::string> addresses;
};

NameLookup::NameLookup(std::string host) : state_(std::make_shared<State>()) {
  quiet_thread([state = state_, host = std::move(host)] { state->look_up(host); }).detach();
}

NameLookup::~NameLookup() = default;

int NameLookup::fd() const { return state_->done.fd(); }

std::expected<std::vector<std::string>, std::error_code> NameLookup::result() const {
  [[maybe_unused]] const bool is_done = state_->is_done.load(std::memory_order_acquire);
  assert(is_done);
  if (state_->code != 0) return std::unexpected(std::error_code(state_->code, lookup_category()));
  return state_->addresses;
}

}  // namespace iwarp::net
