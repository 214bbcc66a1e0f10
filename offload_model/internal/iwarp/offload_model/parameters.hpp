// SPDX-License-Identifier: Apache-2.0
// The parameters of the model, each with its unit, its source, a mark for the quality of the
// source, and an uncertainty. Values come from JSON files, which are presets or describe a measured
// host. The code contains no number that a measurement could contradict.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace iwarp::offload_model {

/// The values that the equations use, in nanoseconds, bits, octets and cycles. In these units, 1
/// Gb/s is one bit per nanosecond, 1 GB/s is one octet per nanosecond, and 1 GHz is one cycle per
/// nanosecond. fields() explains each parameter.
struct Parameters {
  double clock, link, mss, gso, gro, frame_overhead, call;
  double copy_tx, copy_rx, copy_llc, copy_crc, checksum, crc, crc_table, cipher;
  double syscall_tx, syscall_rx, segment_tx, segment_rx, small_segment_tx, small_segment_rx;
  double packet_tx, packet_rx, ack;
  double interrupt, packets_per_interrupt, wakeup, fpdu, marker, iovec;
  double post, doorbell, doorbell_batch, completion;
  double register_fixed, register_page, deregister_fixed, deregister_page, page, cache_lookup;
  double pin_page, zerocopy_notify, tls_record, toe_call, toe_descriptor, toe_completion;
  double coalesce, dma_latency, nic_latency, nic_message, nic_rate, memory_bus;
  double pcie_generation, pcie_lanes;
  double nic_queue_pair, pcie_read, page_fault;
  double context_cache, context_size, region_cache, translation_cache, request_cache;
};

/// A row of the table of parameters. It assigns a member of Parameters to a JSON key.
struct Field {
  std::string_view key;
  /// Unit in the file: "us", "ns/octet", "octets", "Gb/s", "GHz", "GB/s" or "1".
  std::string_view unit;
  double Parameters::* member;
  std::string_view meaning;
  bool may_be_zero = true;
};
/// Returns one row for each parameter.
std::span<const Field> fields();
/// Returns the row of a key, or nullptr if no parameter has this key.
const Field* find_field(std::string_view key);

/// The value of one parameter, in the unit of the file.
struct Value {
  double value = 0;
  /// Relative uncertainty u, one sigma: the value may be larger or smaller by the factor 1 + u.
  double uncertainty = 0;
  std::string mark;
  std::string source;
};

/// All parameters of one host or preset.
struct ParameterSet {
  std::string name;
  std::string title;
  std::string note;
  /// The preset of which a preset has all values that its file does not have; usually empty.
  std::string base;
  /// One Value per Field.
  std::map<std::string, Value, std::less<>> values;
  /// The description of the machine (kernel, processor and so on) in the file of a measured host,
  /// as pairs of name and text, in the order of the file.
  std::vector<std::pair<std::string, std::string>> machine;
  /// One line, with key and unit, for each parameter that the file lacks. A preset provides the
  /// values of these parameters.
  std::vector<std::string> filled;

  /// Returns the values in the units of the equations.
  Parameters resolve() const;
  /// Returns the value of a parameter in the unit of the file. `key` is a key of fields().
  double at(std::string_view key) const { return values.find(key)->second.value; }
};

/// Returns the names of the presets, oldest first.
std::vector<std::string> preset_names();
/// Returns a preset. If no preset has this name, returns a text that lists the presets.
std::expected<ParameterSet, std::string> preset(std::string_view name);

/// Parses a parameter set. If `base` is null, every parameter has to be present. Otherwise missing
/// values are copied from `base`, with the mark "preset". On failure returns a text that names the
/// key, what is wrong with it and its unit.
std::expected<ParameterSet, std::string> parse_parameters(std::string_view json,
                                                          const ParameterSet* base = nullptr);

/// Returns the text of a compiled-in data file, "2003.json" or "published.json" for example.
/// Returns an empty text if there is no such file.
std::string_view data_file(std::string_view name);

}  // namespace iwarp::offload_model
