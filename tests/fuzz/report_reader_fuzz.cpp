// libFuzzer entry: any bytes through the reader and the dump. An odd first byte asks for sound checksums, so that the
// fuzzer need not guess them; the report starts after it.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/dump.h"
#include "report/reader.h"
#include "report_mutate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pincheck;
    if (size == 0) {
        return 0;
    }
    std::vector<std::uint8_t> bytes(data + 1, data + size);
    if (data[0] % 2 == 1) {
        report::fuzz::reseal(bytes);
    }
    const report::ReadResult read = report::read_report(bytes.data(), bytes.size(), "fuzzed.pcr");
    if (read.error == report::ReadError::none) {
        dump(read.report, "fuzzed.pcr");
    } else if (read.message.empty()) {
        __builtin_trap();
    }
    return 0;
}
