// SPDX-License-Identifier: Apache-2.0
// iwarp cost calibrate: measures this machine and writes host.json. If a parameter cannot be
// measured without more permissions, it keeps the value of a preset, that is, of a host whose
// parameters are compiled in. The file and the output say which parameters were not measured.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <thread>

#include "common/base/error.hpp"
#include "cost/bench/bench.hpp"
#include "cost/bench/record.hpp"
#include "cost/commands/subcommands.hpp"
#include "cost/text/question.hpp"
#include "iwarp/offload_model/judge.hpp"
#include "measure/measurement/measurement.hpp"

namespace iwarp::apps::cost {

namespace {

// Minimum relative uncertainty of a measured parameter: no benchmark here is more precise.
constexpr double kSmallestUncertainty = 0.03;

/// Maximum share of processor time that other programs may use during a useful calibration. Beyond
/// this share, the result depends more on the other programs than on the machine.
constexpr double kQuietEnough = 0.1;

/// The parameters that cannot be measured directly, but only fitted to transfers.
const std::vector<std::string> kFitted{"syscall_tx", "syscall_rx",       "segment_tx",
                                       "segment_rx", "small_segment_tx", "small_segment_rx",
                                       "copy_tx",    "copy_rx"};

struct CalibrateOptions {
  HostOptions base;
  std::string out = "host.json";
  unsigned repeat = 3;
  double seconds = 0.1;
};

/// What the processors that this process may use have done since boot, in nanoseconds.
struct ProcessorTime {
  /// Time that other programs and other guests of the hypervisor have used. Does not include
  /// interrupts, because the measured traffic itself causes most of them.
  double others = 0;
  double total = 0;  ///< includes idle time and interrupts; 0 if the kernel does not report it
};

ProcessorTime processor_time() {
  enum Column { kUser, kNice, kSystem, kIdle, kWait, kIrq, kSoftIrq, kSteal, kColumns };
  ProcessorTime out{.others =
                        -usage::processor_ns(RUSAGE_SELF) - usage::processor_ns(RUSAGE_CHILDREN)};
  const auto tick = 1e9 / static_cast<double>(sysconf(_SC_CLK_TCK));
  std::ifstream stat("/proc/stat");
  for (std::string text; std::getline(stat, text);) {
    std::istringstream line(text);
    std::string name;
    line >> name;
    const auto is_this = [&](unsigned cpu) { return name == fmt::format("cpu{}", cpu); };
    if (std::ranges::none_of(measure::allowed_cpus(), is_this)) continue;
    std::array<double, kColumns> ticks{};
    for (auto& one : ticks) line >> one;
    out.others += tick * (ticks[kUser] + ticks[kNice] + ticks[kSystem] + ticks[kSteal]);
    out.total += tick * std::accumulate(ticks.begin(), ticks.end(), 0.0);
  }
  return out;
}

std::string cpuinfo(const std::string& key, const std::string& otherwise) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return otherwise;
}

std::string cpu_model() { return cpuinfo("model name", "unknown processor"); }

class Calibration {
 public:
  explicit Calibration(const model::ParameterSet& base) : base_(base), host_(base) {
    preset(std::views::keys(base.values), "not measured");
    const auto mhz = std::strtod(cpuinfo("cpu MHz", "0").c_str(), nullptr);
    if (mhz > 0) {
      host_.values["clock"] = {mhz / 1000, 0, "def",
                               "read from /proc/cpuinfo and assumed to be exact"};
    }
  }

  void run(const CalibrateOptions& options) {
    const auto start = processor_time();
    attempt("copies and CRC32c", {}, [&] { return memory(); });
    attempt("system call", {}, [&] {
      syscall_ = bench_syscall().value;
      return Findings();
    });
    attempt("wake-up", {"wakeup"}, [&] {
      auto out = bench_wakeup(false);
      wakeups_ = fmt::format("same processor {:.2f} us", out["wakeup"].ns.value / kNsPerUs);
      out = bench_wakeup(true);
      wakeups_ += fmt::format(", other processor {:.2f} us", out["wakeup"].ns.value / kNsPerUs);
      return out;
    });
    attempt("gather lists", {"iovec"}, bench_iovec);
    attempt("cost of packets over veth", {"packet_tx", "packet_rx"}, bench_packet);
    attempt("FPDU framing in memory", {"fpdu", "marker", "post", "completion"}, bench_stack);
    attempt("sockets over loopback", kFitted, [&] { return sockets(options); });
    const auto end = processor_time();
    const auto others = (end.others - start.others) / (end.total - start.total);
    if (end.total > start.total) others_ = std::clamp(others, 0.0, 1.0);
  }

