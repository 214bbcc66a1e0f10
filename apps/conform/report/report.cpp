// SPDX-License-Identifier: Apache-2.0
// Makes the entries of a report, with the titles of the RFCs as headings, and the list of cases
// that --list prints.
#include "conform/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace iwarp::apps::conform {
namespace {

struct RfcTitle {
  std::string_view rfc;
  std::string_view title;
};
constexpr std::array kTitles{
    RfcTitle{"RFC 5044", "Marker PDU Aligned Framing (MPA)"},
    RfcTitle{"RFC 6581", "Enhanced MPA Connection Establishment"},
    RfcTitle{"RFC 5041", "Direct Data Placement (DDP)"},
    RfcTitle{"RFC 5040", "Remote Direct Memory Access Protocol (RDMAP)"},
    RfcTitle{"RFC 7306", "RDMA Protocol Extensions"},
    RfcTitle{"RFC 5042", "DDP and RDMAP Security"},
};

constexpr std::array kRoles{"responder", "initiator", "either"};

// Returns the RFC and its title, for example "RFC 5041: Direct Data Placement (DDP)".
std::string rfc_title(std::string_view rfc) {
  const auto* row = std::ranges::find(kTitles, rfc, &RfcTitle::rfc);
  return row == kTitles.end() ? std::string(rfc) : fmt::format("{}: {}", rfc, row->title);
}

}  // namespace

report::Entry entry_of(const Case& what) {
  const auto rfc = what.section.substr(0, kTitles[0].rfc.size());
  return {.id = what.id,
          .section = what.section,
          .requirements = what.requirements,
          .title = what.title,
          .role = kRoles[static_cast<std::size_t>(what.role)],
          .chapter = rfc_title(rfc),
          .heading = fmt::format(
              "Section {}", what.section.substr(std::min(what.section.size(), rfc.size() + 1))),
          .is_should = what.level == Level::kShould};
}

report::Entry entry_of(const Result& result) {
  report::Entry out = entry_of(*result.what);
  out.outcome = result.outcome;
  if (result.outcome == Outcome::kFail) {
    out.steps.push_back({.expected = result.expected, .observed = result.observed});
  }
  out.why = result.why;
  out.record = result.record;
  out.took = result.took;
  return out;
}

report::Report report_of(const Report& report) {
  report::Report out{.about = {{"peer", report.peer},
                               {"role", kRoles[static_cast<std::size_t>(report.role)]},
                               {"level", report.should ? "should" : "must"}},
                     .others = {report::Outcome::kSkip},
                     .ended_early = report.ended_early,
                     .took = report.took};
  for (const Result& result : report.results) out.entries.push_back(entry_of(result));
  return out;
}

std::string list_as_text(const std::vector<const Case*>& cases) {
  std::size_t id = 0;
  std::size_t section = 0;
  for (const Case* what : cases) {
    id = std::max(id, what->id.size());
    section = std::max(section, what->section.size());
  }
  std::string out;
  for (const Case* what : cases) {
    out +=
        fmt::format("{:<{}}  {:<{}}  {:<6}  {:<9}  {} [{}]\n", what->id, id, what->section, section,
                    what->level == Level::kShould ? "SHOULD" : "MUST",
                    kRoles[static_cast<std::size_t>(what->role)], what->title, what->requirements);
  }
  return out + fmt::format("{} cases\n", cases.size());
}

}  // namespace iwarp::apps::conform
