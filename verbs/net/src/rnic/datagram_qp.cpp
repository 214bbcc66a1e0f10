// SPDX-License-Identifier: Apache-2.0
// DatagramQp: checks the limits of the device, chooses the number of the queue pair, and forwards
// all other calls to DrivenDatagrams.
#include "iwarp/net/datagram_qp.hpp"

#include "datagrams/driven_datagrams.hpp"
#include "iwarp/net/rnic.hpp"
#include "rnic/impl.hpp"

namespace iwarp::net {
namespace {

using verbs::Errc;

// The number of a datagram queue pair consists of a bit that other queue pairs do not have, 7
// random bits that a peer cannot guess, and the UDP port.
constexpr verbs::QpNum kDatagramBit = 1U << 23;
constexpr unsigned kSecretBits = 7;
// the highest 7-bit value is reserved for multicast
constexpr verbs::QpNum kSecrets = (1U << kSecretBits) - 1;

verbs::QpNum number_for(std::uint16_t port) {
  return kDatagramBit | (random_word() % kSecrets) << 16 | port;
}

bool within(const verbs::DatagramQpInit& init, const RnicOptions& options) {
  const auto& limits = init.limits;
  return init.send_cq != nullptr && init.recv_cq != nullptr &&
         limits.max_send_wr <= options.max_wr && limits.max_recv_wr <= options.max_wr &&
         limits.max_send_sge <= bytes::kMaxSge && limits.max_recv_sge <= bytes::kMaxSge &&
         limits.max_inline <= verbs::kMaxDatagramPayload &&
         init.max_payload <= verbs::kMaxDatagramPayload;
}

}  // namespace

Expected<std::unique_ptr<DatagramQp>> Rnic::create_datagram_qp(ProtectionDomain& pd,
                                                               const DatagramQpOptions& options) {
  return with_resources([&]() -> Expected<std::unique_ptr<DatagramQp>> {
    verbs::DatagramQpInit init = options.init;
    if (!within(init, impl_->options)) return refuse(Errc::kInvalidArgument);
    auto socket = DatagramSocket::open(0, options.ports);
    if (!socket) return std::unexpected(socket.error());
    init.pd = pd.id();
    init.num = number_for(socket->port());
    init.instance = random_word();
    std::shared_ptr<CqFeed> feed;
    std::shared_ptr<DrivenDatagrams> driven;
    std::unique_ptr<DatagramQp> out;
    {
      const std::lock_guard lock(impl_->mutex);
      const auto receives = impl_->cqs.find(init.recv_cq);
      if (receives == impl_->cqs.end() || !impl_->cqs.contains(init.send_cq)) {
        return refuse(Errc::kInvalidArgument);
      }
      if (impl_->qps.size() + impl_->datagrams.size() >= impl_->options.max_qps) {
        return refuse(Errc::kLimitReached);
      }
      feed = receives->second.feed;
      driven = std::make_shared<DrivenDatagrams>(impl_->pick_worker(), init, impl_->stags,
                                                 std::move(*socket), options.tap);
      out = std::make_unique<DatagramQp>(*this, driven);
      impl_->datagrams.insert(driven);
    }
    feed->add(driven);  // if this fails, the destructor of `out` removes the queue pair
    return out;
  });
}

DatagramQp::DatagramQp(Rnic& rnic, std::shared_ptr<DrivenDatagrams> driven)
    : rnic_(rnic), driven_(std::move(driven)) {}

// The process ends if locking throws.
DatagramQp::~DatagramQp() {  // NOLINT(bugprone-exception-escape)
  auto& impl = rnic_.impl();
  driven_->end();
  {
    const std::lock_guard lock(impl.mutex);
    impl.datagrams.erase(driven_);
    impl.datagrams_over += driven_->core().counters();
  }
  driven_->leave_queues();
}

verbs::QpNum DatagramQp::num() const { return driven_->core().init().num; }
verbs::DatagramState DatagramQp::state() const { return driven_->core().state(); }
bool DatagramQp::send_failed() const { return driven_->core().send_failed(); }
std::error_code DatagramQp::set_state(verbs::DatagramState state) {
  return driven_->set_state(state);
}
void DatagramQp::set_q_key(std::uint32_t q_key) { driven_->core().set_q_key(q_key); }
verbs::DatagramCounters DatagramQp::counters() const { return driven_->counters(); }

std::error_code DatagramQp::post_send(std::span<const verbs::DatagramWr> wrs, std::size_t& posted) {
  return driven_->post_send(wrs, posted);
}

std::error_code DatagramQp::post_all(std::span<const verbs::DatagramWr> wrs) {
  return driven_->post_all(wrs);
}

std::error_code DatagramQp::post_recv(const verbs::RecvWr& wr) { return driven_->post_recv(wr); }

std::error_code DatagramQp::attach(const verbs::IpAddress& group,
                                   std::span<const unsigned> interfaces) {
  return driven_->attach(group, interfaces);
}

std::error_code DatagramQp::detach(const verbs::IpAddress& group) { return driven_->detach(group); }

bool DatagramQp::is_attached() const { return driven_->is_attached(); }

}  // namespace iwarp::net
