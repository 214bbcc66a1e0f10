// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a work request without the cost of its bytes. The request is posted, driven
// and polled on a live connection. The benchmark uses local requests because they take the same
// path as all other requests but send nothing.
#include "common/serving/session.hpp"
#include "cost/bench/bench.hpp"

namespace iwarp::apps::cost {

namespace {

using verbs::WrOpcode;

/// Posts local requests that alternately make a fast-register region valid and invalid.
class LocalRequests {
 public:
  explicit LocalRequests(net::Rnic& rnic) : rnic_(rnic) {
    pd_ = check(rnic.alloc_pd(), "cannot allocate a protection domain");
    cq_ = check(rnic.create_cq(64), "cannot create a completion queue");
    near_ = queue_pair();
    far_ = queue_pair();
    region_ = check(rnic.allocate_fast_region(*pd_), "cannot allocate a fast-register region");
    requests_ = check(rnic.create_cm_channel(), "cannot create an event channel");
    outcomes_ = check(rnic.create_cm_channel(), "cannot create an event channel");
    const auto listener = check(rnic.listen({"127.0.0.1", 0}, {}, *requests_), "cannot listen");
    check(rnic.connect(*near_, listener->local(), {}, *outcomes_), "cannot connect");
    const auto request = requests_->wait(5s);
    if (!request || request->request == nullptr)
      throw Error("no connection request arrived over loopback");
    check(request->request->accept(*far_), "cannot accept");
    const auto outcome = outcomes_->wait(5s);
    if (!outcome || outcome->type != net::CmEvent::Type::kEstablished) {
      throw Error("cannot connect over loopback");
    }
  }

  /// Posts kBatch requests and waits for their completions.
  void next() {
    for (std::uint64_t i = 0; i < kBatch; i += 2) {
      post({.opcode = WrOpcode::kFastRegister,
            .flags = verbs::SendFlags::kSignaled,
            .registration = {.stag = region_.stag(),
                             .address = memory_.data(),
                             .length = memory_.size(),
                             .access = verbs::Access::kLocalWrite}});
      post({.opcode = WrOpcode::kLocalInvalidate,
            .flags = verbs::SendFlags::kSignaled,
            .invalidate = region_.stag()});
    }
    verbs::WorkCompletion wc;
    for (std::uint64_t done = 0; done < kBatch;) {
      if (cq_->poll({&wc, 1}) == 0) continue;
      if (wc.status != verbs::WcStatus::kSuccess) throw Error("a local work request failed");
      ++done;
    }
  }

 private:
  net::QpHandle queue_pair() {
    return check(rnic_.create_qp(*pd_, {.send_cq = cq_.get(), .recv_cq = cq_.get()}),
                 "cannot create a queue pair");
  }
  void post(const verbs::SendWr& wr) { check(near_->post_send(wr), "cannot post"); }

  net::Rnic& rnic_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
  net::CmChannelHandle requests_;
  net::CmChannelHandle outcomes_;
  std::unique_ptr<net::ProtectionDomain> pd_;
  net::CqHandle cq_;
  net::QpHandle near_;
  net::QpHandle far_;
  net::Memory region_;
};

}  // namespace

Sample bench_request() {
  constexpr std::uint64_t kTimes = 1000;
  const auto rnic = open_rnic();
  LocalRequests requests(*rnic);
  return sample([&] { return time_between_calls([&] { requests.next(); }, kTimes) / kBatch; });
}

double request_cost(const Sample& request, const Framing& framing) {
  return request.value + framing.message.value / 2;
}

}  // namespace iwarp::apps::cost
