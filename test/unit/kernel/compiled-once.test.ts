// The memoization of compilations by source object.
import { expect, test } from 'vitest'
import { CompiledOnce } from '../../../src/kernel/compiled-once.ts'

test('compiles each source once, also to undefined', () => {
  const compiled = new CompiledOnce<{ text: string }, number | undefined>()
  const calls: string[] = []
  const compile = ({ text }: { text: string }) => {
    calls.push(text)
    return text === '' ? undefined : text.length
  }
  const [one, same, empty] = [{ text: 'one' }, { text: 'one' }, { text: '' }]
  expect([one, one, same, empty, empty].map((source) => compiled.get(source, compile))).toEqual([
    3,
    3,
    3,
    undefined,
    undefined,
  ])
  expect(calls).toEqual(['one', 'one', ''])
})

test('keeps nothing of a compilation that throws', () => {
  const compiled = new CompiledOnce<object, string>()
  const source = {}
  expect(() =>
    compiled.get(source, () => {
      throw new Error('not now')
    }),
  ).toThrow('not now')
  expect(compiled.get(source, () => 'compiled')).toBe('compiled')
})
