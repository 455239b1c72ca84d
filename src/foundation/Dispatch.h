// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/Bytes.h"
#include <dispatch/dispatch.h>

namespace pewter::foundation {

/// The bytes of a data object; nothing for null.
ByteView bytesOf(dispatch_data_t data);

} // namespace pewter::foundation
