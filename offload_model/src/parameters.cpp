// SPDX-License-Identifier: Apache-2.0
// The table of parameters, and the presets that are compiled in.
#include "iwarp/offload_model/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
namespace iwarp::offload_model {

namespace {

using P = Parameters;

constexpr std::array kFields{
    Field{"clock", "GHz", &P::clock, "processor clock", false},
    Field{"link", "Gb/s", &P::link, "link rate", false},
    Field{"mss", "octets", &P::mss, "TCP payload of one packet", false},
    Field{"gso", "octets", &P::gso, "largest TSO segment that TCP passes to the NIC", false},
    Field{"gro", "octets", &P::gro, "largest GRO segment that TCP receives", false},
    Field{"frame_overhead", "octets", &P::frame_overhead, "headers and framing per packet"},
    Field{"call", "octets", &P::call, "largest transfer per system call", false},
    Field{"copy_tx", "ns/octet", &P::copy_tx, "copy to the kernel"},
    Field{"copy_rx", "ns/octet", &P::copy_rx, "copy from the kernel"},
    Field{"copy_llc", "ns/octet", &P::copy_llc,
          "copy within the program, with the data in the last-level cache"},
    Field{"copy_crc", "ns/octet", &P::copy_crc, "copy within the program and CRC32c in one pass"},
    Field{"checksum", "ns/octet", &P::checksum, "Internet checksum in software"},
    Field{"crc", "ns/octet", &P::crc, "CRC32c, by the fastest implementation for the processor"},
    Field{"crc_table", "ns/octet", &P::crc_table, "CRC32c with tables"},
    Field{"cipher", "ns/octet", &P::cipher, "AES-128-GCM"},
    Field{"syscall_tx", "us", &P::syscall_tx, "one system call that sends"},
    Field{"syscall_rx", "us", &P::syscall_rx, "one system call that receives"},
    Field{"segment_tx", "us", &P::segment_tx, "TCP processing of a TSO segment of 64 KiB"},
    Field{"segment_rx", "us", &P::segment_rx, "TCP processing of a GRO segment of 64 KiB"},
    Field{"small_segment_tx", "us", &P::small_segment_tx,
          "TCP processing of a small segment sent; segment_tx includes it"},
    Field{"small_segment_rx", "us", &P::small_segment_rx,
          "TCP processing of a small segment received; segment_rx includes it"},
    Field{"packet_tx", "us", &P::packet_tx, "NIC driver, per packet sent"},
    Field{"packet_rx", "us", &P::packet_rx, "NIC driver, per packet received"},
    Field{"ack", "us", &P::ack, "processing one acknowledgement at the sender"},
    Field{"interrupt", "us", &P::interrupt, "one interrupt"},
    Field{"packets_per_interrupt", "1", &P::packets_per_interrupt, "interrupt coalescing", false},
    Field{"wakeup", "us", &P::wakeup, "wake-up and context switch"},
    Field{"fpdu", "us", &P::fpdu, "building or parsing an FPDU"},
    Field{"marker", "us", &P::marker, "inserting or removing a marker"},
    Field{"iovec", "us", &P::iovec, "one element of a gather list"},
    Field{"post", "us", &P::post, "building a work request"},
    Field{"doorbell", "us", &P::doorbell, "ringing the doorbell"},
    Field{"doorbell_batch", "1", &P::doorbell_batch, "requests per doorbell", false},
    Field{"completion", "us", &P::completion, "polling one completion"},
    Field{"register", "us", &P::register_fixed, "registering memory, fixed cost"},
    Field{"register_page", "us", &P::register_page, "registering memory, per page"},
    Field{"deregister", "us", &P::deregister_fixed, "deregistering memory, fixed cost"},
    Field{"deregister_page", "us", &P::deregister_page, "deregistering memory, per page"},
    Field{"page", "octets", &P::page, "size of a memory page", false},
    Field{"cache_lookup", "us", &P::cache_lookup, "finding a cached registration"},
    Field{"pin_page", "us", &P::pin_page, "pinning and unpinning one page"},
    Field{"zerocopy_notify", "us", &P::zerocopy_notify,
          "MSG_ZEROCOPY: notification that a buffer is free"},
    Field{"tls_record", "us", &P::tls_record, "kernel TLS: fixed time per record"},
    Field{"toe_call", "octets", &P::toe_call, "largest transfer per TOE descriptor", false},
    Field{"toe_descriptor", "us", &P::toe_descriptor, "TOE: building a descriptor"},
    Field{"toe_completion", "us", &P::toe_completion, "TOE: reaping a descriptor"},
    Field{"coalesce", "us", &P::coalesce, "interrupt delay caused by coalescing"},
    Field{"dma_latency", "us", &P::dma_latency,
          "time for the card to fetch a request and its payload by DMA"},
    Field{"nic_latency", "us", &P::nic_latency, "one-way latency of the card"},
    Field{"nic_message", "us", &P::nic_message, "processing time of the card per message"},
    Field{"nic_rate", "Gb/s", &P::nic_rate, "throughput limit of the card", false},
    Field{"memory_bus", "GB/s", &P::memory_bus, "memory bandwidth that all transfers share", false},
    Field{"pcie_generation", "1", &P::pcie_generation, "PCI Express generation of the card", false},
    Field{"pcie_lanes", "1", &P::pcie_lanes, "PCI Express lanes; 0 if the bus is not modelled"},
    Field{"nic_queue_pair", "us", &P::nic_queue_pair,
          "minimum time between two messages of one queue pair"},
    Field{"pcie_read", "us", &P::pcie_read,
          "time for the card to read host memory over PCI Express"},
    Field{"page_fault", "us", &P::page_fault,
          "on-demand paging: time until a page fault is resolved"},
    Field{"context_cache", "1", &P::context_cache,
          "queue pairs whose state the card caches; 0 if the cache is not modelled"},
    Field{"context_size", "octets", &P::context_size, "size of the state of one queue pair"},
    Field{"region_cache", "1", &P::region_cache,
          "memory regions that the card caches; 0 if the cache is not modelled"},
    Field{"translation_cache", "1", &P::translation_cache,
          "page addresses that the card caches; 0 if the cache is not modelled"},
    Field{"request_cache", "1", &P::request_cache,
          "work requests that the card caches; 0 if the cache is not modelled"},
};

/// The names of the data files that contain parameter sets, without ".json".
constexpr std::array<std::string_view, 8> kPresets{"2003", "2005", "2007", "2009",
                                                   "2013", "100g", "2022", "2026"};

}  // namespace

std::span<const Field> fields() { return kFields; }

const Field* find_field(std::string_view key) {
  const auto found = std::ranges::find(kFields, key, &Field::key);
  return found == kFields.end() ? nullptr : &*found;
}

Parameters ParameterSet::resolve() const {
  constexpr double kPerMicrosecond = 1000;
  Parameters out{};
  for (const auto& field : kFields) {
    out.*field.member = at(field.key) * (field.unit == "us" ? kPerMicrosecond : 1);
  }
  return out;
}

std::vector<std::string> preset_names() { return {kPresets.begin(), kPresets.end()}; }

std::expected<ParameterSet, std::string> preset(std::string_view name) {
  if (std::ranges::find(kPresets, name) != kPresets.end()) {
    return parse_parameters(data_file(std::string(name) + ".json"));
  }
  return std::unexpected(
      fmt::format("unknown preset {} (available: {})", name, fmt::join(kPresets, ", ")));
}

}  // namespace iwarp::offload_model
