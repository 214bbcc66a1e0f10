// SPDX-License-Identifier: Apache-2.0
// Describes headers as rows. A row has a field, the field's size in octets or bits, and the format
// of its value. Offsets count from the beginning of the startup frame or the ULPDU; wire() accounts
// for the markers.
#include "frames/model/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "iwarp/mpa/layout.hpp"
#include "iwarp/rdmap/atomic_header.hpp"
#include "iwarp/rdmap/terminate.hpp"
#include "iwarp/trace/smb_direct.hpp"

namespace iwarp::apps::frames {
namespace {

using rdmap::Opcode;

enum class As : std::uint8_t { kNumber, kHex, kText, kOctets, kLayer, kFlags, kAtomic };

/// A field of a header. Bit 0 is the most significant bit of the first octet.
struct Row {
  Field field;
  std::size_t offset;
  std::size_t size;
  As as = As::kNumber;
  unsigned first_bit = 0;
  unsigned bits = 0;
};

constexpr std::array kStartupRows{
    Row{Field::kKey, 0, 16, As::kText},
    Row{Field::kMarkersBit, 16, 1, As::kNumber, 0, 1},
    Row{Field::kCrcBit, 16, 1, As::kNumber, 1, 1},
    Row{Field::kRejectBit, 16, 1, As::kNumber, 2, 1},
    Row{Field::kEnhancedBit, 16, 1, As::kNumber, 3, 1},
    Row{Field::kStartupReserved, 16, 1, As::kNumber, 4, 4},
    Row{Field::kRevision, 17, 1},
    Row{Field::kPdLength, 18, 2},
};
constexpr std::array kEnhancedRows{
    Row{Field::kPeerToPeer, 20, 2, As::kNumber, 0, 1},
    Row{Field::kRtrSend, 20, 2, As::kNumber, 1, 1},
    Row{Field::kIrd, 20, 2, As::kNumber, 2, 14},
    Row{Field::kRtrWrite, 22, 2, As::kNumber, 0, 1},
    Row{Field::kRtrRead, 22, 2, As::kNumber, 1, 1},
    Row{Field::kOrd, 22, 2, As::kNumber, 2, 14},
};
constexpr std::array kDdpRows{
    Row{Field::kTagged, 0, 1, As::kNumber, 0, 1},
    Row{Field::kLast, 0, 1, As::kNumber, 1, 1},
    Row{Field::kDdpReserved, 0, 1, As::kNumber, 2, 4},
    Row{Field::kDdpVersion, 0, 1, As::kNumber, 6, 2},
    Row{Field::kRdmapVersion, 1, 1, As::kNumber, 0, 2},
    Row{Field::kRdmapReserved, 1, 1, As::kNumber, 2, 2},
    Row{Field::kOpcode, 1, 1, As::kNumber, 4, 4},
};
constexpr std::array kTaggedRows{
    Row{Field::kStag, ddp::wire::kStag, 4, As::kHex},
    Row{Field::kTo, ddp::wire::kTo, 8, As::kHex},
};
constexpr std::array kUntaggedRows{
    Row{Field::kNoInvalidateStag, ddp::wire::kRsvdUlpRest, 4, As::kHex},
    Row{Field::kQn, ddp::wire::kQn, 4},
    Row{Field::kMsn, ddp::wire::kMsn, 4},
    Row{Field::kMo, ddp::wire::kMo, 4},
};
constexpr std::size_t kBody = ddp::kUntaggedHeaderSize;
constexpr std::array kReadRequestRows{
    Row{Field::kSinkStag, kBody, 4, As::kHex},
    Row{Field::kSinkTo, kBody + 4, 8, As::kHex},
    Row{Field::kReadSize, kBody + 12, 4},
    Row{Field::kSourceStag, kBody + 16, 4, As::kHex},
    Row{Field::kSourceTo, kBody + 20, 8, As::kHex},
};
constexpr std::array kTerminateRows{
    Row{Field::kTerminateLayer, kBody, 1, As::kLayer, 0, 4},
    Row{Field::kErrorType, kBody, 1, As::kNumber, 4, 4},
    Row{Field::kErrorCode, kBody + 1, 1, As::kHex},
    Row{Field::kHeaderControl, kBody + 2, 2, As::kFlags, 0, 3},
    Row{Field::kTerminateReserved, kBody + 2, 2, As::kNumber, 3, 13},
};
constexpr std::array kImmediateRows{Row{Field::kImmediate, kBody, 8, As::kHex}};
constexpr std::array kAtomicRequestRows{
    Row{Field::kAtomicReserved, kBody, 4, As::kNumber, 0, 28},
    Row{Field::kAtomicOpcode, kBody, 4, As::kAtomic, 28, 4},
    Row{Field::kRequestId, kBody + 4, 4, As::kHex},
    Row{Field::kRemoteStag, kBody + 8, 4, As::kHex},
    Row{Field::kRemoteTo, kBody + 12, 8, As::kHex},
    Row{Field::kAddOrSwap, kBody + 20, 8, As::kHex},
    Row{Field::kAddOrSwapMask, kBody + 28, 8, As::kHex},
    Row{Field::kCompare, kBody + 36, 8, As::kHex},
    Row{Field::kCompareMask, kBody + 44, 8, As::kHex},
};
constexpr std::array kAtomicResponseRows{
    Row{Field::kOriginalRequestId, kBody, 4, As::kHex},
    Row{Field::kOriginalValue, kBody + 4, 8, As::kHex},
};

/// Returns the rows of the RDMAP header that follows the DDP header.
std::span<const Row> rows_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::kReadRequest:
      return kReadRequestRows;
    case Opcode::kTerminate:
      return kTerminateRows;
    case Opcode::kImmediate:
    case Opcode::kImmediateSolicited:
      return kImmediateRows;
    case Opcode::kAtomicRequest:
      return kAtomicRequestRows;
    case Opcode::kAtomicResponse:
      return kAtomicResponseRows;
    default:
      return {};
  }
}

