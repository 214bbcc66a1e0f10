// SPDX-License-Identifier: Apache-2.0
// iwarp cost calibrate: measures this machine and writes host.json. If a parameter cannot be
// measured without more permissions, it keeps the value of a preset, that is, of a host whose
// parameters are compiled in. The file and the output say which parameters were not measured.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/base/error.hpp"
#include "common/connection/options.hpp"
#include "cost/bench/bench.hpp"
#include "cost/bench/measure.hpp"
#include "cost/bench/other_load.hpp"
#include "cost/commands/subcommands.hpp"
#include "cost/text/question.hpp"
#include "iwarp/net/rnic.hpp"
#include "iwarp/offload_model/judge.hpp"

namespace iwarp::apps::cost {

namespace {

// Minimum relative uncertainty of a measured parameter: no benchmark here is more precise.
constexpr double kSmallestUncertainty = 0.03;

struct CalibrateOptions {
  HostOptions base;
  std::string out = "host.json";
  unsigned repeat = 3;
  double seconds = 0.1;
};

/// A progress line on standard error. It is redrawn in place, and is shown only on a terminal.
class Steps {
 public:
  explicit Steps(std::size_t count) : count_(count), shown_(isatty(STDERR_FILENO) == 1) {}
  ~Steps() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  void begin(const std::string& what) {
    constexpr std::size_t kWidth = 24;
    const auto filled = std::min(kWidth, kWidth * done_++ / count_);
    if (!shown_) return;
    fmt::print(stderr, "\r[{}{}] {}\x1b[K", std::string(filled, '#'),
               std::string(kWidth - filled, '.'), what);
    std::fflush(stderr);
  }

 private:
  const std::size_t count_;
  const bool shown_;
  std::size_t done_ = 0;
};

class Calibration {
 public:
  explicit Calibration(model::ParameterSet base) : base_(std::move(base)), steps_(kStepCount) {}

  void run(const CalibrateOptions& options) {
    memory();
    system();
    stack();
    sockets(options);
    others_ = meanwhile_.share();
  }

  Json host() const {
    Json parameters = Json::object();
    for (const auto& field : model::fields()) {
      const std::string key(field.key);
      const auto found = measured_.find(key);
      const auto& v = found != measured_.end() ? found->second : from_preset(key, "not measured");
      parameters[key] = {{"value", v.value},
                         {"unit", field.unit},
                         {"mark", v.mark},
                         {"uncertainty", v.uncertainty},
                         {"source", v.source}};
    }
    return {{"name", "host"},
            {"title", "this machine: " + cpu_model() + (busy() ? ", busy when measured" : "")},
            {"note",
             "Measured on this machine without a network. Parameters marked preset, such as those "
             "of the link and the card, were not measured."},
            {"machine", machine()},
            {"parameters", parameters}};
  }

  const std::vector<std::string>& skipped() const { return skipped_; }
  bool busy() const { return others_.value_or(0) > kQuietEnough; }
  /// Returns the load by other programs as text, for example "12 % of the processor time".
  std::string others_text() const {
    return others_ ? fmt::format("{:.0f} %", 100 * *others_) : "unknown";
  }

 private:
  static constexpr std::size_t kStepCount = 8;

  /// Sets a parameter to a measured value. `ns` is in nanoseconds per unit of the parameter, for
  /// example per byte or per piece.
  void set(const std::string& key, const Sample& ns, const std::string& source) {
    const auto* field = model::find_field(key);
    const auto value = field->unit == "us" ? ns.value / kNsPerUs : ns.value;
    measured_[key] = {value, std::max(ns.spread, kSmallestUncertainty), "X", source};
  }
  model::Value from_preset(const std::string& key, const std::string& why) const {
    auto value = base_.values.find(key)->second;
    value.mark = "preset";
    value.source = fmt::format("preset {}, {}: {}", base_.name, why, value.source);
    return value;
  }
  /// Runs one benchmark. If the machine does not permit the benchmark, the parameters in `keys`
  /// keep the preset's values.
  void attempt(const std::string& what, const std::vector<std::string>& keys,
               const std::function<void()>& benchmark) {
    steps_.begin(what);
    try {
      benchmark();
    } catch (const Error& error) {
      for (const auto& key : keys) measured_[key] = from_preset(key, error.what());
      skipped_.push_back(fmt::format("{} ({}): {}", what, fmt::join(keys, ", "), error.what()));
    }
  }

