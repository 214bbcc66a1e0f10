// SPDX-License-Identifier: Apache-2.0
// A session as one HTML file. The page, its style and its script are compiled in; the model is the
// JSON of apps/frames. Fails at the beginning if this program was built without the page.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "frames/report/json_report.hpp"

namespace iwarp::apps::explain {

/// Returns a part of the page: "page.html", "style.css" or "page.js". Empty: there is no such part,
/// or the page was not built.
std::string_view page_file(std::string_view name);

class Page {
 public:
  /// Limits that a browser can handle.
  static constexpr frames::JsonOptions kModel{
      .octets = true, .max_octets = 2048, .max_size = 64 * 1024 * 1024};

  /// Begins the file. Throws Error.
  explicit Page(const std::string& path);
  /// Adds lines of the model.
  void add(std::string_view lines);
  /// Ends the file and returns its size. Throws Error.
  std::uint64_t finish();

 private:
  void write(std::string_view text);

  std::string path_;
  std::string rest_;  ///< of the page, after the model
  std::ofstream out_;
  std::uint64_t size_ = 0;
};

}  // namespace iwarp::apps::explain
