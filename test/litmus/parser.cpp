// SPDX-License-Identifier: Apache-2.0
// Tests how the parser of litmus files reads good files and what it says about bad ones.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "judge/litmus/program.hpp"

namespace iwarp::test {

using namespace judge::litmus;

namespace {

const std::string kHead =
    "RDMA example\n"
    "host A { x = 1; y[2]; }\n"
    "host B { z; w[2]; window v; }\n"
    "qp q = A B;\n";
const std::string kTail =
    "exists (z=0)\n"
    "iwarp Never \"a source\";\n"
    "ib Always \"another source\";\n";

std::string with_thread(const std::string& statements) {
  return kHead + "thread P0 on A {\n" + statements + "\n}\n" + kTail;
}

std::string error_of(std::string_view text) {
  try {
    parse(text);
  } catch (const SyntaxError& error) {
    return fmt::format("{}: expected {}, found {}", error.line, error.expected, error.found);
  }
  return "no error";
}

std::string statement_error(const std::string& statements) {
  return error_of(with_thread(statements));
}

}  // namespace

TEST_CASE("a program has its hosts, locations, queue pairs and threads") {
  const Program program = parse(with_thread("write z = x inline unsignaled; r = y[1]; (* r *)"));
  CHECK(program.name == "example");
  REQUIRE(program.locations.size() == 5);
  CHECK(program.locations[0].initial == 1);
  CHECK(program.locations[1].at == 64);  // each location begins a cache line
  CHECK(program.locations[1].words == 2);
  CHECK(program.locations[4].is_window);
  REQUIRE(program.threads.size() == 1);
  REQUIRE(program.threads[0].statements.size() == 2);
  const Statement& write = program.threads[0].statements[0];
  CHECK(write.op == Op::kWrite);
  CHECK(write.line == 6);
  CHECK(write.local == 0);
  CHECK(write.remote == 2);
  CHECK(write.is_inline);
  CHECK(write.is_unsignaled);
  CHECK_FALSE(write.is_fenced);
  CHECK(program.threads[0].statements[1].word == 1);
  CHECK(program.iwarp.answer == Answer::kNever);
  CHECK(program.ib.answer == Answer::kAlways);
  CHECK(program.ib.source == "another source");
  CHECK(program.question_text == "(z=0)");
  REQUIRE(program.shown.size() == 2);
  CHECK(program.shown[0].text == "r");
  CHECK(program.shown[1].text == "z");
}

TEST_CASE("a question combines comparisons") {
  const std::string text = with_thread("r = x;");
  const Program program =
      parse(text.substr(0, text.find("exists")) +
            "exists (~(r=1 /\\ w[1] != 2) \\/ z < 3) iwarp Sometimes \"s\"; ib Sometimes \"s\";");
  REQUIRE(program.question.kind == Condition::Kind::kOr);
  REQUIRE(program.question.parts.size() == 2);
  CHECK(program.question.parts[0].kind == Condition::Kind::kNot);
  CHECK(program.question.parts[0].parts[0].kind == Condition::Kind::kAnd);
  CHECK(program.question.parts[1].kind == Condition::Kind::kLess);
  CHECK(program.shown.back().text == "z");
}

TEST_CASE("an error names the line, what was expected and what was found") {
  CHECK(error_of("") == "1: expected 'RDMA', found the end of the file");
  CHECK(error_of("RDMA 7") == "1: expected the name of the program, found '7'");
  CHECK(error_of("RDMA p\n\nhost A { x }") == "3: expected ';', found '}'");
  CHECK(error_of("RDMA p host A { x[0]; }") == "1: expected 1 to 131072 words, found '0'");
  CHECK(error_of("RDMA p host A { x = one; }") == "1: expected a number, found 'one'");
  CHECK(error_of("RDMA p host A { x = 1one; }") == "1: expected a number, found '1one'");
  CHECK(error_of("RDMA p host A { x; } host B { x; }") == "1: expected an unused name, found 'x'");
  CHECK(error_of("RDMA p (* no end") == "1: expected '*)', found a comment without an end");
  CHECK(error_of("RDMA p\n\"no end") == "2: expected '\"', found a string without an end");
  CHECK(error_of("RDMA p host A { } qp q = A A;") == "1: expected another host, found 'A'");
  CHECK(error_of("RDMA p host A { } qp q = A C;") == "1: expected a host, found 'C'");
  CHECK(error_of("RDMA p host A { } x") == "1: expected 'host', 'qp' or 'thread', found 'x'");
  CHECK(error_of(kHead + "thread P0 on C { }") == "5: expected a host, found 'C'");
  CHECK(error_of(kHead + "thread P0 on A {") ==
        "5: expected a statement or '}', found the end of the file");
}

TEST_CASE("an error in a statement names what is allowed") {
  CHECK(statement_error("wrte z = x;") == "6: expected a statement or '}', found 'wrte'");
  CHECK(statement_error("x = 1;\nwrite x = z;") ==
        "7: expected a location of another host, found 'x'");
  CHECK(statement_error("write z = z;") == "6: expected a location of host A, found 'z'");
  CHECK(statement_error("write w = x;") ==
        "6: expected two locations of the same size, found sizes of 1 and 2 words");
  CHECK(statement_error("write z = x via p;") == "6: expected a queue pair, found 'p'");
  CHECK(statement_error("write z = x twice;") == "6: expected ';', found 'twice'");
  CHECK(statement_error("read x = z inline;") == "6: expected ';', found 'inline'");
  CHECK(statement_error("r = y[2];") == "6: expected an index below 2, found '2'");
  CHECK(statement_error("r = x; r = y;") ==
        "6: expected a register that is not assigned yet, found 'r'");
  CHECK(statement_error("x = r;") == "6: expected a number or a register, found 'r'");
  CHECK(statement_error("send x;") ==
        "8: expected 1 statements 'receive' for the messages of q, found 0");
  CHECK(statement_error("send x invalidating z;") == "6: expected a window, found 'z'");
  CHECK(statement_error("invalidate x;") == "6: expected a window, found 'x'");
  std::string many;
  for (int i = 0; i < 17; ++i) many += "x = 1; ";
  CHECK(statement_error(many) ==
        "6: expected '}', because a thread has at most 16 statements, found 'x'");
}

TEST_CASE("a request needs one queue pair, which belongs to its thread") {
  const std::string second = "qp p = A B;\n";
  const std::string thread = "thread P0 on A { write z = x; }\n";
  CHECK(error_of(kHead + second + thread + kTail) ==
        "6: expected 'via QUEUE-PAIR', found 2 queue pairs to choose from");
  CHECK(error_of(kHead + thread + "thread P1 on A { poll; }\n" + kTail) ==
        "6: expected a queue pair that no other thread of the host uses, found 'q'");
  CHECK(error_of("RDMA p host A { x; } host B { z; } host C { } qp q = A C;\n"
                 "thread P0 on A { write z = x via q; }") ==
        "2: expected a queue pair that connects the two hosts, found 'q'");
}

TEST_CASE("an error in the question or a verdict names what is allowed") {
  const auto error = [](const std::string& tail) {
    const std::string text = with_thread("r = x;");
    return error_of(text.substr(0, text.find("exists")) + tail);
  };
  CHECK(error("exists r=1") == "8: expected '(', found 'r'");
  CHECK(error("exists (r=1") == "8: expected ')', found the end of the file");
  CHECK(error("exists (r > 1)") == "8: expected '=', '!=' or '<', found '>'");
  CHECK(error("exists (s=1)") == "8: expected a number, a register or a location, found 's'");
  CHECK(error("exists (r=1) ib Never") == "8: expected 'iwarp', found 'ib'");
  CHECK(error("exists (r=1)\niwarp Perhaps") ==
        "9: expected 'Never', 'Sometimes' or 'Always', found 'Perhaps'");
  CHECK(error("exists (r=1)\niwarp Never;") == "9: expected the source, in quotes, found ';'");
  CHECK(error("exists (r=1)\niwarp Never \"\";") ==
        "9: expected a source that is not empty, found ''");
  CHECK(error(kTail + "x") == "11: expected the end of the file, found 'x'");
}

}  // namespace iwarp::test
