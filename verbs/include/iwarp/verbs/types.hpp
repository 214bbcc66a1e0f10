// SPDX-License-Identifier: Apache-2.0
// The nouns of the verbs interface.
#pragma once

#include "iwarp/verbs/work_completion.hpp"
#include "iwarp/verbs/work_request.hpp"
