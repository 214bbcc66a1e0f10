// SPDX-License-Identifier: Apache-2.0
// Checks the offsets of the members of the C structures on x86-64 against rdma-core releases 34 to
// 64. Programs have these offsets compiled in, so this layer must not compile against headers that
// differ, for example a vendor's headers or a future release that breaks the ABI. This file is only
// compiled and never run.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <boost/preprocessor.hpp>
#include <cstddef>

#if defined(__x86_64__) && defined(__LP64__)

#define SIZE(type, size) static_assert(sizeof(type) == (size))
// Later releases add members at the end of these structures. A function that fills such a structure
// either receives its size, or zeroes the members that it does not know.
#define SIZE_AT_LEAST(type, size) static_assert(sizeof(type) >= (size))
// OFFSETS(type, (member, offset)...)
#define OFFSETS(type, ...)                                                       \
  BOOST_PP_SEQ_FOR_EACH(HAS_OFFSET, type, BOOST_PP_VARIADIC_TO_SEQ(__VA_ARGS__)) \
  static_assert(true)
#define HAS_OFFSET(r, type, pair)                                                             \
  static_assert(offsetof(type, BOOST_PP_TUPLE_ELEM(0, pair)) == BOOST_PP_TUPLE_ELEM(1, pair), \
                BOOST_PP_STRINGIZE(type) "::" BOOST_PP_STRINGIZE(BOOST_PP_TUPLE_ELEM(0, pair)));
// verbs_context grows at its beginning, and its member `sz` holds its size. BEFORE_CONTEXT((member,
// distance)...) therefore measures distances from `context`.
#define BEFORE_CONTEXT(...)                                          \
  BOOST_PP_SEQ_FOR_EACH(IS_BEFORE, offsetof(verbs_context, context), \
                        BOOST_PP_VARIADIC_TO_SEQ(__VA_ARGS__))       \
  static_assert(true)
#define IS_BEFORE(r, context_offset, pair)                                                \
  static_assert(context_offset - offsetof(verbs_context, BOOST_PP_TUPLE_ELEM(0, pair)) == \
                BOOST_PP_TUPLE_ELEM(1, pair));

SIZE(ibv_device, 664);
OFFSETS(ibv_device, (node_type, 16), (transport_type, 20), (name, 24), (dev_name, 88),
        (dev_path, 152), (ibdev_path, 408));

SIZE(ibv_context, 328);
OFFSETS(ibv_context, (device, 0), (ops, 8), (cmd_fd, 264), (async_fd, 268), (num_comp_vectors, 272),
        (mutex, 280), (abi_compat, 320));

SIZE(ibv_context_ops, 256);
OFFSETS(ibv_context_ops, (poll_cq, 88), (req_notify_cq, 96), (post_srq_recv, 160), (post_send, 200),
        (post_recv, 208), (alloc_mw, 56), (bind_mw, 64), (dealloc_mw, 72));

SIZE_AT_LEAST(verbs_context, 648);
static_assert(sizeof(verbs_context) - offsetof(verbs_context, context) == sizeof(ibv_context));
BEFORE_CONTEXT((query_port, 320), (advise_mr, 312), (alloc_null_mr, 304), (read_counters, 296),
               (attach_counters_point_flow, 288), (create_counters, 280), (destroy_counters, 272),
               (reg_dm_mr, 264), (alloc_dm, 256), (free_dm, 248), (modify_flow_action_esp, 240),
               (destroy_flow_action, 232), (create_flow_action_esp, 224),
               (modify_qp_rate_limit, 216), (alloc_parent_domain, 208), (dealloc_td, 200),
               (alloc_td, 192), (modify_cq, 184), (post_srq_ops, 176), (destroy_rwq_ind_table, 168),
               (create_rwq_ind_table, 160), (destroy_wq, 152), (modify_wq, 144), (create_wq, 136),
               (query_rt_values, 128), (create_cq_ex, 120), (query_device_ex, 104), (open_qp, 64),
               (create_qp_ex, 56), (get_srq_num, 48), (create_srq_ex, 40), (open_xrcd, 32),
               (close_xrcd, 24), (sz, 8));

SIZE(ibv_pd, 16);
OFFSETS(ibv_pd, (context, 0), (handle, 8));

SIZE(ibv_mr, 48);
OFFSETS(ibv_mr, (context, 0), (pd, 8), (addr, 16), (length, 24), (handle, 32), (lkey, 36),
        (rkey, 40));

SIZE(ibv_mw, 32);
OFFSETS(ibv_mw, (context, 0), (pd, 8), (rkey, 16), (handle, 20), (type, 24));

SIZE(ibv_comp_channel, 16);
OFFSETS(ibv_comp_channel, (context, 0), (fd, 8), (refcnt, 12));

SIZE(ibv_cq, 128);
OFFSETS(ibv_cq, (context, 0), (channel, 8), (cq_context, 16), (handle, 24), (cqe, 28), (mutex, 32),
        (cond, 72), (comp_events_completed, 120), (async_events_completed, 124));

SIZE(ibv_srq, 128);
OFFSETS(ibv_srq, (context, 0), (srq_context, 8), (pd, 16), (handle, 24), (mutex, 32), (cond, 72),
        (events_completed, 120));

SIZE(ibv_qp, 160);
OFFSETS(ibv_qp, (context, 0), (qp_context, 8), (pd, 16), (send_cq, 24), (recv_cq, 32), (srq, 40),
        (handle, 48), (qp_num, 52), (state, 56), (qp_type, 60), (mutex, 64), (cond, 104),
        (events_completed, 152));

SIZE(ibv_wc, 48);
OFFSETS(ibv_wc, (wr_id, 0), (status, 8), (opcode, 12), (vendor_err, 16), (byte_len, 20),
        (imm_data, 24), (qp_num, 28), (src_qp, 32), (wc_flags, 36));

