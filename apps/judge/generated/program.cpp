// SPDX-License-Identifier: Apache-2.0
// Fills the steps of a plan into a template of a C program. The exit status of the program says
// whether the device differs from the model in the same line again.
#include "judge/generated/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace iwarp::judge::generated {

std::string_view program_text(std::string_view name);  // made by CMake

namespace {

std::string sge_list(std::string_view name, int end, const std::vector<Sge>& sges) {
  std::vector<std::string> out;
  out.reserve(sges.size());
  for (const Sge& one : sges) {
    out.push_back(fmt::format("sge(&ends[{}], {}, {}, {})", end, one.at, one.length, +one.region));
  }
  if (out.empty()) return fmt::format("    struct ibv_sge* const {} = NULL;\n", name);
  return fmt::format("    struct ibv_sge {}[] = {{{}}};\n", name, fmt::join(out, ", "));
}

std::string sends(std::size_t number, const Step& step) {
  std::string out;
  std::vector<std::string> wrs;
  for (const Request& one : step.requests) {
    const std::string list = fmt::format("sges{}", wrs.size());
    out += sge_list(list, step.end, one.sges);
    wrs.push_back(
        fmt::format("        request(&ends[{}], {}, {}, {}, {}, {}, {}u, {}, {}, {}ull, {}ull)",
                    step.end, one.id, +one.opcode, one.flags, list, one.sges.size(), one.imm,
                    one.remote_at, +one.remote_region, one.compare, one.operand));
  }
  return out + fmt::format(
                   "    struct ibv_send_wr list[] = {{\n{}}};\n"
                   "    post_send({}, &ends[{}], list, {});\n",
                   fmt::join(wrs, ",\n"), number, step.end, wrs.size());
}

std::string receives(std::size_t number, const Step& step) {
  std::string out;
  std::vector<std::string> wrs;
  for (const Receive& one : step.receives) {
    const std::string list = fmt::format("sges{}", wrs.size());
    out += sge_list(list, step.end, one.sges);
    wrs.push_back(fmt::format("        {{.wr_id = {}, .sg_list = {}, .num_sge = {}}}", one.id, list,
                              one.sges.size()));
  }
  return out + fmt::format(
                   "    struct ibv_recv_wr list[] = {{\n{}}};\n"
                   "    post_recv({}, &ends[{}], list, {});\n",
                   fmt::join(wrs, ",\n"), number, step.end, wrs.size());
}

std::string body(std::size_t number, const Step& step) {
  switch (step.kind) {
    case Step::Kind::kSend:
      return sends(number, step);
    case Step::Kind::kReceive:
      return receives(number, step);
    case Step::Kind::kModify:
      return fmt::format("    modify({}, &ends[{}], {}, {}, {});\n", number, step.end, +step.state,
                         step.options.rights, +step.options.reads);
    case Step::Kind::kDestroy:
      return fmt::format("    replace(&ends[{}]);\n", step.end);
    case Step::Kind::kSettle:
      return fmt::format("    settle({});\n", number);
  }
  return "";
}

std::string make_end(const Plan& plan, int index) {
  const QpOptions& options = plan.options[static_cast<std::size_t>(index)];
  return fmt::format(
      "  make(&ends[{}], '{}', {}, {},\n"
      "       (struct ibv_qp_cap){{.max_send_wr = {}, .max_recv_wr = {}, .max_send_sge = {},\n"
      "                           .max_recv_sge = {}, .max_inline_data = {}}},\n"
      "       {}ull);\n",
      index, "ab"[index], plan.own_receive_cq ? 0 : 1, options.signal_all ? 1 : 0,
      options.cap.max_send_wr, options.cap.max_recv_wr, options.cap.max_send_sge,
      options.cap.max_recv_sge, options.cap.max_inline_data, index == 0 ? plan.seed : ~plan.seed);
}

/// If the difference is a byte of memory, prints the byte.
std::string shown_memory(std::string_view line) {
  constexpr std::string_view kMemory = " memory ";
  const auto at = line.find(kMemory);
  if (at == line.npos) return "";
  const auto begin = at + kMemory.size();
  return fmt::format("  show_memory(&ends[{}], {});\n", line.starts_with('b') ? 1 : 0,
                     line.substr(begin, line.find(':') - begin));
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string c_program(const Finding& finding) {
  const auto& [plan, difference] = finding;
  std::string out(program_text("start"));
  out += fmt::format(
      "\nint main(int argc, char** argv) {{\n"
      "  must(argc >= 2, \"DEVICE is missing\");\n"
      "  if (argc > 2) port = atoi(argv[2]);\n"
      "  if (argc > 3) gid_index = atoi(argv[3]);\n"
      "  wanted = {};\n"
      "  open_device(argv[1]);\n{}{}",
      in_quotes(difference.line), make_end(plan, 0), make_end(plan, 1));
  std::size_t number = 0;
  for (const Step& step : plan.steps) {
    ++number;
    out +=
        fmt::format("  {{  // step {}: {}\n{}  }}\n", number, describe(step), body(number, step));
  }
  out += shown_memory(difference.line);
  out += fmt::format(
      "  if ({}is_seen) puts({});\n"
      "  return {}is_seen ? 1 : 0;\n"
      "}}\n",
      difference.is_missing ? "!" : "", in_quotes("difference: " + difference.what),
      difference.is_missing ? "!" : "");
  return out;
}

}  // namespace iwarp::judge::generated
