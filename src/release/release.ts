// `npm run release`: writes all artefacts of a version to dist/release. The same commit gives the same bytes
// (docs/decisions/0057-artefacts-and-deployment.md).
//
// Options: --targets NAMES (separated by commas; default: all), --allow-modified (files differ from the commit).
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import { tarGz } from './archive.ts'
import { readBuiltFrom } from './build-info.ts'
import { compileProgram, top } from './compile.ts'
import { packagesInside } from './contents.ts'
import { buildDebian, canBuildDebian } from './debian.ts'
import { LIBRARY_PACKAGE, libraryPackage } from './library-package.ts'
import { licenceTexts } from './licences.ts'
import { platformFile } from './platform-packages.ts'
import { billOfMaterials } from './sbom.ts'
import { type ReleaseTarget, targets } from './targets.ts'

const { version } = packageJson
const folder = join(top, 'dist', 'release')
const { values } = parseArgs({
  options: { targets: { type: 'string' }, 'allow-modified': { type: 'boolean', default: false } },
})
const names = values.targets?.split(',') ?? targets.map(({ name }) => name)
const unknown = names.filter((name) => !targets.some((target) => target.name === name))
if (unknown.length > 0)
  stop(`unknown target ${unknown.join(', ')}; expected ${targets.map(({ name }) => name).join(', ')}`)

const builtFrom = readBuiltFrom(top)
if (builtFrom.commit === null || builtFrom.built_at === null) stop('a release is built from a git repository')
if (builtFrom.modified && !values['allow-modified'])
  stop('files differ from the commit: commit them, or pass --allow-modified')
const timeMs = Date.parse(builtFrom.built_at)
// For the processes that this one starts.
process.env.SOURCE_DATE_EPOCH = String(timeMs / 1000)

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const skipped: string[] = []
const write = (name: string, content: string | Uint8Array): void => writeFileSync(join(folder, name), content)

await run([process.execPath, join('src', 'release', 'build-package.ts')])
await run(['npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder])
write(`${LIBRARY_PACKAGE}-${version}.tgz`, await libraryPackage(timeMs))
await run([process.execPath, join('test', 'generate', 'reference-files.ts'), folder])
const inside = await packagesInside()
const licences = licenceTexts(inside)
write('THIRD-PARTY-LICENSES.txt', licences)
write(`verdigraph-${version}.cdx.json`, await billOfMaterials(inside, builtFrom))
for (const target of targets) if (names.includes(target.name)) await buildTarget(target)
const sums = readdirSync(folder)
  .sort()
  .map((name) => `${sha256(join(folder, name))}  ${name}\n`)
write('SHA256SUMS', sums.join(''))
for (const name of readdirSync(folder).sort()) {
  console.log(`${(statSync(join(folder, name)).size / 1e6).toFixed(1).padStart(7)} MB  ${name}`)
}
for (const line of skipped) console.log(`skipped  ${line}`)

async function buildTarget(target: ReleaseTarget): Promise<void> {
  const { name, program, debian } = target
  const suffix = program.endsWith('.exe') ? '.exe' : ''
  const [runtime, addon] = await Promise.all([
    platformFile(target.runtimePackage, join('bin', `bun${suffix}`)),
    platformFile(target.storePackage, target.addon),
  ])
  // Also the bare program, for the container.
  const outfile = join(top, 'dist', 'programs', name, program)
  await compileProgram({ target, outfile, addon, runtime })
  const base = `verdigraph-${version}-${name}`
  const files = [
    { name: `${base}/${program}`, from: outfile, isProgram: true },
    { name: `${base}/LICENSE`, from: join(top, 'LICENSE') },
    { name: `${base}/THIRD-PARTY-LICENSES.txt`, from: Buffer.from(licences) },
  ]
  write(`${base}.tar.gz`, await tarGz(files, timeMs))
  if (debian === null) return
  if (!canBuildDebian()) {
    skipped.push(`the Debian package for ${debian}: this machine has no dpkg-deb`)
    return
  }
  const deb = join(folder, `verdigraph_${version}_${debian}.deb`)
  await buildDebian({ architecture: debian, program: outfile, licences, epochS: timeMs / 1000, outfile: deb })
}

async function run(command: readonly string[]): Promise<void> {
  const child = Bun.spawn([...command], { cwd: top, stdin: 'ignore', stdout: 'ignore', stderr: 'inherit' })
  if ((await child.exited) !== 0) stop(`${command.join(' ')} failed`)
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

function stop(message: string): never {
  console.error(message)
  process.exit(1)
}
