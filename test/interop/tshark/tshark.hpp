// SPDX-License-Identifier: Apache-2.0
// Runs tshark, a decoder that is independent of this project, on a capture file. tshark 4.0 reads
// streams with markers correctly only if each segment has one FPDU. Unless the dissector for NFS
// over RDMA is disabled, it is also used for short Sends.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace iwarp::test {

/// Returns the standard output of `command`, which must succeed.
inline std::string output_of(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string out;
  char buffer[4096];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
  if (pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  return out;
}

inline bool have_tshark() { return std::system("command -v tshark >/dev/null 2>&1") == 0; }

inline std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

struct TsharkReport {
  std::size_t packets = 0;
  std::size_t requests = 0;  ///< number of MPA Request frames
  std::size_t replies = 0;
  /// Number of FPDUs in packets that tshark decodes as iwarp_mpa and iwarp_ddp_rdmap.
  std::size_t fpdus = 0;
  std::vector<std::string> opcodes;  ///< one for each FPDU, for example "0x00"
  std::size_t good_crcs = 0;
  std::size_t bad_crcs = 0;
  std::size_t bad_checksums = 0;  ///< number of wrong IP or TCP checksums
  std::size_t malformed = 0;      ///< number of packets that a dissector could not parse
  /// Number of findings of the TCP analysis: gaps, retransmissions, windows and so on.
  std::size_t remarks = 0;
};

/// Returns the columns of one line of `tshark -T fields`, including empty columns.
inline std::vector<std::string> columns(const std::string& line) {
  std::vector<std::string> out(1);
  for (const char c : line) {
    if (c == '\t') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

inline void add_packet(TsharkReport& report, const std::vector<std::string>& column) {
  ++report.packets;
  report.requests += column.at(1).empty() ? 0 : 1;
  report.replies += column.at(2).empty() ? 0 : 1;
  if (!column.at(3).empty()) {
    const bool both = column.at(0).find("iwarp_mpa") != std::string::npos &&
                      column.at(0).find("iwarp_ddp_rdmap") != std::string::npos;
    std::istringstream opcodes(column.at(3));
    for (std::string opcode; std::getline(opcodes, opcode, ',');) {
      report.fpdus += both ? 1 : 0;
      report.opcodes.push_back(opcode);
    }
  }
  // Status 1 means a correct checksum. IPv6 has no header checksum.
  const bool bad_ip = column.at(4) != "1" && !column.at(4).empty();
  report.bad_checksums += bad_ip || column.at(5) != "1" ? 1 : 0;
  report.malformed += column.at(6).empty() ? 0 : 1;
  report.remarks += column.at(7).empty() ? 0 : 1;
}

inline TsharkReport ask_tshark(const std::string& path) {
  const std::string command = "tshark -r '" + path +
                              "' --disable-protocol rpcordma -o tcp.check_checksum:TRUE "
                              "-o ip.check_checksum:TRUE ";
  TsharkReport report;
  std::istringstream fields(output_of(command +
                                      "-T fields -e frame.protocols -e iwarp_mpa.key.req "
                                      "-e iwarp_mpa.key.rep -e iwarp_rdma.opcode "
                                      "-e ip.checksum.status -e tcp.checksum.status "
                                      "-e _ws.malformed -e tcp.analysis.flags 2>/dev/null"));
  for (std::string line; std::getline(fields, line);) add_packet(report, columns(line));
  const std::string tree = output_of(command + "-O iwarp_mpa 2>/dev/null");
  report.good_crcs = occurrences(tree, "Good CRC32");
  report.bad_crcs = occurrences(tree, "Bad CRC32");
  return report;
}

}  // namespace iwarp::test
