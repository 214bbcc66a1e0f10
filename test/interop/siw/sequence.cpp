// SPDX-License-Identifier: Apache-2.0
// The steps of the sequence, its control messages, and the data pattern that both ends derive from
// the same seed.
#include "sequence.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace iwarp::interop {

namespace {

constexpr std::array<const char*, 7> kKindNames{"send",  "send-se", "send-inv", "send-se-inv",
                                                "write", "read",    "mixed"};
constexpr std::array<const char*, 4> kEndingNames{"close", "write-unknown", "read-unknown",
                                                  "write-dead"};
constexpr std::byte kBlank{0xEE};
constexpr Place kUnknown{.stag = 0x00BADC00, .to = 0x1000};

enum class Step : std::uint8_t { kBegin = 1, kReady, kDone, kResult, kBye };
/// The result of the checks at one end. The messages kDone and kResult carry this result.
enum class Found : std::uint8_t { kFine, kLength, kOctets, kInvalidated };

/// A control message. It has the same layout at both ends, which run the same program.
struct Control {
  Step step = Step::kBegin;
  Kind kind = Kind::kSend;
  bool client_moves = false;
  bool ends_badly = false;  ///< in kBye: the client's next message is forbidden
  Found found = Found::kFine;
  std::uint32_t size = 0;
  std::uint32_t seed = 0;
  Place place;
};
static_assert(sizeof(Control) <= kMaxInline);

void say(Link& link, const Control& control) {
  link.send_control(std::as_bytes(std::span(&control, 1)));
}

Control receive(Link& link) {
  const auto in = link.receive().octets;
  Control control;
  if (in.size() != sizeof control) {
    throw std::runtime_error("a Send of " + std::to_string(in.size()) +
                             " octets came instead of a control message");
  }
  std::memcpy(&control, in.data(), sizeof control);
  return control;
}

Control receive(Link& link, Step step) {
  const auto control = receive(link);
  check(control.step == step, "the peer is at another step");
  return control;
}

/// Returns octet `i` of the pattern. The pattern is a multiplicative hash, so that shifted data is
/// detected.
std::byte octet(std::uint32_t seed, std::uint32_t i) {
  auto x = seed + i * 0x9E3779B9U;
  x = (x ^ (x >> 15)) * 0x85EBCA6BU;
  return static_cast<std::byte>(x >> 24);
}

void fill(std::span<std::byte> octets, std::uint32_t seed) {
  std::uint32_t i = 0;
  for (auto& one : octets) one = octet(seed, i++);
}

bool matches(std::span<const std::byte> octets, std::uint32_t seed) {
  std::uint32_t i = 0;
  return std::ranges::all_of(octets, [&](std::byte one) { return one == octet(seed, i++); });
}

/// Fills the first `size` octets and the guard after them with one value, so that later changes are
/// detected.
void blank(std::span<std::byte> memory, std::uint32_t size, std::byte with) {
  std::ranges::fill(memory.first(size + kGuard), with);
}

/// Returns whether the memory contains the pattern and the guard after it is unchanged.
bool placed(std::span<const std::byte> memory, std::uint32_t size, std::uint32_t seed,
            std::byte blank) {
  const auto guard = memory.subspan(size, kGuard);
  return matches(memory.first(size), seed) && std::ranges::count(guard, blank) == kGuard;
}

bool has_send(Kind kind) { return kind != Kind::kWrite && kind != Kind::kRead; }
bool invalidates(Kind kind) {
  return kind == Kind::kSendInvalidate || kind == Kind::kSendSeInvalidate || kind == Kind::kMixed;
}

/// Sends the messages of one cell, and checks the data of Reads. Called by M, the end that moves
/// the data (see sequence.hpp).
Found move(Link& link, Kind kind, std::uint32_t size, std::uint32_t seed, const Place& peer) {
  fill(link.source().first(size), seed);
  blank(link.sink(), size, kBlank);
  const bool reads = kind == Kind::kRead || kind == Kind::kMixed;
  if (kind == Kind::kWrite || kind == Kind::kMixed) link.write(size, peer);
  if (reads) link.read(size, peer);
  if (kind == Kind::kMixed) link.send(size, {.solicited = true});
  if (has_send(kind)) {
    SendKind send{.solicited = kind == Kind::kSendSe || kind == Kind::kSendSeInvalidate,
                  .fenced = kind == Kind::kMixed};
    if (invalidates(kind)) send.invalidate = peer.stag;
    link.send(size, send);
  }
  if (reads) link.wait_read();
  return !reads || placed(link.sink(), size, seed, kBlank) ? Found::kFine : Found::kOctets;
}

Found check_send(Link& link, std::uint32_t size, std::uint32_t seed, bool solicited,
                 std::optional<std::uint32_t> invalidated) {
  const auto got = link.receive(solicited);
  if (got.octets.size() != size) return Found::kLength;
  if (!matches(got.octets, seed)) return Found::kOctets;
  if (!link.is_siw() && got.invalidated != invalidated) return Found::kInvalidated;
  return Found::kFine;
}

/// Receives and checks the Sends of one cell. O, the end that does not move the data (see
/// sequence.hpp), calls this function after it has sent kReady and before it receives kDone.
Found take_sends(Link& link, Kind kind, std::uint32_t size, std::uint32_t seed,
                 std::uint32_t stag) {
  auto found = Found::kFine;
  if (kind == Kind::kMixed) found = check_send(link, size, seed, true, {});
  if (has_send(kind)) {
    const bool solicited = kind == Kind::kSendSe || kind == Kind::kSendSeInvalidate;
    std::optional<std::uint32_t> invalidated;
    if (invalidates(kind)) invalidated = stag;
    const auto last = check_send(link, size, seed, solicited, invalidated);
    if (found == Found::kFine) found = last;
    if (invalidates(kind)) link.target_invalidated();
  }
  return found;
}

/// Performs all steps of end O, the end that does not move the data, for one cell (see
/// sequence.hpp). Returns what M and what O found.
std::pair<Found, Found> be_other(Link& link, const Control& cell) {
  blank(link.target(), cell.size, kBlank);
  if (cell.kind == Kind::kRead) fill(link.target().first(cell.size), cell.seed);
  const auto place = link.advertise();
  say(link, {.step = Step::kReady, .place = place});
  auto found = take_sends(link, cell.kind, cell.size, cell.seed, place.stag);
  const auto done = receive(link, Step::kDone);
  const bool written = cell.kind == Kind::kWrite || cell.kind == Kind::kMixed;
  if (written && found == Found::kFine && !placed(link.target(), cell.size, cell.seed, kBlank)) {
    found = Found::kOctets;
  }
  say(link, {.step = Step::kResult, .found = found});
  return {done.found, found};
}

/// Performs all steps of end M, the end that moves the data, for one cell (see sequence.hpp).
/// Returns what M and what O found.
std::pair<Found, Found> be_mover(Link& link, const Control& cell) {
  const auto ready = receive(link, Step::kReady);
  const auto found = move(link, cell.kind, cell.size, cell.seed, ready.place);
  say(link, {.step = Step::kDone, .found = found});
  return {found, receive(link, Step::kResult).found};
}

/// Returns the enumerator whose name is `name`.
template <typename Enumeration>
Enumeration named(const auto& names, const std::string& name) {
  const auto* const at = std::ranges::find(names, name);
  check(at != names.end(), name.c_str());
  return static_cast<Enumeration>(at - names.begin());
}

std::string problem(std::pair<Found, Found> found) {
  constexpr std::array<const char*, 4> kWords{"fine", "wrong length", "wrong octets",
                                              "wrong invalidated STag"};
  if (found.first == Found::kFine && found.second == Found::kFine) return "";
  const auto word = [&](Found one) { return kWords.at(static_cast<std::size_t>(one)); };
  return std::string("mover: ") + word(found.first) + ", other: " + word(found.second);
}

/// Ends the sequence with a message that the server must refuse, because it uses an invalid address
/// in the server's memory.
void provoke(Link& link, Ending ending) {
  Place place = kUnknown;
  if (ending == Ending::kWriteDeadStag) {
    // First invalidates the STag with a Send with Invalidate, in a separate cell.
    const Control cell{.kind = Kind::kSendInvalidate, .client_moves = true, .size = 16, .seed = 1};
    say(link, cell);
    place = receive(link, Step::kReady).place;
    move(link, cell.kind, cell.size, cell.seed, place);
    say(link, {.step = Step::kDone});
    receive(link, Step::kResult);
  }
  say(link, {.step = Step::kBye, .ends_badly = true});
  if (ending == Ending::kReadUnknownStag) {
    link.read(16, place);
  } else {
    link.write(16, place);
  }
}

}  // namespace

