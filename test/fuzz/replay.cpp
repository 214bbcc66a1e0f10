// SPDX-License-Identifier: Apache-2.0
// Runs a target on files, without libFuzzer. The arguments are files, and directories whose files
// are used. Runs each file unchanged, truncated at every octet, and with every octet changed in
// turn. Fails if there are no files.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "target.hpp"

namespace {

using iwarp::fuzz::Octets;

// Files of this size or more run only unchanged, because their variants would take too long.
constexpr std::size_t kVariantsBelow = 512;

Octets read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  Octets out(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) out[i] = static_cast<std::byte>(text[i]);
  return out;
}

std::size_t replay(const std::filesystem::path& path) {
  const auto whole = read_file(path);
  iwarp::fuzz::run(whole);
  if (whole.size() >= kVariantsBelow) return 1;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    iwarp::fuzz::run(Octets(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i)));
    auto changed = whole;
    changed[i] ^= static_cast<std::byte>(1U << (i % 8));
    iwarp::fuzz::run(changed);
  }
  return 1 + 2 * whole.size();
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t runs = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_regular_file(argv[i])) {
      runs += replay(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) runs += replay(entry.path());
    }
  }
  std::printf("%zu runs\n", runs);
  return runs == 0 ? 1 : 0;
}
