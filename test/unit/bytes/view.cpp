// SPDX-License-Identifier: Apache-2.0
// Tests lists of views: their total size, and extracting a range from a list.
#include "iwarp/bytes/view.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace {

using namespace iwarp::bytes;

std::vector<std::byte> flatten(const Gather& pieces) {
  std::vector<std::byte> out;
  for (const View piece : pieces) out.insert(out.end(), piece.begin(), piece.end());
  return out;
}

TEST_CASE("the size of a list is the sum of its pieces") {
  std::array<std::byte, 10> memory{};
  CHECK(total_size(Gather{}) == 0);
  CHECK(total_size(Gather{View(memory), View{}, View(memory).first(3)}) == 13);
}

TEST_CASE("every slice of a list is the same range of the flattened octets") {
  std::array<std::byte, 12> memory;
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i);
  const View all(memory);
  const Gather pieces{all.first(1), View{}, all.subspan(1, 6), all.subspan(7)};
  for (std::size_t offset = 0; offset <= memory.size(); ++offset) {
    for (std::size_t length = 0; offset + length <= memory.size(); ++length) {
      INFO("offset ", offset, ", length ", length);
      const auto part = all.subspan(offset, length);
      CHECK(flatten(slice(pieces, offset, length)) ==
            std::vector<std::byte>(part.begin(), part.end()));
    }
  }
}

TEST_CASE("assigning a slice to a list discards the old contents") {
  std::array<std::byte, 6> memory;
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i);
  const View all(memory);
  for (const Gather& pieces : {Gather{all}, Gather{all.first(2), all.subspan(2)}}) {
    for (std::size_t length = 0; length <= 5; ++length) {
      INFO("pieces ", pieces.size(), ", length ", length);
      Gather out{all, all, all};
      iwarp::bytes::assign_slice(out, pieces, 1, length);
      const auto part = all.subspan(1, length);
      CHECK(flatten(out) == std::vector<std::byte>(part.begin(), part.end()));
    }
  }
}

TEST_CASE("a slice points into the same memory and skips empty pieces") {
  std::array<std::byte, 4> memory{};
  const iwarp::bytes::Scatter pieces{Span(memory).first(2), Span{}, Span(memory).subspan(2)};
  const auto part = slice(pieces, 1, 2);
  REQUIRE(part.size() == 2);
  CHECK(part[0].data() == memory.data() + 1);
  CHECK(part[1].data() == memory.data() + 2);
  CHECK(part[1].size() == 1);
}

TEST_CASE("copying a bounded list copies only the used entries, and keeps the capacity") {
  iwarp::bytes::BoundedList<int, 3> list{1, 2};
  auto copy = list;
  copy.push_back(3);
  CHECK(copy.size() == copy.capacity());
  CHECK(std::vector<int>(copy.begin(), copy.end()) == std::vector<int>{1, 2, 3});
  CHECK(list.size() == 2);
  list = copy;
  CHECK(list.back() == 3);
  list.pop_back();
  CHECK(list.back() == 2);
  list.assign(7);
  CHECK(std::vector<int>(list.begin(), list.end()) == std::vector<int>{7});
  const std::array values{4, 5, 6};
  for (std::size_t n = 0; n <= values.size(); ++n) {
    list.assign(std::span(values).first(n));
    CHECK(std::vector<int>(list.begin(), list.end()) ==
          std::vector<int>(values.begin(), values.begin() + n));
  }
  list.clear();
  CHECK(list.empty());
}

}  // namespace
