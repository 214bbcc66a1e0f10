// SPDX-License-Identifier: Apache-2.0
// iwarp run: starts an unmodified RDMA program with this stack's libibverbs.so.1 and librdmacm.so.1
// in place of the system's libraries. LD_PRELOAD loads these libraries, and IWARP_* variables pass
// the options to them. A variable is set only if its option is given, so variables that the user
// has set remain in effect. Then execvp() replaces this process by the program, so the exit status
// is the program's. With --careful=fail and with --adversary=FIRST..LAST, however, the program runs
// in a child process, and this process waits for it.
#include <arpa/inet.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <net/if.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "commands.hpp"
#include "common/base/error.hpp"
#include "common/base/input_file.hpp"
#include "common/base/library_folder.hpp"
#include "common/connection/options.hpp"
#include "rdma_core/faults/plan.hpp"
#include "rdma_core/process/session.hpp"
#include "seeds.hpp"
#include "variables.hpp"
#include "watched.hpp"

namespace iwarp::apps {

namespace {

namespace fs = std::filesystem;

constexpr int kCannotRun = 126;  // exit status if a program cannot be executed, as in shells
constexpr int kNotFound = 127;
constexpr const char* kCarefulFail = "fail";
constexpr const char* kCarefulLibrary = "libiwarp_careful.so.1";

struct RunOptions {
  CommonOptions settings = options::for_programs(options::Persona::kIwarp);
  bool quiet = false;  ///< whether to set IWARP_LOG=off
  bool print_environment = false;
};

/// Returns the path of the sanitizer's run-time library if this program has loaded one, or an empty
/// text. LD_PRELOAD must name that library before all others.
std::string sanitizer_library() {
  std::string found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        const std::string name = info->dlpi_name;
        const bool is_one = name.find("/libasan.so") != std::string::npos ||
                            name.find("/libtsan.so") != std::string::npos;
        if (is_one) *static_cast<std::string*>(out) = name;
        return is_one ? 1 : 0;
      },
      &found);
  return found;
}

/// Returns the file that execvp() will execute for `name`, or an empty path if there is none.
fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "/usr/bin:/bin";
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    const fs::path file = fs::path(folders.substr(at, end - at)) / name;
    std::error_code ignored;
    if (::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, ignored)) return file;
    at = end + 1;
  }
  return {};
}

using Segments = std::vector<ElfW(Phdr)>;

/// Returns the program headers of an ELF file of this machine's word size. Returns none for any
/// other file.
Segments segments_of(std::istream& in) {
  ElfW(Ehdr) header{};
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  const bool is_own =
      std::string_view(reinterpret_cast<char*>(header.e_ident), SELFMAG) == ELFMAG &&
      header.e_phentsize == sizeof(ElfW(Phdr));
  if (!is_own) return {};
  Segments out(header.e_phnum);
  in.seekg(static_cast<std::streamoff>(header.e_phoff));
  const auto size = static_cast<std::streamsize>(out.size() * sizeof out[0]);
  if (!in.read(reinterpret_cast<char*>(out.data()), size)) return {};
  return out;
}

/// If `program` is linked to AddressSanitizer's shared run-time library, returns the name of that
/// library; otherwise returns an empty text. The run-time library ends the program if another
/// library is loaded before it.
std::string address_sanitizer_of(const fs::path& program) {
  std::ifstream in(program, std::ios::binary);
  const Segments segments = segments_of(in);
  const auto dynamic = std::ranges::find(segments, PT_DYNAMIC, &ElfW(Phdr)::p_type);
  if (dynamic == segments.end()) return {};
  std::vector<ElfW(Xword)> needed;
  ElfW(Addr) strings = 0;
  in.seekg(static_cast<std::streamoff>(dynamic->p_offset));
  for (ElfW(Dyn) entry{}; in.read(reinterpret_cast<char*>(&entry), sizeof entry);) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) needed.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
  }
  const auto holder = std::ranges::find_if(segments, [strings](const auto& segment) {
    return segment.p_type == PT_LOAD && strings - segment.p_vaddr < segment.p_filesz;
  });
  if (holder == segments.end()) return {};
  const auto table = holder->p_offset + (strings - holder->p_vaddr);
  for (const auto name_at : needed) {
    std::array<char, 32> name{};
    in.clear();
    in.seekg(static_cast<std::streamoff>(table + name_at));
    in.read(name.data(), name.size() - 1);
    if (std::string_view(name.data()).starts_with("libasan.so.")) return name.data();
  }
  return {};
}

