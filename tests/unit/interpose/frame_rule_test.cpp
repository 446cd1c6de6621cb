// Rules of frames against what readelf makes of the same tables, row by row, in this program and in libraries that are
// there anyway; and tables that are damaged.
#include "interpose/frame_rule.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace pincheck {
namespace {

TEST(FrameRule, SaysWhatItWasMadeOf) {
    for (const bool from_frame_pointer : {false, true}) {
        for (std::int64_t offset = 8; offset < 0x10000; offset += 8) {
            for (std::int64_t saved : {0, 16, 24, 56}) {
                const FrameRule rule = FrameRule::plain(from_frame_pointer, offset, saved);
                // Whatever stands above it in a cache's word.
                const FrameRule read(0xabcdeull << FrameRule::kBits | rule.bits());
                ASSERT_TRUE(read.is_plain());
                ASSERT_FALSE(read.is_end() || read.is_aligned() || read.is_complex());
                ASSERT_EQ(read.from_frame_pointer(), from_frame_pointer);
                ASSERT_EQ(read.offset(), static_cast<std::uintptr_t>(offset));
                ASSERT_EQ(read.is_saved(), saved != 0);
                if (saved != 0) {
                    ASSERT_EQ(read.saved_below(), static_cast<std::uintptr_t>(saved));
                }
            }
        }
    }
    EXPECT_TRUE(FrameRule::end().is_end());
    EXPECT_TRUE(FrameRule::complex().is_complex());
    EXPECT_TRUE(FrameRule::aligned(16).is_aligned());
    EXPECT_EQ(FrameRule::aligned(0).aligned_below(), 0u);
    EXPECT_EQ(FrameRule::aligned(16).aligned_below(), 16u);
}

TEST(FrameRule, LeavesOutWhatHasNoRoom) {
    for (const std::int64_t offset : {0, -8, 12, 0x10000}) {
        EXPECT_TRUE(FrameRule::plain(false, offset, 0).is_complex()) << offset;
    }
    for (const std::int64_t saved : {8, -16, 20, 64}) {
        EXPECT_TRUE(FrameRule::plain(false, 64, saved).is_complex()) << saved;
    }
    for (const std::int64_t below : {-8, 4, 0x2000}) {
        EXPECT_TRUE(FrameRule::aligned(below).is_complex()) << below;
    }
}

// A line of readelf's table: where the row begins, the CFA, and columns by name. "c-16": at CFA - 16, "u": not said or
// undefined, "exp" and "vexp": an expression.
FrameRule rule_from_text(const std::map<std::string, std::string>& columns) {
    const auto column = [&](const char* name) {
        const auto found = columns.find(name);
        return found != columns.end() ? found->second : std::string("u");
    };
    const std::string cfa = column("CFA");
    const std::string saved = column("rbp");
    if (column("ra") == "u") {
        return FrameRule::end();
    }
    if (column("ra") != "c-8" || (column("rsp") != "u" && column("rsp") != "s")) {
        return FrameRule::complex();
    }
    const bool from_frame_pointer = cfa.compare(0, 4, "rbp+") == 0;
    if ((!from_frame_pointer && cfa.compare(0, 4, "rsp+") != 0)) {
        return FrameRule::complex();
    }
    std::int64_t below = 0;
    if (saved.compare(0, 2, "c-") == 0) {
        below = std::strtol(saved.c_str() + 2, nullptr, 10);
    } else if (saved != "u" && saved != "s") {
        return FrameRule::complex();
    }
    return FrameRule::plain(from_frame_pointer, std::strtol(cfa.c_str() + 4, nullptr, 10), below);
}

struct Compared {
    long plain = 0;
    long complex = 0;
    long aligned = 0;
    long end = 0;
};

// Compares every row of the object's .eh_frame.
Compared compare_with_readelf(const ElfObject& object, const std::string& path) {
    Compared compared;
    FILE* text = popen(("readelf -wF '" + path + "' 2>/dev/null").c_str(), "r");
    EXPECT_NE(text, nullptr);
    std::vector<std::string> names;
    char line[2000];
    std::uintptr_t end = 0;
    bool in_entry = false;
    int wrong = 0;
    struct Pending {
        std::uintptr_t begin;
        FrameRule rule;
        bool has_expression;
    };
    std::vector<Pending> rows;
    const auto finish = [&] {
        for (std::size_t i = 0; in_entry && i < rows.size(); ++i) {
            const std::uintptr_t next = i + 1 < rows.size() ? rows[i + 1].begin : end;
            if (next <= rows[i].begin) {
                continue;  // replaced at once
            }
            for (const std::uintptr_t address : {rows[i].begin, next - 1}) {
                // A return address is one past the byte that is looked up.
                const FrameRule found = find_frame_rule(object, object.base + address + 1);
                const bool same = found == rows[i].rule || (found.is_aligned() && rows[i].has_expression);
                if (!same && ++wrong <= 5) {
                    ADD_FAILURE() << path << " at " << std::hex << address << ": " << found.bits() << ", not "
                                  << rows[i].rule.bits();
                }
                compared.plain += found.is_plain() ? 1 : 0;
                compared.complex += found.is_complex() ? 1 : 0;
                compared.aligned += found.is_aligned() ? 1 : 0;
                compared.end += found.is_end() ? 1 : 0;
            }
        }
        rows.clear();
        in_entry = false;
    };
    while (std::fgets(line, sizeof(line), text) != nullptr) {
        std::istringstream words(line);
        std::vector<std::string> fields;
        for (std::string word; words >> word;) {
            if (word[0] != '(') {  // a register's other name
                fields.push_back(word);
            }
        }
        if (fields.size() >= 6 && fields[3] == "FDE") {
            finish();
            unsigned long from = 0;
            unsigned long to = 0;
            in_entry = std::sscanf(fields[5].c_str(), "pc=%lx..%lx", &from, &to) == 2;
            end = to;
        } else if (!fields.empty() && fields[0] == "LOC") {
            names.assign(fields.begin() + 1, fields.end());
        } else if (fields.size() == names.size() + 1 && fields[0].size() == 16 && in_entry) {
            std::map<std::string, std::string> columns;
            for (std::size_t i = 0; i < names.size(); ++i) {
                columns[names[i]] = fields[i + 1];
            }
            rows.push_back(
                {std::strtoul(fields[0].c_str(), nullptr, 16), rule_from_text(columns), columns["CFA"] == "exp"});
        } else if (fields.size() >= 4 && fields[3] != "FDE") {
            finish();  // a common entry
        }
    }
    finish();
    pclose(text);
    return compared;
}

struct Loaded {
    ElfObject object;
    std::string path;
};
std::vector<Loaded> loaded_objects() {
    process_started();
    std::vector<Loaded> all;
    for_each_object([&](const ElfObject& object) {
        const std::string path = object.path[0] == '\0' ? std::filesystem::read_symlink("/proc/self/exe").string()
                                                        : std::string(object.path);
        if (path.find('/') != std::string::npos) {
            all.push_back({object, path});
        }
        return false;
    });
    return all;
}

TEST(FrameRules, AreThoseThatReadelfPrints) {
    ASSERT_EQ(std::system("readelf --version >/dev/null 2>&1"), 0);
    void* aligning = dlopen(PINCHECK_CALL_SHAPES "/libcall_shapes_O3.so", RTLD_NOW);
    ASSERT_NE(aligning, nullptr) << dlerror();
    Compared all;
    for (const Loaded& loaded : loaded_objects()) {
        const Compared compared = compare_with_readelf(loaded.object, loaded.path);
        EXPECT_GT(compared.plain, 0) << loaded.path;
        all.plain += compared.plain;
        all.complex += compared.complex;
        all.aligned += compared.aligned;
        all.end += compared.end;
    }
    EXPECT_GT(all.plain, 10000);
    EXPECT_GT(all.complex, 0);
    EXPECT_GT(all.aligned, 0);
    EXPECT_GT(all.end, 0);
    // What the walk is for: nearly all code.
    EXPECT_LT(all.complex * 20, all.plain);
    dlclose(aligning);
}

TEST(FrameRules, OutsideOfEveryFunctionAreComplex) {
    for (const Loaded& loaded : loaded_objects()) {
        EXPECT_TRUE(find_frame_rule(loaded.object, loaded.object.begin + 1).is_complex());
        EXPECT_TRUE(find_frame_rule(loaded.object, loaded.object.end).is_complex());
        EXPECT_TRUE(find_frame_rule(loaded.object, 0).is_complex());
    }
}

// A copy of this program's tables, to be damaged. The address sanitizer sees reads beyond it.
class DamagedTables : public testing::Test {
  protected:
    void SetUp() override {
        const Loaded self = loaded_objects().at(0);
        object_ = self.object;
        std::uintptr_t table = 0;
        for (std::size_t i = 0; i < object_.header_count; ++i) {
            headers_.push_back(object_.headers[i]);
            if (headers_[i].p_type == PT_GNU_EH_FRAME) {
                table = headers_[i].p_vaddr;
            }
        }
        for (const ElfW(Phdr) & header : headers_) {
            if (header.p_type == PT_LOAD && table >= header.p_vaddr && table < header.p_vaddr + header.p_filesz) {
                segment_ = header;
            }
        }
        ASSERT_NE(segment_.p_filesz, 0u);
        // By the kernel: the segment holds variables that the address sanitizer has fenced.
        whole_.resize(segment_.p_filesz);
        std::ifstream memory("/proc/self/mem", std::ios::binary);
        memory.seekg(static_cast<std::streamoff>(object_.base + segment_.p_vaddr));
        memory.read(reinterpret_cast<char*>(whole_.data()), static_cast<std::streamsize>(whole_.size()));
        ASSERT_TRUE(memory.good());
        table_at_ = table - segment_.p_vaddr;
        // Other segments are not there.
        for (ElfW(Phdr) & header : headers_) {
            if (header.p_type == PT_LOAD && header.p_vaddr != segment_.p_vaddr) {
                header.p_type = PT_NULL;
            }
        }
    }