Ending ending_named(const std::string& name) { return named<Ending>(kEndingNames, name); }

std::vector<Cell> parse_cells(const std::string& list) {
  std::vector<Cell> out;
  std::istringstream in(list);
  for (std::string text; std::getline(in, text, ',');) {
    const auto first = text.find(':');
    const auto last = text.rfind(':');
    const auto size = std::strtoul(text.c_str() + last + 1, nullptr, 10);
    check(first != last && size <= kMaxSize, text.c_str());
    out.push_back({.kind = named<Kind>(kKindNames, text.substr(first + 1, last - first - 1)),
                   .size = static_cast<std::uint32_t>(size),
                   .client_moves = text.substr(0, first) == "out"});
  }
  return out;
}

bool lead(Link& link, const std::vector<Cell>& cells, Ending ending) {
  bool all_fine = true;
  std::uint32_t seed = 0x1234567;
  for (const auto& cell : cells) {
    const Control begin{.kind = cell.kind,
                        .client_moves = cell.client_moves,
                        .size = cell.size,
                        .seed = seed += 0x10001};
    say(link, begin);
    const auto text = problem(cell.client_moves ? be_mover(link, begin) : be_other(link, begin));
    std::printf("cell %s:%s:%u %s\n", cell.client_moves ? "out" : "in",
                kKindNames.at(static_cast<std::size_t>(cell.kind)), cell.size,
                text.empty() ? "ok" : text.c_str());
    std::fflush(stdout);
    all_fine = all_fine && text.empty();
  }
  if (ending == Ending::kClose) {
    say(link, {.step = Step::kBye});
  } else {
    provoke(link, ending);
    link.wait_end();
  }
  return all_fine;
}

void follow(Link& link) {
  for (;;) {
    const auto control = receive(link);
    if (control.step == Step::kBye) {
      if (control.ends_badly) link.wait_end();
      return;
    }
    check(control.step == Step::kBegin, "the peer is at another step");
    control.client_moves ? be_other(link, control) : be_mover(link, control);
  }
}

}  // namespace iwarp::interop