/// Returns the value for LD_PRELOAD. `program` is the file that will be executed, or empty if it is
/// unknown.
std::string preload_list(bool is_careful, const fs::path& program) {
  const fs::path folder = library_folder();
  if (folder.string().find_first_of(" :") != std::string::npos) {
    throw Error(folder.string() +
                ": LD_PRELOAD cannot contain a path with a space or a colon (install this stack in "
                "another folder)");
  }
  std::string list = sanitizer_library();
  if (list.empty()) list = address_sanitizer_of(program);
  if (!list.empty()) {
    // Both the sanitizer and the careful library replace free(), so do not load the careful
    // library.
    list += ':';
  } else if (is_careful) {
    const fs::path careful = folder / kCarefulLibrary;
    std::error_code ignored;
    if (!fs::exists(careful, ignored)) {
      throw Error(careful.string() + ": not found (build it, or omit --careful)");
    }
    list = careful.string() + ':';
  }
  list += (folder / kPresenceLibrary).string() + ':' + (folder / kVerbsLibrary).string() + ':' +
          (folder / kCmLibrary).string();
  if (const char* rest = std::getenv("LD_PRELOAD"); rest != nullptr && *rest != '\0') {
    list += std::string(":") + rest;
  }
  return list;
}

/// Returns the variable that makes a process the first one of a session, whose processes share the
/// devices that they add with `rdma link add`. Returns none if this process already belongs to a
/// session. If `first` is not 0, this process removes the file of the session when it ends.
Environment session_variable(pid_t first) {
  if (std::getenv(rdma_core::kSessionVariable) != nullptr) return {};
  std::error_code ignored;
  fs::path folder = fs::temp_directory_path(ignored);
  if (folder.empty()) folder = "/tmp";
  std::random_device random;
  return {{rdma_core::kSessionVariable,
           (folder /
            fmt::format("{}{}-{:08x}{:08x}", rdma_core::kSessionPrefix, first, random(), random()))
               .string()}};
}

/// Returns the variables for the preloaded libraries, according to the options that were given.
Environment environment(const cli::Given& given, const RunOptions& options) {
  const fs::path program = given.rest.empty() ? fs::path() : find_program(given.rest.front());
  Environment out = variables_of(given);
  out.push_back({"LD_PRELOAD", preload_list(options.settings.careful, program)});
  return out;
}

/// Returns whether `file` is a static program: an ELF file of this machine's word size without a
/// dynamic loader.
bool is_static(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const Segments segments = segments_of(in);
  return !segments.empty() &&
         std::ranges::find(segments, PT_INTERP, &ElfW(Phdr)::p_type) == segments.end();
}

/// Prints a warning if the loader will ignore LD_PRELOAD for this file. The program runs
/// nevertheless.
void warn_if_not_preloaded(const fs::path& file) {
  struct stat about{};
  if (::stat(file.c_str(), &about) != 0) return;
  const bool changes_user = (about.st_mode & S_ISUID) != 0 && about.st_uid != ::getuid();
  const bool changes_group = (about.st_mode & S_ISGID) != 0 && about.st_gid != ::getgid();
  const char* why = nullptr;
  if (changes_user || changes_group) why = "runs with the rights of another user or group";
  if (is_static(file)) why = "is statically linked";
  if (why == nullptr) return;
  fmt::print(stderr, "iwarp run: warning: {} {}, so it will not use this stack\n", file.string(),
             why);
}

/// Sets the variables and executes the program. Returns only if this fails; the result is the exit
/// status.
int execute(std::vector<std::string> words, const Environment& variables) {
  warn_if_not_preloaded(find_program(words.front()));
  for (const Environment& some : {variables, session_variable(::getpid())}) {
    for (const auto& [name, value] : some) ::setenv(name.c_str(), value.c_str(), 1);
  }
  // main() ignores SIGXFSZ because other commands need it. An ignored signal stays ignored after
  // execvp(), so restore the default.
  std::signal(SIGXFSZ, SIG_DFL);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  const int error = errno;
  fmt::print(stderr, "iwarp run: cannot run {}: {}\n", words.front(), errno_text());
  return error == ENOENT ? kNotFound : kCannotRun;
}

