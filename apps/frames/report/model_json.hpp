// SPDX-License-Identifier: Apache-2.0
// What a page draws besides the frames: fields with their octets, memory, the states of both ends.
#pragma once

#include "frames/model/ends.hpp"
#include "frames/model/fields.hpp"
#include "frames/model/memory.hpp"
#include "frames/report/frame_json.hpp"

namespace iwarp::apps::frames {

const char* name_of(Side side);

/// Returns the table of fields; the fields of frames give their row in it.
Json field_table_json();
/// Returns the fields of a frame as [row, value, [begin, size, ...]], for bits also the first bit
/// and the number of bits.
Json fields_json(const Explained& e);
Json access_json(const Access& access);
/// Returns the buffers of each end.
Json memory_json(const MemoryBook& memory);
Json states_json(const Ends& ends);
Json changes_json(const std::vector<StateChange>& changes);

}  // namespace iwarp::apps::frames
