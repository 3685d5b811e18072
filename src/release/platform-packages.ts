// Gets the npm packages with the native files of other systems. `npm install` does not install them, but package-lock.json has their
// versions and hashes.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { top } from './compile.ts'
import { type LockEntry, lockEntries } from './lock-file.ts'

const FETCH_TIMEOUT_MS = 300_000

/**
 * The path of a file of a package of package-lock.json, which is fetched if it is not installed. `name`: such as
 * `@oven/bun-linux-aarch64`. Throws if the registry does not have it, or has other bytes.
 */
export async function platformFile(name: string, file: string): Promise<string> {
  const path = `node_modules/${name}`
  const entry = lockEntries[path]
  if (entry === undefined) throw new Error(`package-lock.json has no ${path}`)
  // The installation of Bun moves its file out of the package.
  const installed = join(top, path, file)
  if (existsSync(installed)) return installed
  const folder = join(top, 'dist', 'packages', `${name.replace('/', '-')}-${entry.version}`)
  if (!existsSync(folder)) await fetchPackage(name, entry, folder)
  return join(folder, file)
}

async function fetchPackage(name: string, { version, integrity }: LockEntry, folder: string): Promise<void> {
  const draft = `${folder}.part`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true })
  const fetched = Bun.spawn(['npm', 'pack', '--silent', `${name}@${version}`, '--pack-destination', draft], {
    cwd: top,
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: FETCH_TIMEOUT_MS,
  })
  const [stdout, stderr] = await Promise.all([fetched.stdout.text(), fetched.stderr.text()])
  if ((await fetched.exited) !== 0) throw new Error(`npm cannot get ${name}@${version}: ${stderr.trim()}`)
  const file = join(draft, stdout.trim().split('\n').at(-1) ?? '')
  const found = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`
  if (found !== integrity) throw new Error(`${name}@${version} has ${found}, and package-lock.json ${integrity}`)
  const { exitCode, stderr: why } = Bun.spawnSync(['tar', '-xzf', file, '-C', draft, '--strip-components=1'])
  if (exitCode !== 0) throw new Error(`${file} cannot be unpacked: ${why.toString()}`)
  rmSync(file)
  renameSync(draft, folder)
}
