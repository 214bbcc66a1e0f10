// SPDX-License-Identifier: Apache-2.0
// Cases about the GID table and the P_Key table of a port.
#include <arpa/inet.h>
#include <net/if.h>

#include <array>
#include <cstring>
#include <vector>

#include "judge/cases/cases.hpp"
#include "judge/tools/ends.hpp"

namespace iwarp::judge::device_tables {
namespace {

bool is_zero(const ibv_gid& gid) {
  constexpr ibv_gid kZero{};
  return std::memcmp(gid.raw, kZero.raw, sizeof gid.raw) == 0;
}

int query(Judge& j, std::uint32_t index, ibv_gid_entry& out, std::uint32_t port, int flags = 0) {
  return errno_of(
      ibv_query_gid_ex(j.context(), port, index, &out, static_cast<std::uint32_t>(flags)));
}

/// Returns the entries of the table that are in use.
std::vector<ibv_gid_entry> used(Judge& j) {
  std::vector<ibv_gid_entry> out;
  const auto length = static_cast<std::uint32_t>(j.port_attributes().gid_tbl_len);
  for (std::uint32_t i = 0; i < length; ++i) {
    ibv_gid_entry entry{};
    if (query(j, i, entry, j.port()) == 0) out.push_back(entry);
  }
  return out;
}

void gid_each(Judge& j) {
  const int length = j.port_attributes().gid_tbl_len;
  bool all = true;
  for (int i = 0; i < length; ++i) {
    ibv_gid gid{};
    all &= ibv_query_gid(j.context(), j.port(), i, &gid) == 0;
  }
  j.expect_true("ibv_query_gid of each index below gid_tbl_len", all, "0");
}

void gid_wrong(Judge& j) {
  ibv_gid gid{};
  const int length = j.port_attributes().gid_tbl_len;
  const auto other = static_cast<std::uint8_t>(j.attributes().phys_port_cnt + 1);
  j.expect_true("ibv_query_gid, index gid_tbl_len",
                ibv_query_gid(j.context(), j.port(), length, &gid) == -1, "-1");
  j.expect_true("ibv_query_gid, index -1", ibv_query_gid(j.context(), j.port(), -1, &gid) == -1,
                "-1");
  j.expect_true("ibv_query_gid, port 0", ibv_query_gid(j.context(), 0, 0, &gid) == -1, "-1");
  j.expect_true("ibv_query_gid, port after the last",
                ibv_query_gid(j.context(), other, 0, &gid) == -1, "-1");
}

void entry_matches(Judge& j) {
  const auto entries = used(j);
  j.require_true("entries in use", !entries.empty(), "at least one");
  bool same_gid = true;
  bool same_place = true;
  for (const ibv_gid_entry& entry : entries) {
    ibv_gid gid{};
    ibv_query_gid(j.context(), j.port(), static_cast<int>(entry.gid_index), &gid);
    same_gid &= std::memcmp(gid.raw, entry.gid.raw, sizeof gid.raw) == 0 && !is_zero(gid);
    same_place &= entry.port_num == j.port();
  }
  j.expect_true("gid", same_gid, "the GID of ibv_query_gid, not zero");
  j.expect_true("port_num", same_place, "the port that was queried");
}

void entry_empty(Judge& j) {
  const auto length = static_cast<std::uint32_t>(j.port_attributes().gid_tbl_len);
  for (std::uint32_t i = 0; i < length; ++i) {
    ibv_gid gid{};
    ibv_query_gid(j.context(), j.port(), static_cast<int>(i), &gid);
    if (!is_zero(gid)) continue;
    ibv_gid_entry entry{};
    j.expect("ibv_query_gid_ex of an empty entry", query(j, i, entry, j.port()), {ENODATA});
    return;
  }
  j.not_applicable("each entry of the GID table is in use");
}

void entry_wrong(Judge& j) {
  ibv_gid_entry entry{};
  const auto length = static_cast<std::uint32_t>(j.port_attributes().gid_tbl_len);
  j.expect("ibv_query_gid_ex, index gid_tbl_len", query(j, length, entry, j.port()), {EINVAL});
  j.expect("ibv_query_gid_ex, port 0", query(j, 0, entry, 0), {EINVAL});
  j.expect("ibv_query_gid_ex, port after the last",
           query(j, 0, entry, j.attributes().phys_port_cnt + 1U), {EINVAL});
  j.expect("ibv_query_gid_ex, flags 1", query(j, 0, entry, j.port(), 1), {EINVAL, EOPNOTSUPP});
}

void entry_type(Judge& j) {
  const bool is_ethernet = j.port_attributes().link_layer == IBV_LINK_LAYER_ETHERNET;
  const bool is_roce = !j.is_iwarp() && is_ethernet;
  bool types = true;
  bool interfaces = true;
  for (const ibv_gid_entry& entry : used(j)) {
    const bool is_of_roce =
        entry.gid_type == IBV_GID_TYPE_ROCE_V1 || entry.gid_type == IBV_GID_TYPE_ROCE_V2;
    types &= is_of_roce == is_roce && (is_of_roce || entry.gid_type == IBV_GID_TYPE_IB);
    std::array<char, IF_NAMESIZE> name{};
    interfaces &= is_roce ? ::if_indextoname(entry.ndev_ifindex, name.data()) != nullptr
                          : entry.ndev_ifindex == 0 ||
                                ::if_indextoname(entry.ndev_ifindex, name.data()) != nullptr;
  }
  j.expect_true("gid_type", types, "ROCE_V1 or ROCE_V2 on RoCE, otherwise IB");
  j.expect_true("ndev_ifindex", interfaces, "an interface on RoCE, otherwise one or 0");
}

void table_complete(Judge& j) {
  const auto expected = used(j);
  std::vector<ibv_gid_entry> entries(expected.size() + 1024);
  const ssize_t count = ibv_query_gid_table(j.context(), entries.data(), entries.size(), 0);
  if (count == -EOPNOTSUPP) j.refuse("ibv_query_gid_table", EOPNOTSUPP);
  j.require_true("ibv_query_gid_table", count >= 0, "the number of entries");
  std::size_t of_port = 0;
  bool all_there = true;
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<std::size_t>(i)];
    if (entry.port_num != j.port()) continue;
    ++of_port;
    ibv_gid_entry again{};
    all_there &= query(j, entry.gid_index, again, j.port()) == 0 &&
                 std::memcmp(again.gid.raw, entry.gid.raw, sizeof again.gid.raw) == 0 &&
                 again.gid_type == entry.gid_type && again.ndev_ifindex == entry.ndev_ifindex;
  }
  j.expect_true("number of entries", of_port == expected.size(), "the entries in use");
  j.expect_true("each entry", all_there, "the entry of ibv_query_gid_ex");
}

