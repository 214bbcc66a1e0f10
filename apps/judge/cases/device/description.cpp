// SPDX-License-Identifier: Apache-2.0
// Cases about the list of devices, contexts, and what a device reports about itself and its ports.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "judge/cases/cases.hpp"
#include "judge/tools/ends.hpp"

namespace iwarp::judge::device_description {
namespace {

// The list, names and contexts ------------------------------------------------------------------

void list_count(Judge& j) {
  int count = -1;
  ibv_device** const list = ibv_get_device_list(&count);
  j.require("ibv_get_device_list", errno_of(list));
  int entries = 0;
  while (list[entries] != nullptr) ++entries;
  j.expect_true("num_devices", entries == count, "the number of entries before the null pointer");
  ibv_free_device_list(list);
}

void device_name(Judge& j) {
  const char* const name = ibv_get_device_name(j.device());
  j.require_true("ibv_get_device_name", name != nullptr, "a name");
  j.expect_true("ibv_device.name", std::strcmp(name, j.device()->name) == 0, "the same name");
}

void device_guid(Judge& j) {
  j.expect_true("ibv_get_device_guid", ibv_get_device_guid(j.device()) == j.attributes().node_guid,
                "the node_guid of ibv_query_device");
}

void context_of_device(Judge& j) {
  j.expect_true("ibv_context.device",
                j.context()->device != nullptr &&
                    j.context()->device->name == std::string_view(j.device()->name),
                "the device that was opened");
  j.expect_true("num_comp_vectors", j.context()->num_comp_vectors >= 1, "at least 1");
  j.expect_true("async_fd", ::fcntl(j.context()->async_fd, F_GETFL) >= 0,
                "a descriptor that is open");
}

void open_twice(Judge& j) {
  Context one(j.open());
  Context other(j.open());
  j.expect_true("two contexts", one.get() != other.get(), "a context for each call");
  j.expect_true("async_fd of two contexts", one->async_fd != other->async_fd,
                "a descriptor for each context");
  j.expect("ibv_close_device of the first", one.destroy());
  Pd pd(ibv_alloc_pd(other.get()));
  j.expect("ibv_alloc_pd in the second", errno_of(pd.get()));
}

void open_without_list(Judge& j) {
  const std::string name = ibv_get_device_name(j.device());
  ibv_device** const list = ibv_get_device_list(nullptr);
  j.require("ibv_get_device_list", errno_of(list));
  ibv_device** each = list;
  while (*each != nullptr && name != ibv_get_device_name(*each)) ++each;
  j.require_true("the device is in a second list", *each != nullptr, "it is in the list");
  Context context(ibv_open_device(*each));
  j.require("ibv_open_device", errno_of(context.get()));
  ibv_free_device_list(list);
  ibv_device_attr attr{};
  j.expect("ibv_query_device after ibv_free_device_list",
           errno_of(ibv_query_device(context.get(), &attr)));
  j.expect_true("ibv_get_device_name after ibv_free_device_list",
                name == ibv_get_device_name(context->device), "the name of the device");
}

void list_without_count(Judge& j) {
  int count = 0;
  ibv_device** const counted = ibv_get_device_list(&count);
  ibv_device** const list = ibv_get_device_list(nullptr);
  j.require("ibv_get_device_list without num_devices", errno_of(list));
  int entries = 0;
  while (list[entries] != nullptr) ++entries;
  j.expect_true("number of entries", entries == count, "the number with num_devices");
  ibv_free_device_list(counted);
  ibv_free_device_list(list);
}

void close_with_objects(Judge& j) {
  Context context(j.open());
  static char memory[64];
  ibv_pd* const pd = ibv_alloc_pd(context.get());
  j.require("ibv_alloc_pd", errno_of(pd));
  j.require("ibv_reg_mr", errno_of(ibv_reg_mr(pd, memory, sizeof memory, 0)));
  j.expect("ibv_close_device with a region", context.destroy());
}

void type_of_device(Judge& j) {
  const ibv_device& device = *j.device();
  j.expect_text("node_type", ibv_node_type_str(device.node_type),
                {ibv_node_type_str(j.is_iwarp() ? IBV_NODE_RNIC : IBV_NODE_CA)});
  j.expect_true("transport_type",
                device.transport_type == (j.is_iwarp() ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB),
                "IBV_TRANSPORT_IWARP or IBV_TRANSPORT_IB");
}

void node_of_device(Judge& j) {
  const std::string path = std::string("/dev/infiniband/") + j.device()->dev_name;
  struct stat found{};
  j.require("stat of the node in /dev/infiniband", errno_of(::stat(path.c_str(), &found)));
  j.expect_true("the node", S_ISCHR(found.st_mode), "a character device");
  j.expect("access to read and write", errno_of(::access(path.c_str(), R_OK | W_OK)));
}

void list_index(Judge& j) {
  const auto index_of = [&] {
    int index = -2;
    ibv_device** const list = ibv_get_device_list(nullptr);
    for (ibv_device** each = list; *each != nullptr; ++each) {
      if (std::string_view((*each)->name) == j.device()->name) index = ibv_get_device_index(*each);
    }
    ibv_free_device_list(list);
    return index;
  };
  const int first = index_of();
  j.expect_true("ibv_get_device_index", first >= -1, "an index, or -1");
  j.expect_true("ibv_get_device_index in another list", index_of() == first, "the same index");
}

// Attributes ------------------------------------------------------------------------------------

void attributes_positive(Judge& j) {
  const ibv_device_attr& attr = j.attributes();
  struct Limit {
    const char* name;
    std::uint64_t value;
  };
  for (const auto& [name, value] : {Limit{"max_qp", static_cast<std::uint64_t>(attr.max_qp)},
                                    {"max_qp_wr", static_cast<std::uint64_t>(attr.max_qp_wr)},
                                    {"max_sge", static_cast<std::uint64_t>(attr.max_sge)},
                                    {"max_cq", static_cast<std::uint64_t>(attr.max_cq)},
                                    {"max_cqe", static_cast<std::uint64_t>(attr.max_cqe)},
                                    {"max_mr", static_cast<std::uint64_t>(attr.max_mr)},
                                    {"max_mr_size", attr.max_mr_size},
                                    {"max_pd", static_cast<std::uint64_t>(attr.max_pd)},
                                    {"phys_port_cnt", attr.phys_port_cnt}}) {
    j.expect_true(name, value > 0 && (value <= INT32_MAX || value == attr.max_mr_size),
                  "a positive number");
  }
}

void attributes_of_reads(Judge& j) {
  const ibv_device_attr& attr = j.attributes();
  j.expect_true("max_qp_rd_atom", attr.max_qp_rd_atom > 0, "a positive number");
  j.expect_true("max_qp_init_rd_atom", attr.max_qp_init_rd_atom > 0, "a positive number");
  j.expect_true("max_res_rd_atom", attr.max_res_rd_atom >= attr.max_qp_rd_atom,
                "at least max_qp_rd_atom");
  j.expect_true("max_sge_rd", attr.max_sge_rd > 0, "a positive number");
}

void attributes_of_srq(Judge& j) {
  j.expect_true("max_srq_wr", j.attributes().max_srq_wr > 0, "a positive number");
  j.expect_true("max_srq_sge", j.attributes().max_srq_sge > 0, "a positive number");
}

void attributes_of_datagrams(Judge& j) {
  const ibv_device_attr& attr = j.attributes();
  j.expect_true("max_ah", attr.max_ah > 0, "a positive number");
  const bool has_groups = attr.max_mcast_grp > 0;
  j.expect_true("max_mcast_qp_attach", (attr.max_mcast_qp_attach > 0) == has_groups,
                "positive if max_mcast_grp is");
  j.expect_true("max_total_mcast_qp_attach",
                attr.max_total_mcast_qp_attach >= attr.max_mcast_qp_attach,
                "at least max_mcast_qp_attach");
}

void attributes_of_pkeys(Judge& j) {
  j.expect_true("max_pkeys", j.attributes().max_pkeys >= j.port_attributes().pkey_tbl_len,
                "at least pkey_tbl_len");
}

void firmware_text(Judge& j) {
  const auto& text = j.attributes().fw_ver;
  j.expect_true("fw_ver", ::strnlen(text, sizeof text) < sizeof text, "a terminated string");
}

void page_sizes(Judge& j) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  j.expect_true("page_size_cap", (j.attributes().page_size_cap & page) != 0,
                "the page size of the system is among the sizes");
}

void extended_attributes(Judge& j) {
  ibv_device_attr_ex ex{};
  j.require("ibv_query_device_ex", errno_of(ibv_query_device_ex(j.context(), nullptr, &ex)));
  const ibv_device_attr& one = ex.orig_attr;
  const ibv_device_attr& other = j.attributes();
  const auto numbers = [](const ibv_device_attr& a) {
    return std::array<std::uint64_t, 14>{a.node_guid,
                                         a.max_mr_size,
                                         a.page_size_cap,
                                         a.vendor_id,
                                         a.vendor_part_id,
                                         a.device_cap_flags,
                                         static_cast<std::uint64_t>(a.max_qp),
                                         static_cast<std::uint64_t>(a.max_qp_wr),
                                         static_cast<std::uint64_t>(a.max_sge),
                                         static_cast<std::uint64_t>(a.max_cqe),
                                         static_cast<std::uint64_t>(a.max_pd),
                                         static_cast<std::uint64_t>(a.max_srq_wr),
                                         static_cast<std::uint64_t>(a.max_ah),
                                         a.phys_port_cnt};
  };
  j.expect_true("orig_attr", numbers(one) == numbers(other), "the values of ibv_query_device");
  j.expect_true("fw_ver of orig_attr", std::strcmp(one.fw_ver, other.fw_ver) == 0,
                "the text of ibv_query_device");
  j.expect_equal("comp_mask", ex.comp_mask, 0);
  j.expect_equal("phys_port_cnt_ex", ex.phys_port_cnt_ex, other.phys_port_cnt);
  j.expect_equal("low half of device_cap_flags_ex",
                 static_cast<std::uint32_t>(ex.device_cap_flags_ex), other.device_cap_flags);
}

void extended_unknown_input(Judge& j) {
  const ibv_query_device_ex_input input{.comp_mask = 1U << 31};
  ibv_device_attr_ex ex{};
  j.expect("ibv_query_device_ex with an unknown comp_mask",
           errno_of(ibv_query_device_ex(j.context(), &input, &ex)), {EINVAL, EOPNOTSUPP});
}

// Ports -----------------------------------------------------------------------------------------

void unknown_port(Judge& j) {
  ibv_port_attr attr{};
  const auto count = j.attributes().phys_port_cnt;
  j.expect("ibv_query_port, port 0", errno_of(ibv_query_port(j.context(), 0, &attr)), {EINVAL});
  j.expect("ibv_query_port, port after the last",
           errno_of(ibv_query_port(j.context(), static_cast<std::uint8_t>(count + 1), &attr)),
           {EINVAL});
}

void port_state(Judge& j) {
  const ibv_port_attr attr = j.port_attributes();
  constexpr int kLinkUp = 5;
  j.expect_text("state", ibv_port_state_str(attr.state), {ibv_port_state_str(IBV_PORT_ACTIVE)});
  j.expect_equal("phys_state", attr.phys_state, kLinkUp);
}

void port_mtu(Judge& j) {
  const ibv_port_attr attr = j.port_attributes();
  j.expect_true("active_mtu", attr.active_mtu >= IBV_MTU_256 && attr.active_mtu <= IBV_MTU_4096,
                "a value of enum ibv_mtu");
  j.expect_true("max_mtu", attr.max_mtu >= attr.active_mtu && attr.max_mtu <= IBV_MTU_4096,
                "a value of enum ibv_mtu, at least active_mtu");
}

void port_speed(Judge& j) {
  const ibv_port_attr attr = j.port_attributes();
  constexpr std::array<std::uint8_t, 5> kWidths{1, 2, 4, 8, 16};
  constexpr std::array<std::uint8_t, 8> kSpeeds{1, 2, 4, 8, 16, 32, 64, 128};
  j.expect_true("active_width", std::ranges::find(kWidths, attr.active_width) != kWidths.end(),
                "the code of a width: 1, 2, 4, 8 or 16");
  j.expect_true("active_speed", std::ranges::find(kSpeeds, attr.active_speed) != kSpeeds.end(),
                "the code of a speed: one bit");
}

void port_tables(Judge& j) {
  const ibv_port_attr attr = j.port_attributes();
  j.expect_true("gid_tbl_len", attr.gid_tbl_len > 0, "a positive number");
  if (!j.is_iwarp()) j.expect_true("pkey_tbl_len", attr.pkey_tbl_len > 0, "a positive number");
}

void port_link_layer(Judge& j) {
  const int layer = j.port_attributes().link_layer;
  const bool is_right =
      layer == IBV_LINK_LAYER_ETHERNET || (layer == IBV_LINK_LAYER_INFINIBAND && !j.is_iwarp());
  j.expect_true("link_layer", is_right, "IBV_LINK_LAYER_ETHERNET, or INFINIBAND if not iWARP");
}

bool is_roce(Judge& j) {
  return !j.is_iwarp() && j.port_attributes().link_layer == IBV_LINK_LAYER_ETHERNET;
}

void port_lid(Judge& j) {
  const ibv_port_attr attr = j.port_attributes();
  if (is_roce(j)) {
    j.expect_equal("lid of a RoCE port", attr.lid, 0);
  } else {
    j.expect_true("lid of an InfiniBand port", attr.lid != 0, "not 0");
  }
}

void port_message_size(Judge& j) {
  const std::uint32_t size = j.port_attributes().max_msg_sz;
  constexpr std::uint32_t kMost = 1U << 31;  // IBTA: the largest message
  j.expect_true("max_msg_sz", size >= 4096 && size <= kMost, "from 4096 to 2^31");
}

// The device may check the region first, which is shorter than the message.
void message_too_long(Judge& j) {
  const std::uint32_t most = j.port_attributes().max_msg_sz;
  if (most == UINT32_MAX) j.not_applicable("max_msg_sz is the largest number");
  Pair pair(j);
  j.require("ibv_post_recv", pair.b.post_recv(1, 0, 8));
  const int code = pair.a.post_send(pair.a.request(2, IBV_WR_SEND, pair.b), 0, most + 1);
  j.expect("ibv_post_send of max_msg_sz + 1 bytes", code, {0, EINVAL, EMSGSIZE});
  if (code != 0) return;
  expect_completion(j, "completion of the Send", pair.a.send_cq,
                    {IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_PROT_ERR});
}

void port_grh_required(Judge& j) {
  End end(j, {.type = IBV_QPT_UD});
  ibv_ah_attr attr{};
  attr.dlid = 1;
  attr.port_num = j.port();
  Ah ah(ibv_create_ah(end.pd.get(), &attr));
  const bool requires_grh = (j.port_attributes().flags & IBV_QPF_GRH_REQUIRED) != 0;
  if (is_roce(j)) j.expect_true("IBV_QPF_GRH_REQUIRED of a RoCE port", requires_grh, "set");
  j.expect_true("ibv_create_ah without a GRH", !ah == requires_grh,
                "fails if and only if IBV_QPF_GRH_REQUIRED is set");
}

void ping(Judge& j) {
  Pair pair(j);
  j.require("ibv_post_recv", pair.b.post_recv(7, 0, 8));
  j.require("ibv_post_send", pair.a.post_send(pair.a.request(3, IBV_WR_SEND, pair.b), 0, 8));
  const ibv_wc wc = expect_completion(j, "completion of the Send", pair.a.send_cq);
  j.expect_equal("wr_id of the Send", wc.wr_id, 3);
  const ibv_wc received = expect_completion(j, "completion of the receive", pair.b.recv_cq);
  j.expect_equal("byte_len", received.byte_len, 8);
}

// clang-format off
constexpr Case kCases[] = {
    {"device/list/count", "IBV-1 IBV-2", "reports the number of devices and ends the list with null", list_count},
    {"device/list/without-count", "IBV-3", "returns the same list if num_devices is null", list_without_count},
    {"device/list/index", "IBV-11 IBV-12", "reports the same device index in each list", list_index},
    {"device/list/type", "IBV-77", "reports the node type that belongs to its transport", type_of_device},
    {"device/list/node", "IBV-76", "has a character device that the process can use", node_of_device},
    {"device/list/name", "IBV-9", "reports the same name by ibv_get_device_name() and in ibv_device", device_name},
    {"device/list/guid", "IBV-10 IBV-21", "reports the same GUID by ibv_get_device_guid() and ibv_query_device()", device_guid},
    {"device/open/context", "IBV-13 IBV-16", "opens a context that has an async_fd and a completion vector", context_of_device},
    {"device/open/twice", "IBV-14", "returns a separate context from each ibv_open_device()", open_twice},
    {"device/open/list-freed", "IBV-6", "keeps a context open when the list is freed", open_without_list},
    {"device/open/close", "IBV-15", "closes a context that still has objects", close_with_objects},
    {"device/attributes/pkeys", "IBV-46", "reports max_pkeys of at least the port's pkey_tbl_len", attributes_of_pkeys, kByHand},
    {"device/attributes/positive", "IBV-19", "reports positive limits", attributes_positive},
    {"device/attributes/reads", "IBV-28 IBV-35", "reports positive and consistent limits of Reads", attributes_of_reads},
    {"device/attributes/srq", "IBV-43 IBV-44 IBV-45", "reports positive limits of SRQs", attributes_of_srq, kSrq},
    {"device/attributes/datagrams", "IBV-40 IBV-41", "reports consistent limits of address handles and multicast groups", attributes_of_datagrams, kUd},
    {"device/attributes/firmware", "IBV-20", "reports a null-terminated fw_ver", firmware_text},
    {"device/attributes/page-sizes", "IBV-23", "includes the system's page size in page_size_cap", page_sizes},
    {"device/attributes/extended", "IBV-56 IBV-59 IBV-63 IBV-64", "reports the same limits by ibv_query_device_ex() as by ibv_query_device()", extended_attributes},
    {"device/attributes/extended-unknown-input", "IBV-65", "refuses an unknown comp_mask of ibv_query_device_ex()", extended_unknown_input},
    {"device/port/unknown", "IBV-47 IBV-82", "refuses to query a port that does not exist", unknown_port},
    {"device/port/state", "IBV-83 IBV-92", "has an active port", port_state},
    {"device/port/mtu", "IBV-84", "reports an active_mtu of at most max_mtu", port_mtu},
    {"device/port/speed", "IBV-91", "reports defined values of active_width and active_speed", port_speed},
    {"device/port/tables", "IBV-85 IBV-86", "has a GID table and a P_Key table", port_tables},
    {"device/port/link-layer", "IBV-93", "reports a link layer that its transport permits", port_link_layer},
    {"device/port/lid", "IBV-90", "has a LID on InfiniBand, and none on Ethernet", port_lid, kByHand},
    {"device/port/message-size", "IBV-87", "reports a max_msg_sz from 4096 to 2^31", port_message_size, kByHand},
    {"device/port/message-too-long", "IBV-87 IBV-533", "does not send a message above max_msg_sz", message_too_long},
    {"device/port/grh-required", "IBV-94 IBV-333", "sets IBV_QPF_GRH_REQUIRED exactly if it refuses address handles without a GRH", port_grh_required, kUd},
    {"device/ping", "IBV-129 IBV-274 IBV-280", "delivers a Send", ping},
};
// clang-format on

}  // namespace
}  // namespace iwarp::judge::device_description

iwarp::judge::Table iwarp::judge::device_description_cases() { return device_description::kCases; }
