// SPDX-License-Identifier: Apache-2.0
// The tables of cases: cases/ROOM/FILE.cpp has ROOM_FILE_cases().
#pragma once

#include "judge/frame/case.hpp"

namespace iwarp::judge {

/// Returns all tables of cases, in the order in which they run.
std::span<const Table> all_cases();

Table device_description_cases();  ///< opening, attributes and ports
Table device_tables_cases();       ///< GIDs and P_Keys
Table device_texts_cases();        ///< texts, rates, fork
Table device_optional_cases();     ///< features that few devices have

Table memory_domains_cases();         ///< protection domains
Table memory_regions_cases();         ///< registration
Table memory_changes_cases();         ///< changing and deregistering regions
Table memory_windows_type_1_cases();  ///< memory windows of type 1
Table memory_windows_type_2_cases();  ///< memory windows of type 2

Table queues_channels_cases();      ///< completion channels
Table queues_completions_cases();   ///< completion queues
Table queues_extended_cases();      ///< ibv_create_cq_ex()
Table queues_srq_cases();           ///< shared receive queues
Table queues_srq_messages_cases();  ///< messages that consume receives of an SRQ
Table queues_events_cases();        ///< asynchronous events

Table qp_steps_cases();   ///< transitions of queue pairs and their attributes
Table qp_create_cases();  ///< creating and destroying queue pairs
Table qp_values_cases();  ///< values of attributes, and what a query returns
Table qp_post_cases();    ///< posting: states, limits, lists

Table data_handles_cases();    ///< address handles
Table data_datagrams_cases();  ///< datagrams and groups
Table data_inline_cases();     ///< IBV_SEND_INLINE
Table data_faults_cases();     ///< requests that fail, and both ends then
Table data_valid_cases();      ///< valid requests of each opcode
Table data_order_cases();      ///< which requests complete, and in which order
Table data_peers_cases();      ///< an end that cannot go on, and RESET
Table data_builders_cases();   ///< ibv_wr_start() to ibv_wr_complete()

Table cm_channels_cases();    ///< event channels, events, devices of rdma_cm
Table cm_ids_cases();         ///< life of ids
Table cm_addresses_cases();   ///< rdma_getaddrinfo(), resolving
Table cm_listen_cases();      ///< binding, listening, options
Table cm_connect_cases();     ///< requests, answers, rejections
Table cm_disconnect_cases();  ///< ends of connections
Table cm_parameters_cases();  ///< private data, depths, retry counts
Table cm_qps_cases();         ///< queue pairs of ids
Table cm_endpoints_cases();   ///< synchronous ids, endpoints, migration
Table cm_messages_cases();    ///< messages and memory of ids
Table cm_datagrams_cases();   ///< datagram ids and multicast

}  // namespace iwarp::judge
