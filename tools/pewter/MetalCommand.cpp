// SPDX-License-Identifier: Apache-2.0
// `pewter metal` and `pewter metallib`: the command lines of Apple's `xcrun metal` and `xcrun metallib`,
// for build systems that call those. An .air file is a container with the kernels of one source, which
// `pewter metallib` (or `pewter metal` without -c) puts into one library; bitcode that Apple's compiler
// wrote is accepted in its place. Options that choose what is compiled are honoured, those that only
// matter to Apple's tools are ignored, and any other is an error.
#include "air/Metallib.h"
#include "device/CompilerLibrary.h"
#include "pewter/Commands.h"
#include "pewter/LibraryInput.h"
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

namespace pewter::tools {
namespace {

namespace fs = std::filesystem;

struct MetalOptions {
  std::vector<std::string> inputs;
  std::string output;
  bool compileOnly = false;
  bool checkOnly = false;    ///< -fsyntax-only
  bool printVersion = false; ///< --version
  std::vector<std::string> libraries, libraryDirectories; ///< -l, -L
  InputOptions source;
  std::vector<std::string> forcedIncludes;
  bool warningsAsErrors = false;
  bool silent = false; ///< -w
  bool writeDependencies = false;
  std::string dependencyFile, dependencyTarget;
};

/// "metal3.1", "macos-metal2.4", "ios-metal2.0": the language version.
Result<uint32_t> languageNamed(const std::string &name) {
  size_t at = name.find("metal");
  unsigned major = 0, minor = 0;
  char rest = 0;
  if (at == std::string::npos ||
      std::sscanf(name.c_str() + at, "metal%u.%u%c", &major, &minor, &rest) != 2 || major < 1 ||
      major > 4)
    return fail(ErrorKind::Validation,
                "Language \"{}\" is not of the form metal3.1 or macos-metal2.4.", name);
  return major << 16 | minor;
}

class MetalArguments {
public:
  explicit MetalArguments(const std::vector<std::string> &arguments) : arguments_(arguments) {}

  Result<MetalOptions> parse() {
    options_.source.enableLogging = false;
    while (at_ < arguments_.size()) {
      const std::string &argument = arguments_[at_++];
      if (argument.empty() || argument[0] != '-' || argument == "-")
        options_.inputs.push_back(argument);
      else
        PEWTER_TRY_VOID(option(argument));
    }
    if (options_.inputs.empty() && !options_.printVersion)
      return fail(ErrorKind::Validation, "No input file is named.");
    return std::move(options_);
  }

private:
  /// The text behind an option's name, or the next argument.
  Result<void> read(const std::string &argument, size_t nameLength, std::string &value) {
    if (argument.size() == nameLength && at_ == arguments_.size())
      return fail(ErrorKind::Validation, "Option \"{}\" has no value.", argument);
    value = argument.size() > nameLength ? argument.substr(nameLength) : arguments_[at_++];
    return {};
  }
  Result<void> append(const std::string &argument, size_t nameLength,
                      std::vector<std::string> &values) {
    return read(argument, nameLength, values.emplace_back());
  }

  Result<void> option(const std::string &argument) {
    auto starts = [&](std::string_view text) { return argument.starts_with(text); };
    InputOptions &source = options_.source;
    if (argument == "-include")
      return append(argument, 8, options_.forcedIncludes);
    if (starts("-isystem"))
      return append(argument, 8, source.includeDirectories);
    if (starts("-iquote"))
      return append(argument, 7, source.includeDirectories);
    if (starts("-I"))
      return append(argument, 2, source.includeDirectories);
    if (starts("-D"))
      return append(argument, 2, source.macros);
    if (starts("-U")) {
      std::string macro;
      PEWTER_TRY_VOID(read(argument, 2, macro));
      std::erase_if(source.macros,
                    [&](const std::string &m) { return m.substr(0, m.find('=')) == macro; });
      return {};
    }
    if (argument == "-install_name")
      return read(argument, argument.size(), source.installName);
    if (starts("-l"))
      return append(argument, 2, options_.libraries);
    if (starts("-L"))
      return append(argument, 2, options_.libraryDirectories);
    if (starts("-o"))
      return read(argument, 2, options_.output);
    if (starts("-MF")) {
      options_.writeDependencies = true;
      return read(argument, 3, options_.dependencyFile);
    }
    if (starts("-MT"))
      return read(argument, 3, options_.dependencyTarget);
    if (starts("-std=")) {
      PEWTER_TRY(source.languageVersion, languageNamed(argument.substr(5)));
      return {};
    }
    if (starts("-x")) {
      std::string language;
      PEWTER_TRY_VOID(read(argument, 2, language));
      source.isSource = language == "metal";
      if (!source.isSource)
        return fail(ErrorKind::Unsupported, "Language \"{}\" of -x is not metal.", language);
      return {};
    }
    if (starts("-fmetal-math-mode=")) {
      source.mathMode = argument.substr(18);
      PEWTER_TRY_VOID(mathModeNamed(source.mathMode));
      return {};
    }
    return flag(argument);
  }

