// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/Pipeline_test.cpp.
#include "metal/ComputePipeline.h"
#include "foundation/Collections.h"
#include "metal/Argument.h"
#include "metal/Background.h"
#include "metal/BinaryArchive.h"
#include "metal/Device.h"
#include "metal/ErrorDomain.h"
#include "metal/Function.h"
#include "metal/Library.h"
#include "metal/LinkedFunctions.h"
#include "metal/Property.h"
#include "metal/Validation.h"
#include "metal/VisibleFunctionTable.h"

namespace pewter::metal {

static PipelineBufferDescriptor *implOf(const MTL::PipelineBufferDescriptor *descriptor) {
  return static_cast<PipelineBufferDescriptor *>(
      const_cast<MTL::PipelineBufferDescriptor *>(descriptor));
}
static PipelineBufferDescriptorArray *implOf(const MTL::PipelineBufferDescriptorArray *array) {
  return static_cast<PipelineBufferDescriptorArray *>(
      const_cast<MTL::PipelineBufferDescriptorArray *>(array));
}
static ComputePipelineReflection *implOf(const MTL::ComputePipelineReflection *reflection) {
  return static_cast<ComputePipelineReflection *>(
      const_cast<MTL::ComputePipelineReflection *>(reflection));
}

namespace {

uint32_t slotLimit(air::ArgumentKind kind) {
  switch (kind) {
  case air::ArgumentKind::Texture:
    return 128;
  case air::ArgumentKind::Sampler:
    return 16;
  default:
    return 31;
  }
}

Result<void> checkReflection(const air::KernelReflection &kernel) {
  for (const air::Argument &argument : kernel.arguments) {
    if (argument.kind == air::ArgumentKind::Builtin)
      continue;
    if (argument.kind == air::ArgumentKind::Unsupported) {
      if (!argument.used)
        continue;
      return fail(ErrorKind::Unsupported,
                  "Argument \"{}\" of function \"{}\" is of a kind that is not supported ({}).",
                  argument.name, kernel.name, argument.metadataKind);
    }
    if (argument.slot >= slotLimit(argument.kind))
      return fail(
          ErrorKind::Compile,
          "The index ({}) of argument \"{}\" of function \"{}\" is not below the limit ({}).",
          argument.slot, argument.name, kernel.name, slotLimit(argument.kind));
  }
  return {};
}

Result<void> checkDescriptor(const ComputePipelineDescriptor::Values &values) {
  if (!values.computeFunction)
    return fail(ErrorKind::Validation, "ComputePipelineDescriptor::computeFunction is null.");
  auto *function = implOf(values.computeFunction.get());
  if (function->source.type != MTL::FunctionTypeKernel)
    return fail(ErrorKind::Validation, "Function \"{}\" is not a kernel.", function->name);
  if (values.maxTotalThreadsPerThreadgroup > 1024)
    return fail(ErrorKind::Validation,
                "ComputePipelineDescriptor::maxTotalThreadsPerThreadgroup ({}) is above the limit "
                "(1024).",
                values.maxTotalThreadsPerThreadgroup);
  return {};
}

} // namespace

NS::detail::Root *PipelineBufferDescriptor::makeCopy() const {
  auto *copy = new PipelineBufferDescriptor();
  copy->mutability = mutability;
  return copy;
}

NS::detail::Root *ComputePipelineDescriptor::makeCopy() const {
  auto *copy = new ComputePipelineDescriptor();
  copy->values = values;
  return copy;
}

ComputePipelineState::ComputePipelineState(Device *device,
                                           std::shared_ptr<device::Pipeline> pipeline)
    : device(device), backend(std::move(pipeline)) {
  const air::KernelReflection &kernel = backend->reflection();
  for (uint32_t i = 0; i < kernel.arguments.size(); ++i) {
    const air::Argument &argument = kernel.arguments[i];
    PipelineParameter parameter;
    parameter.kind = argument.kind;
    parameter.slot = static_cast<uint8_t>(argument.slot);
    parameter.slotCount = static_cast<uint8_t>(std::clamp<uint32_t>(argument.arrayLength, 1, 128));
    parameter.used = argument.used;
    parameter.isFunctionTable = argument.metadataKind == air::kFunctionTable;
    parameter.neededBytes = argument.used ? argument.boundSize : 0;
    parameter.argument = i;
    if (argument.kind == air::ArgumentKind::ThreadgroupMemory && argument.used)
      threadgroupMemoryMask |= 1u << argument.slot;
    parameters.push_back(parameter);
  }
  staticThreadgroupBytes = (kernel.staticThreadgroupBytes + 15) & ~15u;
  maxThreads = backend->maxTotalThreadsPerThreadgroup();
}

std::string ComputePipelineState::describe() const {
  if (label.empty())
    return fmt::format("kernel \"{}\"", backend->reflection().name);
  return fmt::format("pipeline \"{}\" (kernel \"{}\")", label, backend->reflection().name);
}

Result<ComputePipelineState *> createPipelineState(Device &device,
                                                   const ComputePipelineDescriptor &descriptor,
                                                   MTL::PipelineOption options,
                                                   BinaryArchive *fill,
                                                   const NS::Array *moreFunctions) {
  const auto &values = descriptor.values;
  PEWTER_TRY_VOID(checkDescriptor(values));
  const Function &function = *implOf(values.computeFunction.get());
  if (function.library->device != &device)
    return fail(ErrorKind::Validation, "Function \"{}\" belongs to another device.", function.name);

  device::PipelineRequest request;
  request.module = function.source.module;
  request.function = function.source.name;
  request.constants = function.constants;
  request.identity = function.identity;
  PEWTER_TRY(auto functionSet, linkInto(request, descriptor, moreFunctions));
  request.maxTotalThreadsPerThreadgroup = static_cast<uint32_t>(
      values.maxTotalThreadsPerThreadgroup ? values.maxTotalThreadsPerThreadgroup
                                           : function.library->maxTotalThreadsPerThreadgroup);
  request.threadgroupSizeIsMultipleOfSimdWidth =
      values.threadGroupSizeIsMultipleOfThreadExecutionWidth;
  request.failOnMiss = options & MTL::PipelineOptionFailOnBinaryArchiveMiss;
  // A pipeline may compile again later, for other threadgroup sizes: the archives stay with it.
  std::vector<foundation::Ref<BinaryArchive>> archives;
  for (auto &object : foundation::objectsOf(values.binaryArchives.get()))
    archives.push_back(
        foundation::share(implOf(reinterpret_cast<MTL::BinaryArchive *>(object.get()))));
  auto filled = foundation::share(fill);
  if (!archives.empty() || fill)
    request.lookUp = [archives, filled](const Hash128 &key) -> std::optional<Bytes> {
      for (auto &archive : archives)
        if (auto image = archive->images->find(key)) {
          if (filled)
            filled->images->add(key, *image);
          return image;
        }
      return std::nullopt;
    };
  if (fill)
    request.store = [filled](const Hash128 &key, ByteView image) {
      filled->images->add(key, image);
    };

  auto while_ = [&](Error error) {
    return std::move(error).whileDoing("making a compute pipeline state of function \"" +
                                       function.name + "\"");
  };
  auto pipeline = device.backend->createPipeline(request);
  if (!pipeline)
    return std::unexpected(while_(std::move(pipeline.error())));
  if (auto checked = checkReflection((*pipeline)->reflection()); !checked)
    return std::unexpected(while_(std::move(checked.error())));
  auto *state = new ComputePipelineState(&device, std::move(*pipeline));
  state->label = values.label;
  state->requiredThreads = values.requiredThreadsPerThreadgroup.width
                               ? values.requiredThreadsPerThreadgroup
                               : function.library->requiredThreadsPerThreadgroup;
  state->needsFullSimdgroups = values.threadGroupSizeIsMultipleOfThreadExecutionWidth;
  state->supportsIndirectCommandBuffers = values.supportIndirectCommandBuffers;
  state->shaderValidation = values.shaderValidation;
  state->functionSet = std::move(functionSet);
  if (values.supportAddingBinaryFunctions) {
    state->descriptor = NS::TransferPtr(descriptor.copy());
    state->addedFunctions = foundation::share(moreFunctions);
  }
  return state;
}

namespace {

ComputePipelineReflection *newReflection(const air::KernelReflection &kernel) {
  auto *reflection = new ComputePipelineReflection();
  reflection->bindings = NS::TransferPtr(newBindings(kernel));
  reflection->arguments = NS::TransferPtr(newArguments(kernel));
  return reflection;
}

MTL::ComputePipelineState *build(Device *device, const ComputePipelineDescriptor &descriptor,
                                 MTL::PipelineOption options,
                                 const MTL::AutoreleasedComputePipelineReflection *reflection,
                                 NS::Error **error) {
  auto state = createPipelineState(*device, descriptor, options);
  if (!state) {
    setError(error, ErrorDomain::Pipeline, state.error());
    return nullptr;
  }
  if (reflection)
    *const_cast<MTL::AutoreleasedComputePipelineReflection *>(reflection) =
        foundation::autoreleased(newReflection((*state)->backend->reflection()));
  return *state;
}

foundation::Ref<ComputePipelineDescriptor> descriptorFor(const MTL::Function *function) {
  auto descriptor = NS::TransferPtr(new ComputePipelineDescriptor());
  descriptor->values.computeFunction = foundation::share(function);
  return descriptor;
}

} // namespace
} // namespace pewter::metal