void table_too_small(Judge& j) {
  std::vector<ibv_gid_entry> entries(used(j).size());
  j.require_true("entries in use", !entries.empty(), "at least one");
  const auto failed = [&](std::size_t room, std::uint32_t flags) {
    const ssize_t count = ibv_query_gid_table(j.context(), entries.data(), room, flags);
    return count < 0 ? static_cast<int>(-count) : 0;
  };
  j.expect("ibv_query_gid_table, one entry too few", failed(entries.size() - 1, 0), {EINVAL});
  j.expect("ibv_query_gid_table, max_entries 0", failed(0, 0), {EINVAL});
  j.expect("ibv_query_gid_table, flags 1", failed(entries.size(), 1), {EINVAL, EOPNOTSUPP});
}

void pkey_default(Judge& j) {
  constexpr std::uint16_t kDefault = 0xFFFF;  // the only P_Key of a RoCE port
  __be16 key = 0;
  j.require("ibv_query_pkey, index 0", errno_of(ibv_query_pkey(j.context(), j.port(), 0, &key)));
  if (j.port_attributes().link_layer == IBV_LINK_LAYER_ETHERNET) {
    j.expect_equal("P_Key 0 of a RoCE port", ntohs(key), kDefault);
  }
  j.expect_true("ibv_get_pkey_index of P_Key 0",
                ibv_get_pkey_index(j.context(), j.port(), key) == 0, "0");
}

void pkey_wrong(Judge& j) {
  __be16 key = 0;
  const int length = j.port_attributes().pkey_tbl_len;
  const auto after = static_cast<std::uint8_t>(j.attributes().phys_port_cnt + 1);
  j.expect_true("ibv_query_pkey, index pkey_tbl_len",
                ibv_query_pkey(j.context(), j.port(), length, &key) == -1, "-1");
  j.expect_true("ibv_query_pkey, index -1", ibv_query_pkey(j.context(), j.port(), -1, &key) == -1,
                "-1");
  j.expect_true("ibv_query_pkey, port after the last",
                ibv_query_pkey(j.context(), after, 0, &key) == -1, "-1");
}

void pkey_unknown(Judge& j) {
  const int length = j.port_attributes().pkey_tbl_len;
  std::uint16_t absent = 0x1234;
  for (int i = 0; i < length; ++i) {
    __be16 key = 0;
    const bool is_there = ibv_query_pkey(j.context(), j.port(), i, &key) == 0;
    if (is_there && ntohs(key) == absent) j.not_applicable("the port has P_Key 0x1234");
  }
  j.expect_true("ibv_get_pkey_index of a P_Key that is not in the table",
                ibv_get_pkey_index(j.context(), j.port(), htons(absent)) == -1, "-1");
}

// clang-format off
constexpr Case kCases[] = {
    {"device/gid/each", "IBV-85 IBV-97", "returns each entry of the GID table", gid_each},
    {"device/gid/wrong", "IBV-97", "refuses ibv_query_gid() with an index or a port that does not exist", gid_wrong},
    {"device/gid-entry/same", "IBV-99", "returns the same GID from ibv_query_gid_ex() as from ibv_query_gid()", entry_matches},
    {"device/gid-entry/empty", "IBV-98 IBV-103", "returns ENODATA from ibv_query_gid_ex() for an empty entry", entry_empty},
    {"device/gid-entry/wrong", "IBV-102 IBV-104", "refuses ibv_query_gid_ex() with an index, a port or flags that do not exist", entry_wrong},
    {"device/gid-entry/type", "IBV-100 IBV-101", "reports the type and the interface of each GID", entry_type},
    {"device/gid-table/complete", "IBV-105", "returns all entries in use from ibv_query_gid_table()", table_complete},
    {"device/gid-table/too-small", "IBV-106 IBV-107 IBV-108", "refuses an array that is too small for ibv_query_gid_table()", table_too_small},
    {"device/pkey/default", "IBV-110 IBV-111 IBV-112", "has a P_Key at index 0", pkey_default, kByHand},
    {"device/pkey/wrong", "IBV-86 IBV-110", "refuses ibv_query_pkey() with an index or a port that does not exist", pkey_wrong},
    {"device/pkey/unknown", "IBV-112", "returns -1 from ibv_get_pkey_index() for a P_Key that is not in the table", pkey_unknown},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::device_tables

iwarp::judge::Table iwarp::judge::device_tables_cases() { return device_tables::kCases; }
