// SPDX-License-Identifier: Apache-2.0
#include "runner/Collectives.h"
#include "base/Half.h"
#include <cmath>
#include <cstring>
#include <functional>

namespace pewter::testing {
namespace {

bool isFloat(Format format) {
  return format == Format::F16 || format == Format::BF16 || format == Format::F32;
}

uint64_t loadBits(const void *address, uint32_t index, Format format) {
  uint32_t size = ValueType{format}.elementBytes();
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char *>(address) + size_t(index) * size, size);
  return format == Format::I1 ? bits & 1 : bits;
}
void storeBits(void *address, uint32_t index, Format format, uint64_t bits) {
  uint32_t size = ValueType{format}.elementBytes();
  std::memcpy(static_cast<char *>(address) + size_t(index) * size, &bits, size);
}

float toFloat(uint64_t bits, Format format) {
  if (format == Format::F16)
    return floatFromHalf(uint16_t(bits));
  if (format == Format::BF16)
    return floatFromBfloat(uint16_t(bits));
  return std::bit_cast<float>(uint32_t(bits));
}
uint64_t fromFloat(float value, Format format) {
  if (format == Format::F16)
    return halfFromFloat(value);
  if (format == Format::BF16)
    return bfloatFromFloat(value);
  return std::bit_cast<uint32_t>(value);
}

int64_t signExtend(uint64_t bits, Format format) {
  switch (format) {
  case Format::I8:
    return int8_t(bits);
  case Format::I16:
    return int16_t(bits);
  case Format::I32:
    return int32_t(bits);
  default:
    return int64_t(bits);
  }
}

/// One element of every lane, as raw bits; lanes that take no part hold nothing.
struct Lanes {
  std::array<uint64_t, 32> bits{};
  std::array<bool, 32> isActive{};
};

enum class Operation { Sum, Product, Min, Max, And, Or, Xor };

struct Combine {
  Operation operation;
  bool isSigned;
  Format format;