using namespace pewter::metal;
using pewter::foundation::makeString;
using pewter::foundation::share;

PEWTER_ALLOC(PipelineBufferDescriptor)
PEWTER_VALUE(PipelineBufferDescriptor, Mutability, mutability, setMutability)
PEWTER_ALLOC(PipelineBufferDescriptorArray)
PEWTER_ALLOC(ComputePipelineDescriptor)
PEWTER_ALLOC(ComputePipelineReflection)

#define implOf(object) (&implOf(object)->values)
PEWTER_LABEL(ComputePipelineDescriptor)
PEWTER_OBJECT(ComputePipelineDescriptor, MTL::Function, computeFunction, setComputeFunction)
PEWTER_PLAIN(ComputePipelineDescriptor, bool, threadGroupSizeIsMultipleOfThreadExecutionWidth,
             setThreadGroupSizeIsMultipleOfThreadExecutionWidth)
PEWTER_PLAIN(ComputePipelineDescriptor, NS::UInteger, maxTotalThreadsPerThreadgroup,
             setMaxTotalThreadsPerThreadgroup)
PEWTER_PLAIN(ComputePipelineDescriptor, NS::UInteger, maxCallStackDepth, setMaxCallStackDepth)
PEWTER_VALUE(ComputePipelineDescriptor, Size, requiredThreadsPerThreadgroup,
             setRequiredThreadsPerThreadgroup)