std::uint64_t number_of(const Row& row, bytes::View octets) {
  std::uint64_t value = 0;
  for (const auto octet : octets.subspan(row.offset, std::min<std::size_t>(row.size, 8))) {
    value = value << 8 | std::to_integer<std::uint64_t>(octet);
  }
  if (row.bits == 0) return value;
  const auto behind = 8 * row.size - row.first_bit - row.bits;
  return value >> behind & ((std::uint64_t{1} << row.bits) - 1);
}

std::string layer_text(std::uint64_t layer) {
  constexpr std::array kLayers{"RDMAP", "DDP", "MPA or below"};
  return fmt::format("{}: {}", layer, layer < kLayers.size() ? kLayers[layer] : "no layer");
}

std::string atomic_text(std::uint64_t opcode) {
  const auto* const name = opcode == 0 ? "FetchAdd" : opcode == 2 ? "CmpSwap" : "none";
  return fmt::format("{}: {}", opcode, name);
}

std::string counted_octets(std::size_t n) {
  return fmt::format("{} octet{}", n, n == 1 ? "" : "s");
}

std::string text_of(bytes::View octets) {
  std::string out;
  for (const auto octet : octets) {
    const auto c = std::to_integer<char>(octet);
    out += c >= ' ' && c <= '~' ? c : '.';
  }
  return out;
}

std::string value_of(const Row& row, bytes::View octets) {
  const auto number = number_of(row, octets);
  switch (row.as) {
    case As::kHex:
      return fmt::format("0x{:0{}x}", number, 2 * row.size);
    case As::kText:
      return text_of(octets.subspan(row.offset, row.size));
    case As::kOctets:
      return counted_octets(row.size);
    case As::kLayer:
      return layer_text(number);
    case As::kAtomic:
      return atomic_text(number);
    case As::kFlags:
      return fmt::format("M={} D={} R={}", number >> 2 & 1, number >> 1 & 1, number & 1);
    case As::kNumber:
      break;
  }
  return fmt::format("{}", number);
}

/// Collects the fields of one frame, in order.
class Fields {
 public:
  explicit Fields(const Explained& e) : e_(e), frame_(*e.frame) {
    if (frame_.kind == FrameKind::kFpdu) {
      layout_ = {frame_.position, frame_.marked, frame_.ulpdu_length};
    }
  }

  std::vector<FieldAt> take() {
    if (frame_.kind == FrameKind::kStartup) startup();
    if (frame_.kind == FrameKind::kFpdu) fpdu();
    return std::move(out_);
  }

 private:
  void startup() {
    const auto& octets = frame_.octets;
    add(kStartupRows, octets);
    std::size_t at = mpa::kStartupHeaderSize;
    if (frame_.startup.enhanced && frame_.startup.private_data.size() >= mpa::kEnhancedWordSize) {
      add(kEnhancedRows, octets);
      at += mpa::kEnhancedWordSize;
    }
    if (at >= octets.size()) return;
    if (const auto depths = trace::smb_direct_depths(frame_.startup)) {
      constexpr std::size_t kSize = trace::kSmbDirectDepthsSize / 2;
      out_.push_back({Field::kSmbIrd, fmt::format("{}", depths->ird), {{at, kSize}}});
      out_.push_back({Field::kSmbOrd, fmt::format("{}", depths->ord), {{at + kSize, kSize}}});
      return;
    }
    const auto said = octets.subspan(at);
    const bool tag = mpa::ends_with_extensions_tag(frame_.startup.kind, said);
    const auto data = said.size() - (tag ? mpa::kExtensionsTagSize : 0);
    if (data != 0) add(Row{Field::kPrivateData, at, data, As::kOctets}, octets);
    if (tag) add(Row{Field::kExtensionsTag, at + data, mpa::kExtensionsTagSize, As::kText}, octets);
  }

  void fpdu() {
    const auto length = layout_.length_offset();
    out_.push_back({Field::kUlpduLength,
                    fmt::format("{}", frame_.ulpdu_length),
                    {{length, mpa::kLengthFieldSize}}});
    segment(frame_.ulpdu);
    if (frame_.missing == 0) trailer();
    markers();
    std::ranges::sort(out_, {}, [](const FieldAt& field) {
      return std::pair{field.octets.front().begin, field.first_bit};
    });
  }

