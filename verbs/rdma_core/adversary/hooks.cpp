// SPDX-License-Identifier: Apache-2.0
// The adversary's decisions at each call: gaps within a list of posts, other keys and sizes, the
// options of a connection, and late connection events. Completions and Lander do the rest.
#include "adversary/hooks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "adversary/completions.hpp"
#include "adversary/dice.hpp"
#include "adversary/placement.hpp"
#include "iwarp/bytes/view.hpp"
#include "objects/objects.hpp"
#include "process/errno_table.hpp"
#include "qp/queue_pair.hpp"

namespace iwarp::rdma_core::adversary {
namespace {

using options::Freedom;
using std::chrono::microseconds;

constexpr microseconds kLatestDispatch{40'000};
constexpr microseconds kRnrTimer{640};    // min_rnr_timer 12, which the kernel's CM sets
constexpr microseconds kLongestGap{200};  // between two requests of a list

/// A copy of one request or receive of a list, whose buffers have the keys of the library.
template <typename Wr>
struct Copy {
  Copy(const Wr& from, std::uint32_t key) : wr(from) {
    wr.next = nullptr;
    // The library refuses more than bytes::kMaxSge entries, and the list may have fewer.
    if (wr.num_sge <= 0 || std::cmp_greater(wr.num_sge, bytes::kMaxSge)) return;
    sges.assign(wr.sg_list, wr.sg_list + wr.num_sge);
    for (ibv_sge& sge : sges) sge.lkey ^= key;
    wr.sg_list = sges.data();
  }
  Wr wr;
  std::vector<ibv_sge> sges;
};

class AdversaryHooks final : public Hooks {
 public:
  AdversaryHooks(const Settings& settings, std::unique_ptr<Hooks> behind)
      : Hooks(std::move(behind)),
        choice_(*settings.adversary),
        persona_(settings.persona),
        completions_(*new Completions(choice_)),
        lander_(*new Lander(choice_, settings.persona)),
        posts_(choice_.first, Dice::Kind::kPosts),
        connections_(choice_.first, Dice::Kind::kConnection),
        dispatcher_(choice_.first, Dice::Kind::kDispatch),
        sizes_(choice_.first, Dice::Kind::kSizes) {
    if (choice_.has(Freedom::kDatagrams)) attach_datagrams(choice_);
    // The library gives each region key 0, so no other key of the region's index is valid.
    if (choice_.has(Freedom::kKeys)) key_ = 1 + static_cast<std::uint32_t>(posts_.below(255));
  }

  int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) override {
    return post_list(wr, bad_wr, [&](ibv_send_wr* list, ibv_send_wr** bad) {
      return behind().post_send(qp, list, bad);
    });
  }
  int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) override {
    return post_list(wr, bad_wr, [&](ibv_recv_wr* list, ibv_recv_wr** bad) {
      return behind().post_recv(qp, list, bad);
    });
  }
  int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) override {
    return post_list(wr, bad_wr, [&](ibv_recv_wr* list, ibv_recv_wr** bad) {
      return behind().post_srq_recv(srq, list, bad);
    });
  }
  int post_built(Qp& qp) override {
    for (verbs::Sge& sge : qp.staged->sges) sge.lkey.value ^= key_;
    return behind().post_built(qp);
  }

