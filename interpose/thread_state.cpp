#include "thread_state.h"

namespace pincheck {

thread_local constinit ThreadState t_thread __attribute__((tls_model("initial-exec")));

}  // namespace pincheck
