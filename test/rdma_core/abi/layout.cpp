// SPDX-License-Identifier: Apache-2.0
// Checks the offsets of the members of the C structures on x86-64 against rdma-core releases 34 to
// 64. Programs have these offsets compiled in, so this layer must not compile against headers that
// differ, for example a vendor's headers or a future release that breaks the ABI. This file is only
// compiled and never run.
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstddef>

#if defined(__x86_64__) && defined(__LP64__)

#define SIZE(type, size) static_assert(sizeof(type) == (size))
// Later releases add members at the end of these structures. A function that fills such a structure
// either receives its size, or zeroes the members that it does not know.
#define SIZE_AT_LEAST(type, size) static_assert(sizeof(type) >= (size))
#define OFFSET(type, member, offset) static_assert(offsetof(type, member) == (offset))
// verbs_context grows at its beginning, and its member `sz` holds its size. The macro therefore
// measures the distance from the structure's end.
#define BEFORE_CONTEXT(member, distance) \
  static_assert(offsetof(verbs_context, context) - offsetof(verbs_context, member) == (distance))

SIZE(ibv_device, 664);
OFFSET(ibv_device, node_type, 16);
OFFSET(ibv_device, transport_type, 20);
OFFSET(ibv_device, name, 24);
OFFSET(ibv_device, dev_name, 88);
OFFSET(ibv_device, dev_path, 152);
OFFSET(ibv_device, ibdev_path, 408);

SIZE(ibv_context, 328);
OFFSET(ibv_context, device, 0);
OFFSET(ibv_context, ops, 8);
OFFSET(ibv_context, cmd_fd, 264);
OFFSET(ibv_context, async_fd, 268);
OFFSET(ibv_context, num_comp_vectors, 272);
OFFSET(ibv_context, mutex, 280);
OFFSET(ibv_context, abi_compat, 320);

SIZE(ibv_context_ops, 256);
OFFSET(ibv_context_ops, poll_cq, 88);
OFFSET(ibv_context_ops, req_notify_cq, 96);
OFFSET(ibv_context_ops, post_srq_recv, 160);
OFFSET(ibv_context_ops, post_send, 200);
OFFSET(ibv_context_ops, post_recv, 208);
OFFSET(ibv_context_ops, alloc_mw, 56);
OFFSET(ibv_context_ops, bind_mw, 64);
OFFSET(ibv_context_ops, dealloc_mw, 72);

SIZE_AT_LEAST(verbs_context, 648);
static_assert(sizeof(verbs_context) - offsetof(verbs_context, context) == sizeof(ibv_context));
BEFORE_CONTEXT(query_port, 320);
BEFORE_CONTEXT(advise_mr, 312);
BEFORE_CONTEXT(alloc_null_mr, 304);
BEFORE_CONTEXT(read_counters, 296);
BEFORE_CONTEXT(attach_counters_point_flow, 288);
BEFORE_CONTEXT(create_counters, 280);
BEFORE_CONTEXT(destroy_counters, 272);
BEFORE_CONTEXT(reg_dm_mr, 264);
BEFORE_CONTEXT(alloc_dm, 256);
BEFORE_CONTEXT(free_dm, 248);
BEFORE_CONTEXT(modify_flow_action_esp, 240);
BEFORE_CONTEXT(destroy_flow_action, 232);
BEFORE_CONTEXT(create_flow_action_esp, 224);
BEFORE_CONTEXT(modify_qp_rate_limit, 216);
BEFORE_CONTEXT(alloc_parent_domain, 208);
BEFORE_CONTEXT(dealloc_td, 200);
BEFORE_CONTEXT(alloc_td, 192);
BEFORE_CONTEXT(modify_cq, 184);
BEFORE_CONTEXT(post_srq_ops, 176);
BEFORE_CONTEXT(destroy_rwq_ind_table, 168);
BEFORE_CONTEXT(create_rwq_ind_table, 160);
BEFORE_CONTEXT(destroy_wq, 152);
BEFORE_CONTEXT(modify_wq, 144);
BEFORE_CONTEXT(create_wq, 136);
BEFORE_CONTEXT(query_rt_values, 128);
BEFORE_CONTEXT(create_cq_ex, 120);
BEFORE_CONTEXT(query_device_ex, 104);
BEFORE_CONTEXT(open_qp, 64);
BEFORE_CONTEXT(create_qp_ex, 56);
BEFORE_CONTEXT(get_srq_num, 48);
BEFORE_CONTEXT(create_srq_ex, 40);
BEFORE_CONTEXT(open_xrcd, 32);
BEFORE_CONTEXT(close_xrcd, 24);
BEFORE_CONTEXT(sz, 8);

