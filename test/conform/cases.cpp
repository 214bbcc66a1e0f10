// SPDX-License-Identifier: Apache-2.0
// Tests the tables of conformance cases: the properties on which reports and readers rely.
#include <sstream>

#include "conform/report/runner.hpp"
#include "rows.hpp"

namespace iwarp::test {
namespace {

using namespace apps::conform;

std::vector<const Case*> every_case() { return select(PeerRole::kEither, true, {}); }

}  // namespace

TEST_CASE("every case has a unique id: group/what or group/subject/what") {
  std::set<std::string_view> ids;
  const Pattern form("^[a-z0-9]+(/[a-z0-9-]+){1,2}$");
  for (const Case* what : every_case()) {
    CAPTURE(what->id);
    CHECK(form.matches(what->id));
    CHECK_MESSAGE(ids.insert(what->id).second, "the id is taken");
    CHECK((what->run != nullptr));
  }
  CHECK(ids.size() >= 4);
}

TEST_CASE("every case names requirements that exist") {
  const auto known = requirement_ids();
  REQUIRE(known.size() > 500);
  for (const Case* what : every_case()) {
    CAPTURE(what->id);
    std::istringstream words{std::string(what->requirements)};
    std::size_t n = 0;
    for (std::string id; words >> id; ++n) CHECK_MESSAGE(known.contains(id), id);
    CHECK(n != 0);
  }
}

TEST_CASE("every case has a title of one short line and a section of a known RFC") {
  const Pattern section("^RFC (5040|5041|5042|5044|6581|7306) [0-9]+([.][0-9]+)*$");
  for (const Case* what : every_case()) {
    CAPTURE(what->id);
    CHECK(!what->title.empty());
    CHECK(what->title.size() < 80);
    CHECK(std::ranges::all_of(what->title, [](char c) { return c >= 0x20 && c <= 0x7E; }));
    CHECK(!what->title.ends_with('.'));
    CHECK_MESSAGE(section.matches(what->section), what->section);
  }
}

TEST_CASE("cases are selected by role, level, id and section") {
  const auto contains = [](const std::vector<const Case*>& cases, auto is) {
    return std::ranges::any_of(cases, is);
  };
  for (const auto role : {PeerRole::kResponder, PeerRole::kInitiator}) {
    const auto cases = select(role, false, {});
    CHECK(!cases.empty());
    CHECK(!contains(
        cases, [&](const Case* c) { return c->role != PeerRole::kEither && c->role != role; }));
    CHECK(!contains(cases, [](const Case* c) { return c->level == Level::kShould; }));
  }
  const auto section = select(PeerRole::kEither, true, {"5044 4"});
  REQUIRE(!section.empty());
  for (const Case* what : section) CHECK(what->section.starts_with("RFC 5044 4"));
  const auto one = select(PeerRole::kEither, true, {"mpa/crc/wrong-field"});
  REQUIRE(one.size() == 1);
  CHECK(one[0]->id == "mpa/crc/wrong-field");
  CHECK(select(PeerRole::kEither, true, {"nonsense"}).empty());
}

TEST_CASE("cases are sorted by layer and section, and the dangerous ones come last") {
  std::set<std::string_view> seen;
  std::string_view current;
  bool last = false;
  for (const Case* what : every_case()) {
    CHECK((what->last || !last));
    if (what->last && !last) seen.clear();
    const bool same = what->section == current && what->last == last;
    last = what->last;
    current = what->section;
    if (!same) CHECK_MESSAGE(seen.insert(current).second, current);
  }
  const auto cases = select(PeerRole::kEither, true, {"RFC 5044 4.3", "RFC 5041"});
  REQUIRE(!cases.empty());
  CHECK(cases.front()->section.starts_with("RFC 5044"));
  CHECK(cases.back()->section.starts_with("RFC 5041"));
}

}  // namespace iwarp::test
