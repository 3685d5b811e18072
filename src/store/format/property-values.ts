// Encodes property values: a tag, then the value. Integers and floats have different tags, so that 1 and 1.0 stay distinct.
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
export function writeValue(sink: ByteWriter, value: PropertyValue): void {
  if (!Array.isArray(value)) {
    writeScalar(sink, value as PropertyScalar)
    return
  }
  sink.u8(LIST)
  sink.u32(value.length)
  for (const item of value as readonly PropertyScalar[]) writeScalar(sink, item)
}

function writeScalar(sink: ByteWriter, value: PropertyScalar): void {
  if (typeof value === 'string') {
    sink.u8(STRING)
    sink.text(value)
  } else if (typeof value === 'boolean') {
    sink.u8(value ? TRUE : FALSE)
  } else if (typeof value === 'number') {
    assert(Number.isSafeInteger(value), 'a plain number is a safe integer')
    if (value === (value | 0)) {
      sink.u8(SMALL_INTEGER)
      sink.i32(value)
    } else {
      sink.u8(INTEGER)
      sink.f64(value)
    }
  } else if (typeof value === 'bigint') {
    assert(value >= INT64_MIN && value <= INT64_MAX, 'an integer has 64 bits')
    sink.u8(LARGE_INTEGER)
    sink.i64(value)
  } else if (isTemporal(value)) {
    writeTemporal(sink, value)
  } else {
    assert(value instanceof Float, 'a property holds scalars and lists of scalars')
    sink.u8(FLOAT)
    sink.f64(value.value)
  }
}

/** Reads the property value at offset `at`. Throws Error for an unknown tag. */
export function readValue(window: ValueView, at: number): PropertyValue {
  if (window.view.getUint8(at) !== LIST) return readScalar(window, at)
  const length = window.view.getUint32(at + 1, true)
  const items: PropertyScalar[] = []
  let next = at + 5
  for (let i = 0; i < length; i++) {
    items.push(readScalar(window, next))
    next += scalarSize(window, next)
  }
  return items
}

function readScalar(window: ValueView, at: number): PropertyScalar {
  const { view, text } = window
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
      return view.getBigInt64(at + 1, true)
    default:
      if (isTemporalTag(tag)) return readTemporal(window, at)
      throw new Error(`a stored value has the unknown tag ${tag}`)
  }
}

function scalarSize(window: ValueView, at: number): number {
  const { view } = window
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
      return isTemporalTag(tag) ? temporalSize(window, at) : 9
  }
}
