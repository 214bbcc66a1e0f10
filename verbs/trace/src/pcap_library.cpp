// SPDX-License-Identifier: Apache-2.0
// Finds libpcap with dlopen(3), under its two names, and its functions. A failure is stored, so
// only the first call searches.
#include "iwarp/trace/pcap_library.hpp"

#include <dlfcn.h>

namespace iwarp::trace {
namespace {

using Loaded = std::expected<PcapLibrary, std::string>;

void* open_library() {
  // Debian and its derivatives use the older number in the SONAME.
  for (const char* name : {"libpcap.so.0.8", "libpcap.so.1"}) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

template <typename Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

Loaded load_once() {
  void* const library = open_library();
  if (library == nullptr) {
    return std::unexpected(std::string("libpcap is not installed (install package libpcap0.8)"));
  }
  PcapLibrary out;
  const bool complete =
      find(library, "pcap_open_dead_with_tstamp_precision", out.open_dead) &&
      find(library, "pcap_close", out.close) && find(library, "pcap_geterr", out.error) &&
      find(library, "pcap_dump_fopen", out.dump_fopen) && find(library, "pcap_dump", out.dump) &&
      find(library, "pcap_dump_flush", out.dump_flush) &&
      find(library, "pcap_dump_close", out.dump_close) &&
      find(library, "pcap_fopen_offline_with_tstamp_precision", out.open) &&
      find(library, "pcap_next_ex", out.next) && find(library, "pcap_datalink", out.link_type);
  if (!complete)
    return std::unexpected(std::string("libpcap is too old (update package libpcap0.8)"));
  return out;
}

}  // namespace

std::expected<const PcapLibrary*, std::string> PcapLibrary::load() {
  static const Loaded kLoaded = load_once();
  if (!kLoaded) return std::unexpected(kLoaded.error());
  return &*kLoaded;
}

}  // namespace iwarp::trace