  void memory() {
    attempt("copies and CRC32c", {}, [&] {
      for (const auto& kernel : crc32c::kernels()) {
        if (!kernel.supported()) continue;
        const auto passes = bench_passes(kernel, model::kWorkingSets.back());
        crcs_.push_back(fmt::format("{} {:.3f}", kernel.name, passes.crc.value));
        const auto source = fmt::format("{} over 1448 octets, in 4 MiB", kernel.name);
        if (&kernel == crc32c::kernels().data()) set("crc_table", passes.crc, source);
        if (kernel.extend != crc32c::active().extend) continue;
        set("copy_llc", passes.copy, "memcpy of 4 KiB pieces in 4 MiB");
        set("crc", passes.crc, source);
        set("copy_crc", passes.copy_crc, source);
      }
    });
  }

  void system() {
    attempt("system call", {}, [&] { syscall_ = bench_syscall(); });
    attempt("wake-up", {"wakeup"}, [&] {
      const auto same = bench_wakeup(false);
      wakeups_ = fmt::format("same processor {:.2f} us", same.value / kNsPerUs);
      set("wakeup", same, "ping-pong between two processes over pipes, same processor");
      const auto other = bench_wakeup(true);
      wakeups_ += fmt::format(", other processor {:.2f} us", other.value / kNsPerUs);
      set("wakeup", other, "ping-pong between two processes over pipes, two processors");
    });
    attempt("gather lists", {"iovec"}, [&] {
      set("iovec", bench_iovec(), "sendmsg() to a local socket, 64 iovec elements compared with 1");
    });
    attempt("cost of packets over veth", {"packet_tx", "packet_rx"}, [&] {
      const auto packet = bench_packet();
      const std::string how =
          "veth without segmentation offload, MTU 1500 compared with 9000; includes TCP processing";
      set("packet_tx", packet, how);
      set("packet_rx", packet, how);
    });
  }

  void stack() {
    attempt("FPDU framing in memory", {"fpdu", "marker", "post", "completion"}, [&] {
      const auto framing = bench_framing();
      const std::string how = "two ends of this stack, connected in memory";
      set("fpdu", framing.fpdu, how);
      set("marker", framing.marker, how);
      const auto request = bench_request();
      const Sample half{request_cost(request, framing) / 2, request.spread};
      const auto source =
          "local work requests on a loopback connection, plus the cost of a message, measured "
          "with " +
          how;
      set("post", half, source);
      set("completion", half, source);
    });
  }

  /// Fits the costs of this machine's sockets to the runs of sweep(). The fit starts from the
  /// values that the micro-benchmarks have measured.
  void sockets(const CalibrateOptions& options) {
    attempt("sockets over loopback",
            {"syscall_tx", "syscall_rx", "segment_tx", "segment_rx", "small_segment_tx",
             "small_segment_rx", "copy_tx", "copy_rx"},
            [&] {
              std::vector<Record> runs;
              for (unsigned round = 0; round < options.repeat; ++round) {
                for (const auto& job : sweep(options.seconds, Job().cpus)) {
                  runs.push_back(measure(job));
                }
              }
              const auto guess = first_guess();
              const auto kinds = medians(runs);
              const auto fitted = with_sockets(guess, fit_sockets(kinds, guess));
              const auto error = leave_one_size_out(kinds, guess).mean;
              for (const char* key :
                   {"syscall_tx", "syscall_rx", "segment_tx", "segment_rx", "small_segment_tx",
                    "small_segment_rx", "copy_tx", "copy_rx", "wakeup"}) {
                set(key, {fitted.*model::find_field(key)->member, error},
                    "fitted to transfers of 64 octets to 1 MiB between sockets over loopback");
              }
              fit_ =
                  fmt::format("mean error {:.1f} % on sizes that the fit did not use", 100 * error);
            });
  }

  model::Parameters first_guess() const {
    const auto set = model::parse_parameters(host().dump(), &base_);
    if (!set) throw Error(set.error());
    auto p = set->resolve();
    p.syscall_tx = p.syscall_rx = 2 * syscall_.value;
    p.copy_tx = p.copy_rx = p.copy_llc;
    return p;
  }

  static std::string cpu_model() { return cpuinfo("model name", "unknown processor"); }