  void segment(bytes::View ulpdu) {
    if (!e_.header) {
      if (!ulpdu.empty()) add(Row{Field::kNoHeader, 0, ulpdu.size(), As::kOctets}, ulpdu);
      return;
    }
    add(kDdpRows, ulpdu);
    std::size_t at = e_.header->size();
    if (e_.header->tagged) {
      add(kTaggedRows, ulpdu);
    } else {
      add(kUntaggedRows, ulpdu);
      at = std::max(at, body(ulpdu));
    }
    if (at < ulpdu.size()) add(Row{Field::kPayload, at, ulpdu.size() - at, As::kOctets}, ulpdu);
  }

  /// Adds the fields of the RDMAP header, which follows the DDP header. Returns the offset after
  /// these fields.
  std::size_t body(bytes::View ulpdu) {
    if (e_.opcode == nullptr) return 0;
    if (e_.opcode->tagged) return 0;
    if (e_.opcode->invalidates) change(Field::kNoInvalidateStag, Field::kInvalidateStag);
    const auto rows = rows_of(e_.opcode->opcode);
    auto end = add(rows, ulpdu);
    if (e_.opcode->opcode == Opcode::kTerminate) end = echo(ulpdu, end);
    return end;
  }

  /// Adds the headers that a Terminate returns to the peer. Returns the offset after them.
  std::size_t echo(bytes::View ulpdu, std::size_t at) {
    const auto terminate = rdmap::decode_terminate(e_.payload);
    if (!terminate || !terminate->segment) return at;
    constexpr std::size_t kLengthSize = 2;
    for (const auto& [field, size] :
         {std::pair{Field::kSegmentLength, kLengthSize},
          std::pair{Field::kTerminatedDdpHeader, terminate->segment->ddp_header_size},
          std::pair{Field::kTerminatedRdmaHeader, terminate->segment->rdma_header_size}}) {
      const auto seen = std::min(size, ulpdu.size() - at);
      if (seen == 0) continue;
      const auto as = field == Field::kSegmentLength ? As::kNumber : As::kOctets;
      add(Row{field, at, seen, as}, ulpdu);
      at += seen;
    }
    return at;
  }

  void trailer() {
    const auto pad = mpa::pad_size(frame_.ulpdu_length);
    if (pad != 0) {
      out_.push_back({Field::kPad, counted_octets(pad), wire(frame_.ulpdu_length, pad)});
    }
    constexpr std::array kVerdicts{"right", "wrong", "not used", "not checked"};
    out_.push_back({Field::kCrc,
                    fmt::format("0x{:08x}, {}", frame_.crc_field,
                                kVerdicts[static_cast<std::size_t>(frame_.crc)]),
                    {{layout_.crc_offset(), mpa::kCrcSize}}});
  }

  void markers() {
    constexpr std::size_t kHalf = mpa::kMarkerSize / 2;
    for (std::size_t i = 0; i < layout_.marker_count(); ++i) {
      const auto at = layout_.marker_offset(i);
      if (at + mpa::kMarkerSize > frame_.octets.size() || i >= frame_.fpduptrs.size()) break;
      out_.push_back({Field::kMarkerReserved,
                      fmt::format("{}", bytes::load_be<std::uint16_t>(&frame_.octets[at])),
                      {{at, kHalf}}});
      const auto due = layout_.fpduptr(i);
      const auto says = frame_.fpduptrs[i];
      out_.push_back(
          {Field::kFpduptr,
           says == due ? fmt::format("{}", says) : fmt::format("{} instead of {}", says, due),
           {{at + kHalf, kHalf}}});
    }
  }

  void change(Field from, Field to) {
    const auto found = std::ranges::find(out_, from, &FieldAt::field);
    if (found != out_.end()) found->field = to;
  }

  /// Adds those rows whose octets were captured. Returns the offset after the last of them.
  std::size_t add(std::span<const Row> rows, bytes::View octets) {
    std::size_t end = 0;
    for (const auto& row : rows) {
      if (row.offset + row.size > octets.size()) break;
      add(row, octets);
      end = row.offset + row.size;
    }
    return end;
  }
  void add(const Row& row, bytes::View octets) {
    out_.push_back(
        {row.field, value_of(row, octets), wire(row.offset, row.size), row.first_bit, row.bits});
  }

  /// Converts a range of the startup frame or the ULPDU to ranges of the frame on the wire. The
  /// result has several ranges if there are markers in between.
  std::vector<OctetRange> wire(std::size_t offset, std::size_t size) const {
    if (frame_.kind == FrameKind::kStartup) return {{offset, size}};
    std::vector<OctetRange> out;
    layout_.walk(layout_.offset_of(offset), layout_.end_of(offset + size), [&](const auto& run) {
      if (!run.marker) out.push_back({run.offset, run.size});
    });
    return out;
  }

  const Explained& e_;
  const Frame& frame_;
  mpa::FpduLayout layout_;
  std::vector<FieldAt> out_;
};

}  // namespace

std::vector<FieldAt> fields_of(const Explained& explained) { return Fields(explained).take(); }

}  // namespace iwarp::apps::frames
