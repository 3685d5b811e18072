// The progress of long commands as a user sees it: on a terminal, whose width may be 0, and in a pipe.
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { childrenOf } from '../../support/child-processes.ts'
import { bin, killAll, ownEnvironment, runCommand } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { onTerminal } from '../../support/terminal.ts'

/** A command that ends before this writes no line into a pipe. */
const FIRST_LINE_MS = 5000

let data: string

/** The first line of a stream, which stays open; empty if it has ended without one. */
async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  for (let text = ''; ; ) {
    const { value, done } = await reader.read()
    if (done) return ''
    text += decoder.decode(value, { stream: true })
    const end = text.indexOf('\n') + 1
    if (end > 0) return text.slice(0, end)
  }
}

/** Starts `verify`, again and again until the process that reads a folder was stopped before it ended. */
async function verifyWithStoppedReader() {
  for (;;) {
    const child = Bun.spawn([bin, 'verify', '--data', data], { env: ownEnvironment, stdout: 'pipe', stderr: 'pipe' })
    while (child.exitCode === null) {
      const reader = childrenOf(child.pid).find(({ words }) => words.includes('verify-folder'))
      if (reader !== undefined && (await isStopped(reader.pid))) return { child, reader }
      await Bun.sleep(1)
    }
  }
}

/** Stops a process. Resolves with false if it has ended. */
async function isStopped(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 'SIGSTOP')
    for (;;) {
      const [state = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')
      if ('TZX'.includes(state)) return state === 'T'
      await Bun.sleep(1)
    }
  } catch {
    return false
  }
}

beforeAll(async () => {
  data = join(temporaryFolder(), 'data')
  await runCommand(['init', '--data', data])
})

afterEach(killAll)

describe('on a terminal of width 0', () => {
  it.each([
    ['verify', (): string[] => [], 'opening '],
    ['backup', (): string[] => ['--out', join(temporaryFolder(), 'out')], 'opening '],
    ['export', (): string[] => ['--out', join(temporaryFolder(), 'out')], 'opening '],
    ['migrate', (): string[] => [], 'opening '],
  ])('%s shows a line and removes it', async (command, more, what) => {
    const line = [bin, command, '--data', data, ...more()].join(' ')
    const program = onTerminal(['sh', '-c', `stty cols 0; ${line}; echo "exit code $?"`], {
      PATH: process.env.PATH ?? '',
    })
    await program.until('exit code 0')
    const [, shown = '', ...later] = program.output().split('\r\x1b[2K')
    expect(shown).toMatch(new RegExp(`^${what}.{1,70}$`))
    expect(later.length, program.output()).toBeGreaterThan(0)
    expect(later.at(-1)).not.toContain('█')
    expect(await program.ended).toBe(0)
  })
})

describe('in a pipe', () => {
  it('a short command writes nothing', async () => {
    // On a busy machine a run may last until the first line is due: such a run proves nothing.
    let stderr: string
    let ms: number
    do {
      const start = performance.now()
      stderr = (await runCommand(['verify', '--data', data])).stderr
      ms = performance.now() - start
    } while (ms >= FIRST_LINE_MS)
    expect(stderr).toBe('')
  })

  // The process that reads is stopped until the line is written, so this does not depend on the speed of the machine.
  it.skipIf(!existsSync('/proc'))('verify writes a line while it waits for a slow disk', async () => {
    let line = ''
    // Without a line the reader was continued by something else before one was due.
    while (line === '') {
      const { child, reader } = await verifyWithStoppedReader()
      line = await firstLine(child.stderr)
      if (line !== '') process.kill(reader.pid, 'SIGCONT')
      expect(await child.exited).toBe(0)
      const folder = relative(data, reader.words[reader.words.indexOf('verify-folder') + 1]!)
      if (line !== '') expect(line).toMatch(new RegExp(`^ +\\d+ % {2}${folder}: .+\n$`))
    }
  })

  it('import writes a line while it waits for its input', async () => {
    const child = Bun.spawn([bin, 'import', '--data', join(temporaryFolder(), 'new'), '--in', '-'], {
      env: ownEnvironment,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const exported = await runCommand(['export', '--data', data, '--out', '-'])
    const [header, ...lines] = exported.stdout.split('\n')
    child.stdin.write(`${header}\n`)
    await child.stdin.flush()
    expect(await firstLine(child.stderr)).toBe('reading the standard input\n')
    child.stdin.write(lines.join('\n'))
    await child.stdin.end()
    expect(await child.exited).toBe(0)
  })
})
