import { describe, expect, it } from 'vitest'
import { KeptSearches } from '../../src/pdp/kept-searches.ts'
import { type CompiledPolicy, compilePolicy } from '../../src/policy/compile-policy.ts'

function policy(id: string): CompiledPolicy {
  const compiled = compilePolicy(
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
/** Takes 40 bytes, and 1024 for what is around them. */
const list = (first: number) => ({
  nodes: Uint32Array.from({ length: 10 }, (_, i) => first + i),
  stamps: '1.1',
  isOnly: true,
})

describe('what a search keeps for its next pages', () => {
  it('is found under its name, by policy, until it is dropped', () => {
    const kept = new KeptSearches()
    const name = kept.keep('', one, list(1))
    expect(kept.keep(name, other, list(20))).toBe(name)
    expect([kept.find(name, one)?.nodes[0], kept.find(name, other)?.nodes[0]]).toEqual([1, 20])
    expect(kept.find(kept.keep('', one, list(50)), other)).toBeNull()
    kept.drop(name)
    expect([kept.find(name, one), kept.find('', one)]).toEqual([null, null])
  })

  it('is as large as allowed: what was not used for longest goes first', () => {
    const kept = new KeptSearches(2 * 1064)
    const [first, second] = [kept.keep('', one, list(1)), kept.keep('', one, list(20))]
    expect(kept.find(first, one)).not.toBeNull()
    const third = kept.keep('', one, list(50))
    expect([first, second, third].map((name) => kept.find(name, one)?.nodes[0])).toEqual([1, undefined, 50])
    // In the place of another, it takes no more room.
    for (let times = 0; times < 9; times++) kept.keep(third, one, list(60))
    expect([first, third].map((name) => kept.find(name, one)?.nodes[0])).toEqual([1, 60])
    expect(kept.keep('', one, { nodes: new Uint32Array(277), stamps: '', isOnly: true })).toBe('')
    expect(kept.find(first, one)).not.toBeNull()
  })

  it('counts what is around short lists too', () => {
    const kept = new KeptSearches(2 ** 20)
    const first = kept.keep('', one, list(1))
    for (let i = 0; i < 2000; i++) kept.keep('', one, { nodes: Uint32Array.of(1, 2), stamps: '', isOnly: true })
    expect(kept.find(first, one)).toBeNull()
  })

  it('does not hold on to the larger list that it was cut from', () => {
    const kept = new KeptSearches()
    const all = new Uint32Array(1_000_000)
    const name = kept.keep('', one, { nodes: all.subarray(10, 20), stamps: '', isOnly: true })
    expect(kept.find(name, one)?.nodes.buffer.byteLength).toBe(40)
  })
})
