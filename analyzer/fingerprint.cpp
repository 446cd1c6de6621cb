#include "fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "findings.h"
#include "names.h"

namespace pincheck {
namespace {

// So many functions tell call paths apart; more would make a change far out in the program a change of everything.
constexpr std::size_t kFunctions = 4;

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

constexpr bool is_hexadecimal(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

// FNV-1a, which is the same everywhere and for ever.
std::string hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
    return fmt::format("{:016x}", hash);
}

// What a compiler appends to the name of a function that it split or copied.
bool is_clone_suffix(std::string_view part) {
    static constexpr std::array<std::string_view, 10> kSuffixes = {
        "cold", "isra", "part", "constprop", "lto_priv", "localalias", "llvm", "clone", "ipa", "sra"};
    return !part.empty() &&
           (std::ranges::all_of(part, is_digit) || std::ranges::find(kSuffixes, part) != kSuffixes.end());
}

void drop_clone_suffixes(std::string& name) {
    for (std::size_t dot = name.rfind('.'); dot != name.npos && dot != 0; dot = name.rfind('.')) {
        if (!is_clone_suffix(std::string_view(name).substr(dot + 1))) {
            return;
        }
        name.resize(dot);
    }
}

// Rust's "::h0123456789abcdef", which changes with every compiler.
void drop_rust_hash(std::string& name) {
    constexpr std::size_t kLength = 19;
    if (name.size() > kLength && name.compare(name.size() - kLength, 3, "::h") == 0 &&
        std::all_of(name.end() - 16, name.end(), is_hexadecimal)) {
        name.resize(name.size() - kLength);
    }
}

// nvcc names anonymous namespaces after the file and a hash of it.
void rename_anonymous(std::string& name) {
    constexpr std::string_view kMark = "_GLOBAL__N_";
    for (std::size_t at = name.find(kMark); at != name.npos; at = name.find(kMark, at + 1)) {
        const std::size_t end = std::min(name.find("::", at), name.size());
        name.replace(at, end - at, "{anonymous}");
    }
}

// "-1.2.3", or the hash that a wheel's or test's build appends.
void drop_version(std::string& stem) {
    const std::size_t dash = stem.rfind('-');
    if (dash == stem.npos || dash == 0) {
        return;
    }
    const std::string_view tail = std::string_view(stem).substr(dash + 1);
    const bool version =
        !tail.empty() && is_digit(tail[0]) && std::ranges::all_of(tail, [](char c) { return is_digit(c) || c == '.'; });
    const bool hash =
        tail.size() >= 8 && std::ranges::all_of(tail, is_hexadecimal) && std::ranges::any_of(tail, is_digit);
    if (version || hash) {
        stem.resize(dash);
    }
}

struct Party {
    std::vector<std::string> functions;
    std::vector<std::string> places;
};

std::string base_of(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1));
}

class PartyMaker {
  public:
    PartyMaker(const Capture& capture, const Origins& origins) : capture_(capture), origins_(origins) {}

    void add(const CaptureFrame& frame) {
        const std::string module =
            frame.module < capture_.modules.size() ? stable_module(capture_.modules[frame.module].path) : "?";
        const std::string offset =
            frame.module < capture_.modules.size() ? fmt::format("{}+{:x}", module, frame.offset) : "?";
        bool known = false;
        for (const SourceLine& line : frame.lines) {
            if (origins_.is_runtime_line(line)) {
                continue;
            }
            known = true;
            add(module + '!' + stable_function(line.function),
                line.exact && !line.file.empty() ? fmt::format("{}:{}", base_of(line.file), line.line) : offset);
        }
        if (!known) {
            add(module + '!', offset);
        }
    }
    bool empty() const { return party_.functions.empty(); }
    Party take() { return std::move(party_); }

  private:
    void add(std::string function, std::string place) {
        if (party_.places.size() == kFunctions) {
            return;
        }
        // How deep a recursion was does not matter.
        if (party_.functions.empty() || party_.functions.back() != function) {
            party_.functions.push_back(std::move(function));
            party_.places.push_back(std::move(place));
        }
    }

    const Capture& capture_;
    const Origins& origins_;
    Party party_;
};

