// The files of dist/release: sums, bill of materials, licences, and the archives and packages as their users get them.
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort, has, program, releaseFolder, run, succeed, top, untilReady, version } from '../support/release.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-artefacts-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const read = (name: string): string => readFileSync(join(releaseFolder, name), 'utf8')
interface BillComponent {
  readonly name: string
  readonly group?: string
  readonly version?: string
  readonly purl?: string
  readonly licenses: readonly object[]
}
const bill = JSON.parse(read(`verdigraph-${version}.cdx.json`)) as {
  readonly specVersion: string
  readonly metadata: { readonly timestamp: string; readonly component: BillComponent }
  readonly components: readonly (BillComponent & { readonly components?: readonly BillComponent[] })[]
}
const nameOf = ({ group, name }: BillComponent): string => (group === undefined ? name : `${group}/${name}`)

test('SHA256SUMS lists every file with its sum', () => {
  const lines = read('SHA256SUMS').trim().split('\n')
  const names = readdirSync(releaseFolder).filter((name) => name !== 'SHA256SUMS')
  expect(lines.map((line) => line.slice(66)).sort()).toEqual(names.sort())
  expect(names).toEqual(expect.arrayContaining(['events.asyncapi.json', 'grammar-diagrams.html']))
  for (const line of lines) {
    const sum = createHash('sha256')
      .update(readFileSync(join(releaseFolder, line.slice(66))))
      .digest('hex')
    expect(line.slice(0, 64)).toBe(sum)
  }
})

test('the bill of materials lists every package inside with version, licence and package URL', () => {
  expect([bill.specVersion, bill.metadata.component.purl]).toEqual(['1.6', `pkg:npm/verdigraph@${version}`])
  expect(bill.components.filter((one) => one.licenses.length === 0 || one.version === undefined)).toEqual([])
  for (const one of bill.components) expect(one.purl).toBe(`pkg:npm/${nameOf(one).replace('@', '%40')}@${one.version}`)
  const names = new Set(bill.components.map(nameOf))
  for (const name of ['lmdb', 'chevrotain', 'zod', 'preact', 'bun']) expect(names).toContain(name)
  const runtime = bill.components.find(({ name }) => name === 'bun')
  expect(runtime?.components?.map(({ name }) => name)).toContain('JavaScriptCore')
  // Tools that build or test are not inside.
  for (const name of ['vitest', 'typescript', 'esbuild', '@biomejs/biome']) expect(names).not.toContain(name)
})

test('the licences are those of the packages in the bill of materials, with their texts', () => {
  const sections = read('THIRD-PARTY-LICENSES.txt').split(`\n\n${'-'.repeat(80)}\n\n`)
  const headings = sections.map((section) => section.slice(0, section.indexOf('\n')))
  expect(headings.sort()).toEqual(bill.components.map((one) => `${nameOf(one)} ${one.version}`).sort())
  expect(sections.filter((section) => section.length < 500)).toEqual([])
  const text = sections.join('\n')
  for (const title of ['GNU LIBRARY GENERAL PUBLIC LICENSE', 'OpenLDAP Public License', 'Apache License'])
    expect(text).toContain(title)
})

test('the artefacts contain no path of the machine that built them', () => {
  expect(readFileSync(program).includes(top)).toBe(false)
  expect(readFileSync(join(top, 'dist', 'server', 'verdigraph-server.js'), 'utf8').includes(top)).toBe(false)
})

const archives = readdirSync(releaseFolder).filter((name) =>
  /^verdigraph-.*-(linux|darwin|windows)-.*\.tar\.gz$/.test(name),
)

test.each(archives)('%s has the program and the licences', async (name) => {
  const base = name.replace('.tar.gz', '')
  const list = (await succeed(['tar', '-tvzf', join(releaseFolder, name)])).trim().split('\n')
  const suffix = name.includes('windows') ? '.exe' : ''
  expect(list.map((line) => line.replace(/ +/g, ' ').split(' ').at(-1))).toEqual([
    `${base}/verdigraph${suffix}`,
    `${base}/LICENSE`,
    `${base}/THIRD-PARTY-LICENSES.txt`,
  ])
  expect(list[0]).toMatch(/^-rwxr-xr-x 0\/0/)
})

