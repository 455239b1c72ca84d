// SPDX-License-Identifier: Apache-2.0
//
// Order of work: read the objects' section headers; walk relocations from the entries' sections,
// adding each section a symbol leads to; lay the sections out; patch. Every number here comes from
// LLVM's own writer, yet all offsets are checked before use: the errors are internal ones.
//
// Jump tables need no care: in position-independent code their entries are differences from the
// table, which are relative relocations like any other.
//
// Stack: .stack_sizes says what each function needs. A blob's bound is the sum over all its
// functions (each is on the stack at most once, as AIR has no recursion) plus return addresses and
// the red zone.
//
// Tested by Target_test.cpp.
#include "cpu/codegen/target/LinkBlob.h"
#include <cstring>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELF.h>
#include <llvm/Support/Endian.h>
#include <llvm/Support/LEB128.h>
#include <set>

namespace pewter::cpu::codegen {
namespace {

using Elf = llvm::object::ELF64LE;
using ElfFile = llvm::object::ELFFile<Elf>;
namespace endian = llvm::support::endian;

std::unexpected<Error> broken(llvm::Error error) {
  return fail(ErrorKind::Internal, "LLVM's object file cannot be read: {}.",
              llvm::toString(std::move(error)));
}

#define PEWTER_LLVM_TRY(declaration, ...)                                                          \
  auto PEWTER_CONCAT(llvmResult, __LINE__) = (__VA_ARGS__);                                        \
  if (!PEWTER_CONCAT(llvmResult, __LINE__))                                                        \
    return broken(PEWTER_CONCAT(llvmResult, __LINE__).takeError());                                \
  declaration = std::move(*PEWTER_CONCAT(llvmResult, __LINE__))

struct SectionId {
  unsigned object = 0;
  unsigned index = 0;
  auto operator<=>(const SectionId &) const = default;
};

struct Relocation {
  uint64_t offset;
  uint32_t type;
  uint32_t symbol;
  int64_t addend;
};

struct Section {
  std::string name;
  uint64_t flags = 0;
  uint32_t type = 0;
  uint64_t alignment = 1;
  uint32_t link = 0;
  ByteView data;
  std::vector<Relocation> relocations;
};

struct Symbol {
  std::string name;
  unsigned section = 0; ///< 0: not defined in this object.
  uint64_t value = 0;
};

struct Object {
  std::vector<Section> sections;
  std::vector<Symbol> symbols;
};

Result<Object> readObject(ByteView bytes) {
  PEWTER_LLVM_TRY(ElfFile file, ElfFile::create(llvm::StringRef(
                                    reinterpret_cast<const char *>(bytes.data()), bytes.size())));
  PEWTER_LLVM_TRY(auto headers, file.sections());
  Object object;
  object.sections.resize(headers.size());
  const Elf::Shdr *symbolTable = nullptr;
  for (size_t i = 0; i < headers.size(); ++i) {
    const Elf::Shdr &header = headers[i];
    Section &section = object.sections[i];
    PEWTER_LLVM_TRY(llvm::StringRef name, file.getSectionName(header));
    section.name = name.str();
    section.flags = header.sh_flags;
    section.type = header.sh_type;
    section.alignment = std::max<uint64_t>(1, header.sh_addralign);
    section.link = header.sh_link;
    if (header.sh_type == llvm::ELF::SHT_SYMTAB)
      symbolTable = &header;
    if (header.sh_type == llvm::ELF::SHT_NOBITS || header.sh_type == llvm::ELF::SHT_NULL)
      continue;
    PEWTER_LLVM_TRY(llvm::ArrayRef<uint8_t> contents, file.getSectionContents(header));
    section.data = std::as_bytes(std::span(contents.data(), contents.size()));
  }
  for (const Elf::Shdr &header : headers) {
    if (header.sh_type != llvm::ELF::SHT_RELA)
      continue;
    if (header.sh_info >= headers.size())
      return fail(ErrorKind::Internal, "A relocation section names section [{}] of {}.",
                  unsigned(header.sh_info), headers.size());
    PEWTER_LLVM_TRY(auto entries, file.relas(header));
    for (const Elf::Rela &entry : entries)
      object.sections[header.sh_info].relocations.push_back(
          {entry.r_offset, entry.getType(false), entry.getSymbol(false), entry.r_addend});
  }
  if (symbolTable) {
    PEWTER_LLVM_TRY(llvm::StringRef names, file.getStringTableForSymtab(*symbolTable));
    PEWTER_LLVM_TRY(auto symbols, file.symbols(symbolTable));
    for (const Elf::Sym &entry : symbols) {
      PEWTER_LLVM_TRY(llvm::StringRef name, entry.getName(names));
      bool isDefined = entry.st_shndx != llvm::ELF::SHN_UNDEF && entry.st_shndx < headers.size();
      object.symbols.push_back(
          {name.str(), isDefined ? unsigned(entry.st_shndx) : 0, entry.st_value});
    }
  }
  return object;
}

class BlobLinker {
public:
  BlobLinker(compiler::TargetKind kind) : kind_(kind) {}

