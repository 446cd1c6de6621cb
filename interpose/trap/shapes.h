// The wrapped functions by the shape of their arguments. For each shape: the result, the parameters, the arguments as
// they are passed on, and what the user is told before (`tell` is a Teller, access.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdio>
#include <ctime>

#define PINCHECK_RESULT_into_buffer ssize_t
#define PINCHECK_PARAMS_into_buffer (int file, void* memory, std::size_t bytes)
#define PINCHECK_ARGS_into_buffer file, memory, bytes
#define PINCHECK_TELL_into_buffer tell.buffer(memory, bytes, Way::into_memory)

#define PINCHECK_RESULT_into_buffer_checked ssize_t
#define PINCHECK_PARAMS_into_buffer_checked (int file, void* memory, std::size_t bytes, std::size_t room)
#define PINCHECK_ARGS_into_buffer_checked file, memory, bytes, room
#define PINCHECK_TELL_into_buffer_checked tell.buffer(memory, bytes, Way::into_memory)

#define PINCHECK_RESULT_into_buffer_at ssize_t
#define PINCHECK_PARAMS_into_buffer_at (int file, void* memory, std::size_t bytes, off_t offset)
#define PINCHECK_ARGS_into_buffer_at file, memory, bytes, offset
#define PINCHECK_TELL_into_buffer_at tell.buffer(memory, bytes, Way::into_memory)

#define PINCHECK_RESULT_into_buffer_at_checked ssize_t
#define PINCHECK_PARAMS_into_buffer_at_checked \
    (int file, void* memory, std::size_t bytes, off_t offset, std::size_t room)
#define PINCHECK_ARGS_into_buffer_at_checked file, memory, bytes, offset, room
#define PINCHECK_TELL_into_buffer_at_checked tell.buffer(memory, bytes, Way::into_memory)

#define PINCHECK_RESULT_from_buffer ssize_t
#define PINCHECK_PARAMS_from_buffer (int file, const void* memory, std::size_t bytes)
#define PINCHECK_ARGS_from_buffer file, memory, bytes
#define PINCHECK_TELL_from_buffer tell.buffer(memory, bytes, Way::from_memory)

#define PINCHECK_RESULT_from_buffer_at ssize_t
#define PINCHECK_PARAMS_from_buffer_at (int file, const void* memory, std::size_t bytes, off_t offset)
#define PINCHECK_ARGS_from_buffer_at file, memory, bytes, offset
#define PINCHECK_TELL_from_buffer_at tell.buffer(memory, bytes, Way::from_memory)

#define PINCHECK_RESULT_into_vector ssize_t
#define PINCHECK_PARAMS_into_vector (int file, const iovec* parts, int count)
#define PINCHECK_ARGS_into_vector file, parts, count
#define PINCHECK_TELL_into_vector tell.vector(parts, static_cast<std::size_t>(count), Way::into_memory)

#define PINCHECK_RESULT_into_vector_at ssize_t
#define PINCHECK_PARAMS_into_vector_at (int file, const iovec* parts, int count, off_t offset)
#define PINCHECK_ARGS_into_vector_at file, parts, count, offset
#define PINCHECK_TELL_into_vector_at PINCHECK_TELL_into_vector

#define PINCHECK_RESULT_into_vector_flags ssize_t
#define PINCHECK_PARAMS_into_vector_flags (int file, const iovec* parts, int count, off_t offset, int flags)
#define PINCHECK_ARGS_into_vector_flags file, parts, count, offset, flags
#define PINCHECK_TELL_into_vector_flags PINCHECK_TELL_into_vector

#define PINCHECK_RESULT_from_vector ssize_t
#define PINCHECK_PARAMS_from_vector PINCHECK_PARAMS_into_vector
#define PINCHECK_ARGS_from_vector PINCHECK_ARGS_into_vector
#define PINCHECK_TELL_from_vector tell.vector(parts, static_cast<std::size_t>(count), Way::from_memory)

#define PINCHECK_RESULT_from_vector_at ssize_t
#define PINCHECK_PARAMS_from_vector_at PINCHECK_PARAMS_into_vector_at
#define PINCHECK_ARGS_from_vector_at PINCHECK_ARGS_into_vector_at
#define PINCHECK_TELL_from_vector_at PINCHECK_TELL_from_vector

#define PINCHECK_RESULT_from_vector_flags ssize_t
#define PINCHECK_PARAMS_from_vector_flags PINCHECK_PARAMS_into_vector_flags
#define PINCHECK_ARGS_from_vector_flags PINCHECK_ARGS_into_vector_flags
#define PINCHECK_TELL_from_vector_flags PINCHECK_TELL_from_vector