    FrameRule find_in(const std::vector<unsigned char>& bytes, std::uintptr_t address) const {
        ElfObject copy = object_;
        copy.base = reinterpret_cast<std::uintptr_t>(bytes.data()) - segment_.p_vaddr;
        copy.headers = headers_.data();
        return find_frame_rule(copy, copy.base + address);
    }

    ElfObject object_;
    std::vector<ElfW(Phdr)> headers_;
    ElfW(Phdr) segment_{};
    std::vector<unsigned char> whole_;
    std::size_t table_at_ = 0;
};

TEST_F(DamagedTables, GiveSomeRuleAndNoCrash) {
    const std::uintptr_t here = reinterpret_cast<std::uintptr_t>(&compare_with_readelf) + 20 - object_.base;
    ASSERT_EQ(find_in(whole_, here), find_frame_rule(object_, object_.base + here));
    ASSERT_TRUE(find_in(whole_, here).is_plain());
    std::mt19937_64 random(7);
    std::vector<unsigned char> bytes = whole_;
    long changed = 0;
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::pair<std::size_t, unsigned char>> before;
        for (int i = 0; i < 200; ++i) {
            // In the look-up table's head and anywhere in what follows it.
            const std::size_t at = table_at_ + (i == 0 ? random() % 16 : random() % (bytes.size() - table_at_));
            before.emplace_back(at, bytes[at]);
            bytes[at] = static_cast<unsigned char>(random());
        }
        for (int i = 0; i < 20; ++i) {
            const std::uintptr_t address = i == 0 ? here : random() % (object_.end - object_.begin);
            changed += find_in(bytes, address) == find_in(whole_, address) ? 0 : 1;
        }
        for (auto entry = before.rbegin(); entry != before.rend(); ++entry) {
            bytes[entry->first] = entry->second;
        }
    }
    EXPECT_GT(changed, 0);
}

TEST_F(DamagedTables, CutOffAnywhereGiveSomeRuleAndNoCrash) {
    std::mt19937_64 random(8);
    for (int round = 0; round < 500; ++round) {
        const std::size_t size = table_at_ + random() % (whole_.size() - table_at_);
        const std::vector<unsigned char> bytes(whole_.begin(), whole_.begin() + static_cast<std::ptrdiff_t>(size));
        for (ElfW(Phdr) & header : headers_) {
            if (header.p_type == PT_LOAD) {
                header.p_filesz = size;
            }
        }
        for (int i = 0; i < 50; ++i) {
            find_in(bytes, random() % (object_.end - object_.begin));
        }
    }
}

}  // namespace
}  // namespace pincheck
