// SPDX-License-Identifier: Apache-2.0
// iwarp get: fetches a file. The client registers and advertises windows of memory, and the server
// RDMA Writes the file into these windows in order. The output file appears only when it is
// complete and has the same SHA-256 as the server's file.
#include <deque>

#include "command_line/stop.hpp"
#include "commands.hpp"
#include "common/base/url.hpp"
#include "transfer/client.hpp"
#include "transfer/output.hpp"

namespace iwarp::apps {

namespace {

struct GetOptions {
  ClientOptions client;
  std::string url;
  std::string out;
};

/// Downloads one file. Advertises several windows in advance; the server completes them in order.
class Download {
 public:
  Download(MessageStream& messages, std::uint64_t size, Output& output)
      : messages_(messages), size_(size), output_(output) {}

  /// Receives the file. Returns the digest of the bytes that were written.
  Digest run(Progress& progress) {
    while (advertised_ < size_ && open_.size() < kMaxWindows) advertise();
    while (!open_.empty()) {
      take_piece();
      progress.update(received_);
      if (advertised_ < size_) advertise();
    }
    return sha_.finish();
  }

 private:
  struct OpenWindow {
    std::vector<std::byte> octets;
    net::Memory memory;
  };

  void advertise() {
    const auto length = piece_length(advertised_, size_);
    OpenWindow window{.octets = std::move(spare_), .memory = {}};
    window.octets.resize(length);
    // Only this stream may access the window, and it may only write [SEC-18]. The server's Piece
    // message is a Send with Invalidate and invalidates the window's STag.
    window.memory = messages_.session().register_memory(
        std::span(window.octets), verbs::Access::kRemoteWrite | verbs::Access::kRemoteInvalidate);
    messages_.send(Window{advertised_,
                          {window.memory.to(window.octets.data()), window.memory.stag(), length}});
    open_.push_back(std::move(window));
    advertised_ += length;
  }

  void take_piece() {
    if (messages_.expect<Piece>().offset != received_) {
      throw Error("file protocol: the server sent a part of the file out of order");
    }
    auto& window = open_.front();
    // If the server followed the protocol, it has already invalidated the window. After
    // deregister() no peer can change the content in any case, so the bytes that are checked are
    // the bytes that are written. [SEC-13] [SEC-34]
    check(window.memory.deregister(), "cannot deregister memory");
    sha_.update(window.octets);
    output_.write_at(received_, window.octets);
    received_ += window.octets.size();
    spare_ = std::move(window.octets);
    open_.pop_front();
  }

  MessageStream& messages_;
  const std::uint64_t size_;
  Output& output_;
  Sha256 sha_;
  std::uint64_t advertised_ = 0;
  std::uint64_t received_ = 0;
  std::deque<OpenWindow> open_;
  std::vector<std::byte> spare_;
};

int run_get(const GetOptions& options) {
  const auto url = parse_url(options.url, kFilePort);
  if (!url) throw UsageError(url.error());
  if (url->name.empty()) throw UsageError(options.url + ": NAME is missing");
  const OutputPath path(options.out.empty() ? url->name : options.out, url->name);
  catch_stop_signals();

  FileClient client(url->server, options.client);
  const auto ledger = start_ledger(options.client, client.session());
  auto& messages = client.messages();
  messages.send(GetRequest{url->name});
  const auto size = messages.expect<Ready>().size;
  const auto output = path.open(size);
  Digest digest{};
  std::chrono::nanoseconds elapsed{};
  {
    Progress progress(url->name, size, options.client.quiet);
    Download download(messages, size, *output);
    digest = report_if_interrupted(messages, [&] { return download.run(progress); });
    elapsed = progress.elapsed();
  }
  if (messages.expect<Done>().digest != digest) {
    throw Error(
        url->name +
        ": the SHA-256 of the received data differs from the server's; the file was not saved");
  }
  output->commit();
  const auto bill =
      ledger && size > 0 ? ledger->text(static_cast<double>(size), kMaxPiece, false) : "";
  client.session().disconnect();
  if (!options.client.quiet) print_report(url->name, size, elapsed, digest);
  std::fputs(bill.c_str(), stdout);
  return 0;
}

}  // namespace

cli::Command get_command() {
  auto options = std::make_shared<GetOptions>();
  cli::Command command("get", "Fetch a file from a server, which sends it by RDMA Write");
  command.argument("URL", options->url, "iwarp://HOST[:PORT]/NAME; the default port is 7480")
      .required();
  command
      .argument("OUT", options->out,
                "File or directory; the default is NAME in the current directory")
      .completes(cli::Completion::kFile);
  add_client_options(command, options->client);
  command.notes =
      "OUT appears only when the file is complete and its SHA-256 matches the server's. If\n"
      "OUT replaces a file, it keeps the permissions of that file. If OUT is a device or FIFO,\n"
      "iwarp get writes the data to OUT while the data arrives.";
  command.shown = {"iwarp get iwarp://192.0.2.7/disk.img            # writes ./disk.img",
                   "iwarp get iwarp://[::1]:7480/disk.img /srv/     # writes /srv/disk.img"};
  command.run = [options](const cli::Given&) { return run_get(*options); };
  return command;
}

}  // namespace iwarp::apps
