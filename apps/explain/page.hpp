// SPDX-License-Identifier: Apache-2.0
// Writes a session as one HTML file. The page, its style and its script are compiled in; the model
// is the JSON of apps/frames. If this program was built without the page, the constructor throws.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "frames/report/json_report.hpp"

namespace iwarp::apps::explain {

/// Returns a part of the page: "page.html", "style.css" or "page.js". Returns an empty text if
/// there is no such part, or if the page was not built.
std::string_view page_file(std::string_view name);

class Page {
 public:
  /// Limits of the model, so that a browser can handle the page.
  static constexpr frames::JsonOptions kModel{
      .octets = true, .max_octets = 2048, .max_size = 64 * 1024 * 1024};

  /// Creates the file and writes its beginning. Throws Error if that fails.
  explicit Page(const std::string& path);
  /// Writes lines of the model.
  void add(std::string_view lines);
  /// Writes the end of the file and returns its size. Throws Error if writing has failed.
  std::uint64_t finish();

 private:
  void write(std::string_view text);

  std::string path_;
  std::string rest_;  ///< the part of the page that follows the model
  std::ofstream out_;
  std::uint64_t size_ = 0;
};

}  // namespace iwarp::apps::explain