  static std::string cpuinfo(const std::string& key, const std::string& otherwise) {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with(key)) continue;
      const auto colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
    return otherwise;
  }

  Json machine() const {
    utsname name{};
    uname(&name);
    Json out{{"kernel", fmt::format("{} {}", name.sysname, name.release)},
             {"processor", cpu_model()},
             {"processors", std::thread::hardware_concurrency()},
             {"virtualised", cpuinfo("flags", "").find(" hypervisor") != std::string::npos}};
    std::ifstream governor("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    std::string text;
    out["governor"] = governor >> text ? text : "unknown";
    std::ifstream pmu("/sys/bus/event_source/devices/cpu/type");
    out["hardware counters"] = static_cast<bool>(pmu);
    std::ifstream load("/proc/loadavg");
    if (load >> text) out["load"] = text;
    out["processor time of other programs"] = others_text();
    if (syscall_.value > 0) out["ns per system call"] = std::to_string(std::lround(syscall_.value));
    if (!wakeups_.empty()) out["wake-up"] = wakeups_;
    if (!crcs_.empty()) out["CRC32c ns/octet"] = fmt::format("{}", fmt::join(crcs_, ", "));
    if (!fit_.empty()) out["sockets"] = fit_;
    return out;
  }

 public:
  void clock() {
    const auto mhz = std::strtod(cpuinfo("cpu MHz", "0").c_str(), nullptr);
    if (mhz > 0)
      measured_["clock"] = {mhz / 1000, 0, "def",
                            "read from /proc/cpuinfo and assumed to be exact"};
  }

 private:
  const model::ParameterSet base_;
  const OtherLoad meanwhile_;
  std::optional<double> others_;
  Steps steps_;
  std::map<std::string, model::Value> measured_;
  std::vector<std::string> skipped_;
  Sample syscall_;
  std::string wakeups_;
  std::vector<std::string> crcs_;
  std::string fit_;
};

void print_host(const model::ParameterSet& set) {
  fmt::print("{:<22}{:>10}  {:<9}{:>6}  {}\n", "parameter", "value", "unit", "+-", "from");
  for (const auto& field : model::fields()) {
    const auto& v = set.values.find(field.key)->second;
    if (v.mark != "X") continue;
    fmt::print("{:<22}{:>10.4g}  {:<9}{:>4.0f} %  {}\n", field.key, v.value, field.unit,
               100 * v.uncertainty, v.source);
  }
}

int run_calibrate(const CalibrateOptions& options) {
  const auto base = usage::load_host(options.base.preset, options.base.host);
  Calibration calibration(base);
  calibration.clock();
  calibration.run(options);
  const auto text = calibration.host().dump(1) + "\n";
  const auto set = model::parse_parameters(text, &base);
  if (!set) throw Error("the measured parameters are invalid: " + set.error());
  write_file(options.out, text);
  print_host(*set);
  for (const auto& skipped : calibration.skipped()) {
    fmt::print(stderr, "not measured and therefore marked \"preset\": {}\n", skipped);
  }
  for (const auto& [name, value] : set->machine) fmt::print("{}: {}\n", name, value);
  fmt::print("wrote {}; parameters marked \"preset\" were not measured and come from preset {}\n",
             options.out, base.name);
  if (calibration.busy()) {
    fmt::print(stderr,
               "iwarp: {} is not reliable: other programs used {} of the processor time during the "
               "calibration (calibrate again when the machine is idle)\n",
               options.out, calibration.others_text());
  }
  return 0;
}

}  // namespace

cli::Command calibrate_command() {
  auto options = std::make_shared<CalibrateOptions>();
  cli::Command command("calibrate", "Measure this machine and write host.json");
  command
      .text("--preset", "NAME", options->base.preset,
            "Preset for parameters that cannot be measured; the default is 100g")
      .suggests(model::preset_names());
  command.text("--out", "host.json", options->out, "Output file").completes(cli::Completion::kFile);
  command.number("--repeat", "N", options->repeat, {1, 100},
                 "Number of times to measure each transfer between sockets");
  command.number("--seconds", "S", options->seconds, {0.01, 10},
                 "Approximate duration of each transfer between sockets");
  command.notes = "The calibration takes about 20 seconds. The machine should be idle.";
  command.run = [options](const cli::Given&) { return run_calibrate(*options); };
  return command;
}

}  // namespace iwarp::apps::cost
