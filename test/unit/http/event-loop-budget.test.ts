// How much of the event loop a project and an agent may use with bodies of medium size.
import { describe, expect, it } from 'vitest'
import { EventLoopBudget } from '../../../src/http/event-loop-budget.ts'

/** Estimated at 1.8 ms. */
const MEDIUM = 30_000

function admitted(share: EventLoopBudget, project: string, agent: string, nowMs: number, count: number): number {
  return Array.from({ length: count }, () => share.tryCharge(project, agent, MEDIUM, nowMs)).filter(Boolean).length
}

describe('the event-loop budget', () => {
  it('is not used by small bodies', () => {
    const share = new EventLoopBudget()
    expect(admitted(share, 'project', 'agent', 0, 20)).toBe(6)
    for (let i = 0; i < 10_000; i++) expect(share.tryCharge('project', 'agent', 4999, 0)).toBe(true)
  })

  it('of an agent is spent after 10 ms at once, and grows by 100 ms per second', () => {
    const share = new EventLoopBudget()
    expect(admitted(share, 'project', 'agent', 0, 20)).toBe(6)
    expect(share.tryCharge('project', 'agent', MEDIUM, 5)).toBe(false)
    expect(admitted(share, 'project', 'agent', 1000, 20)).toBe(6)
    let later = 0
    for (let nowMs = 1000; nowMs < 2000; nowMs += 1) later += admitted(share, 'project', 'agent', nowMs, 1)
    expect(later).toBeGreaterThan(50)
    expect(later).toBeLessThan(60)
  })

  it('of a project is spent by several agents; one that used little continues', () => {
    const share = new EventLoopBudget()
    for (const agent of ['a', 'b', 'c']) admitted(share, 'project', agent, 0, 4)
    expect(share.tryCharge('project', 'a', MEDIUM, 0)).toBe(false)
    expect(share.tryCharge('project', 'idle', MEDIUM, 0)).toBe(true)
    expect(share.tryCharge('other', 'd', MEDIUM, 0)).toBe(true)
  })

  it('of an agent without a name is that of its project', () => {
    const share = new EventLoopBudget()
    expect(admitted(share, 'first', '', 0, 20)).toBe(6)
    expect(admitted(share, 'second', '', 0, 20)).toBe(6)
  })

  it('drops shares that are full again', () => {
    const share = new EventLoopBudget()
    for (let i = 0; i < 10_001; i++) share.tryCharge(`p${i}`, `a${i}`, MEDIUM, 0)
    share.tryCharge('late', 'late', MEDIUM, 60_000)
    const { projects, agents } = share as unknown as { projects: Map<string, unknown>; agents: Map<string, unknown> }
    expect(projects.size).toBeLessThan(10)
    expect(agents.size).toBeLessThan(10)
  })
})
