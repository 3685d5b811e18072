// How much of the serving loop a project and an agent may use.
import { describe, expect, it } from 'vitest'
import { LoopShare } from '../../src/http/loop-share.ts'

describe('the share of the serving loop', () => {
  it('is not used by requests that take less than 0.3 ms', () => {
    const share = new LoopShare()
    for (let i = 0; i < 10_000; i++) share.charge('project', 'agent', 0.29, 0)
    expect(share.isSpent('project', 'agent', 0)).toBe(false)
  })

  it('of an agent is spent after 10 ms at once, and grows by 100 ms in a second', () => {
    const share = new LoopShare()
    for (let i = 0; i < 4; i++) share.charge('project', 'agent', 2.5, 0)
    expect(share.isSpent('project', 'agent', 0)).toBe(true)
    expect(share.isSpent('project', 'agent', 50)).toBe(false)
    share.charge('project', 'agent', 6, 50)
    expect(share.isSpent('project', 'agent', 51)).toBe(true)
    expect(share.isSpent('project', 'agent', 1000)).toBe(false)
  })

  it('of a project is spent by several agents; one that used nothing goes on', () => {
    const share = new LoopShare()
    for (const agent of ['a', 'b', 'c']) share.charge('project', agent, 8, 0)
    expect(share.isSpent('project', 'a', 0)).toBe(true)
    expect(share.isSpent('project', 'c', 0)).toBe(true)
    expect(share.isSpent('project', 'idle', 0)).toBe(false)
    expect(share.isSpent('other', 'd', 0)).toBe(false)
  })

  it('is paid back within half a second, whatever one request took', () => {
    const share = new LoopShare()
    share.charge('project', 'agent', 60_000, 0)
    expect(share.isSpent('project', 'agent', 499)).toBe(true)
    expect(share.isSpent('project', 'agent', 501)).toBe(false)
  })

  it('forgets shares that are whole again', () => {
    const share = new LoopShare()
    for (let i = 0; i < 10_001; i++) share.charge(`p${i}`, `a${i}`, 1, 0)
    share.charge('late', 'late', 1, 60_000)
    const { projects, agents } = share as unknown as { projects: Map<string, unknown>; agents: Map<string, unknown> }
    expect(projects.size).toBeLessThan(10)
    expect(agents.size).toBeLessThan(10)
  })
})