  float identityFloat() const {
    switch (operation) {
    case Operation::Sum:
      return -0.0f;
    case Operation::Product:
      return 1.0f;
    default:
      return NAN; // minnum and maxnum give the other operand.
    }
  }
  float operator()(float a, float b) const {
    switch (operation) {
    case Operation::Sum:
      return a + b;
    case Operation::Product:
      return a * b;
    case Operation::Min:
      return std::isnan(a) ? b : std::isnan(b) ? a : b < a ? b : a;
    default:
      return std::isnan(a) ? b : std::isnan(b) ? a : b > a ? b : a;
    }
  }
  uint64_t identityBits() const {
    uint64_t top = uint64_t(1) << (8 * ValueType{format}.elementBytes() - 1);
    switch (operation) {
    case Operation::Sum:
    case Operation::Or:
    case Operation::Xor:
      return 0;
    case Operation::Product:
      return 1;
    case Operation::And:
      return ~uint64_t(0);
    case Operation::Min:
      return isSigned ? top - 1 : ~uint64_t(0);
    case Operation::Max:
      return isSigned ? top : 0;
    }
    return 0;
  }
  uint64_t operator()(uint64_t a, uint64_t b) const {
    uint64_t mask = format == Format::I64
                        ? ~uint64_t(0)
                        : (uint64_t(1) << (8 * ValueType{format}.elementBytes())) - 1;
    auto isLess = [&](uint64_t x, uint64_t y) {
      return isSigned ? signExtend(x, format) < signExtend(y, format) : (x & mask) < (y & mask);
    };
    switch (operation) {
    case Operation::Sum:
      return a + b;
    case Operation::Product:
      return a * b;
    case Operation::And:
      return a & b;
    case Operation::Or:
      return a | b;
    case Operation::Xor:
      return a ^ b;
    case Operation::Min:
      return isLess(b, a) ? b : a;
    case Operation::Max:
      return isLess(a, b) ? b : a;
    }
    return 0;
  }
};

/// Halves: lane l and lane l + width / 2, and so on, in groups of `width` lanes.
template <class T>
void reduceTree(std::array<T, 32> &values, uint32_t width, const Combine &combine) {
  for (uint32_t base = 0; base < 32; base += width) {
    for (uint32_t step = width / 2; step > 0; step /= 2)
      for (uint32_t lane = 0; lane < step; ++lane)
        values[base + lane] = combine(values[base + lane], values[base + lane + step]);
    for (uint32_t lane = 1; lane < width; ++lane)
      values[base + lane] = values[base];
  }
}

template <class T>
void prefix(std::array<T, 32> &values, uint32_t width, const Combine &combine, bool isExclusive,
            T first) {
  for (uint32_t step = 1; step < width; step *= 2) {
    std::array<T, 32> before = values;
    for (uint32_t lane = 0; lane < 32; ++lane)
      if (lane % width >= step)
        values[lane] = combine(before[lane - step], before[lane]);
  }
  if (!isExclusive)
    return;
  std::array<T, 32> before = values;
  // An exclusive scan starts from `first`: sums of floats from 0.0, so that none is -0.0.
  for (uint32_t lane = 0; lane < 32; ++lane)
    values[lane] = lane % width == 0 ? first : combine(first, before[lane - 1]);
}

template <class Step> Lanes combined(const Lanes &in, const Combine &combine, Step step) {
  Lanes out = in;
  if (isFloat(combine.format)) {
    std::array<float, 32> values;
    for (int lane = 0; lane < 32; ++lane)
      values[lane] =
          in.isActive[lane] ? toFloat(in.bits[lane], combine.format) : combine.identityFloat();
    step(values);
    for (int lane = 0; lane < 32; ++lane)
      out.bits[lane] = fromFloat(values[lane], combine.format);
  } else {
    std::array<uint64_t, 32> values;
    for (int lane = 0; lane < 32; ++lane)
      values[lane] = in.isActive[lane] ? in.bits[lane] : combine.identityBits();
    step(values);
    out.bits = values;
  }
  return out;
}

constexpr uint64_t kPoison = 0xa5a5a5a5a5a5a5a5;

/// The element that lane `source` holds; a pattern when it takes no part or does not exist.
uint64_t readLane(const Lanes &in, int64_t source) {
  return source >= 0 && source < 32 && in.isActive[size_t(source)] ? in.bits[size_t(source)]
                                                                   : kPoison;
}

class Evaluation {
public:
  Evaluation(const Site &site, const std::array<LaneCall, 32> &lanes)
      : site_(site), lanes_(lanes) {}

  Result<void> run() {
    std::string name = site_.name.substr(4);
    std::string operation = name.substr(0, name.find('.'));
    if (name.starts_with("simdgroup_matrix_8x8_"))
      return matrix(operation.substr(21));
    if (name.starts_with("simdgroup.barrier"))
      return {};
    if (name.starts_with("is_uniform"))
      return uniform();
    width_ = name.starts_with("quad_") ? 4 : 32;
    operation = operation.substr(5);
    if (vote(operation))
      return {};
    bool isSigned = name.find(".s.") != std::string::npos;
    for (uint32_t element = 0; element < site_.result.count; ++element) {
      Lanes out;
      if (!onLanes(operation, isSigned, gather(0, element), element, out))
        return fail(ErrorKind::Unsupported, "The oracle does not know [{}].", site_.name);
      for (int lane = 0; lane < 32; ++lane)
        if (lanes_[lane].operands)
          storeBits(lanes_[lane].result, element, site_.result.format, out.bits[lane]);
    }
    return {};
  }

private:
  bool isActive(int lane) const { return lanes_[size_t(lane)].operands != nullptr; }
  uint64_t operand(int lane, uint32_t index, uint32_t element = 0) const {
    return loadBits(lanes_[size_t(lane)].operands[index], element, site_.operands[index].format);
  }
  Lanes gather(uint32_t index, uint32_t element) const {
    Lanes in;
    for (int lane = 0; lane < 32; ++lane) {
      in.isActive[lane] = isActive(lane);
      if (isActive(lane))
        in.bits[lane] = operand(lane, index, element);
    }
    return in;
  }
  void setAll(const std::function<uint64_t(int)> &value) {
    for (int lane = 0; lane < 32; ++lane)
      if (isActive(lane))
        storeBits(lanes_[size_t(lane)].result, 0, site_.result.format, value(lane));
  }
  int firstActive(int base) const {
    for (int lane = base; lane < base + int(width_); ++lane)
      if (isActive(lane))
        return lane;
    return base;
  }
  uint64_t activeMask(int base, bool onlyTrue) const {
    uint64_t mask = 0;
    for (int i = 0; i < int(width_); ++i)
      if (isActive(base + i) && (!onlyTrue || operand(base + i, 0) != 0))
        mask |= uint64_t(1) << i;
    return mask;
  }

