import { describe, expect, it } from 'vitest'
import { ExecutionError } from '../../../../src/engine/errors.ts'
import { fromJson, toJson } from '../../../../src/engine/value/json-conversion.ts'
import { NodeValue } from '../../../../src/engine/value/value.ts'
import { Float } from '../../../../src/kernel/float.ts'

describe('data becomes values', () => {
  const table: [unknown, unknown][] = [
    [1, 1],
    [-0, 0],
    [1.5, new Float(1.5)],
    [2 ** 60, new Float(2 ** 60)],
    [new Float(1), new Float(1)],
    [9007199254740993n, 9007199254740993n],
    [5n, 5],
    [null, null],
    [undefined, null],
    ['a', 'a'],
    [
      [1, [undefined, true]],
      [1, [null, true]],
    ],
    [{ a: { b: 1 }, gone: undefined }, new Map([['a', new Map([['b', 1]])]])],
    [new Map<string, unknown>([['a', [0.5]]]), new Map([['a', [new Float(0.5)]]])],
    [JSON.parse('{"__proto__": 1}'), new Map([['__proto__', 1]])],
  ]
  for (const [data, value] of table) it(Bun.inspect(data), () => expect(fromJson(data)).toStrictEqual(value))

  it('is refused if it is not data', () => {
    let deep: unknown = 1
    for (let i = 0; i < 300; i++) deep = [deep]
    for (const data of [2n ** 63n, () => 1, Symbol('x'), deep]) {
      expect(() => fromJson({ data })).toThrow(ExecutionError)
    }
  })
})

it('values become data, elements as the caller decides', () => {
  const value = new Map([['a', [new Float(1), 9007199254740993n, new NodeValue(0, 7)] as const]])
  const data = toJson(value, (element) => (element instanceof NodeValue ? `node ${element.id}` : null))
  expect(data).toEqual({ a: [new Float(1), 9007199254740993n, 'node 7'] })
})

it('a key of the data cannot reach a prototype', () => {
  const data = toJson(new Map([['__proto__', new Map([['polluted', true]])]]), () => null) as object
  expect(Object.keys(data)).toEqual(['__proto__'])
  expect(({} as Record<string, unknown>).polluted).toBe(undefined)
})
