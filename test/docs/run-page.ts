// Runs the fenced blocks of a page in their order, in one shell, and compares what they print with the blocks that show it.
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bin, patientEnvironment } from '../support/cli-process.ts'
import { type Block, type Page, repositoryRoot } from './pages.ts'

/** A block that a test can run. */
export type RunnableLanguage = 'sh' | 'ts'

export const isRunnable = ({ language, info }: Block): boolean =>
  ['sh', 'bash', 'ts'].includes(language) && !info.startsWith('not-run:')

/** Output of the block before, as the page shows it. */
export const isOutput = ({ info }: Block): boolean => info.split(' ').includes('output')

export interface Difference {
  /** `docs/how-to/operations.md:12`. */
  readonly where: string
  readonly expected: string
  readonly found: string
}

export interface PageRun {
  readonly differences: readonly Difference[]
  /** Exit code of the shell: 0 if every command of every block succeeded. */
  readonly exitCode: number
  /** The error stream of the page, and the last block that began. */
  readonly log: string
}

/** Starts every block: the shell prints it, and a page does not. */
const MARK = '\u0001'

/**
 * Runs a page. The working folder is new, with links to the folders of the repository; `npx` runs the program of the
 * repository and packages that are installed, and never the network.
 * Services that the page starts wait for a lane as long as a busy machine needs to start one.
 * @param environment Variables of the shell, in addition to those of this process except its settings. `PORT` replaces 8080.
 * @param files A folder whose files are copied into the working folder first.
 */
