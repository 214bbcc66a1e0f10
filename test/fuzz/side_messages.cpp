// SPDX-License-Identifier: Apache-2.0
// Target: small messages that arbitrary peers send outside of RDMA streams: SIDR, the private data
// of queue pairs without a CM, rsockets, the file protocol, and requests for metrics. The first
// octet selects the kind. Property: a message that is decoded and encoded again has the same
// octets.
#include <algorithm>

#include "bring_up/request.hpp"
#include "cm/sidr/message.hpp"
#include "metrics/scrape.hpp"
#include "rsockets/common/options.hpp"
#include "rsockets/datagrams/wire.hpp"
#include "rsockets/streams/wire.hpp"
#include "target.hpp"
#include "transfer/messages.hpp"

namespace iwarp::fuzz {
namespace {

namespace rs = rdma_core::rsockets;

void sidr(View octets) {
  const auto message = rdma_core::decode_sidr(octets);
  if (!message) return;
  require(message->private_data.size() <= rdma_core::kSidrPrivateData,
          "the length of private data is limited");
  const auto again = rdma_core::decode_sidr(rdma_core::encode(*message));
  require(again && again->kind == message->kind && again->rejected == message->rejected &&
              again->id == message->id && again->qp_num == message->qp_num &&
              again->q_key == message->q_key && again->private_data == message->private_data,
          "SIDR is written as it was read");
}

void out_of_band(View octets) {
  const Octets data(octets.begin(), octets.end());
  const auto request = rdma_core::decode_oob_request(data);
  require(!request || rdma_core::encode(*request) == data,
          "a request is encoded as it was decoded");
}

void greeting(View octets) {
  const auto one = rs::decode_greeting(octets);
  if (!one) return require(one.error() != 0, "an error has an error number");
  const auto again = rs::decode_greeting(rs::encode(*one));
  require(again && *again == *one, "a header of rsockets is encoded as it was decoded");
  require(rs::rounded_mappings(one->mappings) == one->mappings,
          "the number of mappings in a header needs no rounding");
}

void tables(View octets) {
  if (octets.size() < rs::kMappingSize) return;
  const auto entry = octets.first<rs::kMappingSize>();
  const auto target = octets.first<rs::kTargetSize>();
  for (const auto order : {std::endian::little, std::endian::big}) {
    require(std::ranges::equal(rs::encode(rs::decode_mapping(entry, order), order), entry),
            "an entry of mappings is written as it was read");
    require(std::ranges::equal(rs::encode(rs::decode_target(target, order), order), target),
            "and one of targets");
    const auto word = rs::decode_word(octets.first<4>(), order);
    require(rs::pack(rs::unpack(word)) == word,
            "a message of rsockets is encoded as it was decoded");
  }
}

// Decodes the headers of datagram rsockets, both over UDP and between queue pairs.
void datagram_headers(View octets) {
  const auto check = [&](const auto decode) {
    const auto first = decode(octets);
    if (!first) return;
    std::array<std::byte, rs::udp_header_size(rs::Version::kIpv6)> again{};
    const auto size = rs::encode(first->header, again);
    require(size + first->payload.size() == octets.size(),
            "header and payload make up the whole message");
    const auto second = decode(View(again).first(size));
    require(second && second->payload.empty(), "a header is encoded as it was decoded");
    require(second->header.version == first->header.version,
            "the encoded header has the same version");
    require(second->header.sender == first->header.sender,
            "the encoded header has the same sender");
  };
  check(rs::decode_udp);
  check(rs::decode_qp);
}

void file_protocol(View octets) {
  if (octets.size() > apps::kMaxMessage) return;  // No receive has room for more octets.
  const auto message = apps::decode_message(octets);
  if (!message) return require(*message.error() != '\0', "an error has a reason");
  if (const auto* refusal = std::get_if<apps::Refusal>(&*message);
      refusal != nullptr && refusal->reason.size() > apps::kMaxReason) {
    return;  // Encoding would truncate this message.
  }
  const auto again = apps::decode_message(apps::encode(*message).view());
  require(again && *again == *message, "a file message is encoded as it was decoded");
}

void metrics(View octets) {
  const std::string_view text(reinterpret_cast<const char*>(octets.data()), octets.size());
  for (const bool names_host : {false, true}) {
    bool answered = false;
    const auto answer = net::http_answer(text.substr(0, net::Scrape::kMaxRequest), names_host, [&] {
      answered = true;
      return std::string("figures\n");
    });
    require(answer.empty() || answer.starts_with("HTTP/1.0 "), "an answer is an HTTP response");
    require(answered == answer.starts_with("HTTP/1.0 200 "),
            "only a correct request gets the metrics");
    require(!answer.empty() || text.size() < net::Scrape::kMaxRequest,
            "a request that fills the buffer is answered");
  }
}

constexpr std::array kKinds{sidr,          out_of_band, greeting,        tables,
                            file_protocol, metrics,     datagram_headers};

}  // namespace

void run(View input) {
  Input in(input);
  const auto kind = in.u8();
  if (kind >= kKinds.size()) return;
  kKinds[kind](in.octets(input.size()));
}

}  // namespace iwarp::fuzz