  Json host() const {
    Json parameters = Json::object();
    for (const auto& field : model::fields()) {
      const std::string key(field.key);
      const auto& v = host_.values.at(key);
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
  /// Gives parameters the values of the preset.
  void preset(const auto& keys, std::string_view why) {
    for (const std::string& key : keys) {
      auto& value = host_.values[key] = base_.values.at(key);
      value.mark = "preset";
      value.source = fmt::format("preset {}, {}: {}", base_.name, why, value.source);
    }
  }
  /// Runs one benchmark. If the machine does not permit the benchmark, the parameters in `keys`
  /// keep the preset's values.
  void attempt(const char* what, const std::vector<std::string>& keys,
               const std::function<Findings()>& benchmark) {
    status_.show(what);
    try {
      for (const auto& [key, found] : benchmark()) {
        const auto unit = model::find_field(key)->unit == "us" ? kNsPerUs : 1;
        host_.values[key] = {found.ns.value / unit, std::max(found.ns.spread, kSmallestUncertainty),
                             "X", found.source};
      }
    } catch (const Error& error) {
      preset(keys, error.what());
      skipped_.push_back(fmt::format("{} ({}): {}", what, fmt::join(keys, ", "), error.what()));
    }
  }

  Findings memory() {
    Findings out;
    for (const auto& kernel : crc32c::kernels()) {
      if (!kernel.supported()) continue;
      const auto passes = bench_passes(kernel, model::kWorkingSets.back());
      crcs_.push_back(fmt::format("{} {:.3f}", kernel.name, passes.crc.value));
      const auto source =
          fmt::format("{} of 1448 octets at a time, in a buffer of 4 MiB", kernel.name);
      if (&kernel == crc32c::kernels().data()) out["crc_table"] = {passes.crc, source};
      if (kernel.extend != crc32c::active().extend) continue;
      out["copy_llc"] = {passes.copy, "memcpy of 4 KiB at a time, in a buffer of 4 MiB"};
      out["crc"] = {passes.crc, source};
      out["copy_crc"] = {passes.copy_crc, source};
    }
    return out;
  }

  /// Fits the costs of this machine's sockets to the runs of sweep(). The fit starts from the
  /// values that the micro-benchmarks have measured.
  Findings sockets(const CalibrateOptions& options) {
    std::vector<Record> runs;
    for (unsigned round = 0; round < options.repeat; ++round) {
      std::ranges::transform(sweep(options.seconds, "same"), std::back_inserter(runs), measure);
    }
    auto guess = host_.resolve();
    guess.syscall_tx = guess.syscall_rx = 2 * syscall_;
    guess.copy_tx = guess.copy_rx = guess.copy_llc;
    const auto kinds = medians(runs);
    const auto fitted = with_sockets(guess, fit_sockets(kinds, guess));
    const auto error = leave_one_size_out(kinds, guess).mean;
    fit_ =
        fmt::format("mean error {:.1f} % on message sizes that the fit did not use", 100 * error);
    Findings out;
    auto keys = kFitted;
    keys.emplace_back("wakeup");
    for (const auto& key : keys) {
      out[key] = {{fitted.*model::find_field(key)->member, error},
                  "fitted to transfers of 64 octets to 1 MiB between sockets over loopback"};
    }
    return out;
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
    if (syscall_ > 0) out["ns per system call"] = std::to_string(std::lround(syscall_));
    if (!wakeups_.empty()) out["wake-up"] = wakeups_;
    if (!crcs_.empty()) out["CRC32c ns/octet"] = fmt::format("{}", fmt::join(crcs_, ", "));
    if (!fit_.empty()) out["sockets"] = fit_;
    return out;
  }

  const model::ParameterSet& base_;
  model::ParameterSet host_;
  const StatusLine status_;
  std::optional<double> others_;  ///< share of the processor time that other programs have used
  std::vector<std::string> skipped_;
  double syscall_ = 0;  ///< in ns
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
  command.file("--out", "host.json", options->out, "Output file");
  command.number("--repeat", "N", options->repeat, {1, 100},
                 "Number of times to measure each transfer between sockets");
  command.number("--seconds", "S", options->seconds, {0.01, 10},
                 "Approximate duration of each transfer between sockets");
  command.notes = "The calibration takes about 20 seconds. The machine should be idle.";
  command.run = [options](const cli::Given&) { return run_calibrate(*options); };
  return command;
}

}  // namespace iwarp::apps::cost