  Result<CodeBlob> link(ByteView bytes, std::span<const std::string> entries) {
    PEWTER_TRY(Object object, readObject(bytes));
    objects_.push_back(std::move(object));

    std::vector<std::pair<SectionId, uint64_t>> found;
    for (const std::string &name : entries) {
      const Symbol *symbol = find(objects_[0], name);
      if (!symbol)
        return fail(ErrorKind::Internal, "The compiled module does not define [{}].", name);
      found.push_back({{0, symbol->section}, symbol->value});
      PEWTER_TRY_VOID(reach({0, symbol->section}, name));
    }
    while (!pending_.empty()) {
      SectionId next = pending_.back();
      pending_.pop_back();
      PEWTER_TRY_VOID(follow(next));
    }

    CodeBlob blob;
    layOut(blob);
    for (const auto &[id, place] : places_)
      PEWTER_TRY_VOID(patch(id, blob));
    for (size_t i = 0; i < entries.size(); ++i)
      blob.entries[entries[i]] = places_[found[i].first] + found[i].second;
    PEWTER_TRY(blob.stackBytes, stackBound());
    return blob;
  }

private:
  static const Symbol *find(const Object &object, const std::string &name) {
    for (const Symbol &symbol : object.symbols)
      if (symbol.section != 0 && symbol.name == name)
        return &symbol;
    return nullptr;
  }

  const Section &sectionOf(SectionId id) const { return objects_[id.object].sections[id.index]; }

  std::string nameOf(const Object &object, const Symbol &symbol) const {
    return symbol.name.empty() ? object.sections[symbol.section].name : symbol.name;
  }

  Result<void> reach(SectionId id, const std::string &symbol) {
    if (places_.contains(id))
      return {};
    const Section &section = sectionOf(id);
    if (!(section.flags & llvm::ELF::SHF_ALLOC) || section.type == llvm::ELF::SHT_NOBITS ||
        (section.flags & (llvm::ELF::SHF_WRITE | llvm::ELF::SHF_TLS)))
      return fail(ErrorKind::Internal,
                  "Symbol [{}] is in section \"{}\"; only code and read-only data can be part of a "
                  "kernel image.",
                  symbol, section.name);
    places_[id] = 0;
    pending_.push_back(id);
    return {};
  }

  /// Where a relocation's symbol is defined, adding the support object when that defines it.
  Result<std::pair<SectionId, uint64_t>> resolve(unsigned objectIndex,
                                                 const Relocation &relocation) {
    if (relocation.symbol >= objects_[objectIndex].symbols.size())
      return fail(ErrorKind::Internal, "A relocation names symbol [{}] of {}.", relocation.symbol,
                  objects_[objectIndex].symbols.size());
    const Symbol symbol = objects_[objectIndex].symbols[relocation.symbol];
    if (symbol.section != 0)
      return std::pair(SectionId{objectIndex, symbol.section}, symbol.value);
    for (unsigned other = 0; other < objects_.size(); ++other)
      if (const Symbol *definition = find(objects_[other], symbol.name))
        return std::pair(SectionId{other, definition->section}, definition->value);
    if (objects_.size() == 1) {
      PEWTER_TRY(support_, supportObject(kind_));
      PEWTER_TRY(Object support, readObject(support_));
      if (find(support, symbol.name)) {
        objects_.push_back(std::move(support));
        return resolve(objectIndex, relocation);
      }
    }
    return fail(
        ErrorKind::Internal,
        "The kernel's machine code uses [{}], which is defined nowhere: a kernel image cannot "
        "call out by name.",
        symbol.name);
  }