  bool vote(const std::string &operation) {
    auto base = [&](int lane) { return lane / int(width_) * int(width_); };
    if (operation == "ballot")
      setAll([&](int lane) { return activeMask(base(lane), true); });
    else if (operation == "active_threads_mask")
      setAll([&](int lane) { return activeMask(base(lane), false); });
    else if (operation == "all")
      setAll(
          [&](int lane) { return activeMask(base(lane), true) == activeMask(base(lane), false); });
    else if (operation == "any")
      setAll([&](int lane) { return activeMask(base(lane), true) != 0; });
    else if (operation == "is_first")
      setAll([&](int lane) { return lane == firstActive(base(lane)); });
    else if (operation == "is_helper_thread")
      setAll([](int) { return 0; });
    else if (operation == "vote_all")
      setAll([&](int lane) { return operand(lane, 0) == (width_ == 32 ? 0xffffffffu : 0xfu); });
    else if (operation == "vote_any")
      setAll([&](int lane) { return operand(lane, 0) != 0; });
    else
      return false;
    return true;
  }

  bool onLanes(const std::string &operation, bool isSigned, const Lanes &in, uint32_t element,
               Lanes &out) {
    static const std::pair<const char *, Operation> reductions[] = {
        {"sum", Operation::Sum}, {"product", Operation::Product}, {"min", Operation::Min},
        {"max", Operation::Max}, {"and", Operation::And},         {"or", Operation::Or},
        {"xor", Operation::Xor}};
    for (auto [name, code] : reductions) {
      Combine combine{code, isSigned, site_.result.format};
      if (operation == name) {
        out = combined(in, combine, [&](auto &values) { reduceTree(values, width_, combine); });
        return true;
      }
      for (bool isExclusive : {false, true})
        if (operation ==
            std::string(isExclusive ? "prefix_exclusive_" : "prefix_inclusive_") + name) {
          out = combined(in, combine, [&](auto &values) {
            using T = std::decay_t<decltype(values[0])>;
            prefix(values, width_, combine, isExclusive, T(code == Operation::Product ? 1 : 0));
          });
          return true;
        }
    }
    return moves(operation, in, element, out);
  }

