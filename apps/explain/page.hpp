// SPDX-License-Identifier: Apache-2.0
// A session as one HTML file. The page, its style and its script are compiled in; the model is the
// JSON of apps/frames. Refuses to begin when this program was built without the page.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "frames/report/json_report.hpp"

namespace iwarp::apps::explain {

/// The parts of the page: "page.html", "style.css", "page.js". Empty: none such, or built without.
std::string_view page_file(std::string_view name);

class Page {
 public:
  /// What a browser can bear.
  static constexpr frames::JsonOptions kModel{
      .octets = true, .max_octets = 2048, .max_size = 64 * 1024 * 1024};

  /// Begins the file. Throws Error.
  explicit Page(const std::string& path);
  /// More lines of the model.
  void add(std::string_view lines);
  /// Ends the file; its size. Throws Error.
  std::uint64_t finish();

 private:
  void write(std::string_view text);

  std::string path_;
  std::string rest_;  ///< of the page, behind the model
  std::ofstream out_;
  std::uint64_t size_ = 0;
};

}  // namespace iwarp::apps::explain
