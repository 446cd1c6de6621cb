// Writes the first input for report_reader_fuzz: the sample report behind a byte that asks for sound checksums.
#include <cstdio>

#include "tests/unit/report_test_sample.h"

int main(int argc, char** argv) {
    using namespace pincheck::report;
    if (argc != 2) {
        std::fprintf(stderr, "usage: report_fuzz_seed FILE\n");
        return 2;
    }
    const test::ImageOwner image = test::make_image();
    const test::TempFile file;
    test::fill_sample(*image);
    if (!image->snapshot(file.descriptor(), 1, FileState::ended).written) {
        return 1;
    }
    const auto bytes = file.bytes();
    std::ofstream out(argv[1], std::ios::binary);
    out << '\1';
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return out ? 0 : 1;
}