/// Runs the program in child processes, once for each seed. Returns the exit status of the first
/// run that failed. With `fails_on_report`, a report of careful mode counts as a failure.
int execute_seeds(const std::vector<std::string>& words, const Environment& variables,
                  const options::Adversary& adversary, bool fails_on_report, bool is_quiet) {
  return try_seeds(adversary, words.front(), is_quiet, [&](const SeedRun& once) {
    const Reports reports("iwarp-careful");
    Environment with = variables;
    with.push_back({"IWARP_ADVERSARY", once.adversary});
    if (fails_on_report) with.push_back({"IWARP_CAREFUL_REPORTS", reports.path()});
    if (!once.record.empty()) with.push_back({"IWARP_ADVERSARY_RECORD", once.record});
    Ending ending = run_in_child([&] {
      if (once.is_silent) {
        const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        ::dup2(nowhere, STDOUT_FILENO);
        ::dup2(nowhere, STDERR_FILENO);
      }
      return execute(words, with);
    });
    if (reports.count() != 0) ending = {.status = kMistakes, .signal = 0};
    return ending;
  });
}

/// Runs the program in a child process that calls execute(). Returns kMistakes if careful mode has
/// reported a mistake. Otherwise exits with the child's exit status, or ends by the signal that
/// ended the child.
int execute_watched(const std::vector<std::string>& words, Environment variables, bool is_quiet) {
  const Reports reports("iwarp-careful");
  variables.push_back({"IWARP_CAREFUL_REPORTS", reports.path()});
  const Ending ending = run_in_child([&] { return execute(words, variables); });
  const auto count = reports.count();
  if (count == 0) return end_as(ending);
  if (!is_quiet) {
    fmt::print(stderr,
               "iwarp run: careful mode reported {} mistake{}: iwarp run exits with status {} "
               "instead of {}, the status of {}\n",
               count, count == 1 ? "" : "s", kMistakes, ending.status, words.front());
  }
  return kMistakes;
}

/// Checks the rules in the file of --fault before the program runs. If a rule is invalid, throws
/// Error with the text "FILE:LINE: what is wrong", where FILE is the `word` that the user gave.
void check_faults(const std::string& file, const std::string& word) {
  namespace fault = rdma_core::fault;
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string text(fault::kMaxPlan + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad())
    throw UsageError("--fault: cannot read " + word + ": " + errno_text());
  text.resize(static_cast<std::size_t>(in.gcount()));
  const auto plan = fault::parse_plan(text);
  if (!plan) throw UsageError(fmt::format("{}:{}: {}", word, plan.error().line, plan.error().why));
}

int run_run(const cli::Given& given, RunOptions options) {
  CommonOptions& settings = options.settings;
  // Without --rtr, set RTR to none, which is valid with both revisions of MPA.
  if (!given.has("--rtr")) settings.connection.startup.rtr = mpa::Rtr::kNone;
  connection_options(settings);  // throws UsageError if settings contradict each other
  if (given.has("--fault")) check_faults(settings.fault, given.words.at("--fault"));

  if (given.has("--as") && given.has("--like")) {
    throw UsageError("--as cannot be combined with --like, which also selects the kind of device");
  }
  if (given.has("--device") && given.has("--devices")) {
    throw UsageError("--devices cannot be combined with --device, which names each device");
  }

  for (const auto& [name, where] : settings.devices) {
    in6_addr ip{};
    const bool is_known = where.empty() || ::if_nametoindex(where.c_str()) != 0 ||
                          ::inet_pton(AF_INET, where.c_str(), &ip) == 1 ||
                          ::inet_pton(AF_INET6, where.c_str(), &ip) == 1;
    if (is_known) continue;
    throw UsageError(
        fmt::format("--device {}={}: {} is neither a network interface (see `ip link`) "
                    "nor an IP address",
                    name, where, where));
  }

  const auto& words = given.rest;
  if (options.print_environment != words.empty()) {
    throw UsageError(words.empty() ? "CMD is missing (see iwarp run --help)"
                                   : "--env cannot be combined with CMD: " + words.front());
  }
  const bool fails = settings.careful && given.words.at("--careful") == kCarefulFail;
  if (fails && options.print_environment) {
    throw UsageError("--careful=fail waits for CMD, but --env runs no command (use --careful)");
  }
  const bool tries_seeds =
      settings.adversary && settings.adversary->first != settings.adversary->last;
  if (tries_seeds && options.print_environment) {
    throw UsageError(
        "--adversary=FIRST..LAST runs CMD once for each seed, but --env runs no command "
        "(use one seed)");
  }
  const Environment variables = environment(given, options);
  const bool is_quiet = options.quiet || settings.log == verbs::LogLevel::kOff;
  if (!is_quiet) {
    for (const auto& line : misspelled_variables()) {
      fmt::print(stderr, "iwarp run: warning: {}\n", line);
    }
  }
  if (tries_seeds) {
    return execute_seeds(words, variables, *settings.adversary, fails, is_quiet);
  }
  if (fails) return execute_watched(words, variables, is_quiet);
  if (!options.print_environment) return execute(words, variables);
  for (const auto& [name, value] : variables) {
    if (!value.starts_with(kCopies)) continue;
    throw UsageError(name + ": --env cannot pass on the contents of a pipe (name a regular file)");
  }
  for (const Environment& some : {variables, session_variable(0)}) {
    for (const auto& [name, value] : some) fmt::print("{}={}\n", name, value);
  }
  return 0;
}

}  // namespace

