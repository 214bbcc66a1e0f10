// SPDX-License-Identifier: Apache-2.0
// Tests the file of a session, to which processes add devices.
#include "process/session.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "iwarp/profiles/device_name.hpp"

namespace {

using namespace iwarp::rdma_core;  // NOLINT(google-build-using-namespace): the tested code

class Folder {
 public:
  Folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file() const { return path_ + "/session"; }
  std::string text() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string path_ = std::filesystem::temp_directory_path() / "session-XXXXXX";
};

}  // namespace

TEST_CASE("a device that one process adds is seen by the others") {
  const Folder folder;
  Session one(folder.file());
  const Session other(folder.file());
  CHECK(other.devices().empty());
  CHECK_FALSE(std::filesystem::exists(folder.file()));
  CHECK(one.add("rxe0", "rxe", "eth0") == 0);
  CHECK(one.add("siw0", "siw", "eth0") == 0);
  const auto found = other.devices();
  REQUIRE(found.size() == 2);
  CHECK(found[1].number == 1);
  CHECK(found[1].name == "siw0");
  CHECK(found[1].type == "siw");
  CHECK(found[1].netdev == "eth0");
  CHECK(folder.text() == "rxe0 rxe eth0\nsiw0 siw eth0\n");
}

TEST_CASE("a name and a type on an interface are unique") {
  const Folder folder;
  Session session(folder.file());
  CHECK(session.add("rxe0", "rxe", "eth0") == 0);
  CHECK(session.add("rxe0", "siw", "eth1") == EEXIST);
  CHECK(session.add("rxe1", "rxe", "eth0") == EEXIST);
  CHECK(session.add("rxe1", "rxe", "eth1") == 0);
}

TEST_CASE("a removed device keeps the numbers of the others") {
  const Folder folder;
  Session session(folder.file());
  CHECK(session.remove(0) == EINVAL);
  for (const char* name : {"a", "b", "c"}) CHECK(session.add(name, "rxe", name) == 0);
  CHECK(session.remove(1) == 0);
  CHECK(session.remove(1) == EINVAL);
  CHECK(session.remove(3) == EINVAL);
  REQUIRE(session.devices().size() == 2);
  CHECK(session.devices()[1].number == 2);
  CHECK(session.add("d", "rxe", "d") == 0);
  CHECK(folder.text() == "a rxe a\nd rxe d\nc rxe c\n");
}

TEST_CASE("if processes add a device of one name at once, one succeeds") {
  for (int round = 0; round < 50; ++round) {
    const Folder folder;
    std::array<pid_t, 4> children{};
    for (pid_t& child : children) {
      child = ::fork();
      if (child == 0) ::_exit(Session(folder.file()).add("rxe0", "rxe", "eth0"));
      REQUIRE(child > 0);
    }
    int succeeded = 0;
    for (const pid_t child : children) {
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      CHECK((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EEXIST));
      succeeded += WEXITSTATUS(status) == 0 ? 1 : 0;
    }
    CHECK(succeeded == 1);
  }
}

TEST_CASE("the number of devices is limited") {
  const Folder folder;
  Session session(folder.file());
  for (std::size_t i = 0; i < kMaxAddedDevices; ++i) {
    const std::string name = "x" + std::to_string(i);
    CHECK(session.add(name, "rxe", name) == 0);
  }
  CHECK(session.add("y", "rxe", "y") == ENOSPC);
  CHECK(session.devices().size() == kMaxAddedDevices);
  CHECK(session.remove(7) == 0);
  CHECK(session.add("y", "rxe", "y") == 0);
}

TEST_CASE("a file that is not a session's is not used") {
  const Folder folder;
  Session session(folder.file());
  CHECK(Session("").add("a", "rxe", "eth0") == EOPNOTSUPP);
  CHECK(Session("").devices().empty());
  std::ofstream(folder.file()) << "one\n\na b c d\n/x rxe eth0\na rxe eth0\n\x01\x02";
  REQUIRE(session.devices().size() == 1);
  CHECK(session.devices()[0].number == 4);
  ::chmod(folder.file().c_str(), 0666);  // other users could change it
  CHECK(session.devices().empty());
  CHECK(session.add("b", "rxe", "eth1") == EACCES);
  std::filesystem::remove(folder.file());
  std::filesystem::create_symlink("/dev/null", folder.file());
  CHECK(session.add("b", "rxe", "eth1") == ELOOP);
  std::filesystem::remove(folder.file());
  std::filesystem::create_directory(folder.file());
  CHECK(session.add("b", "rxe", "eth1") == EISDIR);
}

TEST_CASE("the names of devices can be part of a file name") {
  for (const char* name : {"rxe0", "rxe_eth0", "a.b-c"})
    CHECK(iwarp::profiles::is_device_name(name));
  for (const char* name :
       {"", ".", "..", "a/b", "a b", "a:b", "a=b", "a,b", "a\n", "rxe%d", "\x7F", "\xC3\xA4"}) {
    CHECK_FALSE(iwarp::profiles::is_device_name(name));
  }
  CHECK(iwarp::profiles::is_device_name(std::string(63, 'x')));
  CHECK_FALSE(iwarp::profiles::is_device_name(std::string(64, 'x')));
}
