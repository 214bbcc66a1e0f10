// SPDX-License-Identifier: Apache-2.0
// Tests the file of shared keys, and options that contradict each other.
#include "shared_keys.hpp"

#include "support_tls.hpp"

using namespace iwarp;       // NOLINT
using namespace iwarp::tls;  // NOLINT

namespace {

std::string wrong(const std::expected<Factory, std::string>& made) {
  REQUIRE_FALSE(made.has_value());
  return made.error();
}

}  // namespace

TEST_CASE("a file of shared keys: comments, colons in identities, and malformed lines") {
  const auto keys =
      SharedKeys::parse("# of the lab\n\na:b:00112233445566778899AABBCCDDEEFF\n").value();
  CHECK_EQ(keys.first().identity, "a:b");
  CHECK_EQ(keys.first().key.size(), 16);
  CHECK(keys.find("a") == nullptr);
  struct Row {
    std::string text;
    std::string why;
  };
  const std::string key = "00112233445566778899aabbccddeeff";
  const std::string shape =
      "must be IDENTITY:HEX, where IDENTITY has 1 to 128 octets and HEX is the key";
  const std::string size = "the key must be 16 to 64 octets, written as two hex digits each";
  for (const auto& [text, why] :
       {Row{"", "the file contains no key"}, Row{"# only\n", "the file contains no key"},
        Row{"lab", "line 1: " + shape}, Row{":" + key, "line 1: " + shape},
        Row{std::string(129, 'x') + ":" + key, "line 1: " + shape},
        Row{"lab:0011", "line 1: " + size}, Row{"lab:" + std::string(130, '0'), "line 1: " + size},
        Row{"\nlab:xyz", "line 2: " + size},
        Row{"lab:" + key + "\nlab:" + key, "line 2: duplicate identity"}}) {
    const auto parsed = SharedKeys::parse(text);
    REQUIRE_FALSE(parsed.has_value());
    CHECK_EQ(parsed.error(), why);
  }
}

TEST_CASE("options that contradict each other, or name missing files, are refused") {
  const Credentials credentials;
  const Folder folder;
  const auto keys = folder.file("keys", "lab:00112233445566778899aabbccddeeff\n");
  auto both = credentials.asking();
  both.shared_keys = keys;
  CHECK_EQ(wrong(connecting(both)),
           "a TLS pre-shared key cannot be combined with certificates or peer names (set --tls-psk "
           "alone, or leave it out)");
  auto half = credentials.asking();
  half.key.clear();
  CHECK_EQ(
      wrong(connecting(half)),
      "TLS requires a certificate together with its private key (set --tls-cert and --tls-key)");
  CHECK_EQ(wrong(listening(only_authorities(credentials.authority))),
           "a TLS server requires a certificate with its private key, or a pre-shared key (set "
           "--tls-cert and --tls-key, or --tls-psk)");
  auto names = credentials.serving();
  names.authorities.clear();
  names.peer_names = {"client"};
  CHECK_EQ(wrong(listening(names)),
           "checking the names of TLS peers requires trusted CAs (set --tls-ca)");
  auto foreign = credentials.serving();
  foreign.key = credentials.client.key;
  CHECK(wrong(listening(foreign)).ends_with("key values mismatch"));
  auto gone = credentials.asking();
  gone.authorities = folder.file("none.pem");
  CHECK(wrong(connecting(gone)).starts_with(gone.authorities + ": "));
  CHECK_EQ(wrong(connecting(only_shared_key(folder.file("none")))),
           "cannot read " + folder.file("none") + ": No such file or directory");
}
