// SPDX-License-Identifier: Apache-2.0
// The tables of cases, one per file of this folder.
#pragma once

#include <span>

#include "judge/frame/case.hpp"

namespace iwarp::judge {

std::span<const Case> device_cases();          ///< opening, attributes and ports
std::span<const Case> table_cases();           ///< GIDs and P_Keys
std::span<const Case> text_cases();            ///< texts, rates, fork
std::span<const Case> domain_cases();          ///< protection domains
std::span<const Case> region_cases();          ///< registration
std::span<const Case> rereg_cases();           ///< changing and deregistering regions
std::span<const Case> window_cases();          ///< memory windows of type 1
std::span<const Case> window_type_2_cases();   ///< memory windows of type 2
std::span<const Case> channel_cases();         ///< completion channels
std::span<const Case> queue_cases();           ///< completion queues
std::span<const Case> extended_queue_cases();  ///< ibv_create_cq_ex()
std::span<const Case> srq_cases();             ///< shared receive queues
std::span<const Case> srq_message_cases();     ///< messages that consume receives of an SRQ
std::span<const Case> event_cases();           ///< asynchronous events
std::span<const Case> handle_cases();          ///< address handles
std::span<const Case> datagram_cases();        ///< datagrams and groups
std::span<const Case> inline_data_cases();     ///< IBV_SEND_INLINE
std::span<const Case> optional_cases();        ///< features that few devices have
std::span<const Case> cm_channel_cases();      ///< event channels, events, devices of rdma_cm
std::span<const Case> cm_id_cases();           ///< life of ids
std::span<const Case> cm_address_cases();      ///< rdma_getaddrinfo(), resolving
std::span<const Case> cm_listen_cases();       ///< binding, listening, options
std::span<const Case> cm_connect_cases();      ///< requests, answers, rejections
std::span<const Case> cm_disconnect_cases();   ///< ends of connections
std::span<const Case> qp_step_cases();         ///< transitions of queue pairs and their attributes
std::span<const Case> qp_create_cases();       ///< creating and destroying queue pairs
std::span<const Case> qp_value_cases();        ///< values of attributes, and what a query returns
std::span<const Case> qp_post_cases();         ///< posting: states, limits, lists
std::span<const Case> data_fault_cases();      ///< requests that fail, and both ends then
std::span<const Case> data_valid_cases();      ///< valid requests of each opcode
std::span<const Case> data_order_cases();      ///< which requests complete, and in which order
std::span<const Case> data_peer_cases();       ///< an end that cannot go on, and RESET
std::span<const Case> data_builder_cases();    ///< ibv_wr_start() to ibv_wr_complete()
std::span<const Case> cm_parameter_cases();    ///< private data, depths, retry counts
std::span<const Case> cm_qp_cases();           ///< queue pairs of ids
std::span<const Case> cm_endpoint_cases();     ///< synchronous ids, endpoints, migration
std::span<const Case> cm_message_cases();      ///< messages and memory of ids
std::span<const Case> cm_datagram_cases();     ///< datagram ids and multicast

}  // namespace iwarp::judge
