// Processes of a bench: started with the same runtime; their output and their processor time.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { mustEqual } from '../harness.ts'

export const top = join(import.meta.dirname, '..', '..')

/** The output of a program of this repository; throws if it fails. */
export async function output(args: readonly string[], input?: string): Promise<string> {
  const child = Bun.spawn([process.execPath, ...args], {
    cwd: top,
    stdin: input === undefined ? 'ignore' : Buffer.from(input),
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const text = await child.stdout.text()
  mustEqual(`the exit code of ${args.slice(0, 2).join(' ')}`, await child.exited, 0)
  return text
}

export interface ServedProcess {
  readonly url: string
  readonly pid: number
}

/** Starts a server of this repository and waits until it prints its address. */
export async function listening(
  args: readonly string[],
  children: Bun.Subprocess[],
  env: Readonly<Record<string, string>> = {},
): Promise<ServedProcess> {
  const child = Bun.spawn([process.execPath, ...args], {
    cwd: top,
    env: { ...process.env, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  children.push(child)
  let text = ''
  const decoder = new TextDecoder()
  for await (const bytes of child.stdout) {
    text += decoder.decode(bytes, { stream: true })
    const url = /listening on (http:\/\/\S+)/.exec(text)?.[1]
    if (url !== undefined) return { url, pid: child.pid }
  }
  throw new Error(`${args[0]} ended without listening: ${text}`)
}

export async function endAll(children: readonly Bun.Subprocess[]): Promise<void> {
  for (const child of children) child.kill()
  await Promise.all(children.map((child) => child.exited))
}

/** The unit of /proc on every common Linux. */
const US_PER_TICK = 10_000

/**
 * Processor time of all threads of a process so far, including the kernel's on its behalf. Null if the system does not
 * provide it.
 */
export function cpuUs(pid: number): number | null {
  if (process.platform !== 'linux') return null
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The name of the program, in parentheses, may contain any character.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * US_PER_TICK
}
