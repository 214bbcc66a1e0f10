// SPDX-License-Identifier: Apache-2.0
// PcapLibrary: loads libpcap when the first capture is opened. If the command or the drop-in
// libraries were linked to libpcap, every program would also load libdbus, libsystemd and
// libgcrypt, even without a capture.
#pragma once

#include <pcap/pcap.h>

#include <expected>
#include <string>

namespace iwarp::trace {

/// The functions of libpcap that write and read captures.
struct PcapLibrary {
  decltype(&::pcap_open_dead_with_tstamp_precision) open_dead = nullptr;
  decltype(&::pcap_close) close = nullptr;
  decltype(&::pcap_geterr) error = nullptr;
  decltype(&::pcap_dump_fopen) dump_fopen = nullptr;
  decltype(&::pcap_dump) dump = nullptr;
  decltype(&::pcap_dump_flush) dump_flush = nullptr;
  decltype(&::pcap_dump_close) dump_close = nullptr;
  decltype(&::pcap_fopen_offline_with_tstamp_precision) open = nullptr;
  decltype(&::pcap_next_ex) next = nullptr;
  decltype(&::pcap_datalink) link_type = nullptr;

  /// Loads libpcap, which then stays loaded. On failure returns the loader's reason.
  static std::expected<const PcapLibrary*, std::string> load();
};

}  // namespace iwarp::trace