  bool moves(const std::string &operation, const Lanes &in, uint32_t element, Lanes &out) {
    int width = int(width_);
    std::function<uint64_t(int)> value;
    auto amount = [&](int lane, uint32_t index) { return int(int16_t(operand(lane, index))); };
    auto base = [&](int lane) { return lane / width * width; };
    auto in_ = [&](int lane, int source) { // `source` counts from the group's first lane.
      return source < 0 || source >= width ? kPoison : readLane(in, base(lane) + source);
    };
    if (operation == "broadcast" || operation == "shuffle")
      value = [&](int lane) { return in_(lane, amount(lane, 1)); };
    else if (operation == "broadcast_first")
      value = [&](int lane) { return readLane(in, firstActive(base(lane))); };
    else if (operation == "shuffle_xor")
      value = [&](int lane) { return in_(lane, (lane - base(lane)) ^ amount(lane, 1)); };
    else if (operation == "shuffle_up" || operation == "shuffle_down")
      value = [&](int lane) {
        int delta = operation == "shuffle_up" ? -amount(lane, 1) : amount(lane, 1);
        int source = lane - base(lane) + delta;
        return source < 0 || source >= width ? in.bits[size_t(lane)] : in_(lane, source);
      };
    else if (operation == "shuffle_rotate_up" || operation == "shuffle_rotate_down")
      value = [&](int lane) {
        int delta = operation == "shuffle_rotate_up" ? -amount(lane, 1) : amount(lane, 1);
        return in_(lane, ((lane - base(lane) + delta) % width + width) % width);
      };
    else if (operation == "shuffle_and_fill_up" || operation == "shuffle_and_fill_down")
      value = [&](int lane) {
        int delta = amount(lane, 2), segment = amount(lane, 3);
        int start = base(lane) + (lane - base(lane)) / segment * segment;
        int source = lane + (operation == "shuffle_and_fill_up" ? -delta : delta);
        if (source >= start && source < start + segment)
          return readLane(in, source);
        source += operation == "shuffle_and_fill_up" ? segment : -segment;
        return source >= start && source < start + segment ? readLane(gather(1, element), source)
                                                           : kPoison;
      };
    else
      return false;
    out = in;
    for (int lane = 0; lane < 32; ++lane)
      if (isActive(lane))
        out.bits[size_t(lane)] = value(lane);
    return true;
  }

  Result<void> uniform() {
    int first = firstActive(0);
    bool isSame = true;
    for (uint32_t element = 0; element < site_.operands[0].count; ++element)
      for (int lane = 0; lane < 32; ++lane)
        isSame =
            isSame && (!isActive(lane) || operand(lane, 0, element) == operand(first, 0, element));
    setAll([&](int) { return isSame; });
    return {};
  }

  Result<void> matrix(const std::string &operation) {
    int first = 0;
    while (first < 31 && !isActive(first))
      ++first;
    auto scalar = [&](uint32_t index, uint32_t element = 0) {
      return operand(first, index, element);
    };
    std::array<uint64_t, 64> result{};
    Format format = site_.result.format;

    if (operation.starts_with("init_filled")) {
      result.fill(scalar(0));
    } else if (operation.starts_with("init_diag")) {
      for (int i = 0; i < 8; ++i)
        result[size_t(i * 9)] = scalar(0);
    } else if (operation.starts_with("insert")) {
      for (uint32_t i = 0; i < 64; ++i)
        result[i] = scalar(0, i);
      for (int lane = 0; lane < 32; ++lane)
        if (isActive(lane))
          result[operand(lane, 2) & 63] = operand(lane, 1);
    } else if (operation.starts_with("multiply_accumulate")) {
      for (uint32_t row = 0; row < 8; ++row)
        for (uint32_t column = 0; column < 8; ++column) {
          float sum = toFloat(scalar(2, row * 8 + column), site_.operands[2].format);
          for (uint32_t k = 0; k < 8; ++k)
            sum = std::fma(toFloat(scalar(0, row * 8 + k), site_.operands[0].format),
                           toFloat(scalar(1, k * 8 + column), site_.operands[1].format), sum);
          result[row * 8 + column] = fromFloat(sum, format);
        }
    } else if (operation.starts_with("load") || operation.starts_with("store")) {
      bool isLoad = operation.starts_with("load");
      uint32_t at = isLoad ? 0 : 1; // The address operand; what follows it describes the layout.
      char *address = reinterpret_cast<char *>(scalar(at));
      if (!isLoad)
        format = site_.operands[0].format;
      int64_t strideColumn, strideRow, originColumn, originRow;
      if (site_.operands[at + 1].count == 2) { // (dims, strides, origin)
        strideColumn = int64_t(scalar(at + 2, 0));
        strideRow = int64_t(scalar(at + 2, 1));
        originColumn = int64_t(scalar(at + 3, 0));
        originRow = int64_t(scalar(at + 3, 1));
      } else { // (elements per row, origin, transpose)
        strideColumn = 1;
        strideRow = int64_t(scalar(at + 1));
        originColumn = int64_t(scalar(at + 2, 0));
        originRow = int64_t(scalar(at + 2, 1));
        if (scalar(at + 3)) { // M[r][c] at (origin row + c) * stride + origin column + r
          address +=
              (originRow * strideRow + originColumn) * int64_t(ValueType{format}.elementBytes());
          originRow = originColumn = 0;
          std::swap(strideColumn, strideRow);
        }
      }
      for (int64_t row = 0; row < 8; ++row)
        for (int64_t column = 0; column < 8; ++column) {
          int64_t index = (originColumn + column) * strideColumn + (originRow + row) * strideRow;
          char *element = address + index * int64_t(ValueType{format}.elementBytes());
          if (isLoad)
            result[size_t(row * 8 + column)] = loadBits(element, 0, format);
          else
            storeBits(element, 0, format, scalar(0, uint32_t(row * 8 + column)));
        }
      if (!isLoad)
        return {};
    } else {
      return fail(ErrorKind::Unsupported, "The oracle does not know [{}].", site_.name);
    }
    for (int lane = 0; lane < 32; ++lane)
      if (isActive(lane))
        for (uint32_t i = 0; i < 64; ++i)
          storeBits(lanes_[size_t(lane)].result, i, format, result[i]);
    return {};
  }

