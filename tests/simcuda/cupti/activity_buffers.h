// The program's buffers: asked for when a record needs room, handed back when they are full, on a flush, and at the
// end. No lock is held while the program's functions run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "library.h"

namespace simcupti {

// Where the records of one thread's calls go, or those of every thread
// (CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER).
// Never destroyed: a thread may have work on its way when it ends.
class Queue;
Queue& this_threads_queue();

// Makes room for a record to come, which may ask the program for a buffer.
void reserve(Queue& queue, std::size_t bytes);
// A record that finds no room is counted as dropped.
void append(Queue& queue, std::span<const std::byte> record);

enum class Flush { complete, forced };
// Hands all buffers over, and waits for those that another thread is handing over. The forced one also hands over empty
// ones and records of works that have not ended.
CUptiResult flush(Flush kind);

void forget_buffers();

// Whether buffers belong to threads; the default since CUPTI 13.
void set_buffer_per_thread(bool wanted);
bool buffer_per_thread();

}  // namespace simcupti
