// SPDX-License-Identifier: Apache-2.0
// What the equations are fed with: one value per parameter, each with its unit, its source, how far
// the source can be trusted, and an uncertainty. Values come from JSON, presets or a measured host;
// no number that a measurement could contradict stands in the code.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::offload_model {

/// What the equations compute with. Times in nanoseconds, so 1 Gb/s is one bit, 1 GB/s one octet
/// and 1 GHz one cycle per unit. `Field` says what each one means.
struct Parameters {
  double clock, link, mss, gso, gro, frame_overhead, call;
  double copy_tx, copy_rx, copy_l2, copy_llc, copy_dram, checksum, crc, crc_table;
  double syscall_tx, syscall_rx, segment_tx, segment_rx, packet_tx, packet_rx, ack;
  double interrupt, packets_per_interrupt, wakeup, fpdu, marker, iovec;
  double post, doorbell, doorbell_batch, completion;
  double register_fixed, register_page, deregister_fixed, deregister_page, page, cache_lookup;
  double pin_page, zerocopy_notify, toe_call, toe_descriptor, toe_completion;
  double coalesce, dma_latency, nic_latency, nic_message, nic_rate, memory_bus;
};

/// One row of the table that ties a JSON key to a member.
struct Field {
  std::string_view key;
  std::string_view
      unit;  ///< as in the file: "us", "ns/octet", "octets", "Gb/s", "GHz", "GB/s", "1"
  double Parameters::* member;
  std::string_view meaning;
  bool may_be_zero;
};
std::span<const Field> fields();
/// nullptr: there is no such parameter.
const Field* find_field(std::string_view key);

/// How a figure was come by, from best to worst.
struct MarkMeaning {
  std::string_view mark, meaning;
};
std::span<const MarkMeaning> marks();

/// One parameter as a file gives it, in the file's unit.
struct Value {
  double value = 0;
  /// Relative: the value may be this much larger, or smaller by the same factor (one sigma).
  double uncertainty = 0;
  std::string mark;
  std::string source;
};

struct ParameterSet {
  std::string name;
  std::string title;
  std::string note;
  /// Complete: one Value per Field.
  std::map<std::string, Value, std::less<>> values;
  /// Of a measured host: kernel, processor and so on, as text, in the file's order.
  std::vector<std::pair<std::string, std::string>> machine;
  /// What was taken from a preset because the file lacks it; one line each, key and unit.
  std::vector<std::string> filled;

  Parameters resolve() const;
  /// In the file's unit. The key is one of fields().
  double at(std::string_view key) const { return values.find(key)->second.value; }
};

/// The names of the presets, oldest first.
std::vector<std::string> preset_names();
/// The error names the presets there are.
std::expected<ParameterSet, std::string> preset(std::string_view name);

/// Reads a complete set (`base` is null) or one whose gaps are filled from `base` with the mark
/// "preset". The error says what is wrong with which key, and which unit it takes.
std::expected<ParameterSet, std::string> parse_parameters(std::string_view json,
                                                          const ParameterSet* base = nullptr);

/// The text of a data file, as compiled in: "2003.json", "published.json" ... Empty: none such.
std::string_view data_file(std::string_view name);

}  // namespace iwarp::offload_model