  Result<void> follow(SectionId id) {
    for (size_t i = 0; i < sectionOf(id).relocations.size(); ++i) {
      const Relocation relocation = sectionOf(id).relocations[i];
      PEWTER_TRY(auto target, resolve(id.object, relocation));
      const Object &object = objects_[id.object];
      PEWTER_TRY_VOID(reach(target.first, nameOf(object, object.symbols[relocation.symbol])));
    }
    return {};
  }

  void layOut(CodeBlob &blob) {
    bool isArm = kind_ == compiler::TargetKind::CpuNeon;
#if defined(__aarch64__)
    isArm |= kind_ == compiler::TargetKind::CpuOracle;
#endif
    uint64_t end = 0;
    blob.alignment = isArm ? 4096 : 64; // AArch64 forms addresses from their page.
    for (bool isCode : {true, false})
      for (auto &[id, place] : places_) {
        const Section &section = sectionOf(id);
        if (((section.flags & llvm::ELF::SHF_EXECINSTR) != 0) != isCode)
          continue;
        place = (end + section.alignment - 1) / section.alignment * section.alignment;
        end = place + section.data.size();
        blob.alignment = std::max<uint32_t>(blob.alignment, uint32_t(section.alignment));
      }
    blob.code.resize(end);
    for (const auto &[id, place] : places_)
      if (ByteView data = sectionOf(id).data; !data.empty())
        std::memcpy(blob.code.data() + place, data.data(), data.size());
  }

  Result<void> patch(SectionId id, CodeBlob &blob) {
    const Section &section = sectionOf(id);
    for (const Relocation &relocation : section.relocations) {
      PEWTER_TRY(auto target, resolve(id.object, relocation));
      uint64_t address = places_[target.first] + target.second + uint64_t(relocation.addend);
      uint64_t at = places_[id] + relocation.offset;
      if (relocation.offset > section.data.size() || section.data.size() - relocation.offset < 4)
        return fail(ErrorKind::Internal, "A relocation of \"{}\" is at [{}], past its end.",
                    section.name, relocation.offset);
      const Object &object = objects_[id.object];
      auto where = reinterpret_cast<unsigned char *>(blob.code.data() + at);
      bool isDone = blob.alignment == 4096 ? patchArm(where, relocation.type, at, address)
                                           : patchX86(where, relocation.type, at, address);
      if (!isDone)
        return fail(
            ErrorKind::Internal,
            "Section \"{}\" needs relocation type [{}] against [{}]; only relative ones can be "
            "part of a kernel image.",
            section.name, relocation.type, nameOf(object, object.symbols[relocation.symbol]));
    }
    return {};
  }

  static bool patchX86(unsigned char *where, uint32_t type, uint64_t at, uint64_t address) {
    int64_t distance = int64_t(address - at);
    switch (type) {
    case llvm::ELF::R_X86_64_PC32:
    case llvm::ELF::R_X86_64_PLT32:
      endian::write32le(where, uint32_t(distance));
      return distance == int32_t(distance);
    case llvm::ELF::R_X86_64_PC64:
      endian::write64le(where, uint64_t(distance));
      return true;
    default:
      return false;
    }
  }

