// SPDX-License-Identifier: Apache-2.0
// The verdicts as text, as JSON, and as a result file for Gradescope.
#pragma once

#include <span>
#include <string>

#include "learn/judge.hpp"

namespace iwarp::apps::learn {

/// An exercise, and the verdict about it.
struct Result {
  const Exercise* exercise = nullptr;
  std::string file;  ///< path of the student's file
  Verdict verdict;
};

/// Returns the verdict, what the judge saw, and what to do next, as several lines.
std::string as_text(const Result& result);
/// Returns one JSON array with an object for each result.
std::string as_json(std::span<const Result> results);
/// Returns the results.json of Gradescope, with one test of one point for each exercise.
std::string as_gradescope(std::span<const Result> results);

}  // namespace iwarp::apps::learn