#define PINCHECK_RESULT_spliced_vector ssize_t
#define PINCHECK_PARAMS_spliced_vector (int file, const iovec* parts, std::size_t count, unsigned flags)
#define PINCHECK_ARGS_spliced_vector file, parts, count, flags
#define PINCHECK_TELL_spliced_vector tell.vector(parts, count, Way::from_memory)

// The other process's memory counts when it is this one's.
#define PINCHECK_RESULT_into_process_vector ssize_t
#define PINCHECK_PARAMS_into_process_vector                                                                   \
    (pid_t process, const iovec* parts, unsigned long count, const iovec* remote, unsigned long remote_count, \
     unsigned long flags)
#define PINCHECK_ARGS_into_process_vector process, parts, count, remote, remote_count, flags
#define PINCHECK_TELL_into_process_vector                    \
    tell.vector(parts, count, Way::into_memory);             \
    if (is_this_process(process)) {                          \
        tell.vector(remote, remote_count, Way::from_memory); \
    }

#define PINCHECK_RESULT_from_process_vector ssize_t
#define PINCHECK_PARAMS_from_process_vector PINCHECK_PARAMS_into_process_vector
#define PINCHECK_ARGS_from_process_vector PINCHECK_ARGS_into_process_vector
#define PINCHECK_TELL_from_process_vector                    \
    tell.vector(parts, count, Way::from_memory);             \
    if (is_this_process(process)) {                          \
        tell.vector(remote, remote_count, Way::into_memory); \
    }

#define PINCHECK_RESULT_receive ssize_t
#define PINCHECK_PARAMS_receive (int file, void* memory, std::size_t bytes, int flags)
#define PINCHECK_ARGS_receive file, memory, bytes, flags
#define PINCHECK_TELL_receive tell.buffer(memory, bytes, Way::into_memory)

#define PINCHECK_RESULT_receive_checked ssize_t
#define PINCHECK_PARAMS_receive_checked (int file, void* memory, std::size_t bytes, std::size_t room, int flags)
#define PINCHECK_ARGS_receive_checked file, memory, bytes, room, flags
#define PINCHECK_TELL_receive_checked PINCHECK_TELL_receive

#define PINCHECK_RESULT_receive_from ssize_t
#define PINCHECK_PARAMS_receive_from \
    (int file, void* memory, std::size_t bytes, int flags, sockaddr* address, socklen_t* address_bytes)
#define PINCHECK_ARGS_receive_from file, memory, bytes, flags, address, address_bytes
#define PINCHECK_TELL_receive_from                \
    tell.buffer(memory, bytes, Way::into_memory); \
    tell.pointer(address);                        \
    tell.pointer(address_bytes)

#define PINCHECK_RESULT_receive_from_checked ssize_t
#define PINCHECK_PARAMS_receive_from_checked                                                    \
    (int file, void* memory, std::size_t bytes, std::size_t room, int flags, sockaddr* address, \
     socklen_t* address_bytes)
#define PINCHECK_ARGS_receive_from_checked file, memory, bytes, room, flags, address, address_bytes
#define PINCHECK_TELL_receive_from_checked PINCHECK_TELL_receive_from

#define PINCHECK_RESULT_receive_message ssize_t
#define PINCHECK_PARAMS_receive_message (int file, msghdr* header, int flags)
#define PINCHECK_ARGS_receive_message file, header, flags
#define PINCHECK_TELL_receive_message tell.message(header, Way::into_memory)

#define PINCHECK_RESULT_receive_messages int
#define PINCHECK_PARAMS_receive_messages (int file, mmsghdr* headers, unsigned count, int flags, timespec* limit)
#define PINCHECK_ARGS_receive_messages file, headers, count, flags, limit
#define PINCHECK_TELL_receive_messages tell.messages(headers, count, Way::into_memory)

#define PINCHECK_RESULT_send ssize_t
#define PINCHECK_PARAMS_send (int file, const void* memory, std::size_t bytes, int flags)
#define PINCHECK_ARGS_send file, memory, bytes, flags
#define PINCHECK_TELL_send tell.buffer(memory, bytes, Way::from_memory)

#define PINCHECK_RESULT_send_to ssize_t
#define PINCHECK_PARAMS_send_to \
    (int file, const void* memory, std::size_t bytes, int flags, const sockaddr* address, socklen_t address_bytes)
#define PINCHECK_ARGS_send_to file, memory, bytes, flags, address, address_bytes
#define PINCHECK_TELL_send_to                     \
    tell.buffer(memory, bytes, Way::from_memory); \
    tell.buffer(address, address_bytes, Way::from_memory)

#define PINCHECK_RESULT_send_message ssize_t
#define PINCHECK_PARAMS_send_message (int file, const msghdr* header, int flags)
#define PINCHECK_ARGS_send_message file, header, flags
#define PINCHECK_TELL_send_message tell.message(header, Way::from_memory)

