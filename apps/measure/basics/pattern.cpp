// SPDX-License-Identifier: Apache-2.0
// Generates and checks the payload pattern, eight bytes at a time.
#include "measure/basics/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "common/base/error.hpp"

namespace iwarp::apps::measure {

namespace {

constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
constexpr std::size_t kWord = sizeof(std::uint64_t);

class Words {
 public:
  Words(std::uint64_t lane, std::uint64_t number)
      : state_((lane + 1) * 0xD1B54A32D192ED03 + number * 0x2545F4914F6CDD1D) {}
  std::uint64_t next() {
    state_ += kOdd;
    const auto word = state_ ^ (state_ >> 29);
    return std::endian::native == std::endian::big ? std::byteswap(word) : word;
  }

 private:
  std::uint64_t state_;
};

// Calls `with` for each word of the pattern, with the word and the bytes in which it is stored.
template <typename Octets, typename With>
void each_word(Octets octets, std::uint64_t lane, std::uint64_t number, With with) {
  Words words(lane, number);
  const auto body = octets.first(octets.size() - 1);
  for (std::size_t at = 0; at < body.size(); at += kWord) {
    const auto word = words.next();
    with(body.subspan(at, std::min(kWord, body.size() - at)), word);
  }
}

[[noreturn]] void complain(std::size_t at, std::uint64_t lane, std::uint64_t number, std::byte is,
                           std::byte due) {
  throw Error(fmt::format("octet {} of message {} on connection {} is {:#04x} instead of {:#04x}",
                          at, number, lane, std::to_integer<unsigned>(is),
                          std::to_integer<unsigned>(due)));
}

}  // namespace

void fill_pattern(bytes::Span octets, std::uint64_t lane, std::uint64_t number) {
  if (octets.empty()) return;
  each_word(octets, lane, number,
            [](bytes::Span to, std::uint64_t word) { std::memcpy(to.data(), &word, to.size()); });
  octets.back() = static_cast<std::byte>(number);
}

void check_pattern(bytes::View octets, std::uint64_t lane, std::uint64_t number, std::size_t skip) {
  if (octets.size() <= skip) return;
  each_word(octets, lane, number, [&](bytes::View at, std::uint64_t word) {
    if (std::memcmp(at.data(), &word, at.size()) == 0) return;
    std::array<std::byte, kWord> due;
    std::memcpy(due.data(), &word, kWord);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto place = static_cast<std::size_t>(at.data() - octets.data()) + i;
      if (place >= skip && at[i] != due[i]) complain(place, lane, number, at[i], due[i]);
    }
  });
  const auto last = static_cast<std::byte>(number);
  if (octets.back() != last) complain(octets.size() - 1, lane, number, octets.back(), last);
}

}  // namespace iwarp::apps::measure
