// What the pages say about the installation: nothing is installed from a registry that does not have it, and the versions of Node
// are those that the packages of the lock file require.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import lock from '../../package-lock.json' with { type: 'json' }
import { repositoryRoot } from './pages.ts'

const read = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8')

/** A command that gets the package by its name, which no registry has yet. A path or an address after `@` is not such a name. */
const fromRegistry =
  /(?:npm (?:install|i|add|exec)|(?:bun|pnpm|yarn) add|bunx)\b[^\n`;&]*?\s(?:verdigraph|verdigraph-library)(?:@(?!file:)[^\s`]+)?(?=[\s`;&.,)]|$)/
/** A dependency of a package.json on a version instead of a file. */
const versionOfRegistry = /"verdigraph(?:-library)?": "(?!file:)[~^>=<\d*]/

describe('no file tells to install the package from a registry', () => {
  test('the patterns find the ways to say it', () => {
    for (const line of [
      '`npm install verdigraph`, for Node',
      'npm i -D verdigraph bun',
      '(`npm install --save-dev bun verdigraph`)',
      'npm install verdigraph@npm:verdigraph-library',
      'npm install verdigraph@0.1.0',
      'bun add verdigraph',
    ])
      expect(line).toMatch(fromRegistry)
    for (const line of [
      'npm install ../verdigraph/verdigraph-0.1.0.tgz bun',
      'npm install verdigraph@file:PATH/verdigraph-library-VERSION.tgz',
      '`npm install`, then `npx verdigraph lint`',
    ])
      expect(line).not.toMatch(fromRegistry)
    expect('"verdigraph": "^0.1.0"').toMatch(versionOfRegistry)
    expect('"verdigraph": "file:vendor/verdigraph-0.1.0.tgz"').not.toMatch(versionOfRegistry)
  })

  test('README, docs, examples, clients, deploy and src', async () => {
    const folders = ['docs', 'examples', 'clients', 'deploy', 'src']
    const texts = [
      'README.md',
      'CONTRIBUTING.md',
      ...folders.flatMap((folder) =>
        readdirSync(join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' })
          .filter((path) => /\.(md|ts|mjs|json|sh|ya?ml)$/.test(path) && !path.includes('node_modules'))
          .map((path) => `${folder}/${path}`),
      ),
    ]
    expect(texts.length).toBeGreaterThan(500)
    const found = texts.flatMap((path) =>
      read(path)
        .split('\n')
        .flatMap((line, i) =>
          fromRegistry.test(line) || versionOfRegistry.test(line) ? [`${path}:${i + 1}: ${line}`] : [],
        ),
    )
    expect(found).toEqual([])
  })

  test('the names of package files have the version of the package', () => {
    const files = [
      'docs/how-to/install.md',
      'examples/team-repository/package.json',
      'examples/team-repository/README.md',
    ]
    const versions = files.flatMap((path) =>
      [...read(path).matchAll(/verdigraph-(?:library-)?(\d\S*?)\.tgz/g)].map(([, version]) => `${path}: ${version}`),
    )
    expect(new Set(versions)).toEqual(new Set(files.map((path) => `${path}: ${packageJson.version}`)))
  })
})

describe('the supported versions of Node', () => {
  /** The packages of the lock file that do not support a version. */
  const refusing = (version: string): readonly string[] =>
    Object.entries<{ engines?: { node?: string } }>(lock.packages as never).flatMap(([path, { engines }]) =>
      path === '' || engines?.node === undefined || Bun.semver.satisfies(version, engines.node) ? [] : [path],
    )
  const install = read('docs/how-to/install.md')

  test('a clone: the oldest one that all packages of the lock file support', () => {
    const [, oldest = ''] = /^\| try it.*Node (\d+\.\d+) or later, except 23 and 25/m.exec(install) ?? []
    expect(read('README.md')).toContain(`In a clone, with npm (Node ${oldest} or later)`)
    const [major, minor] = oldest.split('.').map(Number) as [number, number]
    expect(refusing(`${major}.${minor}.0`)).toEqual([])
    expect(refusing(`${major}.${minor - 1}.99`)).not.toEqual([])
    for (const version of ['24.6.0', '26.0.0']) expect(refusing(version), version).toEqual([])
    for (const version of ['23.11.0', '25.9.0']) expect(refusing(version), version).not.toEqual([])
  })

  test('the package: the version of its `engines`, which its only dependency supports', () => {
    const [, oldest] = /^\| use the library.*Node (\d+) or later/m.exec(install) ?? []
    expect(packageJson.engines.node).toBe(`>=${oldest}`)
    for (const name of Object.keys(packageJson.dependencies)) {
      const { engines } = (lock.packages as never as Record<string, { engines?: { node?: string } }>)[
        `node_modules/${name}`
      ] as { engines?: { node?: string } }
      expect(Bun.semver.satisfies(`${oldest}.0.0`, engines?.node ?? '*'), name).toBe(true)
    }
    expect(read('README.md')).toContain(`For Node ${oldest} or later and for Bun`)
  })
})