  const Site &site_;
  const std::array<LaneCall, 32> &lanes_;
  uint32_t width_ = 32;
};

Result<ValueType> parseType(std::string text) {
  ValueType type;
  if (text.starts_with("v") && text != "void") {
    size_t end = 1;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])))
      ++end;
    type.count = uint32_t(std::stoul(text.substr(1, end - 1)));
    text = text.substr(end);
  }
  static const std::pair<const char *, Format> formats[] = {
      {"void", Format::None}, {"i1", Format::I1},    {"i8", Format::I8},   {"i16", Format::I16},
      {"i32", Format::I32},   {"i64", Format::I64},  {"f16", Format::F16}, {"bf16", Format::BF16},
      {"f32", Format::F32},   {"p", Format::Address}};
  for (auto [name, format] : formats)
    if (text == name) {
      type.format = format;
      return type;
    }
  return fail(ErrorKind::Unsupported, "A collective call has the unknown type [{}].", text);
}

} // namespace

uint32_t ValueType::elementBytes() const {
  switch (format) {
  case Format::None:
    return 0;
  case Format::I1:
  case Format::I8:
    return 1;
  case Format::I16:
  case Format::F16:
  case Format::BF16:
    return 2;
  case Format::I32:
  case Format::F32:
    return 4;
  case Format::I64:
  case Format::Address:
    return 8;
  }
  return 0;
}

Result<Site> parseSite(const char *text) {
  Site site;
  std::string rest = text;
  std::vector<std::string> parts;
  for (size_t at = 0; at <= rest.size();) {
    size_t end = std::min(rest.find(';', at), rest.size());
    parts.push_back(rest.substr(at, end - at));
    at = end + 1;
  }
  if (parts.size() < 2)
    return fail(ErrorKind::Internal, "The site text [{}] has no result type.", text);
  site.name = parts[0];
  PEWTER_TRY(site.result, parseType(parts[1]));
  for (size_t i = 2; i < parts.size(); ++i) {
    PEWTER_TRY(ValueType type, parseType(parts[i]));
    site.operands.push_back(type);
  }
  return site;
}

Result<void> evaluate(const Site &site, const std::array<LaneCall, 32> &lanes) {
  return Evaluation(site, lanes).run();
}

} // namespace pewter::testing
