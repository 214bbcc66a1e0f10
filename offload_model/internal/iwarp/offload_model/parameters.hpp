// SPDX-License-Identifier: Apache-2.0
// The parameters of the model, each with its unit, its source, a mark for the quality of the
// source, and an uncertainty. Values come from JSON, presets or a measured host; the code contains
// no number that a measurement could contradict.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::offload_model {

/// The values that the equations use, in nanoseconds, bits, octets and cycles: 1 Gb/s is one bit, 1
/// GB/s one octet and 1 GHz one cycle per nanosecond. fields() explains each.
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
/// Returns one row for each parameter.
std::span<const Field> fields();
/// Returns the row of a key; nullptr: there is no such parameter.
const Field* find_field(std::string_view key);

/// A mark for the quality of a source, and what it means.
struct MarkMeaning {
  std::string_view mark, meaning;
};
/// Returns all marks, from the best source to the worst.
std::span<const MarkMeaning> marks();

/// The value of one parameter, in the unit of the file.
struct Value {
  double value = 0;
  /// Relative: the value may be this much larger, or smaller by the same factor (one sigma).
  double uncertainty = 0;
  std::string mark;
  std::string source;
};

/// All parameters of one host or preset.
struct ParameterSet {
  std::string name;
  std::string title;
  std::string note;
  /// One Value per Field.
  std::map<std::string, Value, std::less<>> values;
  /// Of a measured host: kernel, processor and so on, as text, in the order of the file.
  std::vector<std::pair<std::string, std::string>> machine;
  /// Parameters that the file lacks and that were taken from a preset: one line each, key and unit.
  std::vector<std::string> filled;

  /// Returns the values in the units of the equations.
  Parameters resolve() const;
  /// Returns a value in the unit of the file. The key is one of fields().
  double at(std::string_view key) const { return values.find(key)->second.value; }
};

/// Returns the names of the presets, oldest first.
std::vector<std::string> preset_names();
/// Returns a preset. On failure returns a sentence that lists the presets.
std::expected<ParameterSet, std::string> preset(std::string_view name);

/// Parses a set, which is complete if `base` is null; otherwise missing values are taken from
/// `base`, with the mark "preset". On failure returns a sentence that names the key, what is wrong
/// with it and its unit.
std::expected<ParameterSet, std::string> parse_parameters(std::string_view json,
                                                          const ParameterSet* base = nullptr);

/// Returns the text of a compiled-in data file, "2003.json" or "published.json" for example; empty:
/// there is no such file.
std::string_view data_file(std::string_view name);

}  // namespace iwarp::offload_model
