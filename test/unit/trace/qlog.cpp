// SPDX-License-Identifier: Apache-2.0
// Tests QlogFile and QlogTap: the file contains only complete records, even after a crash of the
// process or an error of the disk.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "iwarp/trace/log_words.hpp"
#include "iwarp/trace/qlog_tap.hpp"
#include "iwarp/trace/trace_file.hpp"
#include "support.hpp"
#include "temporary_file.hpp"

namespace iwarp::test::logs {
namespace {

using namespace trace;

const trace::CaptureEnds kEnds{{"10.1.2.3", 40001}, {"fd00::1", 7174}, false};

std::shared_ptr<QlogFile> create(const std::string& path) {
  auto log = QlogFile::create(path, kClock, [] { return later(5); });
  REQUIRE_MESSAGE(log.has_value(), (log ? "" : log.error()));
  return *log;
}

/// Checks the separators and line ends of a file. Returns the records without them.
std::vector<std::string> records(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<std::string> out;
  for (std::size_t at = 0; at < all.size();) {
    REQUIRE(all[at] == '\x1E');
    const auto next = std::min(all.find('\x1E', at + 1), all.size());
    REQUIRE(all[next - 1] == '\n');
    out.push_back(all.substr(at + 1, next - at - 2));
    at = next;
  }
  return out;
}

TEST_CASE("a log begins with qlog's header and has a record for each frame, with its octets") {
  const TemporaryFile file;
  const auto script = short_session({});
  {
    QlogTap tap(create(file.path()), kEnds);
    for (const auto& sent : script.sent) tap.octets(sent.outbound, sent.octets, later(1'500'000));
    tap.closed(true, false, later(2'000'000));
    tap.closed(false, false, later(2'000'000));
  }
  const auto found = records(file.path());
  REQUIRE(found.size() == 2 + script.sent.size() + 3);
  CHECK(found[0] ==
        R"({"file_schema":"urn:ietf:params:qlog:file:sequential",)"
        R"("serialization_format":"application/qlog+json-seq","title":"iWARP connections",)"
        R"("trace":{"vantage_point":{"type":"unknown"},)"
        R"("event_schemas":["urn:uuid:6f0fbdc5-7f4e-4d1c-9a58-1f2c1b7a51f0#iwarp-1"],)"
        R"("common_fields":{"time_format":"relative_to_epoch","reference_time":)"
        R"({"clock_type":"monotonic","epoch":"unknown",)"
        R"("wall_clock_time":"2023-11-14T22:13:20.000000Z"}}}})");
  CHECK(found[1] == R"({"time":0.000005,"name":"iwarp:connection_started","group_id":"1","data":)"
                    R"({"opened_by":"remote","local":{"ip":"10.1.2.3","port":40001},)"
                    R"("remote":{"ip":"fd00::1","port":7174}}})");
  CHECK(found[2].starts_with(
      R"({"time":1.500000,"name":"iwarp:frame_sent","group_id":"1","data":{"kind":"startup",)"
      R"("offset":0,"raw":{"length":24,"data":"4d5041204944)"));
  CHECK(found[4].find(R"("kind":"fpdu","offset":24,"crc":"good","raw":)") != std::string::npos);
  CHECK(found[found.size() - 2].ends_with(R"("data":{"by":"remote","how":"fin"}})"));
  CHECK(found.back().find("iwarp:connection_ended") != std::string::npos);
}

TEST_CASE("each action of an end is a record of its own, from any thread") {
  const TemporaryFile file;
  {
    QlogTap tap(create(file.path()), kEnds);
    const auto observer = tap.observer();
    REQUIRE(observer != nullptr);
    observer->see(verbs::WorkPosted{.wr_id = 7,
                                    .length = 64,
                                    .opcode = verbs::WrOpcode::kWrite,
                                    .flags = verbs::SendFlags::kSignaled,
                                    .remote = {.rkey = {0x11223344}, .to = 0x1000}});
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&observer] {
        for (std::uint64_t n = 0; n < 100; ++n) observer->see(verbs::PostsMissed{.count = n});
      });
    }
    for (auto& thread : threads) thread.join();
  }
  const auto found = records(file.path());
  CHECK(found.size() == 2 + 1 + 400 + 1);
  CHECK(found[2] == R"({"time":0.000005,"name":"iwarp:work_posted","group_id":"1","data":)"
                    R"({"queue":"send","wr_id":"0000000000000007","length":64,"opcode":"write",)"
                    R"("flags":["signaled"],"stag":"11223344","to":"0000000000001000"}})");
}

TEST_CASE("every enumerator has a word that maps back to it") {
  const auto check = [](auto last) {
    using Enum = decltype(last);
    for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
      const auto value = static_cast<Enum>(i);
      CHECK(trace::of_word<Enum>(trace::word(value)) == value);
    }
    CHECK(trace::word(static_cast<Enum>(static_cast<unsigned>(last) + 1)).empty());
    CHECK_FALSE(trace::of_word<Enum>("").has_value());
    CHECK_FALSE(trace::of_word<Enum>("nonsense").has_value());
  };
  check(verbs::WorkQueue::kReceive);
  check(verbs::WrOpcode::kSendImmediate);
  check(verbs::WcOpcode::kRecvSendImmediate);
  check(verbs::WcStatus::kFatal);
  check(verbs::MemoryUse::kAtomic);
  check(rdmap::AccessError::kNotEnabled);
  check(verbs::Machine::kQueuePair);
  CHECK(trace::state_of_word(verbs::Machine::kQueuePair, "RTS") == "RTS");
  CHECK(trace::state_of_word(verbs::Machine::kStartup, "RTS").empty());
}

TEST_CASE("if the disk is full, the log ends with a message and contains whole records") {
  const TemporaryFile file;
  const auto log = create(file.path());
  QlogTap tap(log, kEnds);
  const auto script = short_session({});
  with_file_limit(4000, [&] {
    for (const auto& sent : script.sent) tap.octets(sent.outbound, sent.octets, later(0));
  });
  CHECK(log->error() == "cannot write the qlog file " + file.path() + ": File too large");
  CHECK(std::filesystem::file_size(file.path()) < 4000);
  CHECK(records(file.path()).size() > 3);
}

TEST_CASE("a log that cannot be created is refused with one line that names it") {
  const auto now = [] { return later(0); };
  const auto nowhere = QlogFile::create("/nowhere/at/all.qlog", kClock, now);
  REQUIRE_FALSE(nowhere.has_value());
  CHECK(nowhere.error() ==
        "cannot write the qlog file /nowhere/at/all.qlog: No such file or directory");
  if (!std::filesystem::exists("/dev/full")) {
    MESSAGE("skipped: no /dev/full here");
    return;
  }
  const auto full = QlogFile::create("/dev/full", kClock, now);
  REQUIRE_FALSE(full.has_value());
  CHECK(full.error() == "cannot write the qlog file /dev/full: No space left on device");
}

TEST_CASE("the suffix of a trace's name selects its format") {
  CHECK(trace::TraceFile::names_log("a.qlog"));
  CHECK(trace::TraceFile::names_log("a.sqlog"));
  for (const auto* name : {"a.pcap", "a.pcapng", "qlog", "a.qlog.pcap"}) {
    CHECK_FALSE(trace::TraceFile::names_log(name));
  }
}

}  // namespace
}  // namespace iwarp::test::logs
