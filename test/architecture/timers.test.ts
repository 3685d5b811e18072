// No part of a process asks by a timer of its own whether something was committed.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { repeatedTimers } from './repeated-timers.ts'
import { timerReasons } from './timer-reasons.ts'

const root = join(import.meta.dirname, '..', '..')
// The pages of the console run in a browser.
const sources = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('/console/page'))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((path) => ({ path: relative(root, path), text: readFileSync(path, 'utf8') }))

test('only the files with a reason have repeated timers, and each of these has one', () => {
  const found = sources.filter((source) => repeatedTimers(source).length > 0).map(({ path }) => path)
  const advice = 'subscribe to CommitSignal, or add the reason to timer-reasons.ts'
  expect(found.sort(), advice).toEqual(timerReasons.flatMap(({ files }) => files).sort())
})

describe('a repeated timer', () => {
  const linesOf = (text: string): readonly number[] => repeatedTimers({ path: 'src/a.ts', text })

  test.each([
    ['an interval', 'setInterval(look, 1000)'],
    ['a method that sets it again', 'class A { poll() { setTimeout(() => this.poll(), 5) } }'],
    ['a method that sets it again by another', 'class A { a() { setTimeout(() => this.b(), 5) } b() { this.a() } }'],
    ['a function that is passed on', 'function poll() { setTimeout(poll, 5) }'],
    ['a function in a variable', 'const poll = () => { look().finally(() => setTimeout(poll, 5)) }'],
    ['a pause in a loop', 'async function f() { while (true) await Bun.sleep(5) }'],
    ['a pause of Node in a loop', 'async function f() { for (;;) await new Promise((r) => setTimeout(r, 5)) }'],
    ['a pause of its own in a loop', 'const rest = () => Bun.sleep(5)\nasync function f() { for (;;) await rest() }'],
  ])('is %s', (_, text) => expect(linesOf(text)).toEqual([1]))

  test.each([
    ['a time limit', 'function f() { const t = setTimeout(() => stop(), 5); run().finally(() => clearTimeout(t)) }'],
    ['one pause', 'async function f() { await Bun.sleep(5); await f2() }'],
    ['a subscription', 'class A { start() { this.signal.subscribe(() => this.poll()) } poll() { this.start() } }'],
  ])('is not %s', (_, text) => expect(linesOf(text)).toEqual([]))
})
