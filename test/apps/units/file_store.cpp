// SPDX-License-Identifier: Apache-2.0
// Tests files on disk: no name may lead out of the directory, no file may appear under its name
// before it is complete, and no partial file may remain.
#include "transfer/file_store.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/error.hpp"

namespace {

using namespace iwarp;
using namespace iwarp::apps;
namespace fs = std::filesystem;

/// An empty directory. The destructor removes it.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "iwarp-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
    directory_ = open_directory(name);
  }
  ~Scratch() { fs::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const fs::path& path() const { return path_; }
  const Fd& directory() const { return directory_; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
  Fd directory_;
};

bytes::View octets(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST_CASE("a new file appears at commit, and not before") {
  const Scratch scratch;
  {
    NewFile file(scratch.directory(), 5);
    file.write_at(3, octets("lo"));
    file.write_at(0, octets("hel"));
    CHECK_FALSE(fs::exists(scratch.path() / "greeting"));
    file.commit("greeting");
  }
  CHECK(scratch.read("greeting") == "hello");
  CHECK(scratch.entries() == 1);
}

TEST_CASE("a new file replaces an old one atomically") {
  const Scratch scratch;
  scratch.write("greeting", "something much longer");
  NewFile file(scratch.directory(), 2);
  file.write_at(0, octets("hi"));
  CHECK(scratch.read("greeting") == "something much longer");
  file.commit("greeting");
  CHECK(scratch.read("greeting") == "hi");
  CHECK(scratch.entries() == 1);
}

TEST_CASE("a replaced file passes on its permissions; other kinds of files are not replaced") {
  const Scratch scratch;
  const auto mode = [&](const std::string& name) {
    return fs::status(scratch.path() / name).permissions();
  };
  const mode_t before = umask(022);
  const auto replace = [&](const std::string& name) {
    NewFile(scratch.directory(), 0).commit(name);
  };
  replace("new");
  CHECK(mode("new") == fs::perms{0644});
  for (const unsigned permissions : {0600U, 0664U, 0755U}) {
    fs::permissions(scratch.path() / "new", fs::perms{permissions});
    replace("new");
    CHECK(mode("new") == fs::perms{permissions});
  }
  umask(before);
  fs::create_symlink("new", scratch.path() / "link");
  REQUIRE(mkfifo((scratch.path() / "fifo").c_str(), 0600) == 0);
  for (const char* name : {"link", "fifo"}) {
    CHECK_THROWS_AS(check_replaceable(scratch.directory(), name), Error);
    CHECK_THROWS_AS(replace(name), Error);
  }
  CHECK(scratch.entries() == 3);
}

TEST_CASE("a file that is not committed leaves nothing behind") {
  const Scratch scratch;
  {
    NewFile file(scratch.directory(), 100);
    file.write_at(0, octets("half"));
  }
  CHECK(scratch.entries() == 0);
}

TEST_CASE("a size beyond any disk is refused and leaves nothing behind") {
  const Scratch scratch;
  CHECK_THROWS_AS(NewFile(scratch.directory(), std::uint64_t{1} << 62), Error);
  CHECK_THROWS_AS(NewFile(scratch.directory(), ~std::uint64_t{0}), Error);
  CHECK(scratch.entries() == 0);
}

TEST_CASE("only regular files are opened") {
  const Scratch scratch;
  scratch.write("file", "text");
  fs::create_directory(scratch.path() / "sub");
  scratch.write("sub/inner", "text");
  scratch.write(".hidden", "text");
  fs::create_symlink("file", scratch.path() / "link");
  fs::create_symlink("/etc/passwd", scratch.path() / "outside");
  REQUIRE(mkfifo((scratch.path() / "fifo").c_str(), 0600) == 0);

  CHECK(open_in(scratch.directory(), "file").size == 4);
  for (const char* name : {"nope", "sub", "sub/inner", ".hidden", "link", "outside", "fifo", ".",
                           "..", "../file", "/etc/passwd", ""}) {
    CAPTURE(name);
    CHECK_THROWS_AS(open_in(scratch.directory(), name), Error);
  }
  CHECK_THROWS_AS(open_in(scratch.directory(), std::string("file\0x", 6)), Error);
}

TEST_CASE("reading after the end of a file is an error") {
  const Scratch scratch;
  scratch.write("file", "text");
  const auto file = open_in(scratch.directory(), "file");
  std::vector<std::byte> into(4);
  read_at(file, 0, into);
  CHECK(into.back() == std::byte{'t'});
  CHECK_THROWS_AS(read_at(file, 1, into), Error);
}

TEST_CASE("only partial files of killed servers are removed, not those of running servers") {
  const Scratch scratch;
  const std::string stale = ".iwarp-0123456789abcdef.part";
  const std::string live = ".iwarp-fedcba9876543210.part";
  for (const auto& name : {stale, live, std::string(".iwarp-notes"), std::string("file")}) {
    scratch.write(name, "text");
  }
  const Fd held(open((scratch.path() / live).c_str(), O_RDONLY));
  REQUIRE(flock(held.get(), LOCK_EX) == 0);
  remove_stale_files(scratch.directory());
  CHECK_FALSE(fs::exists(scratch.path() / stale));
  CHECK(fs::exists(scratch.path() / live));
  CHECK(scratch.entries() == 3);
}

}  // namespace
