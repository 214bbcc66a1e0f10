// SPDX-License-Identifier: Apache-2.0
// Computes what `iwarp cost predict` and `report` show. The text, the JSON and the page are views
// of one Answer. This header does not include the JSON library, whose templates are slow to
// compile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/text/question.hpp"
#include "iwarp/offload_model/performance.hpp"
#include "iwarp/offload_model/record.hpp"

namespace iwarp::apps::cost {

/// One way to transfer a message, and what it costs. There are two ways with an RNIC, because
/// registration dominates its cost: buffers are registered for each transfer, or once.
struct Way {
  std::string name;  ///< for example "kernel sockets", "RNIC, each time" or "RNIC, once"
  model::Mode mode;
  model::Workload workload;
  model::Cost cost;  ///< processor time of a message; the mean of the messages of a program
  model::Band band;  ///< of the processor time of both hosts
  model::Throughput throughput;
  double latency = 0;  ///< one way, in ns, with the exchange of an STag and registrations
  double cores = 0;    ///< processors of both hosts at the rate of the question
  double p99 = 0;  ///< at the load of the question, 99 % of the messages arrive within this time
  model::Loaded loaded;  ///< at the load of the question
  /// The size from which the way costs less processor time than kernel sockets.
  model::UncertainCrossover crossover;
  /// Whether the way costs less processor time than kernel sockets at the size of the question.
  model::Standing standing = model::Standing::kUndecided;
};

inline constexpr const char* kEachTime = "RNIC, each time";
inline constexpr const char* kAsAsked = "RNIC, --reuse";
inline constexpr const char* kOnDemand = "RNIC, on demand";
inline constexpr const char* kOnce = "RNIC, once";

/// The size from which an RNIC is better than `over`.
struct NamedCrossover {
  model::Mode over;
  std::string what;
  model::UncertainCrossover crossover;
  std::string text;  ///< see crossover_text()
};

/// The number of something, for example of processors, from which the throughputs of sockets and of
/// an RNIC with registered buffers compare differently.
struct Flip {
  std::string count;  ///< for example "3 cores"
  /// Throughput of the RNIC from this number on: 1 if higher than that of sockets, 0 if equal
  /// within 5 %, -1 if lower.
  int rnic = 0;
};

/// A number from which on an RNIC with registered buffers loses a tenth of its throughput to a
/// cache of the card.
struct Cliff {
  std::string count;       ///< for example "561 queue pairs"
  std::string_view cache;  ///< for example "context cache"
};

/// One of the sentences with which every view begins.
struct Sentence {
  std::string about;  ///< "time", "ceiling", "change", "flip" or, if recorded, first "program"
  std::string text;
};

struct Answer {
  Question question;
  std::string workload;             ///< in words
  std::string what_if;              ///< the changes of --what-if; empty if there are none
  std::vector<Way> ways;            ///< in tables and charts, kernel sockets first
  std::vector<Way> options;         ///< options of kernel sockets that are not among `ways`
  std::vector<Way> before;          ///< the same ways without the changes; empty if there are none
  double load_gbps = 0;             ///< rate at the load of the question
  model::Throughput one_core_more;  ///< sockets with one processor more
  std::vector<NamedCrossover> crossovers;
  /// Transfers after which registering both buffers has paid off, if it ever does.
  std::optional<double> reuses;
  std::vector<Flip> flips;
  std::vector<Cliff> cliffs;
  std::vector<std::string> decisive;  ///< parameters that decide between sockets and an RNIC
  std::vector<Sentence> sentences;
  std::vector<model::MeasuredShare> measured;  ///< shares of copying in real runs; set by report

  /// Returns the way with this name, of `ways` or `options`.
  const Way& way(std::string_view name) const;
};

/// Computes the answer. Throws UsageError in the same cases as question_of() and
/// changed_question().
Answer answer(const QuestionOptions& options);

/// Returns the four sentences: where the time goes, what limits the throughput, what would change
/// it, and where the choice between sockets and an RNIC flips, or that nothing is gained. If
/// `program` was recorded, a sentence about how fast it would run comes first.
std::vector<Sentence> sentences_of(const Answer& answer, const std::string& program);

/// Returns `always`, `never` or "from 12.3 KiB on". If the crossover is uncertain, appends the
/// range of sizes that may be the crossover: "from 12.3 KiB on (8.0 KiB to 16.1 KiB)". The range is
/// rounded outwards, so the text is true for every size outside of it.
std::string crossover_text(const model::UncertainCrossover& crossover,
                           const char* always = "always", const char* never = "never");

/// Formats microseconds with three digits. All views format times with it, so they agree.
std::string us_text(double ns);

}  // namespace iwarp::apps::cost
