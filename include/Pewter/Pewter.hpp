// SPDX-License-Identifier: Apache-2.0
//
// What a program may ask of Pewter beyond Apple's API. Needed by nobody who only runs Metal code.
//
// How misuse is reported. Where Metal's validation layer would stop the program, Pewter:
//   1. composes one message: the call, the argument with its label, the value in brackets, what was
//      expected, and "- While ..." lines for the encoder and command buffer;
//   2. gives it to the handler set here, which prints it to stderr if none is;
//   3. ignores the call. If it belonged to a command buffer, that buffer does not run: after commit
//      it ends with CommandBufferStatusError, and its error's description is the first message;
//   4. with PEWTER_TOGGLES=abort_on_misuse, aborts the process after step 2, as Metal does.
// Calls that Pewter does not support are reported in the same way. Nothing is ignored silently.
#pragma once
#include "../Metal/Metal.hpp"
#include <functional>

namespace Pewter {

using MisuseHandler = std::function<void(const char *message)>;

/// Replaces what is done with messages; an empty handler restores printing. May be called from any
/// thread; the handler is called from the thread that misused a call, never two at a time.
_MTL_EXPORT void SetMisuseHandler(MisuseHandler handler);

/// The first device of a kind: "cpu", "cuda", or "null", which accepts everything and runs nothing.
/// Null when there is none. Retained.
_MTL_EXPORT MTL::Device *CreateDevice(const char *kind);
/// The kind of a device, as above.
_MTL_EXPORT const char *DeviceKind(const MTL::Device *device);

} // namespace Pewter
