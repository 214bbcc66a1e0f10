// SPDX-License-Identifier: Apache-2.0
// Tests commands that are described as data: how their arguments are parsed, their values, help
// texts, and suggestions. Tests child processes.
#include <doctest/doctest.h>
#include <unistd.h>

#include "command_line/child.hpp"
#include "command_line/command.hpp"
#include "command_line/error.hpp"
#include "command_line/help.hpp"
#include "command_line/parse.hpp"
#include "command_line/suggest.hpp"

namespace {

using namespace iwarp::apps::cli;

/// A command with one option of each kind. Its members hold the values from a command line.
struct Toy {
  Command root{"toy", "For a test"};
  bool loud = false;
  std::string color = "red";
  unsigned count = 3;
  std::uint64_t size = 65536;
  double seconds = 0.5;
  std::vector<std::string> only;
  std::vector<std::string> sizes;
  std::optional<std::string> report;
  std::string file;

  Toy() {
    Command paint("paint", "Paint a file");
    paint.argument("FILE", file, "What to paint").required();
    paint.flag("-l,--loud", loud, "Say so");
    paint.flag("--quiet", quiet, "Say nothing").excludes("--loud");
    paint.choice("--color", color, {"red", "blue"}, "Of the paint");
    paint.number("--count", "N", count, {1, 9}, "Coats");
    paint.size("--size", size, {1, 1 << 20}, "Octets");
    paint.number("--seconds", "S", seconds, {0.1, 10}, "Between coats");
    paint.texts("--only", "NAME", only, "Parts").repeatable();
    paint.texts("--sizes", "N", sizes, "Of brushes").greedy();
    paint.optional_text("--report", "OUT", report, "Tell");
    paint.run = [](const Given&) { return 7; };
    root.commands.push_back(std::move(paint));
    Command outdoors("outdoors", "A group of commands");
    Command watch("watch", "Paint what a command prints");
    watch.flag("--loud", loud, "Say so");
    watch.takes_command = true;
    watch.run = [](const Given&) { return 8; };
    Command dry("dry", "Let the paint dry");
    dry.run = [](const Given&) { return 9; };
    outdoors.commands = {std::move(watch), std::move(dry)};
    root.commands.push_back(std::move(outdoors));
  }

  std::expected<Invocation, Misuse> parse(std::vector<const char*> words) {
    words.insert(words.begin(), "toy");
    return iwarp::apps::cli::parse(root, static_cast<int>(words.size()), words.data());
  }
  /// Parses "paint f" followed by `words`. Returns the error text.
  std::string fault(std::vector<const char*> words) {
    words.insert(words.begin(), {"paint", "f"});
    const auto out = parse(words);
    return out ? "" : out.error().text;
  }

