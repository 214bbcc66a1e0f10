// SPDX-License-Identifier: Apache-2.0
// Lets the passive decoder read every FPDU in the captures that the Linux kernel's software iWARP
// has sent.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "capture_reader.hpp"
#include "iwarp/ddp/segment_header.hpp"
#include "iwarp/rdmap/message_header.hpp"
#include "iwarp/rdmap/terminate.hpp"
#include "iwarp/trace/stream_decoder.hpp"

namespace iwarp::test {
namespace {

using namespace trace;

/// What the decoder found in one capture, summed over all connections.
struct Seen {
  std::size_t connections = 0;
  std::size_t startup_frames = 0;
  unsigned revision = 0;
  bool enhanced = false;
  std::size_t undecodable = 0;
  std::map<CrcVerdict, std::size_t> crcs;
  std::map<unsigned, std::size_t> opcodes;
  /// One text "layer/type/code header-size" for each Terminate, in order.
  std::vector<std::string> terminates;
  std::size_t payload = 0;  ///< number of payload octets in all tagged messages
};

void note(Seen& seen, const Frame& frame) {
  if (frame.kind == FrameKind::kUndecodable) ++seen.undecodable;
  if (frame.kind == FrameKind::kStartup) {
    ++seen.startup_frames;
    seen.revision = frame.startup.revision;
    seen.enhanced = frame.startup.enhanced;
  }
  if (frame.kind != FrameKind::kFpdu) return;
  ++seen.crcs[frame.crc];
  const auto header = ddp::decode_segment_header(frame.ulpdu).value();
  CHECK(header.version == ddp::kDdpVersion);
  const unsigned opcode = header.rsvd_ulp & rdmap::kOpcodeMask;
  ++seen.opcodes[opcode];
  const auto payload = frame.ulpdu.subspan(header.size());
  if (header.tagged) seen.payload += payload.size();
  if (opcode != static_cast<unsigned>(rdmap::Opcode::kTerminate)) return;
  const auto t = rdmap::decode_terminate(payload).value();
  seen.terminates.push_back(
      std::to_string(static_cast<int>(t.fault.layer)) + "/" + std::to_string(t.fault.type) + "/" +
      std::to_string(t.fault.code) + " " +
      std::to_string(t.segment ? t.segment->ddp_header_size + t.segment->rdma_header_size : 0));
}

Seen look_at(const std::string& name) {
  Seen seen;
  const auto packets = read_capture(std::string(IWARP_TEST_VECTORS) + "/siw/" + name);
  for (const auto& connection : reassemble(packets)) {
    ++seen.connections;
    trace::StreamDecoder decoder([&seen](const Frame& frame) { note(seen, frame); });
    for (const auto& piece : connection.pieces) {
      decoder.octets(piece.from_opener ? Side::kNear : Side::kFar, piece.octets);
    }
    CHECK(decoder.held(Side::kNear) == 0);
    CHECK(decoder.held(Side::kFar) == 0);
  }
  CHECK(seen.undecodable == 0);
  CHECK(seen.startup_frames == 2 * seen.connections);
  return seen;
}

using Crcs = std::map<CrcVerdict, std::size_t>;
using Opcodes = std::map<unsigned, std::size_t>;

TEST_CASE("captures of siw: startup, CRC and messages of each revision [MPA-41, MPA-72]") {
  using enum CrcVerdict;
  struct Row {
    std::string file;
    unsigned revision;
    CrcVerdict crc;
    std::size_t fpdus, payload;
    Opcodes opcodes;
  };
  const Row rows[] = {
      {"rping-stock.pcap", 2, kNotUsed, 21, 1200, {{0, 3}, {1, 3}, {2, 3}, {3, 12}}},
      {"rping-crc-p2p.pcap", 2, kGood, 34, 18000, {{0, 10}, {1, 3}, {2, 9}, {3, 12}}},
      {"rping-mpa1-crc.pcap", 1, kGood, 14, 256, {{0, 2}, {1, 2}, {2, 2}, {3, 8}}},
      {"rdma-client-crc.pcap", 2, kGood, 2, 0, {{3, 2}}}};
  for (const Row& row : rows) {
    CAPTURE(row.file);
    const auto seen = look_at(row.file);
    CHECK(seen.connections == 1);
    CHECK(seen.revision == row.revision);
    CHECK(seen.enhanced == (row.revision == 2));
    CHECK(seen.crcs == Crcs{{row.crc, row.fpdus}});
    CHECK(seen.opcodes == row.opcodes);
    CHECK(seen.payload == row.payload);
  }
}

// In these captures, siw received an FPDU with a wrong CRC, a Read Request with an unknown STag,
// and a Send whose MSN is out of range.
TEST_CASE("Terminates of siw, in stock layout and that of RFC 5040, mean the same") {
  const auto fixed = look_at("term-fixed.pcap");
  const auto stock = look_at("term-stock.pcap");
  for (const auto* seen : {&fixed, &stock}) {
    CHECK(seen->connections == 3);
    CHECK(seen->opcodes == Opcodes{{1, 1}, {3, 2}, {7, 3}});
  }
  CHECK(fixed.terminates == stock.terminates);
  CHECK(fixed.terminates == std::vector<std::string>{"2/0/2 0", "0/1/0 46", "1/2/3 18"});
  CHECK(fixed.crcs == Crcs{{CrcVerdict::kGood, 5}, {CrcVerdict::kBad, 1}});
  CHECK(stock.crcs == fixed.crcs);
}

}  // namespace
}  // namespace iwarp::test
