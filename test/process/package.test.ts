// The package as its users get it: packed, installed in another folder, and loaded by Node, which accepts no TypeScript
// there.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const top = join(import.meta.dirname, '..', '..')
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-package-'))
const modules = join(folder, 'node_modules')

async function run(
  command: readonly string[],
  cwd: string,
): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const child = Bun.spawn([...command], { cwd, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { exitCode, stdout, stderr }
}

beforeAll(async () => {
  const packed = await run(['npm', 'pack', '--silent', '--pack-destination', folder], top)
  if (packed.exitCode !== 0) throw new Error(`npm pack: ${packed.stderr}`)
  const unpacked = await run(['tar', '-xzf', packed.stdout.trim().split('\n').at(-1) as string], folder)
  if (unpacked.exitCode !== 0) throw new Error(`tar: ${unpacked.stderr}`)
  mkdirSync(modules)
  cpSync(join(folder, 'package'), join(modules, 'verdigraph'), { recursive: true })
  // The dependencies that npm would install with it.
  const { dependencies } = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) symlinkSync(join(top, 'node_modules', name), join(modules, name))
}, 60_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the packed library', () => {
  const readme = readFileSync(join(top, 'README.md'), 'utf8')
  const example = (/## As a library[\s\S]*?```ts\n([\s\S]*?)```/.exec(readme) as unknown as string[])[1] as string
  const promised = [...example.matchAll(/^(owns\..*) \/\/ (.*)$/gm)].map((match) => match[2] as string)
  const program = `${example.replace(/^(owns\..*) \/\/ .*$/gm, 'console.log(JSON.stringify($1))')}\nawait store.close()\n`

  test.each(['node', process.execPath])('runs the example of the README under %s', async (runtime) => {
    expect(promised).toHaveLength(3)
    writeFileSync(join(folder, 'example.mjs'), program)
    rmSync(join(folder, 'my-graph'), { recursive: true, force: true })
    const { exitCode, stdout, stderr } = await run([runtime, 'example.mjs'], folder)
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout.trim().split('\n')).toEqual(promised)
  })

  test('is one file for Node, without the server and its libraries', () => {
    const text = readFileSync(join(modules, 'verdigraph', 'dist', 'library', 'index.js'), 'utf8')
    const imported = new Set([...text.matchAll(/^import .*? from "([^"]+)"/gm)].map((match) => match[1]))
    expect([...imported].sort()).toEqual([
      'chevrotain',
      'fastest-levenshtein',
      'lmdb',
      'node:fs',
      'node:os',
      'node:path',
      're2js',
    ])
  })

  test('has types for a strict compiler', async () => {
    const uses = `${example}\nconst wrong: number = owns.exists({})\n`
    writeFileSync(join(folder, 'uses.mts'), uses)
    const options = '--noEmit --strict --skipLibCheck --target esnext --module nodenext --types'.split(' ')
    const { stdout } = await run([join(top, 'node_modules', '.bin', 'tsc'), ...options, '', 'uses.mts'], folder)
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^uses\.mts\(\d+,7\): error TS2322: Type 'boolean' is not assignable to type 'number'/),
    ])
  })

  test('contains the command and its files', () => {
    expect(readdirSync(join(modules, 'verdigraph')).sort()).toEqual(
      ['LICENSE', 'README.md', 'data', 'dist', 'docs', 'grammar', 'package.json', 'src'].sort(),
    )
  })
})