Party party_of(const Capture& capture, const CaptureSite& site, const Origins& origins) {
    PartyMaker maker(capture, origins);
    const int issuing = issuing_frame(capture, site, origins);
    if (issuing < 0) {
        return {};
    }
    const auto first = static_cast<std::size_t>(issuing);
    if ((site.flags & report::kSiteExactStack) != 0 || site.kind == report::SiteKind::host_access) {
        for (std::size_t i = first; i < site.stack.size(); ++i) {
            if (origins.of(capture, site.stack[i]) == Origin::user) {
                maker.add(site.stack[i]);
            }
        }
    }
    if (maker.empty()) {
        maker.add(site.stack[first]);
    }
    return maker.take();
}

// Sites of one hidden wait differ in the frames of a library below the user's.
Party heading_of(const Capture& capture, const CaptureSite& site, int heading, const Origins& origins) {
    PartyMaker maker(capture, origins);
    if (heading >= 0 && static_cast<std::size_t>(heading) < site.stack.size()) {
        maker.add(site.stack[static_cast<std::size_t>(heading)]);
    }
    return maker.take();
}

// Texts from a report may hold anything; a length in front of each keeps their borders.
class Key {
  public:
    void add(std::string_view text) { text_ += fmt::format("{}:{},", text.size(), text); }
    void add(const std::vector<std::string>& texts) {
        add(std::to_string(texts.size()));
        for (const std::string& text : texts) {
            add(text);
        }
    }
    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

const CaptureSite* site_at(const Capture& capture, std::uint32_t id) {
    return id == 0 || id > capture.sites.size() ? nullptr : &capture.sites[id - 1];
}

void add_memory(Key& key, const CaptureSite& site) {
    key.add(name(site.direction));
    key.add(name(site.source.kind));
    key.add(name(site.destination.kind));
}

}  // namespace

std::string stable_function(std::string_view function) {
    // Of "f() [clone .cold]", which is how a demangler shows it.
    std::string name = bare_name(function.substr(0, function.find(" [clone ")));
    drop_clone_suffixes(name);
    drop_rust_hash(name);
    rename_anonymous(name);
    return name;
}

std::string stable_module(std::string_view path) {
    std::string name = base_of(path.substr(0, path.find(" (deleted)")));
    for (const std::string_view end : {".cpython-", ".abi3.", ".so."}) {
        name.resize(std::min(name.find(end), name.size()));
    }
    if (name.ends_with(".so")) {
        name.resize(name.size() - 3);
    }
    drop_version(name);
    return name;
}

std::string stable_api(std::string_view api) {
    for (bool dropped = true; dropped;) {
        dropped = false;
        for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
            if (api.ends_with(suffix)) {
                api.remove_suffix(suffix.size());
                dropped = true;
            }
        }
        if (api.size() > 3 && api[api.size() - 3] == '_' && api[api.size() - 2] == 'v' && is_digit(api.back())) {
            api.remove_suffix(3);
            dropped = true;
        }
    }
    return std::string(api);
}

Identity identity_of(const Capture& capture, const Finding& finding, const Origins& origins) {
    std::vector<std::pair<std::string, std::string>> parties;  // what is stable of them, and where they are
    const auto add = [&](const CaptureSite& site, const std::string& api, const Party& party) {
        Key key;
        key.add(stable_api(api));
        if (!finding.cause) {
            add_memory(key, site);
        }
        key.add(party.functions);
        Key place;
        place.add(party.places);
        parties.emplace_back(key.text(), place.text());
    };
    if (const CaptureSite* site = site_at(capture, finding.site)) {
        add(*site, finding.api,
            finding.cause ? heading_of(capture, *site, finding.heading, origins) : party_of(capture, *site, origins));
    }
    if (const CaptureSite* other = site_at(capture, finding.other_site)) {
        add(*other, called_api(capture, *other, origins), party_of(capture, *other, origins));
    }
    // Which of two copies is in flight when the other one comes is chance.
    std::ranges::sort(parties);
    Key key;
    Key place;
    key.add(slug_of(finding.rule));
    key.add(finding.cause ? name(*finding.cause) : "");
    for (const auto& [stable, where] : parties) {
        key.add(stable);
        place.add(where);
    }
    return {"v1:" + hash_of(key.text()), hash_of(place.text())};
}

}  // namespace pincheck