SIZE(ibv_pd, 16);
OFFSET(ibv_pd, context, 0);
OFFSET(ibv_pd, handle, 8);

SIZE(ibv_mr, 48);
OFFSET(ibv_mr, context, 0);
OFFSET(ibv_mr, pd, 8);
OFFSET(ibv_mr, addr, 16);
OFFSET(ibv_mr, length, 24);
OFFSET(ibv_mr, handle, 32);
OFFSET(ibv_mr, lkey, 36);
OFFSET(ibv_mr, rkey, 40);

SIZE(ibv_mw, 32);
OFFSET(ibv_mw, context, 0);
OFFSET(ibv_mw, pd, 8);
OFFSET(ibv_mw, rkey, 16);
OFFSET(ibv_mw, handle, 20);
OFFSET(ibv_mw, type, 24);

SIZE(ibv_comp_channel, 16);
OFFSET(ibv_comp_channel, context, 0);
OFFSET(ibv_comp_channel, fd, 8);
OFFSET(ibv_comp_channel, refcnt, 12);

SIZE(ibv_cq, 128);
OFFSET(ibv_cq, context, 0);
OFFSET(ibv_cq, channel, 8);
OFFSET(ibv_cq, cq_context, 16);
OFFSET(ibv_cq, handle, 24);
OFFSET(ibv_cq, cqe, 28);
OFFSET(ibv_cq, mutex, 32);
OFFSET(ibv_cq, cond, 72);
OFFSET(ibv_cq, comp_events_completed, 120);
OFFSET(ibv_cq, async_events_completed, 124);

SIZE(ibv_srq, 128);
OFFSET(ibv_srq, context, 0);
OFFSET(ibv_srq, srq_context, 8);
OFFSET(ibv_srq, pd, 16);
OFFSET(ibv_srq, handle, 24);
OFFSET(ibv_srq, mutex, 32);
OFFSET(ibv_srq, cond, 72);
OFFSET(ibv_srq, events_completed, 120);

SIZE(ibv_qp, 160);
OFFSET(ibv_qp, context, 0);
OFFSET(ibv_qp, qp_context, 8);
OFFSET(ibv_qp, pd, 16);
OFFSET(ibv_qp, send_cq, 24);
OFFSET(ibv_qp, recv_cq, 32);
OFFSET(ibv_qp, srq, 40);
OFFSET(ibv_qp, handle, 48);
OFFSET(ibv_qp, qp_num, 52);
OFFSET(ibv_qp, state, 56);
OFFSET(ibv_qp, qp_type, 60);
OFFSET(ibv_qp, mutex, 64);
OFFSET(ibv_qp, cond, 104);
OFFSET(ibv_qp, events_completed, 152);

SIZE(ibv_wc, 48);
OFFSET(ibv_wc, wr_id, 0);
OFFSET(ibv_wc, status, 8);
OFFSET(ibv_wc, opcode, 12);
OFFSET(ibv_wc, vendor_err, 16);
OFFSET(ibv_wc, byte_len, 20);
OFFSET(ibv_wc, imm_data, 24);
OFFSET(ibv_wc, qp_num, 28);
OFFSET(ibv_wc, src_qp, 32);
OFFSET(ibv_wc, wc_flags, 36);

SIZE(ibv_sge, 16);
OFFSET(ibv_sge, addr, 0);
OFFSET(ibv_sge, length, 8);
OFFSET(ibv_sge, lkey, 12);

SIZE(ibv_recv_wr, 32);
OFFSET(ibv_recv_wr, wr_id, 0);
OFFSET(ibv_recv_wr, next, 8);
OFFSET(ibv_recv_wr, sg_list, 16);
OFFSET(ibv_recv_wr, num_sge, 24);

SIZE(ibv_send_wr, 128);
OFFSET(ibv_send_wr, wr_id, 0);
OFFSET(ibv_send_wr, next, 8);
OFFSET(ibv_send_wr, sg_list, 16);
OFFSET(ibv_send_wr, num_sge, 24);
OFFSET(ibv_send_wr, opcode, 28);
OFFSET(ibv_send_wr, send_flags, 32);
OFFSET(ibv_send_wr, imm_data, 36);
OFFSET(ibv_send_wr, wr.rdma.remote_addr, 40);
OFFSET(ibv_send_wr, wr.rdma.rkey, 48);
OFFSET(ibv_send_wr, wr.atomic.compare_add, 48);
OFFSET(ibv_send_wr, wr.atomic.swap, 56);
OFFSET(ibv_send_wr, wr.atomic.rkey, 64);
OFFSET(ibv_send_wr, bind_mw.mw, 80);
OFFSET(ibv_send_wr, bind_mw.rkey, 88);
OFFSET(ibv_send_wr, bind_mw.bind_info, 96);