 private:
  bool quiet = false;
};

TEST_CASE("each kind of option sets its value") {
  Toy toy;
  const auto out =
      toy.parse({"paint", "wall", "-l", "--color=blue", "--count", "9", "--size", "4K", "--seconds",
                 "2.5", "--only", "a", "--only", "b", "--report=x", "--sizes", "1", "2"});
  REQUIRE(out);
  CHECK(path_text(out->path) == "toy paint");
  CHECK(out->path.back()->run(out->given) == 7);
  CHECK(toy.file == "wall");
  CHECK(toy.loud);
  CHECK(toy.color == "blue");
  CHECK(toy.count == 9);
  CHECK(toy.size == 4096);
  CHECK(toy.seconds == 2.5);
  CHECK(toy.only == std::vector<std::string>{"a", "b"});
  CHECK(toy.sizes == std::vector<std::string>{"1", "2"});
  CHECK(toy.report == "x");
  CHECK(out->given.has("--count"));
  CHECK(out->given.has("--loud"));
  CHECK_FALSE(out->given.has("--quiet"));
}

TEST_CASE("an option that is not given keeps its default") {
  Toy toy;
  REQUIRE(toy.parse({"paint", "wall"}));
  CHECK(toy.count == 3);
  CHECK(toy.color == "red");
  CHECK_FALSE(toy.report);
}

TEST_CASE("a repeatable option takes one word each time; one with an optional value takes none") {
  Toy toy;
  REQUIRE(toy.parse({"paint", "--only", "a", "wall"}));
  CHECK(toy.file == "wall");
  Toy other;
  REQUIRE(other.parse({"paint", "--report", "wall"}));
  CHECK(other.file == "wall");
  CHECK(other.report == "");
}

TEST_CASE("the bounds of a range are valid values") {
  CHECK(Toy().fault({"--count", "1"}) == "");
  CHECK(Toy().fault({"--count", "9"}) == "");
  CHECK(Toy().fault({"--size", "1M"}) == "");
  CHECK(Toy().fault({"--count", "0"}) == "--count: \"0\" is not an integer from 1 to 9");
  CHECK(Toy().fault({"--count", "10"}) == "--count: \"10\" is not an integer from 1 to 9");
  CHECK(Toy().fault({"--size", "1025K"}) == "--size: \"1025K\" is not in the range from 1 to 1M");
  CHECK(Toy().fault({"--seconds", "nan"}) == "--seconds: \"nan\" is not a number from 0.1 to 10");
}

TEST_CASE("each kind of misuse names the error and the word") {
  CHECK(Toy().fault({"--count", "3x"}) == "--count: \"3x\" is not an integer from 1 to 9");
  CHECK(Toy().fault({"--size", "big"}) == "--size: \"big\" is not a size such as 4096, 64K or 1M");
  CHECK(Toy().fault({"--color", "green"}) == "--color: \"green\" is not one of red, blue");
  CHECK(Toy().fault({"--count"}) == "--count needs a value: N");
  CHECK(Toy().fault({"--count", "1", "--count", "2"}) == "--count is given more than once");
  CHECK(Toy().fault({"--colour", "red"}) == "unknown option \"--colour\"; did you mean --color?");
  CHECK(Toy().fault({"more"}) == "unexpected argument \"more\"");
  CHECK(Toy().fault({"--quiet", "--loud"}).find("exclude") != std::string::npos);
  CHECK(Toy().parse({"paint"}).error().text == "FILE is missing");
  CHECK(Toy().parse({"piant"}).error().text == "unknown command \"piant\"; did you mean paint?");
  CHECK(Toy().parse({}).error().text == "no command given");
  CHECK(Toy().parse({"paint"}).error().command == "toy paint");
}

TEST_CASE("a command keeps the words of the program that it runs, below any number of commands") {
  using Words = std::vector<std::string>;
  const auto rest = [](std::vector<const char*> words) {
    words.insert(words.begin(), {"outdoors", "watch"});
    const auto out = Toy().parse(words);
    return out ? out->given.rest : Words{out.error().text};
  };
  CHECK(rest({"ls", "--loud", "-l"}) == Words{"ls", "--loud", "-l"});
  CHECK(rest({"--", "ls", "--loud", "-l"}) == Words{"ls", "--loud", "-l"});
  CHECK(rest({"--loud", "--", "ls", "dry"}) == Words{"ls", "dry"});
  CHECK(rest({"--", "ls", "--", "x"}) == Words{"ls", "--", "x"});
  CHECK(rest({"--lout", "ls"}) == Words{"unknown option \"--lout\"; did you mean --loud?"});
  CHECK(rest({}).empty());
}

TEST_CASE("words after -- that a command does not take are unexpected arguments") {
  CHECK(Toy().parse({"outdoors", "dry", "--", "x"}).error().text == "unexpected argument \"x\"");
  CHECK(Toy().parse({"outdoors", "--", "x"}).error().text == "unknown command \"x\"");
  CHECK(Toy().fault({"--", "more"}) == "unexpected argument \"more\"");
  Toy toy;
  CHECK(toy.parse({"paint", "--", "-wall"}));
  CHECK(toy.file == "-wall");
}

TEST_CASE("words of the user are repeated in messages in printable and shortened form") {
  CHECK(excerpt("a\x1b[2Jb") == "a?[2Jb");
  CHECK(excerpt("caf\xc3\xa9") == "caf??");
  CHECK(excerpt(std::string(60, 'x')) == std::string(60, 'x'));
  CHECK(excerpt(std::string(61, 'x')) == std::string(60, 'x') + "...");
}

TEST_CASE("help and version are recognized at any position") {
  CHECK(Toy().parse({"--version"})->wants_version);
  const auto help = Toy().parse({"paint", "--help"});
  CHECK(help->wants_help);
  Toy toy;
  CHECK(toy.parse({"paint", "-h"})->path.back()->name == "paint");
}

TEST_CASE("help shows the usage, defaults and values") {
  const Toy toy;
  const auto text = help_text({&toy.root, &toy.root.commands.front()});
  for (const auto* part :
       {"Usage: toy paint [OPTION...] FILE\n", "-l, --loud", "--color red|blue",
        "Of the paint [red]", "Octets [64K]", "--report[=OUT]", "--sizes N..."}) {
    CAPTURE(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("long lines are wrapped between words and indented") {
  CHECK(wrapped("one two three", 10, 2) == "  one two\n  three\n");
  CHECK(wrapped("one\ntwo", 80, 1) == " one\n two\n");
  CHECK(wrapped("unbreakable", 4, 0) == "unbreakable\n");
}

TEST_CASE("the nearest word is suggested if at most a third of it differs") {
  const std::vector<std::string> known{"ping", "put", "perf"};
  CHECK(nearest("pnig", known) == "ping");
  CHECK(nearest("pign", known) == "ping");
  CHECK(nearest("pings", known) == "ping");
  CHECK(nearest("frobnicate", known) == "");
  CHECK(nearest("", known) == "");
  CHECK(nearest(std::string(1000, 'p'), known) == "");
}

TEST_CASE("an exception in a child process does not reach the frames of its parent") {
  try {
    const iwarp::apps::Child child(
        []() -> int { throw std::runtime_error("thrown by the child"); });
    CHECK_EQ(child.wait().status, iwarp::apps::kExitFailure);
  } catch (const std::runtime_error&) {
    ::_exit(iwarp::apps::kExitUsage);  // This is the child.
  }
}

}  // namespace