  static bool patchArm(unsigned char *where, uint32_t type, uint64_t at, uint64_t address) {
    int64_t distance = int64_t(address - at);
    uint32_t word = endian::read32le(where);
    auto setImmediate = [&](uint64_t value, unsigned shift, unsigned bits) {
      uint32_t mask = ((1u << bits) - 1) << shift;
      endian::write32le(where, (word & ~mask) | ((uint32_t(value) << shift) & mask));
      word = endian::read32le(where);
    };
    auto setSplitImmediate = [&](uint64_t value) { // ADR, ADRP: two low bits stand apart.
      setImmediate(value & 3, 29, 2);
      setImmediate(value >> 2, 5, 19);
    };
    auto setScaled = [&](unsigned scale) {
      if ((address & 0xfff) % (1u << scale) != 0)
        return false;
      setImmediate((address & 0xfff) >> scale, 10, 12);
      return true;
    };
    switch (type) {
    case llvm::ELF::R_AARCH64_PREL64:
      endian::write64le(where, uint64_t(distance));
      return true;
    case llvm::ELF::R_AARCH64_PREL32:
      endian::write32le(where, uint32_t(distance));
      return distance == int32_t(distance);
    case llvm::ELF::R_AARCH64_CALL26:
    case llvm::ELF::R_AARCH64_JUMP26:
      setImmediate(uint64_t(distance) >> 2, 0, 26);
      return distance % 4 == 0 && distance >= -(1 << 27) && distance < (1 << 27);
    case llvm::ELF::R_AARCH64_ADR_PREL_LO21:
      setSplitImmediate(uint64_t(distance));
      return distance >= -(1 << 20) && distance < (1 << 20);
    case llvm::ELF::R_AARCH64_LD_PREL_LO19:
      setImmediate(uint64_t(distance) >> 2, 5, 19);
      return distance % 4 == 0 && distance >= -(1 << 20) && distance < (1 << 20);
    case llvm::ELF::R_AARCH64_ADR_PREL_PG_HI21:
      setSplitImmediate(uint64_t(int64_t(address >> 12) - int64_t(at >> 12)));
      return true;
    case llvm::ELF::R_AARCH64_ADD_ABS_LO12_NC:
    case llvm::ELF::R_AARCH64_LDST8_ABS_LO12_NC:
      return setScaled(0);
    case llvm::ELF::R_AARCH64_LDST16_ABS_LO12_NC:
      return setScaled(1);
    case llvm::ELF::R_AARCH64_LDST32_ABS_LO12_NC:
      return setScaled(2);
    case llvm::ELF::R_AARCH64_LDST64_ABS_LO12_NC:
      return setScaled(3);
    case llvm::ELF::R_AARCH64_LDST128_ABS_LO12_NC:
      return setScaled(4);
    default:
      return false;
    }
  }

  /// A .stack_sizes section belongs to the code section that it links to: (address, LEB128 size)
  /// pairs.
  Result<uint32_t> stackBound() const {
    constexpr uint64_t perCall = 16, redZone = 128;
    uint64_t total = redZone;
    for (unsigned o = 0; o < objects_.size(); ++o)
      for (const Section &section : objects_[o].sections) {
        if (section.name != ".stack_sizes" || !places_.contains({o, section.link}))
          continue;
        auto at = reinterpret_cast<const uint8_t *>(section.data.data());
        auto end = at + section.data.size();
        while (at != end) {
          unsigned length = 0;
          const char *error = nullptr;
          if (end - at < 9)
            return fail(ErrorKind::Internal,
                        "The stack size record of the object file is cut off.");
          total += perCall + llvm::decodeULEB128(at + 8, &length, end, &error);
          if (error)
            return fail(ErrorKind::Internal, "The stack size record cannot be read: {}.", error);
          at += 8 + length;
        }
      }
    if (total > (32u << 20))
      return fail(ErrorKind::Compile,
                  "The kernel needs [{}] bytes of stack for one SIMD group; the limit is 32 MiB.",
                  total);
    return uint32_t(total);
  }

  compiler::TargetKind kind_;
  Bytes support_; ///< Backs the second object, if any.
  std::vector<Object> objects_;
  std::map<SectionId, uint64_t>
      places_; ///< Sections that are part of the blob, and where they stand.
  std::vector<SectionId> pending_;
};

} // namespace

Result<CodeBlob> linkBlob(ByteView object, compiler::TargetKind kind,
                          std::span<const std::string> entries) {
  return BlobLinker(kind).link(object, entries);
}

} // namespace pewter::cpu::codegen
