// SPDX-License-Identifier: Apache-2.0
// Checks the rules that a frame can violate regardless of earlier FPDUs.
#pragma once

#include "frames/session/session.hpp"

namespace iwarp::apps::frames {

/// Checks an FPDU and adds its violations to `e`. The caller must have set `header`, `opcode` and
/// `payload`, as far as it could decode them.
void judge_fpdu(Explained& e);
void judge_startup(Explained& e);
/// Checks a Reply against its Request. Call it only if the Request was captured.
void judge_reply(Explained& e, const mpa::StartupFrame& request);

/// Decodes the enhanced word (RFC 6581) of a startup frame. Returns nullopt if the frame has no
/// enhanced word, or if its private data is too short to contain one.
std::optional<mpa::EnhancedWord> enhanced_word(const mpa::StartupFrame& frame);

void note(Explained& e, Rule rule, std::string detail = {});

}  // namespace iwarp::apps::frames
