// SPDX-License-Identifier: Apache-2.0
//
// The few names of Apple's dispatch library that Metal programs need: data objects to load a library
// from, semaphores to bound the work in flight, and queues as handles (a queue here runs nothing by
// itself; MTL::SharedEventListener uses it only as an identity). Objects are reference counted.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PEWTER_DISPATCH_EXPORT __attribute__((visibility("default")))
#else
#define PEWTER_DISPATCH_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dispatch_data_s *dispatch_data_t;
typedef struct dispatch_queue_s *dispatch_queue_t;
typedef struct dispatch_semaphore_s *dispatch_semaphore_t;
typedef struct dispatch_queue_attr_s *dispatch_queue_attr_t;
typedef uint64_t dispatch_time_t;
typedef void (*dispatch_data_destructor_t)(void);

#define DISPATCH_TIME_NOW (0ull)
#define DISPATCH_TIME_FOREVER (~0ull)
#define DISPATCH_QUEUE_SERIAL ((dispatch_queue_attr_t)0)
#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define USEC_PER_SEC 1000000ull
#define NSEC_PER_USEC 1000ull

/// The bytes are copied when the data object is made.
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT ((dispatch_data_destructor_t)0)
/// The bytes came from malloc and go to free with the data object.
PEWTER_DISPATCH_EXPORT void pewter_dispatch_data_destructor_free(void);
#define DISPATCH_DATA_DESTRUCTOR_FREE (&pewter_dispatch_data_destructor_free)

/// A data object over `size` bytes. With any other destructor the bytes are used where they are and
/// the destructor is called when the object dies.
PEWTER_DISPATCH_EXPORT dispatch_data_t dispatch_data_create(const void *buffer, size_t size,
                                                            dispatch_queue_t queue,
                                                            dispatch_data_destructor_t destructor);
PEWTER_DISPATCH_EXPORT size_t dispatch_data_get_size(dispatch_data_t data);

PEWTER_DISPATCH_EXPORT dispatch_queue_t dispatch_queue_create(const char *label,
                                                              dispatch_queue_attr_t attributes);
PEWTER_DISPATCH_EXPORT dispatch_queue_t dispatch_get_main_queue(void);
PEWTER_DISPATCH_EXPORT dispatch_queue_t dispatch_get_global_queue(intptr_t identifier,
                                                                  uintptr_t flags);

PEWTER_DISPATCH_EXPORT dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
/// 0 when the semaphore was taken, another value when the timeout passed first.
PEWTER_DISPATCH_EXPORT intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore,
                                                        dispatch_time_t timeout);
PEWTER_DISPATCH_EXPORT intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
/// A moment `delta` nanoseconds after `when`.
PEWTER_DISPATCH_EXPORT dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta);

#ifdef __cplusplus
}

/// dispatch_retain and dispatch_release take any of the objects above.
PEWTER_DISPATCH_EXPORT void pewter_dispatch_retain(void *object);
PEWTER_DISPATCH_EXPORT void pewter_dispatch_release(void *object);
template <class Object> inline void dispatch_retain(Object object) {
  pewter_dispatch_retain(static_cast<void *>(object));
}
template <class Object> inline void dispatch_release(Object object) {
  pewter_dispatch_release(static_cast<void *>(object));
}
#endif
