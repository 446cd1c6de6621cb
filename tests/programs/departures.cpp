// Leaves calls, and threads, in ways that run no ordinary return: its argument says which. Over the stub driver of
// tests/bench, which calls back from inside a copy.
//   longjmp    ten copies are left by longjmp, ten by an exception; then 20 ordinary ones
//   cancel     four threads are cancelled inside a copy, four end by pthread_exit there; then 20 ordinary ones
//   tls        four threads; each makes 5 copies, 5 in a destructor of a thread_local object and 5 in one of a
//              pthread key
//   cancel-first  the process's first copy, and 19 more, come from a thread that is to be cancelled at its next
//              cancellation point, of which a copy is none
//   small-stack  the first copies of the process, 20, come from a thread with the smallest stack there may be
// Must be recorded: every copy that returned, all from pageable memory (longjmp, cancel: 20; tls: 60).
#include "stub_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

namespace {

using InCopy = void (*)();
InCopy* in_copy = nullptr;
char pageable[kStubBytes];

__attribute__((noinline)) int upload(int calls) {
    int failed = 0;
    for (int i = 0; i < calls; ++i) {
        failed |= cudaMemcpyAsync(kStubDevice, pageable, sizeof pageable, 1, nullptr);
    }
    return failed;
}

std::jmp_buf out;

int left_by_longjmp() {
    static int left = 0;  // static: a longjmp leaves them alone
    static int i = 0;
    for (; i < 10; ++i) {
        if (setjmp(out) == 0) {
            *in_copy = [] { std::longjmp(out, 1); };
            upload(1);
        } else {
            ++left;
        }
    }
    for (i = 0; i < 10; ++i) {
        try {
            *in_copy = [] { throw 1; };
            upload(1);
        } catch (const int&) {
            ++left;
        }
    }
    *in_copy = nullptr;
    return left;
}

void* cancelled(void*) {
    upload(1);
    return nullptr;
}

int left_by_threads() {
    int ended = 0;
    for (int i = 0; i < 8; ++i) {
        if (i % 2 == 0) {
            *in_copy = [] {
                pthread_cancel(pthread_self());
                pthread_testcancel();
            };
        } else {
            *in_copy = [] { pthread_exit(PTHREAD_CANCELED); };
        }
        pthread_t thread{};
        pthread_create(&thread, nullptr, cancelled, nullptr);
        void* result = nullptr;
        pthread_join(thread, &result);
        ended += result == PTHREAD_CANCELED ? 1 : 0;
    }
    *in_copy = nullptr;
    return ended;
}

struct CallsAtItsEnd {
    bool used = false;
    ~CallsAtItsEnd() { upload(5); }
};
thread_local CallsAtItsEnd calls_at_its_end;

int left_in_destructors() {
    pthread_key_t key{};
    pthread_key_create(&key, [](void*) { upload(5); });
    pthread_t threads[4];
    for (pthread_t& thread : threads) {
        pthread_create(
            &thread, nullptr,
            [](void* data) -> void* {
                calls_at_its_end.used = true;
                pthread_setspecific(*static_cast<pthread_key_t*>(data), data);
                upload(5);
                return nullptr;
            },
            &key);
    }
    for (const pthread_t thread : threads) {
        pthread_join(thread, nullptr);
    }
    return 4;
}

int copies_returned = 0;

int from_a_cancelled_thread() {
    pthread_t thread{};
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
            pthread_cancel(pthread_self());
            for (int i = 0; i < 20; ++i) {
                upload(1);
                ++copies_returned;
            }
            pthread_testcancel();
            return nullptr;
        },
        nullptr);
    void* result = nullptr;
    pthread_join(thread, &result);
    return result == PTHREAD_CANCELED ? 1 : 0;
}

int from_a_small_stack() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
    pthread_t thread{};
    pthread_create(
        &thread, &attributes, [](void*) -> void* { return upload(20) == 0 ? &pageable : nullptr; }, nullptr);
    void* result = nullptr;
    pthread_join(thread, &result);
    return result != nullptr ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const char* const how = argc > 1 ? argv[1] : "";
    in_copy = static_cast<InCopy*>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "stub_in_copy"));
    if (in_copy == nullptr) {
        return 2;
    }
    if (std::strcmp(how, "cancel-first") == 0) {
        const int cancelled_late = from_a_cancelled_thread();
        std::printf("cancelled %d after %d copies\n", cancelled_late, copies_returned);
        return 0;
    }
    if (std::strcmp(how, "small-stack") == 0) {
        std::printf("failed %d\n", from_a_small_stack());
        return 0;
    }
    if (std::strcmp(how, "tls") == 0) {
        std::printf("threads %d\n", left_in_destructors());
        return 0;
    }
    const int left = std::strcmp(how, "longjmp") == 0 ? left_by_longjmp() : left_by_threads();
    const int failed = upload(20);
    std::printf("left %d, failed %d\n", left, failed);
    return 0;
}
