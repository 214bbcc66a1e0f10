// SPDX-License-Identifier: Apache-2.0
// Reading what benchmarks print: perftest's text as people paste it, fio's text and JSON, tables.
#include "iwarp/offload_model/samples.hpp"

#include <doctest/doctest.h>

#include <string>

namespace iwarp::offload_model {
namespace {

CardSample only(std::string_view text) {
  const auto read = read_samples(text);
  REQUIRE_MESSAGE(read.has_value(), read.error());
  REQUIRE(read->rows.size() == 1);
  return read->rows.front();
}

std::string complaint(std::string_view text) {
  const auto read = read_samples(text);
  REQUIRE(!read.has_value());
  return read.error();
}

constexpr std::string_view kPerftest = R"(> # ib_write_bw -a -d mlx5_0 --report_gbits node1
>                     RDMA_Write BW Test
>  Number of qps   : 4		Transport type : IB
>  TX depth        : 64
>  #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
>  8          5000             0.17               0.17   		   2.641399
>  65536      5000             98.2               **98.14**            0.187187
)";

TEST_CASE("perftest's text is read with quotation marks, bold numbers and two settings on a line") {
  const auto read = read_samples(kPerftest).value();
  REQUIRE(read.rows.size() == 2);
  const auto& s = read.rows[1];
  CHECK(s.line == 7);
  CHECK(s.way == "write");
  CHECK(s.size == 65536);
  CHECK(s.connections == 4);
  CHECK(s.depth == 64);
  CHECK(s.rate == doctest::Approx(187187));
  CHECK(read.rows[0].rate == doctest::Approx(2641399));
}

TEST_CASE("a missing column of perftest is found by the numbers that must agree") {
  constexpr std::string_view kHeader =
      "Send BW Test\n#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n";
  for (const std::string_view row :
       {"1024 1000 5544.28 5.677340", "1024 5600.0 5544.28 5.677340", "1024 1000 5600.0 5544.28"}) {
    CAPTURE(row);
    const auto s = only(std::string(kHeader) + std::string(row));
    CHECK(s.way == "send");
    CHECK(s.rate == doctest::Approx(5.67734e6).epsilon(0.001));
  }
  CHECK(complaint(std::string(kHeader) + "1024 1000 0.00 5544.28 9.1") ==
        "line 3: cannot read the row \"1024 1000 0.00 5544.28 9.1\": expected the "
        "5 numbers of perftest's header, without contradictions between them");
}

TEST_CASE("perftest's latency is half a round trip of Send and Write, and a whole one of Read") {
  const std::string header =
      " #bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec]\n";
  auto s = only("RDMA_Read Latency Test\n TX depth : 1\n" + header + "8 1000 1.6 9 2.0 2.1 0.1\n");
  CHECK(s.depth == 1);
  CHECK(s.rate == doctest::Approx(500'000));
  s = only("Send Latency Test\n" + header + "8 1000 0.8 9 1.0 1.1 0.1\n");
  CHECK(s.rate == doctest::Approx(500'000));
}

TEST_CASE("perftest's JSON is read, with and without quotation marks") {
  const std::string quoted = R"({
"test_info": {
"test": "RDMA_Write_BW_Test",
"Number_of_qps": 2,
"TX_depth": 128,
},
"results": {
"MsgSize": 65536,
"n_iterations": 5000,
"BW_average": 2229.27,
"MsgRate": 0.035668
}
})";
  auto bare = quoted;
  std::erase(bare, '"');
  for (const auto& text : {quoted, bare}) {
    const auto s = only(text);
    CHECK(s.way == "write");
    CHECK(s.size == 65536);
    CHECK(s.connections == 2);
    CHECK(s.depth == 128);
    CHECK(s.rate == doctest::Approx(35668));
  }
}

TEST_CASE("fio's text and JSON give size, jobs, depth, rate and processor time") {
  const auto text = only(
      "t: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, ioengine=rdma, iodepth=16\n"
      "Starting 2 processes\n"
      "t: (groupid=0, jobs=2): err= 0: pid=7604\n"
      "  read: IOPS=60.2k, BW=235MiB/s (247MB/s)(8192KiB/34msec)\n"
      "  cpu          : usr=2.00%, sys=28.10%, ctx=1034\n");
  const auto json = only(
      R"({"fio version": "fio-3.33", "global options": {"iodepth": "16"}, "jobs": [{"job options":
      {"bs": "4k", "numjobs": "2"}, "read": {"iops": 60200.0, "bw_bytes": 1}, "write": {"iops": 0},
      "usr_cpu": 2.0, "sys_cpu": 28.1}]})");
  for (const auto& s : {text, json}) {
    CHECK(s.way == "read");
    CHECK(s.size == 4096);
    CHECK(s.connections == 2);
    CHECK(s.depth == 16);
    CHECK(s.rate == doctest::Approx(60200));
    CHECK(s.cpu == doctest::Approx(10));
  }
}

TEST_CASE("a table fills columns that follow from others, and skips rows without a rate") {
  const auto read = read_samples(
      "# a "
      "comment\nsize,qps,depth,operation,gbps,cores\n1000,2,4,write,8,0.5\n10,2,4,write,n/a,\n");
  REQUIRE_MESSAGE(read.has_value(), read.error());
  REQUIRE(read->rows.size() == 1);
  CHECK(read->rows[0].rate == doctest::Approx(1e6));
  CHECK(read->rows[0].cpu == doctest::Approx(0.5));
}

TEST_CASE("a column of Gb/s that the header lacks is noticed, because rate x time is not cores") {
  constexpr std::string_view kHeader = "payload_bytes\trequests_per_s\tp50_us\tcpu_us\tcores\n";
  const auto read =
      read_samples(std::string(kHeader) + "8192\t270294\t17.71\t233.0\t12.20\t3.30\n");
  REQUIRE_MESSAGE(read.has_value(), read.error());
  CHECK(read->rows[0].cpu == doctest::Approx(12.2));
  REQUIRE(read->notes.size() == 1);
  CHECK(read->notes[0].starts_with(
      "from line 2 on, the rows have a column that the header lacks: 17.71 Gb/s after"));
  CHECK(
      complaint(std::string(kHeader) + "8192\t1000\t5\t10\t3\n") ==
      "line 2: 1000 messages/s at 10 us of processor time each use 0.01 cores, but \"cores\" is 3");
}

TEST_CASE("bad input names the line and what was expected") {
  CHECK(complaint("size,rate\n64,fast\n") ==
        "line 2: \"rate\" is \"fast\", but a number was expected");
  CHECK(complaint("size,rate\n0,1\n") == "line 2: \"size\" must be at least 1");
  CHECK(complaint("size,rate\n1,2,3,4\n") == "line 2: 4 columns, but the header has 2");
  CHECK(complaint("nothing here\n")
            .starts_with("line 2: the input ends without a measurement; expected"));
  CHECK(complaint(R"({"fio version": "fio-3.33", "jobs": 1})") ==
        "\"jobs\" is missing or not an array");
}

}  // namespace
}  // namespace iwarp::offload_model
