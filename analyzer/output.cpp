#include "output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace pincheck {

Written write_stdout(std::string_view text) {
    while (!text.empty()) {
        const ssize_t done = write(STDOUT_FILENO, text.data(), text.size());
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            return errno == EPIPE ? Written::reader_gone : Written::failed;
        }
        text.remove_prefix(static_cast<std::size_t>(done));
    }
    return Written::yes;
}

int exit_status_of(Written written) {
    if (written == Written::failed) {
        std::fprintf(stderr, "pincheck: cannot write to standard output: %s; what was written is not complete\n",
                     std::strerror(errno));
        return 2;
    }
    return 0;
}

}  // namespace pincheck