PEWTER_VALUE(ComputePipelineDescriptor, ShaderValidation, shaderValidation, setShaderValidation)
PEWTER_PLAIN(ComputePipelineDescriptor, bool, supportIndirectCommandBuffers,
             setSupportIndirectCommandBuffers)
PEWTER_PLAIN(ComputePipelineDescriptor, bool, supportAddingBinaryFunctions,
             setSupportAddingBinaryFunctions)
PEWTER_OBJECT(ComputePipelineDescriptor, NS::Array, binaryArchives, setBinaryArchives)
PEWTER_OBJECT(ComputePipelineDescriptor, NS::Array, insertLibraries, setInsertLibraries)
PEWTER_OBJECT(ComputePipelineDescriptor, NS::Array, preloadedLibraries, setPreloadedLibraries)
PEWTER_OBJECT(ComputePipelineDescriptor, MTL::LinkedFunctions, linkedFunctions, setLinkedFunctions)
#undef implOf

namespace MTL {

PipelineBufferDescriptor *PipelineBufferDescriptorArray::object(NS::UInteger bufferIndex) {
  auto &slots = implOf(this)->slots;
  if (bufferIndex >= slots.size()) {
    misuse("PipelineBufferDescriptorArray::object: index ({}) is not below the limit ({}).",
           bufferIndex, slots.size());
    return nullptr;
  }
  if (!slots[bufferIndex])
    slots[bufferIndex] = NS::TransferPtr(PipelineBufferDescriptor::alloc()->init());
  return slots[bufferIndex].get();
}
void PipelineBufferDescriptorArray::setObject(const PipelineBufferDescriptor *buffer,
                                              NS::UInteger bufferIndex) {
  auto &slots = implOf(this)->slots;
  if (bufferIndex < slots.size())
    slots[bufferIndex] = share(buffer);
  else
    misuse("PipelineBufferDescriptorArray::setObject: index ({}) is not below the limit ({}).",
           bufferIndex, slots.size());
}

PipelineBufferDescriptorArray *ComputePipelineDescriptor::buffers() const {
  auto &buffers = implOf(this)->values.buffers;
  if (!buffers)
    buffers = NS::TransferPtr(PipelineBufferDescriptorArray::alloc()->init());
  return buffers.get();
}
void ComputePipelineDescriptor::reset() { implOf(this)->values = {}; }

NS::Array *ComputePipelineReflection::bindings() const { return implOf(this)->bindings.get(); }
NS::Array *ComputePipelineReflection::arguments() const { return implOf(this)->arguments.get(); }

Device *ComputePipelineState::device() const { return implOf(this)->device; }
NS::String *ComputePipelineState::label() const {
  auto &text = implOf(this)->label;
  return text.empty() ? nullptr : makeString(text);
}
NS::UInteger ComputePipelineState::maxTotalThreadsPerThreadgroup() const {
  return implOf(this)->maxThreads;
}
NS::UInteger ComputePipelineState::threadExecutionWidth() const { return pewter::air::kSimdWidth; }
NS::UInteger ComputePipelineState::staticThreadgroupMemoryLength() const {
  return implOf(this)->staticThreadgroupBytes;
}
bool ComputePipelineState::supportIndirectCommandBuffers() const {
  return implOf(this)->supportsIndirectCommandBuffers;
}
Size ComputePipelineState::requiredThreadsPerThreadgroup() const {
  return implOf(this)->requiredThreads;
}
ShaderValidation ComputePipelineState::shaderValidation() const {
  return implOf(this)->shaderValidation;
}
ComputePipelineReflection *ComputePipelineState::reflection() const {
  return pewter::foundation::autoreleased(newReflection(implOf(this)->backend->reflection()));
}
ResourceID ComputePipelineState::gpuResourceID() const {
  return {reinterpret_cast<uint64_t>(this)};
}
FunctionHandle *ComputePipelineState::functionHandle(const NS::String *name) {
  return makeHandle(device(), implOf(this)->functionSet, [&](const pewter::metal::Function &f) {
    return f.name == pewter::foundation::textOf(name);
  });
}
FunctionHandle *ComputePipelineState::functionHandle(const Function *function) {
  if (!function)
    return nullptr;
  return makeHandle(device(), implOf(this)->functionSet, [&](const pewter::metal::Function &f) {
    return f.identity == implOf(function)->identity;
  });
}
ComputePipelineState *ComputePipelineState::newComputePipelineState(const NS::Array *functions,
                                                                    NS::Error **error) {
  auto *state = implOf(this);
  if (!state->descriptor) {
    setError(error, ErrorDomain::Pipeline,
             {pewter::ErrorKind::Validation,
              "ComputePipelineState::newComputePipelineState: " + state->describe() +
                  " was made without supportAddingBinaryFunctions."});
    return nullptr;
  }
  std::vector<pewter::foundation::Ref<Function>> all;
  for (auto *list : {static_cast<const NS::Array *>(state->addedFunctions.get()), functions})
    for (auto &object : pewter::foundation::objectsOf(list))
      all.push_back(share(reinterpret_cast<Function *>(object.get())));
  auto more = NS::TransferPtr(pewter::foundation::newArray(std::move(all)));
  auto made = createPipelineState(*state->device, *implOf(state->descriptor.get()),
                                  PipelineOptionNone, nullptr, more.get());
  if (made)
    return *made;
  setError(error, ErrorDomain::Pipeline, made.error());
  return nullptr;
}
ComputePipelineState *
ComputePipelineState::newComputePipelineStateWithBinaryFunctions(const NS::Array *functions,
                                                                 NS::Error **error) {
  return newComputePipelineState(functions, error);
}
VisibleFunctionTable *
ComputePipelineState::newVisibleFunctionTable(const VisibleFunctionTableDescriptor *descriptor) {
  return newTable(implOf(this)->device, implOf(this)->functionSet, descriptor);
}

ComputePipelineState *Device::newComputePipelineState(const Function *computeFunction,
                                                      NS::Error **error) {
  return build(implOf(this), *descriptorFor(computeFunction).get(), PipelineOptionNone, nullptr,
               error);
}
ComputePipelineState *
Device::newComputePipelineState(const Function *computeFunction, PipelineOption options,
                                const AutoreleasedComputePipelineReflection *reflection,
                                NS::Error **error) {
  return build(implOf(this), *descriptorFor(computeFunction).get(), options, reflection, error);
}
ComputePipelineState *
Device::newComputePipelineState(const ComputePipelineDescriptor *descriptor, PipelineOption options,
                                const AutoreleasedComputePipelineReflection *reflection,
                                NS::Error **error) {
  if (!descriptor) {
    setError(
        error, ErrorDomain::Pipeline,
        {pewter::ErrorKind::Validation, "Device::newComputePipelineState: descriptor is null."});
    return nullptr;
  }
  return build(implOf(this), *implOf(descriptor), options, reflection, error);
}
void Device::newComputePipelineState(
    const ComputePipelineDescriptor *pDescriptor, PipelineOption options,
    const NewComputePipelineStateWithReflectionCompletionHandlerFunction &completionHandler) {
  background().run([this, descriptor = NS::TransferPtr(pDescriptor->copy()), options,
                    completionHandler] {
    NS::Error *error = nullptr;
    AutoreleasedComputePipelineReflection reflection = nullptr;
    auto state =
        NS::TransferPtr(newComputePipelineState(descriptor.get(), options, &reflection, &error));
    if (completionHandler)
      completionHandler(state.get(), reflection, error);
  });
}
void Device::newComputePipelineState(
    const Function *pFunction, PipelineOption options,
    const NewComputePipelineStateWithReflectionCompletionHandlerFunction &completionHandler) {
  newComputePipelineState(descriptorFor(pFunction).get(), options, completionHandler);
}
void Device::newComputePipelineState(
    const Function *pFunction,
    const NewComputePipelineStateCompletionHandlerFunction &completionHandler) {
  newComputePipelineState(descriptorFor(pFunction).get(), PipelineOptionNone,
                          [completionHandler](ComputePipelineState *state,
                                              ComputePipelineReflection *, NS::Error *error) {
                            if (completionHandler)
                              completionHandler(state, error);
                          });
}

} // namespace MTL
