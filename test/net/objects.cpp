// SPDX-License-Identifier: Apache-2.0
// Tests what a program may choose when it creates objects, and which choices are refused.
#include <unistd.h>

#include <fstream>

#include "socket_pair.hpp"

using namespace iwarp;
using namespace iwarp::net;

TEST_CASE("a program may choose its queue pair numbers; used and too large numbers are refused") {
  auto rnic = open_rnic();
  auto pd = must(rnic->alloc_pd());
  auto cq = must(rnic->create_cq(16));
  const auto create = [&](verbs::QpNum num) {
    return rnic->create_qp(*pd, {.num = num, .send_cq = cq.get(), .recv_cq = cq.get()});
  };
  const auto refused = [&](verbs::QpNum num) {
    const auto qp = create(num);
    return !qp && qp.error() == make_error_code(Errc::kInvalidArgument);
  };
  auto chosen = must(create(1));
  CHECK_EQ(chosen->num(), 1);
  CHECK(refused(1));
  CHECK_EQ(must(create(0xFFFFFF))->num(), 0xFFFFFF);
  CHECK(refused(0x1000000));
  // When the device assigns a number, it skips numbers that are in use.
  auto picked = must(create(0));
  CHECK_EQ(picked->num(), 2);
  CHECK(refused(2));
  chosen.reset();
  CHECK_EQ(must(create(1))->num(), 1);
}

namespace {

std::size_t resident_octets() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST_CASE("queues of the largest size consume memory only for their entries") {
  RnicOptions options;
  auto rnic = open_rnic(options);
  auto pd = must(rnic->alloc_pd());
  const auto most = static_cast<std::uint32_t>(options.max_wr);
  const verbs::QpLimits limits{.max_send_wr = most,
                               .max_recv_wr = most,
                               .max_send_sge = 16,
                               .max_recv_sge = 16,
                               .max_inline = 512};
  std::vector<CqHandle> cqs;
  std::vector<SrqHandle> srqs;
  std::vector<QpHandle> qps;
  const auto before = resident_octets();
  for (int i = 0; i < 8; ++i) {
    auto* cq = cqs.emplace_back(must(rnic->create_cq(options.max_cqe))).get();
    srqs.push_back(must(rnic->create_srq(*pd, {.max_wr = options.max_wr, .max_sge = 16})));
    qps.push_back(must(rnic->create_qp(*pd, {.send_cq = cq, .recv_cq = cq, .limits = limits})));
    REQUIRE_FALSE(qps.back()->post_recv({}));
    REQUIRE_FALSE(qps.back()->post_send({.flags = verbs::SendFlags::kInline}));
  }
  CHECK_LT(resident_octets(), before + (std::size_t{64} << 20));
}