SIZE(ibv_sge, 16);
OFFSETS(ibv_sge, (addr, 0), (length, 8), (lkey, 12));

SIZE(ibv_recv_wr, 32);
OFFSETS(ibv_recv_wr, (wr_id, 0), (next, 8), (sg_list, 16), (num_sge, 24));

SIZE(ibv_send_wr, 128);
OFFSETS(ibv_send_wr, (wr_id, 0), (next, 8), (sg_list, 16), (num_sge, 24), (opcode, 28),
        (send_flags, 32), (imm_data, 36), (wr.rdma.remote_addr, 40), (wr.rdma.rkey, 48),
        (wr.atomic.compare_add, 48), (wr.atomic.swap, 56), (wr.atomic.rkey, 64), (bind_mw.mw, 80),
        (bind_mw.rkey, 88), (bind_mw.bind_info, 96));

SIZE(ibv_qp_init_attr, 64);
OFFSETS(ibv_qp_init_attr, (qp_context, 0), (send_cq, 8), (recv_cq, 16), (srq, 24), (cap, 32),
        (qp_type, 52), (sq_sig_all, 56));

SIZE(ibv_qp_attr, 144);
OFFSETS(ibv_qp_attr, (qp_state, 0), (path_mtu, 8), (rq_psn, 20), (sq_psn, 24), (dest_qp_num, 28),
        (qp_access_flags, 32), (cap, 36), (ah_attr, 56), (pkey_index, 120), (max_rd_atomic, 126),
        (max_dest_rd_atomic, 127), (port_num, 129), (timeout, 130), (retry_cnt, 131),
        (rnr_retry, 132));

SIZE(ibv_qp_cap, 20);
OFFSETS(ibv_qp_cap, (max_send_wr, 0), (max_inline_data, 16));

SIZE(ibv_srq_init_attr, 24);
OFFSETS(ibv_srq_init_attr, (srq_context, 0), (attr, 8));

SIZE(ibv_device_attr, 232);
OFFSETS(ibv_device_attr, (fw_ver, 0), (node_guid, 64), (max_mr_size, 80), (max_qp, 108),
        (device_cap_flags, 116), (max_cqe, 132), (max_qp_rd_atom, 144), (atomic_cap, 164),
        (max_srq, 212), (phys_port_cnt, 227));

SIZE_AT_LEAST(ibv_port_attr, 52);
OFFSETS(ibv_port_attr, (state, 0), (max_mtu, 4), (active_mtu, 8), (gid_tbl_len, 12),
        (max_msg_sz, 20), (lid, 34), (link_layer, 46), (port_cap_flags2, 48));

SIZE(ibv_async_event, 16);
OFFSETS(ibv_async_event, (element, 0), (event_type, 8));

SIZE(ibv_gid_entry, 32);
OFFSETS(ibv_gid_entry, (gid, 0), (gid_index, 16), (port_num, 20), (gid_type, 24),
        (ndev_ifindex, 28));

SIZE_AT_LEAST(ibv_qp_ex, 344);
OFFSETS(ibv_qp_ex, (qp_base, 0), (comp_mask, 160), (wr_id, 168), (wr_flags, 176),
        (wr_atomic_cmp_swp, 184), (wr_rdma_read, 216), (wr_rdma_write, 224), (wr_send, 240),
        (wr_set_inline_data, 288), (wr_set_sge_list, 312), (wr_start, 320), (wr_complete, 328),
        (wr_abort, 336));

SIZE_AT_LEAST(ibv_cq_ex, 288);
OFFSETS(ibv_cq_ex, (context, 0), (channel, 8), (cq_context, 16), (cqe, 28), (comp_mask, 128),
        (status, 132), (wr_id, 136), (start_poll, 144), (next_poll, 152), (end_poll, 160),
        (read_opcode, 168), (read_byte_len, 184), (read_wc_flags, 216));

SIZE(rdma_event_channel, 4);
OFFSETS(rdma_event_channel, (fd, 0));

SIZE(rdma_cm_id, 416);
OFFSETS(rdma_cm_id, (verbs, 0), (channel, 8), (context, 16), (qp, 24), (route, 32), (ps, 344),
        (port_num, 348), (event, 352), (send_cq_channel, 360), (send_cq, 368),
        (recv_cq_channel, 376), (recv_cq, 384), (srq, 392), (pd, 400), (qp_type, 408));

SIZE(rdma_route, 312);
OFFSETS(rdma_route, (addr, 0), (path_rec, 296), (num_paths, 304));

SIZE(rdma_addr, 296);
OFFSETS(rdma_addr, (src_addr, 0), (dst_addr, 128), (addr, 256));

SIZE(rdma_cm_event, 80);
OFFSETS(rdma_cm_event, (id, 0), (listen_id, 8), (event, 16), (status, 20), (param, 24));

SIZE(rdma_conn_param, 24);
OFFSETS(rdma_conn_param, (private_data, 0), (private_data_len, 8), (responder_resources, 9),
        (initiator_depth, 10), (flow_control, 11), (retry_count, 12), (rnr_retry_count, 13),
        (srq, 14), (qp_num, 16));

SIZE(rdma_addrinfo, 96);
OFFSETS(rdma_addrinfo, (ai_flags, 0), (ai_family, 4), (ai_qp_type, 8), (ai_port_space, 12),
        (ai_src_len, 16), (ai_dst_len, 20), (ai_src_addr, 24), (ai_dst_addr, 32),
        (ai_src_canonname, 40), (ai_dst_canonname, 48), (ai_route_len, 56), (ai_route, 64),
        (ai_connect_len, 72), (ai_connect, 80), (ai_next, 88));

#endif