/** Starts the program of an archive, checks it, and stops it. */
async function serves(path: string, environment: Record<string, string> = {}): Promise<number> {
  const port = await freePort()
  const startedMs = performance.now()
  const args = ['serve', '--data', join(folder, `data-${port}`), '--port', String(port)]
  const child = Bun.spawn([path, ...args], { env: environment, stdout: 'ignore', stderr: 'ignore' })
  try {
    const readyMs = await untilReady(`http://127.0.0.1:${port}`, startedMs, child)
    expect(await run([path, 'health', '--port', String(port)], { env: environment })).toMatchObject({ exitCode: 0 })
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
    return readyMs
  } finally {
    child.kill('SIGKILL')
  }
}

async function unpacked(target: string): Promise<string> {
  const base = `verdigraph-${version}-${target}`
  await succeed(['tar', '-xzf', join(releaseFolder, `${base}.tar.gz`), '-C', folder])
  return join(folder, base, 'verdigraph')
}

test('the program for linux-x64 runs from its archive, and names its commit', async () => {
  const path = await unpacked('linux-x64')
  const found = JSON.parse(await succeed([path, '--version', '--json']))
  expect(found).toMatchObject({ version, platform: 'linux-x64', built_at: bill.metadata.timestamp })
  expect(found.commit).toMatch(/^[0-9a-f]{40}$/)
  console.log(`linux-x64: ready ${await serves(path)} ms after its start`)
})

const libraries = '/usr/aarch64-linux-gnu'
const canEmulate = has('qemu-aarch64-static') && archives.some((name) => name.includes('-linux-arm64.'))

test.skipIf(!canEmulate)('the program for linux-arm64 runs in an emulator', async () => {
  const path = await unpacked('linux-arm64')
  const start = join(folder, 'arm64')
  // Its own processes too.
  writeFileSync(start, `#!/bin/sh\nexec qemu-aarch64-static -L ${libraries} ${path} "$@"\n`, { mode: 0o755 })
  const environment = { QEMU_LD_PREFIX: libraries }
  expect(JSON.parse(await succeed([start, '--version', '--json'], { env: environment }))).toMatchObject({
    platform: 'linux-arm64',
  })
  console.log(`linux-arm64 in an emulator: ready ${await serves(start, environment)} ms after its start`)
})

test('the library package decides under Node, also under the name of the whole package, and has no command', async () => {
  const home = join(folder, 'consumer')
  const modules = join(home, 'node_modules')
  for (const name of ['verdigraph-library', 'verdigraph']) {
    mkdirSync(join(modules, name), { recursive: true })
    const file = join(releaseFolder, `verdigraph-library-${version}.tgz`)
    await succeed(['tar', '-xzf', file, '-C', join(modules, name), '--strip-components=1'])
    const manifest = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'))
    expect([manifest.name, manifest.bin, manifest.scripts]).toEqual(['verdigraph-library', undefined, undefined])
    expect(readdirSync(join(modules, name, 'dist')).sort()).toEqual(['client', 'library'])
    for (const other of Object.keys(manifest.dependencies))
      symlinkSync(join(top, 'node_modules', other), join(modules, other), 'dir')
    const text = `import { Graph, openStore } from '${name}'
      import { VerdigraphClient } from '${name}/client'
      const graph = new Graph(openStore(':memory:'))
      await graph.write((batch) => batch.upsertNode({ type: 'Person', externalId: 'ann' }))
      console.log(graph.prepare('MATCH (subject:Person)').exists({ subject: ['Person', 'ann'] }), typeof VerdigraphClient)`
    writeFileSync(join(home, 'program.mjs'), text)
    expect(await succeed(['node', 'program.mjs'], { cwd: home })).toBe('true function\n')
    for (const other of Object.keys(manifest.dependencies)) rmSync(join(modules, other))
  }
})
