// The command `shell`: a prompt with history and completion, or statements from a pipe.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { colours } from '../output/colours.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printDocument, printError, printLine } from '../output/print.ts'
import type { EnvironmentVariables } from '../settings/environment-variables.ts'
import { withErrorCode } from '../target/asking.ts'
import { openTarget, type TargetFlags } from '../target/target.ts'
import { ShellSession } from './shell-session.ts'

const PROMPT = 'verdigraph> '
const CONTINUED_PROMPT = '  ...> '
const HISTORY_LINES = 1000
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

/** The file of the history: in the state folder of the XDG Base Directory Specification. */
function historyPath(environment: EnvironmentVariables = process.env): string {
  const folder = environment.XDG_STATE_HOME ?? ''
  return join(folder === '' ? join(homedir(), '.local', 'state') : folder, 'verdigraph', 'history')
}

/** Runs `shell`. Resolves when the input has ended. From a pipe, the exit code is 2 if a statement failed. */
export async function runShell(flags: TargetFlags): Promise<void> {
  await withErrorCode(async () => {
    const session = new ShellSession(await openTarget(flags), {
      print: printLine,
      fail: printError,
    })
    try {
      if (process.stdin.isTTY === true && process.stdout.isTTY === true) await runPrompt(session)
      else await runPipe(session)
    } finally {
      await session.close()
    }
  })
}

async function runPipe(session: ShellSession): Promise<void> {
  const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })
  for await (const line of lines) {
    await session.feed(line)
    if (session.isOver) break
  }
  lines.close()
  await session.finish()
  if (session.errors > 0) process.exitCode = exitCodes.usage.code
}

async function runPrompt(session: ShellSession): Promise<void> {
  await session.prepare()
  printLine(`asking ${session.description}; ${colours.bold(':help')} lists the commands`)
  const history = readHistory()
  const terminal = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: true,
    history: [...history].reverse(),
    historySize: HISTORY_LINES,
    removeHistoryDuplicates: true,
    completer: (line: string) => {
      const { texts, replaced } = session.complete(line)
      return [[...texts], replaced]
    },
  })
  const ask = (): void => {
    terminal.setPrompt(session.isContinued ? CONTINUED_PROMPT : PROMPT)
    terminal.prompt()
  }
  terminal.on('SIGINT', () => {
    if (!session.isContinued && terminal.line === '') printDocument('\n:quit or Ctrl-D ends the shell')
    session.cancel()
    printDocument('\n')
    terminal.setPrompt(PROMPT)
    clearLine(terminal)
    ask()
  })
  ask()
  for await (const line of terminal) {
    history.push(...(await session.feed(line)))
    if (session.isOver) break
    ask()
  }
  terminal.close()
  writeHistory(history)
}

/** Empties the line, and keeps the history. */
function clearLine(terminal: Interface): void {
  terminal.write(null, { ctrl: true, name: 'e' })
  terminal.write(null, { ctrl: true, name: 'u' })
}

function readHistory(): string[] {
  const path = historyPath()
  return existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
    : []
}

/** Without a folder to write to, the shell works without history. */
function writeHistory(lines: readonly string[]): void {
  const path = historyPath()
  const kept = lines.filter((line, at) => line !== lines[at - 1]).slice(-HISTORY_LINES)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: FOLDER_MODE })
    writeFileSync(path, kept.map((line) => `${line}\n`).join(''), { mode: FILE_MODE })
  } catch (error) {
    printError(`the history cannot be stored: ${error instanceof Error ? error.message : String(error)}`)
  }
}
