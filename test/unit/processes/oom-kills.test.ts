import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { childOomScore, countOomKills, OomWatch } from '../../../src/processes/oom-kills.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

function systemWith(files: Readonly<Record<string, string>>): string {
  const root = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

const events = 'low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n'
const vmstat = 'pgfault 1\noom_kill 7\ndrop_pagecache 0\n'

it('counts the killed processes of the own control group', () => {
  const group = '/system.slice/verdigraph.service'
  const root = systemWith({
    'proc/self/cgroup': `0::${group}\n`,
    [`sys/fs/cgroup${group}/memory.events`]: events,
    'proc/vmstat': vmstat,
  })
  expect(countOomKills(root)).toBe(2)
})

it('counts those of the machine if the group has no count', () => {
  expect(countOomKills(systemWith({ 'proc/self/cgroup': '0::/\n', 'proc/vmstat': vmstat }))).toBe(7)
})

it('is unknown where neither is readable', () => {
  expect(countOomKills(systemWith({}))).toBeNull()
})

it('a kill of long ago is not the reason of an exit of now', () => {
  const kills = (count: number) => writeFileSync(join(root, 'proc/vmstat'), `oom_kill ${count}\n`)
  const root = systemWith({ 'proc/self/cgroup': '0::/\n', 'proc/vmstat': 'oom_kill 7\n' })
  const watch = new OomWatch(root)
  expect(watch.hasKilled()).toBe(false)
  kills(8)
  expect(watch.hasKilled()).toBe(true)
  // The exit may be reported after the next look.
  watch.look()
  expect(watch.hasKilled()).toBe(true)
  watch.look()
  expect(watch.hasKilled()).toBe(false)
  kills(9)
  expect(watch.hasKilled()).toBe(true)
})

it('a score is added to that of the own process, which a container may have raised', () => {
  const own = (score: number) => systemWith({ 'proc/self/oom_score_adj': `${score}\n` })
  expect(childOomScore(300, own(0))).toBe(300)
  expect(childOomScore(300, own(-900))).toBe(-600)
  expect(childOomScore(50, own(936))).toBe(986)
  expect(childOomScore(300, own(936))).toBe(1000)
  expect(childOomScore(300, systemWith({}))).toBe(300)
})