#define PINCHECK_RESULT_send_messages int
#define PINCHECK_PARAMS_send_messages (int file, mmsghdr* headers, unsigned count, int flags)
#define PINCHECK_ARGS_send_messages file, headers, count, flags
#define PINCHECK_TELL_send_messages tell.messages(headers, count, Way::from_memory)

#define PINCHECK_RESULT_into_stream_items std::size_t
#define PINCHECK_PARAMS_into_stream_items (void* memory, std::size_t size, std::size_t count, std::FILE* stream)
#define PINCHECK_ARGS_into_stream_items memory, size, count, stream
#define PINCHECK_TELL_into_stream_items tell.items(memory, size, count, Way::into_memory)

#define PINCHECK_RESULT_into_stream_items_checked std::size_t
#define PINCHECK_PARAMS_into_stream_items_checked \
    (void* memory, std::size_t room, std::size_t size, std::size_t count, std::FILE* stream)
#define PINCHECK_ARGS_into_stream_items_checked memory, room, size, count, stream
#define PINCHECK_TELL_into_stream_items_checked PINCHECK_TELL_into_stream_items

#define PINCHECK_RESULT_from_stream_items std::size_t
#define PINCHECK_PARAMS_from_stream_items (const void* memory, std::size_t size, std::size_t count, std::FILE* stream)
#define PINCHECK_ARGS_from_stream_items memory, size, count, stream
#define PINCHECK_TELL_from_stream_items tell.items(memory, size, count, Way::from_memory)

#define PINCHECK_RESULT_random_bytes ssize_t
#define PINCHECK_PARAMS_random_bytes (void* memory, std::size_t bytes, unsigned flags)
#define PINCHECK_ARGS_random_bytes memory, bytes, flags
#define PINCHECK_TELL_random_bytes tell.buffer(memory, bytes, Way::into_memory)

#define PINCHECK_RESULT_entropy int
#define PINCHECK_PARAMS_entropy (void* memory, std::size_t bytes)
#define PINCHECK_ARGS_entropy memory, bytes
#define PINCHECK_TELL_entropy tell.buffer(memory, bytes, Way::into_memory)

#define PINCHECK_RESULT_device_request int
#define PINCHECK_PARAMS_device_request (int file, unsigned long request, void* argument)
#define PINCHECK_ARGS_device_request file, request, argument
#define PINCHECK_TELL_device_request tell.device_request(request, argument)

// As libc's does, this reads six arguments wherever the caller left fewer.
#define PINCHECK_RESULT_system_call long
#define PINCHECK_PARAMS_system_call (long number, long a, long b, long c, long d, long e, long f)
#define PINCHECK_ARGS_system_call number, a, b, c, d, e, f
#define PINCHECK_TELL_system_call tell.system_call(number, {a, b, c, d, e, f})

#define PINCHECK_RESULT_map void*
#define PINCHECK_PARAMS_map (void* address, std::size_t bytes, int protection, int flags, int file, off_t offset)
#define PINCHECK_ARGS_map address, bytes, protection, flags, file, offset
#define PINCHECK_TELL_map tell.map(address, bytes, flags)

#define PINCHECK_RESULT_change int
#define PINCHECK_PARAMS_change (void* address, std::size_t bytes)
#define PINCHECK_ARGS_change address, bytes
#define PINCHECK_TELL_change tell.change(address, bytes)

#define PINCHECK_RESULT_unmap int
#define PINCHECK_PARAMS_unmap (void* address, std::size_t bytes)
#define PINCHECK_ARGS_unmap address, bytes
#define PINCHECK_TELL_unmap tell.unmap(address, bytes)

#define PINCHECK_RESULT_change_with_int int
#define PINCHECK_PARAMS_change_with_int (void* address, std::size_t bytes, int how)
#define PINCHECK_ARGS_change_with_int address, bytes, how
#define PINCHECK_TELL_change_with_int PINCHECK_TELL_change

#define PINCHECK_RESULT_change_with_unsigned int
#define PINCHECK_PARAMS_change_with_unsigned (void* address, std::size_t bytes, unsigned how)
#define PINCHECK_ARGS_change_with_unsigned address, bytes, how
#define PINCHECK_TELL_change_with_unsigned PINCHECK_TELL_change

#define PINCHECK_RESULT_change_with_two_ints int
#define PINCHECK_PARAMS_change_with_two_ints (void* address, std::size_t bytes, int protection, int key)
#define PINCHECK_ARGS_change_with_two_ints address, bytes, protection, key
#define PINCHECK_TELL_change_with_two_ints PINCHECK_TELL_change

#define PINCHECK_RESULT_move void*
#define PINCHECK_PARAMS_move (void* address, std::size_t old_bytes, std::size_t new_bytes, int flags, void* target)
#define PINCHECK_ARGS_move address, old_bytes, new_bytes, flags, target
#define PINCHECK_TELL_move tell.move(address, old_bytes, new_bytes, flags, target)