SIZE(ibv_qp_init_attr, 64);
OFFSET(ibv_qp_init_attr, qp_context, 0);
OFFSET(ibv_qp_init_attr, send_cq, 8);
OFFSET(ibv_qp_init_attr, recv_cq, 16);
OFFSET(ibv_qp_init_attr, srq, 24);
OFFSET(ibv_qp_init_attr, cap, 32);
OFFSET(ibv_qp_init_attr, qp_type, 52);
OFFSET(ibv_qp_init_attr, sq_sig_all, 56);

SIZE(ibv_qp_attr, 144);
OFFSET(ibv_qp_attr, qp_state, 0);
OFFSET(ibv_qp_attr, path_mtu, 8);
OFFSET(ibv_qp_attr, rq_psn, 20);
OFFSET(ibv_qp_attr, sq_psn, 24);
OFFSET(ibv_qp_attr, dest_qp_num, 28);
OFFSET(ibv_qp_attr, qp_access_flags, 32);
OFFSET(ibv_qp_attr, cap, 36);
OFFSET(ibv_qp_attr, ah_attr, 56);
OFFSET(ibv_qp_attr, pkey_index, 120);
OFFSET(ibv_qp_attr, max_rd_atomic, 126);
OFFSET(ibv_qp_attr, max_dest_rd_atomic, 127);
OFFSET(ibv_qp_attr, port_num, 129);
OFFSET(ibv_qp_attr, timeout, 130);
OFFSET(ibv_qp_attr, retry_cnt, 131);
OFFSET(ibv_qp_attr, rnr_retry, 132);

SIZE(ibv_qp_cap, 20);
OFFSET(ibv_qp_cap, max_send_wr, 0);
OFFSET(ibv_qp_cap, max_inline_data, 16);

SIZE(ibv_srq_init_attr, 24);
OFFSET(ibv_srq_init_attr, srq_context, 0);
OFFSET(ibv_srq_init_attr, attr, 8);

SIZE(ibv_device_attr, 232);
OFFSET(ibv_device_attr, fw_ver, 0);
OFFSET(ibv_device_attr, node_guid, 64);
OFFSET(ibv_device_attr, max_mr_size, 80);
OFFSET(ibv_device_attr, max_qp, 108);
OFFSET(ibv_device_attr, device_cap_flags, 116);
OFFSET(ibv_device_attr, max_cqe, 132);
OFFSET(ibv_device_attr, max_qp_rd_atom, 144);
OFFSET(ibv_device_attr, atomic_cap, 164);
OFFSET(ibv_device_attr, max_srq, 212);
OFFSET(ibv_device_attr, phys_port_cnt, 227);

SIZE_AT_LEAST(ibv_port_attr, 52);
OFFSET(ibv_port_attr, state, 0);
OFFSET(ibv_port_attr, max_mtu, 4);
OFFSET(ibv_port_attr, active_mtu, 8);
OFFSET(ibv_port_attr, gid_tbl_len, 12);
OFFSET(ibv_port_attr, max_msg_sz, 20);
OFFSET(ibv_port_attr, lid, 34);
OFFSET(ibv_port_attr, link_layer, 46);
OFFSET(ibv_port_attr, port_cap_flags2, 48);

SIZE(ibv_async_event, 16);
OFFSET(ibv_async_event, element, 0);
OFFSET(ibv_async_event, event_type, 8);

SIZE(ibv_gid_entry, 32);
OFFSET(ibv_gid_entry, gid, 0);
OFFSET(ibv_gid_entry, gid_index, 16);
OFFSET(ibv_gid_entry, port_num, 20);
OFFSET(ibv_gid_entry, gid_type, 24);
OFFSET(ibv_gid_entry, ndev_ifindex, 28);

SIZE_AT_LEAST(ibv_qp_ex, 344);
OFFSET(ibv_qp_ex, qp_base, 0);
OFFSET(ibv_qp_ex, comp_mask, 160);
OFFSET(ibv_qp_ex, wr_id, 168);
OFFSET(ibv_qp_ex, wr_flags, 176);
OFFSET(ibv_qp_ex, wr_atomic_cmp_swp, 184);
OFFSET(ibv_qp_ex, wr_rdma_read, 216);
OFFSET(ibv_qp_ex, wr_rdma_write, 224);
OFFSET(ibv_qp_ex, wr_send, 240);
OFFSET(ibv_qp_ex, wr_set_inline_data, 288);
OFFSET(ibv_qp_ex, wr_set_sge_list, 312);
OFFSET(ibv_qp_ex, wr_start, 320);
OFFSET(ibv_qp_ex, wr_complete, 328);
OFFSET(ibv_qp_ex, wr_abort, 336);

