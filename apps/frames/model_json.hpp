// SPDX-License-Identifier: Apache-2.0
// What a page draws beside the frames: fields with their octets, memory, the states of both ends.
#pragma once

#include "frames/frame_json.hpp"
#include "iwarp/trace/ends.hpp"
#include "iwarp/trace/fields.hpp"
#include "iwarp/trace/memory.hpp"

namespace iwarp::apps::frames {

const char* name_of(trace::Side side);

/// The rows that fields of frames refer to by their index.
Json field_table_json();
/// Each [row, value, [begin, size, ...]], of bits also first bit and number.
Json fields_json(const trace::Explained& e);
Json access_json(const trace::Access& access);
/// The buffers of each end.
Json memory_json(const trace::MemoryBook& memory);
Json states_json(const trace::Ends& ends);
Json changes_json(const std::vector<trace::StateChange>& changes);

}  // namespace iwarp::apps::frames
