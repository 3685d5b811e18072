// Encodes property values: a tag, then the value. Integers and floats have different tags, so that 1 and 1.0 stay distinct.
import { normalizeInteger } from '../../engine/value/arithmetic.ts'
import { isTemporal } from '../../engine/value/temporal/temporal.ts'
import type { PropertyScalar, PropertyValue } from '../../engine/value/value.ts'
import { assert } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'
import type { ByteWriter, ValueView } from './bytes.ts'
import { isTemporalTag, readTemporal, temporalSize, writeTemporal } from './temporal-values.ts'
import { readText } from './text.ts'

const FALSE = 1
const TRUE = 2
/** 32 bits. */
const SMALL_INTEGER = 3
/** A safe integer, stored as a double. */
const INTEGER = 4
/** 64 bits. */
const LARGE_INTEGER = 5
const FLOAT = 6
const STRING = 7
const LIST = 8
// Tags 9 to 14 are those of temporal values.

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

/** Appends a property value. Fails an assertion for values that a property cannot hold. */
export function writeValue(writer: ByteWriter, value: PropertyValue): void {
  if (!Array.isArray(value)) {
    writeScalar(writer, value as PropertyScalar)
    return
  }
  writer.u8(LIST)
  writer.u32(value.length)
  for (const item of value as readonly PropertyScalar[]) writeScalar(writer, item)
}

function writeScalar(writer: ByteWriter, value: PropertyScalar): void {
  if (typeof value === 'string') {
    writer.u8(STRING)
    writer.text(value)
  } else if (typeof value === 'boolean') {
    writer.u8(value ? TRUE : FALSE)
  } else if (typeof value === 'number') {
    assert(Number.isSafeInteger(value), 'a plain number is a safe integer')
    if (value === (value | 0)) {
      writer.u8(SMALL_INTEGER)
      writer.i32(value)
    } else {
      writer.u8(INTEGER)
      writer.f64(value)
    }
  } else if (typeof value === 'bigint') {
    assert(value >= INT64_MIN && value <= INT64_MAX, 'an integer has 64 bits')
    writer.u8(LARGE_INTEGER)
    writer.i64(value)
  } else if (isTemporal(value)) {
    writeTemporal(writer, value)
  } else {
    assert(value instanceof Float, 'a property holds scalars and lists of scalars')
    writer.u8(FLOAT)
    writer.f64(value.value)
  }
}

/**
 * Reads the property value at offset `at`. Earlier versions wrote a small `bigint` with 64 bits: it is read as the number that it equals.
 * Throws Error for an unknown tag.
 */
export function readValue(valueView: ValueView, at: number): PropertyValue {
  if (valueView.view.getUint8(at) !== LIST) return readScalar(valueView, at)
  const length = valueView.view.getUint32(at + 1, true)
  const items: PropertyScalar[] = []
  let next = at + 5
  for (let i = 0; i < length; i++) {
    items.push(readScalar(valueView, next))
    next += scalarSize(valueView, next)
  }
  return items
}

/** Whether the value at offset `at` has an integer in more bits than it needs, as earlier versions wrote. */
export function hasWideInteger(valueView: ValueView, at: number): boolean {
  if (valueView.view.getUint8(at) !== LIST) return isWideInteger(valueView, at)
  let next = at + 5
  for (let rest = valueView.view.getUint32(at + 1, true); rest > 0; rest--) {
    if (isWideInteger(valueView, next)) return true
    next += scalarSize(valueView, next)
  }
  return false
}

function isWideInteger({ view }: ValueView, at: number): boolean {
  return view.getUint8(at) === LARGE_INTEGER && typeof normalizeInteger(view.getBigInt64(at + 1, true)) === 'number'
}

function readScalar(valueView: ValueView, at: number): PropertyScalar {
  const { view, text } = valueView
  const tag = view.getUint8(at)
  switch (tag) {
    case STRING:
      return readText(text, at + 5, at + 5 + view.getUint32(at + 1, true))
    case SMALL_INTEGER:
      return view.getInt32(at + 1, true)
    case TRUE:
      return true
    case FALSE:
      return false
    case FLOAT:
      return new Float(view.getFloat64(at + 1, true))
    case INTEGER:
      return view.getFloat64(at + 1, true)
    case LARGE_INTEGER:
      return normalizeInteger(view.getBigInt64(at + 1, true))
    default:
      if (isTemporalTag(tag)) return readTemporal(valueView, at)
      throw new Error(`a stored value has the unknown tag ${tag}`)
  }
}

function scalarSize(valueView: ValueView, at: number): number {
  const { view } = valueView
  const tag = view.getUint8(at)
  switch (tag) {
    case STRING:
      return 5 + view.getUint32(at + 1, true)
    case SMALL_INTEGER:
      return 5
    case TRUE:
    case FALSE:
      return 1
    default:
      return isTemporalTag(tag) ? temporalSize(valueView, at) : 9
  }
}