  Result<void> flag(const std::string &argument) {
    if (argument == "-c")
      options_.compileOnly = true;
    else if (argument == "-ffast-math")
      options_.source.mathMode = "fast";
    else if (argument == "-fno-fast-math")
      options_.source.mathMode = "safe";
    else if (argument == "-fmetal-enable-logging")
      options_.source.enableLogging = true;
    else if (argument == "-fmetal-math-fp32-functions=precise")
      options_.source.preciseFunctions = true;
    else if (argument == "-fmetal-math-fp32-functions=fast")
      options_.source.preciseFunctions = false;
    else if (argument == "-Werror")
      options_.warningsAsErrors = true;
    else if (argument == "-w")
      options_.silent = true;
    else if (argument == "-dynamiclib")
      options_.source.isDynamic = true;
    else if (argument == "-fsyntax-only")
      options_.checkOnly = true;
    else if (argument == "--version" || argument == "-version")
      options_.printVersion = true;
    else if (argument == "-MMD" || argument == "-MD")
      options_.writeDependencies = true;
    else
      return ignored(argument);
    return {};
  }

  /// Options that matter to Apple's tools and choose nothing here.
  Result<void> ignored(const std::string &argument) {
    static const std::set<std::string> kFlags = {
        "-g", "-gline-tables-only", "-MO", "-MP", "-v", "-q", "-fpreserve-invariance", "-fcikernel",
        "-fno-inline", "-finline-functions", "-funroll-loops", "-fno-unroll-loops", "-fvectorize",
        "-fno-vectorize", "-fno-caret-diagnostics", "-fno-exceptions", "-fno-rtti", "-pipe"};
    static const std::set<std::string> kWithValue = {"-target", "--target", "-isysroot", "-arch",
                                                     "-sdk", "-MQ"};
    if (kWithValue.contains(argument)) {
      std::string value;
      return read(argument, argument.size(), value);
    }
    for (const char *start :
         {"-O", "-W", "-mmacosx-version-min=", "-mios-version-min=", "-mtargetos=", "--target=",
          "-frecord-sources", "-ferror-limit=", "-ftemplate-depth=", "-fmodules-cache-path=", "-fdiagnostics",
          "-fcolor", "-ffp-contract="})
      if (argument.starts_with(start))
        return {};
    if (kFlags.contains(argument))
      return {};
    for (const char *kind : {"-E", "-S", "-emit-llvm", "-M", "-MM"})
      if (argument == kind)
        return fail(ErrorKind::Unsupported,
                    "Option \"{}\" asks for something other than a library, which is not supported.",
                    argument);
    return fail(ErrorKind::Validation, "Option \"{}\" is not known.", argument);
  }

