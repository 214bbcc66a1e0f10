// SPDX-License-Identifier: Apache-2.0
// iwarp put: stores a file on a server. The client maps the file window by window, and registers
// and advertises each window. The server fetches each window with RDMA Reads. The file appears on
// the server only when it is complete and has the same SHA-256 as the client's file.
#include <deque>

#include "command_line/stop.hpp"
#include "commands.hpp"
#include "common/base/url.hpp"
#include "transfer/client.hpp"
#include "transfer/file_store.hpp"
#include "transfer/mapping.hpp"

namespace iwarp::apps {

namespace {

struct PutOptions {
  ClientOptions client;
  std::string file;
  std::string url;
};

/// Uploads one file. At most kMaxWindows windows are mapped and registered at a time.
class Upload {
 public:
  Upload(MessageStream& messages, const SourceFile& file) : messages_(messages), file_(file) {}

  /// Sends the file. Returns the digest of the bytes that were advertised.
  Digest run(Progress& progress) {
    while (advertised_ < file_.size || !open_.empty()) {
      while (advertised_ < file_.size && open_.size() < kMaxWindows) advertise();
      take_piece();
      progress.update(pulled_);
    }
    return sha_.finish();
  }

 private:
  struct OpenWindow {
    Mapping mapping;
    // Must be the last member, so that the memory is deregistered before its pages are unmapped.
    net::Memory memory;
  };

  void advertise() {
    const auto length = piece_length(advertised_, file_.size);
    OpenWindow window{.mapping = Mapping(file_, advertised_, length), .memory = {}};
    // The registered octets are mapped from the file, so the server can read nothing else. [SEC-17]
    // [SEC-15] [SEC-35]
    const auto octets = window.mapping.octets();
    sha_.update(octets);
    window.memory = messages_.session().register_memory(
        octets, verbs::Access::kRemoteRead | verbs::Access::kRemoteInvalidate);
    messages_.send(
        Window{advertised_, {window.memory.to(octets.data()), window.memory.stag(), length}});
    open_.push_back(std::move(window));
    advertised_ += length;
  }

  void take_piece() {
    if (messages_.expect<Piece>().offset != pulled_) {
      throw Error("file protocol: the server read a part of the file out of order");
    }
    pulled_ += open_.front().mapping.octets().size();
    open_.pop_front();  // deregisters the window, so the server loses access to it [SEC-16]
  }

  MessageStream& messages_;
  const SourceFile& file_;
  Sha256 sha_;
  std::uint64_t advertised_ = 0;
  std::uint64_t pulled_ = 0;
  std::deque<OpenWindow> open_;
};

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

int run_put(const PutOptions& options) {
  auto url = parse_url(options.url, kFilePort);
  if (!url) throw UsageError(url.error());
  if (url->name.empty()) url->name = base_name(options.file);
  if (!is_plain_name(url->name)) {
    throw UsageError("\"" + url->name +
                     "\" is not a valid file name (give another NAME in the URL)");
  }
  const auto file = open_path(options.file);
  explain_sigbus("iwarp put: the file was truncated while it was being sent\n");
  catch_stop_signals();

  FileClient client(url->server, options.client);
  const auto ledger = start_ledger(options.client, client.session());
  auto& messages = client.messages();
  messages.send(PutRequest{file.size, url->name});
  if (messages.expect<Ready>().size != file.size) {
    throw Error("file protocol: the server expects a different file size");
  }
  Digest digest{};
  std::chrono::nanoseconds elapsed{};
  {
    Progress progress(url->name, file.size, options.client.quiet);
    Upload upload(messages, file);
    digest = report_if_interrupted(messages, [&] { return upload.run(progress); });
    messages.send(Finish{digest});
    if (messages.expect<Done>().digest != digest) {
      throw Error(url->name + ": the server's SHA-256 differs from that of the data sent");
    }
    elapsed = progress.elapsed();
  }
  const auto bill =
      ledger && file.size > 0 ? ledger->text(static_cast<double>(file.size), kMaxPiece, true) : "";
  client.session().disconnect();
  if (!options.client.quiet) print_report(url->name, file.size, elapsed, digest);
  std::fputs(bill.c_str(), stdout);
  return 0;
}

}  // namespace

cli::Command put_command() {
  auto options = std::make_shared<PutOptions>();
  cli::Command command("put", "Store a file on a server, which reads it by RDMA Read");
  command.argument("FILE", options->file, "The file to send")
      .required()
      .completes(cli::Completion::kFile);
  command
      .argument("URL", options->url,
                "iwarp://HOST[:PORT]/[NAME]; the default port is 7480, and the default name is "
                "that of FILE")
      .required();
  add_client_options(command, options->client);
  command.notes =
      "The file appears on the server only when it is complete, verified and on disk.\n"
      "It replaces a file of the same name.";
  command.shown = {"iwarp put disk.img iwarp://192.0.2.7/             # writes disk.img",
                   "iwarp put disk.img iwarp://[::1]:7480/copy.img    # writes copy.img"};
  command.run = [options](const cli::Given&) { return run_put(*options); };
  return command;
}

}  // namespace iwarp::apps
