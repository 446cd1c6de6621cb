#include "names.h"

#include <unordered_map>

namespace simcupti {
namespace {

struct Name {
    const char* name;
    std::uint32_t id;
};
// Made from the headers by CMakeLists.txt.
constexpr Name kDriver[] = {
#include "cupti_driver_names.inc"
};
constexpr Name kRuntime[] = {
#include "cupti_runtime_names.inc"
};

using Ids = std::unordered_map<std::string_view, std::uint32_t>;

std::string_view without_version(std::string_view name) {
    return name.substr(0, name.rfind("_v"));
}

const Ids& driver_ids() {
    static const Ids& ids = *new Ids([] {
        Ids made;
        for (const Name& entry : kDriver)
            made[entry.name] = entry.id;
        return made;
    }());
    return ids;
}

const Ids& runtime_ids() {
    static const Ids& ids = *new Ids([] {
        Ids made;
        for (const Name& entry : kRuntime)
            made[without_version(entry.name)] = entry.id;  // in the header's order: a newer version is a later one
        return made;
    }());
    return ids;
}

template <std::size_t count>
const char* find(const Name (&names)[count], std::uint32_t id) {
    for (const Name& entry : names)
        if (entry.id == id)
            return entry.name;
    return nullptr;
}

const Name kResults[] = {
#include "cupti_result_names.inc"
};

}  // namespace

std::uint32_t id_of(CUpti_CallbackDomain domain, std::string_view symbol) {
    const Ids& ids = domain == CUPTI_CB_DOMAIN_DRIVER_API ? driver_ids() : runtime_ids();
    const auto it = ids.find(symbol);
    return it == ids.end() ? 0 : it->second;
}

}  // namespace simcupti

using namespace simcupti;

SIM_EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
    if (!name)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    *name = domain == CUPTI_CB_DOMAIN_DRIVER_API    ? find(kDriver, id)
            : domain == CUPTI_CB_DOMAIN_RUNTIME_API ? find(kRuntime, id)
                                                    : nullptr;
    return *name ? CUPTI_SUCCESS : finish(CUPTI_ERROR_INVALID_PARAMETER);
}

SIM_EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
    if (!text)
        return finish(CUPTI_ERROR_INVALID_PARAMETER);
    *text = find(kResults, static_cast<std::uint32_t>(result));
    return *text ? CUPTI_SUCCESS : finish(CUPTI_ERROR_INVALID_PARAMETER);
}