  const std::vector<std::string> &arguments_;
  size_t at_ = 0;
  MetalOptions options_;
};

std::string escaped(const std::string &path) {
  std::string text;
  for (char c : path) {
    if (c == ' ' || c == '#' || c == '\\')
      text += '\\';
    text += c == '$' ? "$$" : std::string(1, c);
  }
  return text;
}

Result<void> writeDependencies(const MetalOptions &options, const std::string &output,
                               const std::vector<std::string> &files) {
  const std::string target = options.dependencyTarget.empty() ? output : options.dependencyTarget;
  std::string text = escaped(target) + ":";
  for (const std::string &file : files)
    text += " \\\n  " + escaped(file);
  text += "\n";
  const fs::path file = options.dependencyFile.empty() ? fs::path(output).replace_extension(".d")
                                                       : fs::path(options.dependencyFile);
  return writeFileAtomically(file, viewOf(text));
}

/// One source as a container.
Result<Bytes> compileOne(const MetalOptions &options, const std::string &input,
                         const std::string &output) {
  InputOptions one = options.source;
  one.path = input;
  one.warningsAsErrors = options.warningsAsErrors;
  one.silent = options.silent;
  for (const std::string &file : options.forcedIncludes)
    one.prologue += "#include \"" + file + "\"\n";
  if (!one.prologue.empty())
    one.prologue += "#line 1 \"" + input + "\"\n";
  std::vector<std::string> files;
  PEWTER_TRY(Bytes library, loadLibrary(one, &files));
  if (options.writeDependencies)
    PEWTER_TRY_VOID(writeDependencies(options, output, files));
  return library;
}

/// To a file, or with "-" to the standard output.
Result<void> writeOutput(const std::string &output, ByteView bytes) {
  if (output != "-")
    return writeFileAtomically(output, bytes);
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || std::fflush(stdout) != 0)
    return fail(ErrorKind::Io, "The standard output cannot be written.");
  return {};
}

/// What the libraries of -l export, each a file libNAME.metallib in a folder of -L.
Result<std::vector<std::string>> exportedSymbols(const MetalOptions &options) {
  std::set<std::string> symbols;
  for (const std::string &name : options.libraries) {
    std::vector<std::string> folders = options.libraryDirectories;
    folders.push_back(".");
    const auto holds = [&](const std::string &folder) {
      return fs::exists(fs::path(folder) / ("lib" + name + ".metallib"));
    };
    const auto folder = std::ranges::find_if(folders, holds);
    if (folder == folders.end())
      return fail(ErrorKind::Io, "Library \"lib{}.metallib\" of -l is in none of the {} folders of -L.",
                  name, folders.size());
    const fs::path path = fs::path(*folder) / ("lib" + name + ".metallib");
    PEWTER_TRY(const Bytes file, readFile(path));
    Result<air::Metallib> library = air::readMetallib(file);
    if (!library)
      return std::unexpected(
          std::move(library).error().whileDoing("reading \"" + path.string() + "\""));
    for (const air::MetallibFunction &function : library->functions)
      if (function.kind == air::MetallibFunctionKind::Unqualified)
        symbols.insert(function.name);
  }
  return std::vector<std::string>(symbols.begin(), symbols.end());
}

/// All functions of several containers in one; two of one name are an error.
Result<void> link(const std::vector<std::pair<std::string, Bytes>> &parts, const std::string &output) {
  air::Metallib whole;
  whole.madeByPewter = true;
  std::map<std::string, std::string> seen;
  for (const auto &[name, bytes] : parts) {
    Result<air::Metallib> part = air::readMetallib(bytes);
    if (!part)
      return std::unexpected(std::move(part).error().whileDoing("reading \"" + name + "\""));
    if (part->fileType == air::MetallibFileType::Dynamic) {
      whole.fileType = part->fileType;
      whole.installName = part->installName;
    }
    for (air::MetallibFunction &function : part->functions) {
      auto [former, isNew] = seen.emplace(function.name, name);
      if (!isNew)
        return fail(ErrorKind::Validation, "Function \"{}\" is in \"{}\" and in \"{}\".", function.name,
                    former->second, name);
      whole.functions.push_back(std::move(function));
    }
  }
  PEWTER_TRY(Bytes library, air::writeMetallib(whole));
  return writeOutput(output, library);
}

Result<void> metal(const std::vector<std::string> &arguments) {
  PEWTER_TRY(MetalOptions options, MetalArguments(arguments).parse());
  if (options.printVersion) {
    fmt::print("Pewter metal compiler {}\nTarget: air64-apple-macosx15.0.0\n",
               device::compilerBuildId());
    return {};
  }
  if (options.source.isDynamic && options.source.installName.empty())
    return fail(ErrorKind::Validation, "-dynamiclib needs an -install_name.");
  PEWTER_TRY(options.source.linkedSymbols, exportedSymbols(options));
  if (options.checkOnly) {
    for (const std::string &input : options.inputs)
      PEWTER_TRY_VOID(compileOne(options, input, input));
    return {};
  }
  if (options.compileOnly) {
    if (options.inputs.size() > 1 && !options.output.empty())
      return fail(ErrorKind::Validation, "-o names one file, but -c makes one for each of {} inputs.",
                  options.inputs.size());
    for (const std::string &input : options.inputs) {
      const std::string output = options.output.empty()
                                     ? fs::path(input).filename().replace_extension(".air").string()
                                     : options.output;
      PEWTER_TRY(Bytes library, compileOne(options, input, output));
      PEWTER_TRY_VOID(writeOutput(output, library));
    }
    return {};
  }
  const std::string output = options.output.empty() ? "default.metallib" : options.output;
  std::vector<std::pair<std::string, Bytes>> parts;
  for (const std::string &input : options.inputs) {
    PEWTER_TRY(Bytes library, compileOne(options, input, output));
    parts.emplace_back(input, std::move(library));
  }
  return link(parts, output);
}

constexpr const char kMetalUsage[] =
    "pewter metal [OPTIONS] INPUT...\n"
    "Compiles .metal sources and links them and .air files to a library, with the options of `xcrun metal`.\n\n"
    "  -c                  compile each source to an .air file; do not link\n"
    "  -o FILE             write FILE (without it default.metallib, or INPUT.air with -c)\n"
    "  -I DIR  -D NAME[=V]  -include FILE     as clang has them\n"
    "  -std=metal3.2       version of the language\n"
    "  -ffast-math  -fno-fast-math  -fmetal-math-mode=fast|relaxed|safe\n"
    "  -MD  -MMD  -MF FILE  -MT NAME          write the dependencies for make\n"
    "  -w  -Werror         no warnings; warnings are errors\n"
    "  -dynamiclib -install_name NAME         make a dynamic library\n"
    "  -l NAME  -L DIR     link against the dynamic library libNAME.metallib in DIR\n"
    "  -fsyntax-only       only check\n"
    "  -target TRIPLE, -O..., -g, -W...       accepted\n";
constexpr const char kMetallibUsage[] =
    "pewter metallib [-o FILE] INPUT...\n"
    "Links .air files and libraries to one library (default.metallib without -o). Two kernels of one name are\n"
    "an error.\n";

/// A subcommand that gets its arguments as they are, clang-like options and all.
void addDriver(CLI::App &app, int &status, const char *name, const char *description,
               const char *usage, Result<void> (*run)(const std::vector<std::string> &)) {
  CLI::App *command = app.add_subcommand(name, description);
  command->prefix_command();
  command->set_help_flag();
  command->callback([command, usage, run, &status] {
    const std::vector<std::string> arguments = command->remaining();
    if (std::ranges::find(arguments, "--help") != arguments.end())
      fmt::print("{}", usage);
    else
      status = report(run(arguments));
  });
}

} // namespace

void addMetal(CLI::App &app, int &status) {
  addDriver(app, status, "metal",
            "Compile and link as `xcrun metal` does: [-c] [-o FILE] [-I DIR] [-D NAME] [-std=...] INPUT...",
            kMetalUsage, metal);
  addDriver(app, status, "metallib", "Link .air files as `xcrun metallib` does: A.air B.air -o X.metallib",
            kMetallibUsage, metal);
}

bool isMetalCommandLine(int argc, char **argv) {
  if (argc < 3 || std::string(argv[1]) != "compile")
    return false;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    for (const char *option : {"-c", "-x", "-MMD", "-MD", "-MF", "-target", "-Werror", "-w", "-include"})
      if (argument == option)
        return true;
    for (const char *start : {"-std=", "-O", "-f", "-W", "-mmacosx-version-min="})
      if (argument.starts_with(start))
        return true;
  }
  return false;
}

} // namespace pewter::tools