SIZE_AT_LEAST(ibv_cq_ex, 288);
OFFSET(ibv_cq_ex, context, 0);
OFFSET(ibv_cq_ex, channel, 8);
OFFSET(ibv_cq_ex, cq_context, 16);
OFFSET(ibv_cq_ex, cqe, 28);
OFFSET(ibv_cq_ex, comp_mask, 128);
OFFSET(ibv_cq_ex, status, 132);
OFFSET(ibv_cq_ex, wr_id, 136);
OFFSET(ibv_cq_ex, start_poll, 144);
OFFSET(ibv_cq_ex, next_poll, 152);
OFFSET(ibv_cq_ex, end_poll, 160);
OFFSET(ibv_cq_ex, read_opcode, 168);
OFFSET(ibv_cq_ex, read_byte_len, 184);
OFFSET(ibv_cq_ex, read_wc_flags, 216);

SIZE(rdma_event_channel, 4);
OFFSET(rdma_event_channel, fd, 0);

SIZE(rdma_cm_id, 416);
OFFSET(rdma_cm_id, verbs, 0);
OFFSET(rdma_cm_id, channel, 8);
OFFSET(rdma_cm_id, context, 16);
OFFSET(rdma_cm_id, qp, 24);
OFFSET(rdma_cm_id, route, 32);
OFFSET(rdma_cm_id, ps, 344);
OFFSET(rdma_cm_id, port_num, 348);
OFFSET(rdma_cm_id, event, 352);
OFFSET(rdma_cm_id, send_cq_channel, 360);
OFFSET(rdma_cm_id, send_cq, 368);
OFFSET(rdma_cm_id, recv_cq_channel, 376);
OFFSET(rdma_cm_id, recv_cq, 384);
OFFSET(rdma_cm_id, srq, 392);
OFFSET(rdma_cm_id, pd, 400);
OFFSET(rdma_cm_id, qp_type, 408);

SIZE(rdma_route, 312);
OFFSET(rdma_route, addr, 0);
OFFSET(rdma_route, path_rec, 296);
OFFSET(rdma_route, num_paths, 304);

SIZE(rdma_addr, 296);
OFFSET(rdma_addr, src_addr, 0);
OFFSET(rdma_addr, dst_addr, 128);
OFFSET(rdma_addr, addr, 256);

SIZE(rdma_cm_event, 80);
OFFSET(rdma_cm_event, id, 0);
OFFSET(rdma_cm_event, listen_id, 8);
OFFSET(rdma_cm_event, event, 16);
OFFSET(rdma_cm_event, status, 20);
OFFSET(rdma_cm_event, param, 24);

SIZE(rdma_conn_param, 24);
OFFSET(rdma_conn_param, private_data, 0);
OFFSET(rdma_conn_param, private_data_len, 8);
OFFSET(rdma_conn_param, responder_resources, 9);
OFFSET(rdma_conn_param, initiator_depth, 10);
OFFSET(rdma_conn_param, flow_control, 11);
OFFSET(rdma_conn_param, retry_count, 12);
OFFSET(rdma_conn_param, rnr_retry_count, 13);
OFFSET(rdma_conn_param, srq, 14);
OFFSET(rdma_conn_param, qp_num, 16);

SIZE(rdma_addrinfo, 96);
OFFSET(rdma_addrinfo, ai_flags, 0);
OFFSET(rdma_addrinfo, ai_family, 4);
OFFSET(rdma_addrinfo, ai_qp_type, 8);
OFFSET(rdma_addrinfo, ai_port_space, 12);
OFFSET(rdma_addrinfo, ai_src_len, 16);
OFFSET(rdma_addrinfo, ai_dst_len, 20);
OFFSET(rdma_addrinfo, ai_src_addr, 24);
OFFSET(rdma_addrinfo, ai_dst_addr, 32);
OFFSET(rdma_addrinfo, ai_src_canonname, 40);
OFFSET(rdma_addrinfo, ai_dst_canonname, 48);
OFFSET(rdma_addrinfo, ai_route_len, 56);
OFFSET(rdma_addrinfo, ai_route, 64);
OFFSET(rdma_addrinfo, ai_connect_len, 72);
OFFSET(rdma_addrinfo, ai_connect, 80);
OFFSET(rdma_addrinfo, ai_next, 88);

#endif
