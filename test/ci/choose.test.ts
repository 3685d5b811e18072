// Which parts `.ci/run` chooses.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { programs } from '../stress/programs.ts'
import { choose } from './choose.ts'
import { type Part, parts, SECONDS_MAX } from './parts.ts'

const root = join(import.meta.dirname, '..', '..')
const files = Bun.spawnSync(['git', 'ls-files'], { cwd: root }).stdout.toString().trim().split('\n')

function part(name: string, seconds: number, ...paths: string[]): Part {
  return { name, seconds, run: [`echo ${name}`], paths }
}

const namesOf = (chosen: readonly Part[]): string[] => chosen.map(({ name }) => name)

describe('a change', () => {
  const three = [part('a', 40, 'src/a/**'), part('b', 40, 'src/b/**', 'src/*.ts'), part('c', 40, 'src/{b,c}/*.ts')]

  test('runs the parts that it touches, and no other', () => {
    const { run, leftOut } = choose({ files: ['src/b/one.ts', 'README.md'], turn: 0 }, three, 100)
    expect(namesOf(run)).toEqual(['b', 'c'])
    expect(leftOut).toEqual([{ part: three[0], reason: 'the change does not touch it' }])
  })

  test('that is not known runs what one run has time for, and says what it leaves out', () => {
    const { run, leftOut } = choose({ files: null, turn: 0 }, three, 100)
    expect(namesOf(run)).toEqual(['a', 'b'])
    expect(leftOut.map(({ part: { name }, reason }) => `${name}: ${reason}`)).toEqual([
      'c: no time: the parts of one run take at most 100 s',
    ])
  })

  test('gives each part its turn if not all fit', () => {
    const chosen = [0, 1, 2, 3].map((turn) => namesOf(choose({ files: null, turn }, three, 50).run))
    expect(chosen).toEqual([['a'], ['b'], ['c'], ['a']])
  })

  test('of documentation alone runs no part', () => {
    expect(choose({ files: ['docs/index.md', 'README.md'], turn: 7 }).run).toEqual([])
  })
})

describe('the parts', () => {
  test('have names of their own, and each fits into one run', () => {
    expect(new Set(namesOf(parts)).size).toBe(parts.length)
    expect(parts.filter(({ seconds }) => seconds > SECONDS_MAX)).toEqual([])
  })

  test('have only globs that match a file', () => {
    const unmatched = parts.flatMap(({ name, paths }) =>
      paths.filter((path) => !files.some((file) => new Bun.Glob(path).match(file))).map((path) => `${name}: ${path}`),
    )
    expect(unmatched).toEqual([])
  })

  test('contain each stress program that has a short form', () => {
    const missing = Object.entries(programs)
      .filter(([name, { short }]) => short !== null && !parts.some((one) => one.name === `stress: ${name}`))
      .map(([name]) => name)
    expect(missing).toEqual([])
  })

  test('call functions of `.ci/run`', () => {
    const script = readFileSync(join(root, '.ci', 'run'), 'utf8')
    const called = new Set(parts.flatMap(({ run }) => run.map((command) => command.split(' ')[0]!)))
    expect([...called].filter((name) => !script.includes(`\n${name}() {`))).toEqual([])
  })

  test('run for a change of any file of the program', () => {
    const source = files.filter((file) => /^(src|grammar)\/.*\.ts$/.test(file))
    expect(source.filter((file) => choose({ files: [file], turn: 0 }).run.length === 0)).toEqual([])
  })
})
