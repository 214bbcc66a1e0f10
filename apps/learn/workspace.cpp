// SPDX-License-Identifier: Apache-2.0
// Creates and finds the student's folder, and reads and writes its record. A file that exists is
// not overwritten when the folder is created again.
#include "learn/workspace.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "command_line/error.hpp"

namespace iwarp::apps::learn {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRecord = ".iwarp-learn.json";

void write_new(const fs::path& path, std::string_view text) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) write_file(path, text);
}

}  // namespace

void write_file(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) throw Error(fmt::format("cannot write {}: {}", path.string(), errno_text()));
}

Workspace::Workspace(fs::path folder) : folder_(std::move(folder)) {
  if (fs::exists(folder_ / kRecord)) load();
}

Workspace Workspace::create(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(fmt::format("cannot make {}: {}", folder.string(), to_text(error)));
  for (const auto& [name, text] : helpers()) write_new(folder / name, text);
  for (const Exercise& exercise : exercises()) {
    const fs::path own = folder / exercise.folder;
    fs::create_directories(own, error);
    if (error) throw Error(fmt::format("cannot make {}: {}", own.string(), to_text(error)));
    write_new(own / "README.md", exercise.page);
    write_new(own / "exercise.c", exercise.skeleton);
  }
  Workspace out(fs::absolute(folder).lexically_normal());
  out.save();
  return out;
}

std::optional<Workspace> Workspace::find() {
  std::error_code ignored;
  for (fs::path at = fs::current_path(ignored);; at = at.parent_path()) {
    if (fs::exists(at / kRecord, ignored)) return Workspace(at);
    if (at == at.parent_path()) return std::nullopt;
  }
}

fs::path Workspace::source_of(const Exercise& exercise) const {
  return folder_ / exercise.folder / "exercise.c";
}

const Exercise* Workspace::next() const {
  for (const Exercise& exercise : exercises()) {
    if (!passed_.contains(exercise.number)) return &exercise;
  }
  return nullptr;
}

void Workspace::record(const Exercise& exercise, Passed passed) {
  passed_[exercise.number] = std::move(passed);
  save();
}

void Workspace::load() {
  const fs::path path = folder_ / kRecord;
  std::ifstream in(path);
  try {
    const auto record = nlohmann::json::parse(in);
    for (const auto& [number, about] : record.at("passed").items()) {
      passed_[static_cast<unsigned>(std::stoul(number))] = {.when = about.at("when"),
                                                            .evidence = about.at("evidence")};
    }
  } catch (const std::exception&) {
    throw Error(fmt::format(
        "{}: damaged (delete this file, and check the exercises again that you have passed)",
        path.string()));
  }
}

void Workspace::save() const {
  nlohmann::json passed = nlohmann::json::object();
  for (const auto& [number, about] : passed_) {
    passed[std::to_string(number)] = {{"when", about.when}, {"evidence", about.evidence}};
  }
  const fs::path path = folder_ / kRecord;
  const fs::path other = folder_ / (std::string(kRecord) + ".new");
  write_file(other, nlohmann::json{{"passed", passed}}.dump(2) + "\n");
  std::error_code error;
  fs::rename(other, path, error);
  if (error) throw Error(fmt::format("cannot write {}: {}", path.string(), to_text(error)));
}

}  // namespace iwarp::apps::learn