cli::Command run_command() {
  auto options = std::make_shared<RunOptions>();
  cli::Command command("run", "Run an RDMA program, unmodified, on machines without RDMA hardware");
  command.usage = "iwarp run [OPTION...] CMD [ARG...]\n       iwarp run --env [OPTION...]";
  command.takes_command = true;
  add_options(command, options::Group::kProgram, options->settings);
  command.statuses = {
      {"0 to 255", "the exit status of CMD; a signal that ends CMD also ends iwarp run"},
      {"1", "the libraries of this stack were not found"},
      {"2", "the command line is invalid, so CMD was not run"},
      {std::to_string(kMistakes), "with --careful=fail, careful mode reported a mistake"},
      {std::to_string(kCannotRun), "CMD cannot be executed"},
      {std::to_string(kNotFound), "CMD was not found"}};
  command.flag("--quiet", options->quiet, "The same as --log off").excludes("--log");
  command.flag("--env", options->print_environment,
               "Print the environment variables that iwarp run would set for CMD, one NAME=VALUE "
               "per line, and run nothing");
  add_common_options(command, options->settings);
  add_tls_options(command, options->settings);
  command.notes =
      "CMD finds an RDMA device through libibverbs and below /sys and /dev: iwarp0, or the\n"
      "devices that --like, --device and --devices select. It finds no other RDMA device. All "
      "words\n"
      "after CMD are its arguments. Each option sets an environment variable for the drop-in\n"
      "libraries (--crc off: IWARP_CRC=off); variables whose option is not given keep their\n"
      "values. --env prints lines without quotes, for docker --env-file or, if no value contains\n"
      "a space, for the shell: export $(iwarp run --env). In the file name of --trace, %p stands\n"
      "for the process id. --log connections shows the port numbers of the program and of TCP,\n"
      "which can differ.\n"
      "With TLS, a peer needs a certificate for the address that CMD connects to or, with\n"
      "--tls-peer, for a name that this option lists. A process that listens, or connects\n"
      "queue pairs without rdma_cm, needs a certificate of its own. With TLS, datagrams are\n"
      "refused.\n"
      "The exit status is that of CMD; 127 if CMD does not exist; 126 if it cannot be run; with\n"
      "--careful=fail, 99 if careful mode reported a mistake by CMD, or by a process that CMD\n"
      "started, before CMD ended.";
  command.shown = {"iwarp run ibv_devinfo",
                   "iwarp run rping -s -a 127.0.0.1 -C 10 &  iwarp run rping -c -a 127.0.0.1 -C 10",
                   "iwarp run --as roce ucx_info -d",
                   "iwarp run --tls-cert me.pem --tls-key me.key --tls-ca ca.pem rping -s",
                   "iwarp run --crc off --fpdu max ib_write_bw -R 192.0.2.7"};
  command.run = [options](const cli::Given& given) { return run_run(given, *options); };
  return command;
}

}  // namespace iwarp::apps