  int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) override {
    lander_.polled();
    return completions_.poll(behind(), cq, count, wc);
  }
  int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) override {
    return completions_.start_poll(behind(), cq, attr);
  }
  int next_poll(ibv_cq_ex* cq) override { return completions_.next_poll(behind(), cq); }
  int req_notify_cq(ibv_cq* cq, int solicited_only) override {
    return completions_.arm(behind(), cq, solicited_only);
  }

  void registered(Mr& mr) override {
    Hooks::registered(mr);
    mr.abi.lkey ^= key_;
  }
  void made_extended(Cq& cq) override {
    completions_.made_extended(cq);
    Hooks::made_extended(cq);
  }
  void destroying(Cq& cq) override {
    completions_.destroying(cq);
    Hooks::destroying(cq);
  }
  void destroying(Qp& qp) override {
    completions_.hurry();
    completions_.drop_failed(qp);
    Hooks::destroying(qp);
  }
  void changing_state() override {
    completions_.hurry();
    Hooks::changing_state();
  }
  void reset(Qp& qp) override {
    completions_.drop_failed(qp);
    Hooks::reset(qp);
  }

  void configuring(verbs::ConnectionOptions& options,
                   std::shared_ptr<const net::CarrierFactory>& carrier) override {
    Hooks::configuring(options, carrier);
    const std::lock_guard lock(mutex_);
    constexpr std::size_t kLeastUlpdu = 128;
    if (choice_.has(Freedom::kSegments) && connections_.one_in(2)) {
      options.max_ulpdu = kLeastUlpdu << connections_.below(8);
    }
    const bool moves_memory = choice_.has(Freedom::kPlacement) || choice_.has(Freedom::kReads) ||
                              choice_.has(Freedom::kAtomics);
    if (moves_memory) options.latitude = [this] { return lander_.make_latitude(); };
    const bool ends_at_once = choice_.has(Freedom::kReceives) && persona_ == Persona::kIwarp;
    if (ends_at_once) options.receive_hold = microseconds(0);
    if (choice_.has(Freedom::kWire)) carrier = make_carriers(choice_.first, std::move(carrier));
  }
  std::uint32_t grant(std::uint32_t asked, std::uint32_t usual, std::uint32_t most) override {
    if (!choice_.has(Freedom::kSizes)) return Hooks::grant(asked, usual, most);
    constexpr std::uint64_t kMostExtra = 64;
    const std::lock_guard lock(mutex_);
    const auto extra = sizes_.one_in(2) ? 0 : 1 + 2 * sizes_.below(kMostExtra / 2);
    const auto out = std::max<std::uint64_t>(asked, 1) + extra;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(out, most));
  }
  // iWARP has no retries, and rdma_cm sets the shortest time between two of them.
  void holding(std::optional<std::uint8_t> cm_rnr_retry, verbs::PeerTimeouts& timeouts) override {
    constexpr std::uint8_t kForEver = 7;
    if (!choice_.has(Freedom::kReceives)) return Hooks::holding(cm_rnr_retry, timeouts);
    if (persona_ == Persona::kIwarp) {
      timeouts.receive_hold = microseconds(0);
    } else if (cm_rnr_retry && *cm_rnr_retry < kForEver) {
      timeouts.receive_hold = kRnrTimer * *cm_rnr_retry;
    }
  }
  bool delays_events() override {
    if (!choice_.has(Freedom::kDispatch)) return Hooks::delays_events();
    microseconds delay{};
    {
      const std::lock_guard lock(mutex_);
      if (dispatcher_.one_in(2)) return false;
      delay = dispatcher_.up_to(kLatestDispatch);
    }
    std::this_thread::sleep_for(delay);
    note("connection events were delayed by {} us", delay.count());
    return true;
  }

 private:
  /// Posts the elements of the list one after the other, often with time between them.
  template <typename Wr, typename Post>
  int post_list(Wr* wr, Wr** bad_wr, Post post) {
    if (wr == nullptr) return post(wr, bad_wr);
    const bool is_cut = wr->next != nullptr && choice_.has(Freedom::kBatches);
    for (; wr != nullptr; wr = wr->next) {
      Wr* bad = nullptr;
      const int code = guarded([&] {
        Copy copy(*wr, key_);
        return post(&copy.wr, &bad);
      });
      if (code != 0) {
        *bad_wr = wr;
        return code;
      }
      if (is_cut && wr->next != nullptr) std::this_thread::sleep_for(gap());
    }
    return 0;
  }
  microseconds gap() {
    const std::lock_guard lock(mutex_);
    return posts_.one_in(2) ? posts_.up_to(kLongestGap) : microseconds(0);
  }

  const options::Adversary choice_;
  const Persona persona_;
  // Never destroyed, because their threads never end.
  Completions& completions_;
  Lander& lander_;
  std::uint32_t key_ = 0;  ///< difference of the lkeys that the program sees from the library's
  std::mutex mutex_;       ///< guards the next four members
  Dice posts_;
  Dice connections_;
  Dice dispatcher_;
  Dice sizes_;
};

}  // namespace

std::unique_ptr<Hooks> make_hooks(const Settings& settings, std::unique_ptr<Hooks> behind) {
  return std::make_unique<AdversaryHooks>(settings, std::move(behind));
}

bool is_recorded() { return !settings().adversary_record.empty(); }

void note_text(fmt::string_view format, fmt::format_args args) {
  // The file stays open until the process ends.
  static const int kFile =
      is_recorded() ? ::open(settings().adversary_record.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)
                    : -1;
  if (kFile < 0) return;
  static const auto kStart = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::milli> at = std::chrono::steady_clock::now() - kStart;
  // A record that lacks lines is still of use.
  or_no_memory([&] {
    const std::string line = fmt::format("{:10.3f} ms, process {}: {}\n", at.count(), ::getpid(),
                                         fmt::vformat(format, args));
    [[maybe_unused]] const auto written = ::write(kFile, line.data(), line.size());
  });
}

}  // namespace iwarp::rdma_core::adversary
