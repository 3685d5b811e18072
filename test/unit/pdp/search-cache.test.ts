import { describe, expect, it } from 'vitest'
import { SearchCache } from '../../../src/pdp/search-cache.ts'
import { type CompiledPolicy, compileDecisionPolicy } from '../../../src/policy/compile-policy.ts'

function policy(id: string): CompiledPolicy {
  const compiled = compileDecisionPolicy(
    JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: ['see'],
      resource: { type: 'Doc' },
      condition: { cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Doc)' },
    }),
  )
  if (!compiled.ok) throw new Error(compiled.error[0])
  return { ...compiled.value, id, name: id, tags: [], revision: 1 }
}

const [one, other] = [policy('one'), policy('other')]
/** Takes 40 bytes, plus 1024 of overhead. */
const list = (first: number) => ({
  nodes: Uint32Array.from({ length: 10 }, (_, i) => first + i),
  graphVersions: '1.1',
  isSinglePolicy: true,
})

describe('the search cache', () => {
  it('finds an entry by its name, by policy, until it is dropped', () => {
    const kept = new SearchCache()
    const name = kept.set('', one, list(1))
    expect(kept.set(name, other, list(20))).toBe(name)
    expect([kept.get(name, one)?.nodes[0], kept.get(name, other)?.nodes[0]]).toEqual([1, 20])
    expect(kept.get(kept.set('', one, list(50)), other)).toBeNull()
    kept.delete(name)
    expect([kept.get(name, one), kept.get('', one)]).toEqual([null, null])
  })

  it('keeps its maximum size: the least recently used entry goes first', () => {
    const kept = new SearchCache(2 * 1064)
    const [first, second] = [kept.set('', one, list(1)), kept.set('', one, list(20))]
    expect(kept.get(first, one)).not.toBeNull()
    const third = kept.set('', one, list(50))
    expect([first, second, third].map((name) => kept.get(name, one)?.nodes[0])).toEqual([1, undefined, 50])
    // Replacing another entry takes no additional memory.
    for (let times = 0; times < 9; times++) kept.set(third, one, list(60))
    expect([first, third].map((name) => kept.get(name, one)?.nodes[0])).toEqual([1, 60])
    expect(kept.set('', one, { nodes: new Uint32Array(277), graphVersions: '', isSinglePolicy: true })).toBe('')
    expect(kept.get(first, one)).not.toBeNull()
  })

  it('counts the overhead of short lists too', () => {
    const kept = new SearchCache(2 ** 20)
    const first = kept.set('', one, list(1))
    for (let i = 0; i < 2000; i++)
      kept.set('', one, { nodes: Uint32Array.of(1, 2), graphVersions: '', isSinglePolicy: true })
    expect(kept.get(first, one)).toBeNull()
  })

  it('does not keep a larger list that a slice was cut from', () => {
    const kept = new SearchCache()
    const all = new Uint32Array(1_000_000)
    const name = kept.set('', one, { nodes: all.subarray(10, 20), graphVersions: '', isSinglePolicy: true })
    expect(kept.get(name, one)?.nodes.buffer.byteLength).toBe(40)
  })
})
