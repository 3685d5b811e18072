// The shell on a real pseudo-terminal (completion by Tab, history, several lines) and from a pipe.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { carProject } from '../../support/car-project.ts'
import { bin } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { onTerminal, type TerminalProgram } from '../../support/terminal.ts'

const TAB = '\t'
const ENTER = '\r'
const CTRL_C = '\x03'
const CTRL_D = '\x04'
const UP = '\x1b[A'

let folder: string
let running: TerminalProgram | null = null
beforeAll(() => {
  folder = join(carProject(), 'authz')
})
afterEach(() => running?.kill())

const path = { PATH: process.env.PATH ?? '' }

async function startShell(state: string): Promise<TerminalProgram> {
  const shell = onTerminal([bin, 'shell', '--folder', folder], { ...path, NO_COLOR: '1', XDG_STATE_HOME: state })
  running = shell
  await shell.until('verdigraph> ')
  return shell
}

describe('on a terminal', () => {
  test('Tab completes labels, relationship types, properties, commands, types and actions', async () => {
    const shell = await startShell(temporaryFolder())
    shell.write(`MATCH (p:Pers${TAB}`)
    await shell.until('Person')
    shell.write(`)-[:OW${TAB}`)
    await shell.until('OWNS')
    shell.write(`]->(c) RETURN c.whe${TAB}`)
    await shell.until('wheels')
    shell.write(`;${ENTER}`)
    await shell.until('2 rows')
    expect(shell.output()).toMatch(/c\.wheels\r?\n─+\r?\n[34]\r?\n[34]\r?\n/)

    shell.write(`:ex${TAB}`)
    await shell.until(':explain')
    shell.write(` Per${TAB}`)
    await shell.until('Person:')
    shell.write(`ann wa${TAB}`)
    await shell.until('wash')
    shell.write(` Car:c1${ENTER}`)
    await shell.until('policy wash grants: (Person:ann)-[:OWNS]->(Car:c1)')
    shell.write(CTRL_D)
    expect(await shell.ended).toBe(0)
  })

  test('a statement has several lines, Ctrl-C forgets it, and an error does not end the shell', async () => {
    const shell = await startShell(temporaryFolder())
    shell.write(`MATCH (p:Person)${ENTER}`)
    await shell.until('...> ')
    shell.write(`RETURN count(p) AS people;${ENTER}`)
    await shell.until('1 row')
    shell.write(`MATCH (p${ENTER}`)
    await shell.until('...> ')
    shell.write(CTRL_C)
    await shell.until('verdigraph> ')
    shell.write(`RETURN 41 + 1 AS answer;${ENTER}`)
    await shell.until('42')
    shell.write(`RETURN nothing;${ENTER}`)
    await shell.until('error: query: line 1, column 8')
    shell.write(`:quit${ENTER}`)
    expect(await shell.ended).toBe(0)
  })

  test('the history is kept in a file of its owner, and the next shell has it', async () => {
    const state = temporaryFolder()
    const first = await startShell(state)
    first.write(`RETURN 'kept'${ENTER}`)
    await first.until('...> ')
    first.write(`AS word;${ENTER}`)
    await first.until('1 row')
    first.write(CTRL_D)
    expect(await first.ended).toBe(0)
    const file = join(state, 'verdigraph', 'history')
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(["RETURN 'kept' AS word;\n", 0o600])
    const second = await startShell(state)
    second.write(UP)
    await second.until("RETURN 'kept' AS word;")
    second.write(ENTER)
    await second.until('1 row')
    second.write(CTRL_D)
    expect(await second.ended).toBe(0)
  })
})

describe('from a pipe', () => {
  async function pipe(input: string): Promise<{ exitCode: number; stdout: string; stderr: string }> {
    const state = temporaryFolder()
    const child = Bun.spawn([bin, 'shell', '--folder', folder], {
      env: { ...path, XDG_STATE_HOME: state },
      stdin: new TextEncoder().encode(input),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
    expect(existsSync(join(state, 'verdigraph'))).toBe(false)
    return { exitCode, stdout, stderr }
  }

  test('statements run without a prompt, also the last one without a semicolon', async () => {
    const { exitCode, stdout, stderr } = await pipe(
      "MATCH (p:Person)\n  WHERE p.age > 1 // a ; in a comment\nRETURN p.age AS age; RETURN ';' AS semicolon;\n:check Person:bob wash Car:c1\nRETURN 7 AS last",
    )
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout.replace(/, [\d.]+ ms/g, '')).toBe(
      'age\n───\n40\n1 row\nsemicolon\n─────────\n;\n1 row\n✓ granted  Person:bob wash Car:c1\nlast\n────\n7\n1 row\n',
    )
  })

  test('parameters, plans, searches and another graph', async () => {
    const { exitCode, stdout, stderr } = await pipe(
      `:param min=3\n:explain Person:bob drive Car:c:2\n:plan MATCH (c:Car)\nRETURN c;\n:who wash Car:c1\n:what Person:bob wash\n:actions Person:bob Car:c1\n:schema\n:use --graph ${join(folder, 'scenarios', 'cars.scenario.yaml')}\n:limit 1\nMATCH (n:Car) RETURN n.wheels AS wheels;\n`,
    )
    expect([exitCode, stderr]).toEqual([0, ''])
    for (const text of [
      'policy drive grants: (Person:bob)-[:OWNS]->(Car:c:2)',
      'NodeByLabelScan (c:Car)',
      'Person:ann\nPerson:bob\n2 subjects',
      'wash\n1 action',
      'relationship types  LENDS OWNS',
      'asking the graph of',
      'the answer has the first 1 rows, and there are more: raise :limit',
    ])
      expect(stdout).toContain(text)
  })

  test('a failed statement is an error, the others run, and the exit code is 2', async () => {
    const { exitCode, stdout, stderr } = await pipe(
      ':exlain a b c\nMATCH (n RETURN n;\n:check Persn:a wash Car:c1\nRETURN 1 AS one;\n',
    )
    expect(exitCode).toBe(2)
    expect(stdout).toContain('1 row')
    expect(stderr).toContain('no command is named `:exlain`; did you mean `:explain`?')
    expect(stderr).toContain('query: line 1, column 10: unexpected `RETURN`')
    expect(stderr).toContain('the type `Persn`; did you mean `Person`?')
  })
})
