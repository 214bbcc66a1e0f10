// SPDX-License-Identifier: Apache-2.0
// Target: a datagram queue pair that receives from arbitrary senders. The first octet selects
// whether the input gets a correct CRC. Properties: only the memory of a posted receive changes,
// each delivered datagram is as it was sent, and none is delivered twice.
#include "iwarp/crc32c/crc32c.hpp"
#include "iwarp/mpa/fpdu.hpp"
#include "iwarp/verbs/datagram_queue_pair.hpp"
#include "target.hpp"

namespace iwarp::fuzz {
namespace {

using namespace verbs;  // NOLINT(google-build-using-namespace): all tested code is in it

constexpr std::size_t kRoom = 512;

void sign(Octets& octets) {
  if (octets.size() < kDatagramCrcSize) return;
  const auto covered = octets.size() - kDatagramCrcSize;
  const auto crc = mpa::crc_octets(crc32c::compute(View(octets).first(covered)));
  std::copy(crc.begin(), crc.end(), octets.begin() + static_cast<std::ptrdiff_t>(covered));
}

}  // namespace

void run(View input) {
  Input in(input);
  static const GuardedMemory memory(1);
  std::uint32_t seed = 0;
  StagTable stags(8, [&] { return seed += 0x01000100; });
  CompletionQueue queue(64, [] {});
  const auto region = stags.create({.pd = 1,
                                    .address = memory.all().data(),
                                    .length = memory.all().size(),
                                    .access = Access::kLocalWrite});
  require(region.has_value(), "memory can be registered");
  DatagramQueuePair qp({.num = 0x800001, .pd = 1, .send_cq = &queue, .recv_cq = &queue}, stags);
  qp.set_q_key(1);
  for (const auto state : {DatagramState::kInit, DatagramState::kReceiving}) {
    require(!qp.set_state(state), "the queue pair can change its state");
  }
  const bool signs = in.flag();
  while (!in.empty()) {
    Octets octets = in.octets(in.u8() | 1U);
    if (signs) sign(octets);
    Watched watched(memory.all());
    const Sge sge{
        .address = memory.all().data(), .length = kRoom, .lkey = Stag{(*region)->stag.load()}};
    if (qp.receives() == 0) (void)qp.post_recv({.sgl = {&sge, 1}});
    watched.grant(memory.all().first(kRoom));
    for (int again = 0; again != 2; ++again) qp.arrived(octets, {});
    require(watched.untouched_elsewhere(), "memory outside the receive is unchanged");
    std::array<WorkCompletion, 4> done;
    const auto count = queue.poll(done);
    require(count <= 1, "nothing is delivered twice");
    require(!describe_datagram(octets).empty(), "a description says something");
    if (count == 0 || done[0].status != WcStatus::kSuccess) continue;
    const auto datagram = decode_datagram(octets);
    require(datagram && has_right_crc(octets), "a delivered datagram is intact");
    require(done[0].byte_len == kGrhSize + datagram->payload.size(),
            "the completion has the length of the datagram");
    const auto placed = memory.all().subspan(kGrhSize, datagram->payload.size());
    require(std::equal(placed.begin(), placed.end(), datagram->payload.begin()),
            "the payload is placed as it was sent");
  }
}

}  // namespace iwarp::fuzz
