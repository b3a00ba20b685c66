// SPDX-License-Identifier: Apache-2.0
#include "harness/command_line.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace benchgate {
namespace {

std::string flagOf(const Option& option) { return "--" + option.name; }

/// Returns the option that the argument sets, or nullptr.
const Option* findOption(const std::vector<Option>& options, std::string_view argument) {
    const std::string_view flag = argument.substr(0, argument.find('='));
    const auto found =
        std::find_if(options.begin(), options.end(), [flag](const Option& option) { return flagOf(option) == flag; });
    return found == options.end() ? nullptr : &*found;
}

/// Sets the option from `--name=value` and returns the value.
std::string_view setOption(const Option& option, std::string_view argument) {
    const std::string flag = flagOf(option);
    if (argument == flag) {
        throw std::invalid_argument{flag + ": needs a value, as in " + flag + "=<value>"};
    }
    const std::string_view value = argument.substr(flag.size() + 1);
    try {
        option.set(value);
    } catch (const std::invalid_argument& error) {
        throw std::invalid_argument{flag + ": " + error.what()};
    }
    return value;
}

/// Returns whether a benchmark's name can begin right after this part of a filter.
bool endsWhereNamesBegin(std::string_view filter) {
    return filter.empty() || filter == "-" || std::string_view{"^(|"}.find(filter.back()) != std::string_view::npos;
}

}  // namespace

std::vector<ContextEntry> takeOptions(const std::vector<Option>& options, int& argc, char** argv) {
    std::map<const Option*, std::string_view> given;
    int left = std::min(argc, 1);
    for (int i = left; i < argc; ++i) {
        if (const Option* const option = findOption(options, argv[i])) {
            given[option] = argv[i];
        } else {
            argv[left++] = argv[i];
        }
    }
    argc = left;
    argv[argc] = nullptr;

    std::vector<ContextEntry> entries;
    entries.reserve(given.size());
    for (const auto& [option, argument] : given) {
        entries.emplace_back("benchgate_option_" + option->name, setOption(*option, argument));
    }
    return entries;
}

std::string expandAliases(const std::vector<Alias>& aliases, std::string_view filter) {
    std::string expanded;
    while (!filter.empty()) {
        const auto alias = std::find_if(aliases.begin(), aliases.end(), [filter](const Alias& candidate) {
            return filter.starts_with(candidate.shorthand);
        });
        if (alias != aliases.end() && endsWhereNamesBegin(expanded)) {
            expanded += alias->prefix;
            filter.remove_prefix(alias->shorthand.size());
        } else {
            expanded += filter.front();
            filter.remove_prefix(1);
        }
    }
    return expanded;
}

std::string describeCommandLine(const Suite& suite) {
    std::string text;
    for (const Option& option : suite.options) {
        text += "          [" + flagOf(option) + "=<value>]" + (option.help.empty() ? "" : "  " + option.help) + '\n';
    }
    for (const Alias& alias : suite.aliases) {
        text += "          " + alias.shorthand + " in --benchmark_filter stands for " + alias.prefix + '\n';
    }
    return text.empty() ? text : "suite " + suite.name + '\n' + text;
}

}  // namespace benchgate
