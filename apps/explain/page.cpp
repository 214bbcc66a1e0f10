// SPDX-License-Identifier: Apache-2.0
// Writes the template up to the placeholder for the model, then the model line by line, and then
// the rest of the template.
#include "explain/page.hpp"

#include "common/base/error.hpp"
#include "common/base/html_page.hpp"

namespace iwarp::apps::explain {

Page::Page(const std::string& path) : path_(path) {
  if (page_file("page.js").empty()) {
    throw Error(
        "--html: this iwarp was built without the HTML page (install esbuild, node-react-dom and "
        "node-d3-scale, then build again)");
  }
  constexpr std::string_view kModelMark = "@MODEL@";
  const auto page = page_file("page.html");
  const auto model = page.find(kModelMark);
  rest_ = filled(page.substr(model + kModelMark.size()),
                 {{"@SCRIPT@", std::string(page_file("page.js"))}});
  out_.open(path, std::ios::binary);
  if (!out_) throw Error("cannot write " + path + ": " + errno_text());
  write(filled(page.substr(0, model), {{"@STYLE@", std::string(page_file("style.css"))}}));
}

void Page::write(std::string_view text) {
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  size_ += text.size();
}

void Page::add(std::string_view lines) { write(script_safe(lines)); }

std::uint64_t Page::finish() {
  write(rest_);
  out_.close();
  if (!out_) throw Error("cannot write " + path_ + ": " + errno_text());
  return size_;
}

}  // namespace iwarp::apps::explain