export async function runPage(
  { path, blocks }: Page,
  environment: Record<string, string>,
  files: string | null = null,
): Promise<PageRun> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-docs-'))
  if (files !== null) cpSync(files, folder, { recursive: true })
  for (const name of ['docs', 'data', 'src', 'grammar', 'node_modules', 'package.json', 'tsconfig.json']) {
    if (!existsSync(join(folder, name))) symlinkSync(join(repositoryRoot, name), join(folder, name))
  }
  try {
    const programs = join(folder, '.bin')
    mkdirSync(programs)
    writeFileSync(join(programs, 'npx'), npx, { mode: 0o755 })
    symlinkSync(process.execPath, join(programs, 'bun'))
    const steps = blocks.flatMap((block, i) => {
      if (!isRunnable(block)) return []
      const next = blocks[i + 1]
      const output = next !== undefined && isOutput(next) ? next : null
      return [
        block.language === 'ts'
          ? program(folder, block, i, output)
          : { block, script: block.text.replaceAll('8080', environment.PORT ?? '8080'), output },
      ]
    })
    const script = [prelude, ...steps.map(({ script }, i) => `printf '\\001%d\\n' ${i}\n${script}`)].join('\n')
    const child = Bun.spawn(['bash', '-c', script], {
      cwd: folder,
      env: {
        ...withoutSettings(process.env),
        NO_COLOR: '1',
        ...patientEnvironment,
        ...environment,
        PATH: `${programs}:${process.env.PATH}`,
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
    const printed = new Map(stdout.split(MARK).map((part) => [Number.parseInt(part, 10), part.replace(/^\d*\n/, '')]))
    const differences = steps.flatMap(({ block, output }, i) => {
      const found = (printed.get(i) ?? '(not reached)').trim()
      if (output === null || agrees(found, output)) return []
      return [{ where: `${path}:${block.line}`, expected: output.text, found }]
    })
    const last = steps[printed.size - 2]
    return { differences, exitCode, log: `${path}:${last?.block.line}: ${stderr}` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const prelude = `set -euo pipefail
trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT
`

/**
 * `npx verdigraph` is the tested executable under that name, or else the sources. Both replace their shell, so that a signal reaches the
 * program.
 */
const service =
  process.env.VERDIGRAPH_TESTED === undefined
    ? `exec '${process.execPath}' '${repositoryRoot}/src/main.ts'`
    : `exec -a 'npx verdigraph' '${bin}'`
const npx = `#!/usr/bin/env bash
if [ "$1" = verdigraph ]; then shift; ${service} "$@"; fi
exec '${Bun.which('npx')}' --no-install "$@"
`

/** Without `VERDIGRAPH_…`, and without a proxy for this machine. */
function withoutSettings(environment: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(environment).filter(([name]) => !name.startsWith('VERDIGRAPH_')) as [string, string][]
  return { ...Object.fromEntries(kept), NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost' }
}

interface Step {
  readonly block: Block
  readonly script: string
  readonly output: Pick<Block, 'language' | 'text'> | null
}

/**
 * A TypeScript block as a file of its own. A line `expression // value` states what the expression is; without such a line, an
 * output block may follow. With `test` in the
 * info string it is a file of tests.
 */
function program(folder: string, block: Block, index: number, shown: Block | null): Step {
  const isTest = block.info.split(' ').includes('test')
  const name = isTest ? `block-${index}.test.ts` : `block-${index}.ts`
  const promised = [...block.text.matchAll(/^(\S.*\)) \/\/ ((?:true|false|null|[\d[{"]).*)$/gm)].map(
    (match) => match[2],
  )
  const text = block.text
    .replace(/(['"])verdigraph\/client\1/g, `'${join(repositoryRoot, 'src', 'client', 'index.ts')}'`)
    .replace(/(['"])verdigraph\1/g, `'${join(repositoryRoot, 'src', 'index.ts')}'`)
    .replace(/(['"])verdigraph\/(vitest|jest)\1/g, `'${join(repositoryRoot, 'src', 'authorizer')}/$2.ts'`)
    .replace(/^(\S.*\)) \/\/ ((?:true|false|null|[\d[{"]).*)$/gm, 'console.log(JSON.stringify($1))')
  writeFileSync(join(folder, name), text)
  if (isTest) return { block, script: `bun test ./${name} 2> test.log || { cat test.log >&2; exit 1; }`, output: null }
  const output = promised.length === 0 ? shown : null
  return { block, script: `bun ${name}`, output: output ?? { language: 'text', text: promised.join('\n') } }
}

/**
 * True if the found text agrees with the text of the page. In the page, `…` stands for any text, within JSON the member `"…"` for any further members
 * or items, and the value `"…"` for any value.
 */
export function agrees(found: string, { language, text }: Pick<Block, 'language' | 'text'>): boolean {
  if (language === 'json') {
    const values = documentsOf(found)
    const expected = documentsOf(text)
    if (values === null || expected === null || values.length !== expected.length) return false
    return expected.every((one, i) => covers(one, values[i]))
  }
  const pattern = text.trim().split('…').map(RegExp.escape).join('[\\s\\S]*?')
  return new RegExp(`^${pattern}$`).test(found)
}

/** The JSON documents of a text, each of which begins on a new line; null if there is anything else. */
function documentsOf(text: string): unknown[] | null {
  const documents: unknown[] = []
  let open = ''
  for (const line of text.trim().split('\n')) {
    open += `${line}\n`
    try {
      documents.push(JSON.parse(open))
      open = ''
    } catch {
      // The document continues in the next line.
    }
  }
  return open === '' ? documents : null
}

function covers(expected: unknown, found: unknown): boolean {
  if (expected === '…') return true
  if (typeof expected === 'string' && expected.includes('…')) {
    return typeof found === 'string' && agrees(found, { language: 'text', text: expected })
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(found)) return false
    const open = expected.at(-1) === '…'
    const items = open ? expected.slice(0, -1) : expected
    return (
      (open ? found.length >= items.length : found.length === items.length) &&
      items.every((one, i) => covers(one, found[i]))
    )
  }
  if (typeof expected !== 'object' || expected === null) return Object.is(expected, found)
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return false
  const { '…': more, ...members } = expected as Record<string, unknown>
  const names = Object.keys(members)
  if (more === undefined && Object.keys(found).length !== names.length) return false
  return names.every((name) => name in found && covers(members[name], (found as Record<string, unknown>)[name]))
}
