// SPDX-License-Identifier: Apache-2.0
// Target: the name of the file that a client of `iwarp serve` requests or wants to replace. The
// input is the name in the message. The directory contains a file, a file that only its owner may
// read, a directory, a FIFO, and links that lead out of the directory. Property: only the first of
// these files is ever opened, and nothing else is replaced.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "common/base/error.hpp"
#include "common/base/url.hpp"
#include "target.hpp"
#include "transfer/file_store.hpp"

namespace iwarp::fuzz {
namespace {

namespace fs = std::filesystem;

class Served {
 public:
  Served() {
    std::string name = (fs::temp_directory_path() / "iwarp-fuzz-XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr, "a directory for the fuzzer can be created");
    top_ = name;
    const auto served = top_ / "served";
    fs::create_directories(served / "folder");
    for (const auto& path : {top_ / "outside", served / "file", served / ".hidden"}) {
      require(close(creat(path.c_str(), 0600)) == 0, "its files can be created");
    }
    fs::create_symlink("../outside", served / "link");
    fs::create_directory_symlink("..", served / "up");
    require(mkfifo((served / "fifo").c_str(), 0600) == 0, "its FIFO can be created");
    directory = apps::open_directory(served.string());
    struct stat info{};
    require(stat((served / "file").c_str(), &info) == 0, "the file exists");
    file = info.st_ino;
  }
  ~Served() { fs::remove_all(top_); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  apps::Fd directory;
  ino_t file = 0;

 private:
  fs::path top_;
};

}  // namespace

void run(View input) {
  static const Served served;
  const std::string name(reinterpret_cast<const char*>(input.data()), input.size());
  const bool plain = apps::is_plain_name(name);
  try {
    const auto source = apps::open_in(served.directory, name);
    struct stat info{};
    require(fstat(source.fd.get(), &info) == 0 && info.st_ino == served.file,
            "nothing but the file is opened");
    require(plain, "only a plain name is opened");
  } catch (const apps::Error&) {
    require(name != "file", "the file that always exists is found");
  }
  try {
    if (plain) apps::check_replaceable(served.directory, name);
    require(name != "folder" && name != "link" && name != "up" && name != "fifo",
            "only files are replaced");
  } catch (const apps::Error&) {
    require(name != "file", "the file that always exists can be replaced");
  }
  const auto url = apps::parse_url("iwarp://192.0.2.1/" + name, 1);
  require(!url || url->name == name, "a URL has its name octet by octet");
}

}  // namespace iwarp::fuzz
