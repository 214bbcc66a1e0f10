// SPDX-License-Identifier: Apache-2.0
// The arithmetic of FetchAdd and CmpSwap (RFC 7306 section 5.1), which computes the new word from
// the old one.
#include "iwarp/rdmap/atomic_header.hpp"

namespace iwarp::rdmap {
namespace {

// The RFC adds bit by bit and drops each carry out of a bit that is set in the mask. This function
// gets the same result without a loop. First it adds the operands without the top bit of every
// field, so that no carry can leave a field. Then it adds the top bits with exclusive or, which
// combines the bits of both operands and the carry into the top bit. Mask 0 means one field of 64
// bits. [EXT-12]
constexpr std::uint64_t fetch_add(std::uint64_t a, std::uint64_t b, std::uint64_t tops) {
  return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops);
}

// [EXT-14]
constexpr std::uint64_t cmp_swap(std::uint64_t original, const AtomicRequest& r) {
  if (((original ^ r.compare) & r.compare_mask) != 0) return original;
  return (original & ~r.mask) | (r.add_or_swap & r.mask);
}

}  // namespace

std::uint64_t apply(const AtomicRequest& request, std::uint64_t original) {
  // The Compare Data and Compare Mask of a FetchAdd are ignored. [EXT-23]
  return request.opcode == AtomicOpcode::kCmpSwap
             ? cmp_swap(original, request)
             : fetch_add(original, request.add_or_swap, request.mask);
}

}  // namespace iwarp::rdmap
