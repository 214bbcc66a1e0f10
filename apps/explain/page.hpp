// SPDX-License-Identifier: Apache-2.0
// Writes a session as one HTML file. The page, its style and its script are compiled in; the model
// is the JSON that apps/frames writes. If this program was built without the page, the constructor
// throws.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "frames/report/json_report.hpp"

namespace iwarp::apps::explain {

/// Returns the content of "page.html", "style.css" or "page.js". Returns an empty text for any
/// other name, or if the page was not built.
std::string_view page_file(std::string_view name);

class Page {
 public:
  /// Options for the model: the JSON in the page, which the script shows. These options limit the
  /// size of the model, so that a browser can handle the page.
  static constexpr frames::JsonOptions kModel{
      .octets = true, .max_octets = 2048, .max_size = 64 * 1024 * 1024};

  /// Creates the file and writes the beginning of the page. Throws Error if this fails.
  explicit Page(const std::string& path);
  /// Appends `lines` to the model.
  void add(std::string_view lines);
  /// Writes the end of the page and returns the size of the file. Throws Error if writing has
  /// failed.
  std::uint64_t finish();

 private:
  void write(std::string_view text);

  std::string path_;
  std::string rest_;  ///< the part of the page that follows the model
  std::ofstream out_;
  std::uint64_t size_ = 0;
};

}  // namespace iwarp::apps::explain
