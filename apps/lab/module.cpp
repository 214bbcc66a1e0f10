// SPDX-License-Identifier: Apache-2.0
// The functions of the WebAssembly module that the page calls. All text is UTF-8. The page writes
// its input to the buffer that lab_input() returns, and reads the output at lab_output(); each call
// returns the size of its output. An output that begins with "!" is an error text: why the action
// was refused.
#include <expected>
#include <string>
#include <vector>

#include "lab/capture.hpp"
#include "lab/history.hpp"
#include "lab/trial.hpp"

namespace {

using namespace iwarp::apps::lab;  // NOLINT: the functions below are the interface of the lab

struct Module {
  History history;
  std::string input;
  std::string output;
  std::vector<std::byte> octets;
};

Module& module() {
  static Module only;
  return only;
}

std::size_t put(std::string text) {
  module().output = std::move(text);
  return module().output.size();
}

std::size_t put(const std::expected<void, std::string>& result) {
  return put(result ? std::string() : "!" + result.error());
}

std::string list(const auto& entries) {
  std::string lines;
  for (const auto& entry : entries) {
    lines += to_word(entry.action) + "\t" + describe(entry.action) + "\n";
  }
  return lines;
}

}  // namespace

// NOLINTBEGIN(misc-use-internal-linkage): the page calls these functions.
extern "C" {

/// Returns a buffer for `size` octets of input.
char* lab_input(std::size_t size) {
  module().input.assign(size, '\0');
  return module().input.data();
}
const char* lab_output() { return module().output.data(); }

std::size_t lab_open() { return put(module().history.open(module().input)); }
std::size_t lab_act() {
  const auto action = parse_action(module().input);
  return put(action ? module().history.act(*action) : std::unexpected(action.error()));
}
bool lab_forward(unsigned step) { return module().history.forward(static_cast<Step>(step)); }
bool lab_back(unsigned step) { return module().history.back(static_cast<Step>(step)); }
std::size_t lab_script() { return put(module().history.script()); }
std::size_t lab_done() { return put(list(module().history.done())); }
std::size_t lab_ahead() { return put(list(module().history.ahead())); }
std::size_t lab_state() { return put(state_json(module().history.session())); }
std::size_t lab_explained() { return put(explained(module().history.session())); }
std::size_t lab_capture() {
  const auto octets = pcap_of(module().history.session());
  return put(std::string(reinterpret_cast<const char*>(octets.data()), octets.size()));
}
std::size_t lab_digest(std::uint32_t seed, std::uint32_t count) {
  return put(std::to_string(digest_of_trials(seed, count)));
}

}  // extern "C"
// NOLINTEND(misc-use-internal-linkage)
