// `audit witness`: cosigns a log that grows, and refuses one that was cut or forked, also when it cannot prove anything.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openNote, parseVerifierKey } from '../../../src/audit/log/signed-note.ts'
import { auditEntry, newLogKey, WrittenLog } from '../../support/audit-log.ts'
import { bin, type Finished, killAll, runCommand } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { onTerminal } from '../../support/terminal.ts'

const ORIGIN = 'verdigraph/projects/abc/qwertyuiop'
const key = newLogKey(ORIGIN)
afterEach(killAll)

async function newWitness(): Promise<{ state: string; vkey: string }> {
  const state = join(temporaryFolder(), 'witness.json')
  const { exitCode, stdout } = await runCommand(['audit', 'witness', '--state', state, '--init', 'witness.example/w1'])
  expect(exitCode).toBe(0)
  return { state, vkey: stdout.trim() }
}

const witness = (log: string, state: string, ...args: string[]): Promise<Finished> =>
  runCommand(['audit', 'witness', log, '--state', state, '--key', key.vkey, ...args])

function verifiersOf(...vkeys: string[]) {
  return vkeys.flatMap((vkey) => {
    const parsed = parseVerifierKey(vkey)
    return parsed.ok ? [parsed.value] : []
  })
}

describe('audit witness', () => {
  it('creates its key once, readable by its user alone', async () => {
    const { state, vkey } = await newWitness()
    expect(parseVerifierKey(vkey).ok).toBe(true)
    expect(statSync(state).mode & 0o077).toBe(0)
    const again = await runCommand(['audit', 'witness', '--state', state, '--init', 'witness.example/w1'])
    expect([again.exitCode, again.stderr]).toEqual([2, expect.stringContaining('exists already')])
    const spaces = await runCommand(['audit', 'witness', '--state', `${state}2`, '--init', 'a b'])
    expect(spaces.exitCode).toBe(2)
  })

  it('prints a change of the text direction in a note on a terminal as an escape, and to a pipe as it is', async () => {
    const origin = 'verdigraph/\u202elog'
    const hostile = newLogKey(origin)
    const log = new WrittenLog(join(temporaryFolder(), 'log'), origin)
    await log.grow(1, [hostile.signer])
    const { state } = await newWitness()
    const args = ['audit', 'witness', log.folder, '--state', state, '--key', hostile.vkey]
    const piped = await runCommand(args)
    expect(piped.stdout, piped.stderr).toContain(origin)
    const terminal = onTerminal([bin, ...args], { PATH: process.env.PATH ?? '' })
    expect(await terminal.ended, terminal.output()).toBe(0)
    expect(terminal.output()).toContain('verdigraph/\\u202elog')
    expect(terminal.output()).not.toContain('\u202e')
  })

  it('cosigns a log while it grows, and refuses one that was cut, forked or signed by another key', async () => {
    const { state, vkey } = await newWitness()
    const log = new WrittenLog(join(temporaryFolder(), 'log'), ORIGIN)
    for (const count of [1, 299, 0, 700]) {
      await log.grow(count, [key.signer])
      const { exitCode, stdout } = await witness(log.folder, state)
      expect([exitCode, stdout.startsWith(log.note)]).toEqual([0, true])
      const opened = openNote(stdout, verifiersOf(key.vkey, vkey))
      expect(opened.ok && opened.value.verified.map(({ name }) => name)).toEqual([ORIGIN, 'witness.example/w1'])
    }
    const before = readFileSync(state, 'utf8')
    const cut = new WrittenLog(join(temporaryFolder(), 'log'), ORIGIN)
    await cut.grow(500, [key.signer])
    expect(await witness(cut.folder, state)).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringContaining('the checkpoint has 500 entries, and this witness has cosigned one with 1000'),
    })
    await cut.append(
      Array.from({ length: 500 }, () => auditEntry(7)),
      [key.signer],
    )
    const equal = await witness(cut.folder, state)
    expect([equal.exitCode, equal.stderr]).toEqual([1, expect.stringContaining('forked')])
    await cut.grow(10, [key.signer])
    const longer = await witness(cut.folder, state)
    expect([longer.exitCode, longer.stdout, longer.stderr]).toEqual([
      1,
      '',
      expect.stringContaining('does not continue the 1000'),
    ])
    const stranger = newLogKey(ORIGIN)
    await log.grow(1, [stranger.signer])
    const unsigned = await witness(log.folder, state)
    expect([unsigned.exitCode, unsigned.stdout]).toEqual([1, ''])
    expect(readFileSync(state, 'utf8')).toBe(before)
    await log.grow(1, [key.signer])
    rmSync(join(log.folder, 'tile/0/003.p'), { recursive: true })
    const incomplete = await witness(log.folder, state)
    expect([incomplete.exitCode, incomplete.stderr]).toEqual([1, expect.stringContaining('the log is incomplete')])
  })

  it('answers a request of C2SP tlog-witness, and refuses a wrong size or proof', async () => {
    const { state, vkey } = await newWitness()
    const log = new WrittenLog(join(temporaryFolder(), 'log'), ORIGIN)
    await log.grow(300, [key.signer])
    const request = join(temporaryFolder(), 'request')
    writeFileSync(request, `old 0\n\n${log.note}`)
    expect((await witness(request, state)).exitCode).toBe(0)
    await log.grow(333, [key.signer])
    const proof = (await log.tiles.consistencyProof(300, 633)).map((hash) => Buffer.from(hash).toString('base64'))
    writeFileSync(request, `old 0\n\n${log.note}`)
    const wrongSize = await witness(request, state)
    expect([wrongSize.exitCode, wrongSize.stderr]).toEqual([
      1,
      expect.stringContaining('this witness has cosigned 300'),
    ])
    writeFileSync(request, `old 300\n${proof.slice(1).join('\n')}\n\n${log.note}`)
    expect((await witness(request, state)).exitCode).toBe(1)
    writeFileSync(request, `old 300\n${proof.join('\n')}\n\n${log.note}`)
    const { exitCode, stdout } = await witness(request, state)
    expect([exitCode, openNote(stdout, verifiersOf(vkey)).ok]).toEqual([0, true])
    writeFileSync(request, log.note)
    expect((await witness(request, state)).exitCode).toBe(2)
  })

  it('refuses to work without its state, or with a damaged one', async () => {
    const log = new WrittenLog(join(temporaryFolder(), 'log'), ORIGIN)
    await log.grow(3, [key.signer])
    const { state } = await newWitness()
    const text = readFileSync(state, 'utf8')
    writeFileSync(state, text.slice(0, text.length / 2))
    const damaged = await witness(log.folder, state)
    expect([damaged.exitCode, damaged.stderr]).toEqual([2, expect.stringContaining('is not the state of a witness')])
    rmSync(state)
    const missing = await witness(log.folder, state)
    expect([missing.exitCode, missing.stderr]).toEqual([2, expect.stringContaining('create it with --init')])
  })
})
